/* h2d.c - an HTTP/2 server: sockets and threads (net/h2d.h). */
#include "net/h2d.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/sock.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/tls.h"
#include "net/preauth.h"

enum {
	THREADS = 2,
	MAX_THREADS = 16,
	MAX_CONNECTIONS = 1024,
	EVENTS = 64,
	IOVECS = 64,
	IN_SIZE = 64 * 1024,
	TURN = 4 * 1024 * 1024, /* bytes to send before other connections are served */
	READS = 16,             /* reads, for the same reason */
	ACCEPT_BACKOFF_MS = 100,
	HANDSHAKE_MS = 10 * 1000,
	MAX_HANDSHAKES = 256,
	REQUEST_MS = 30 * 1000,
	IDLE_MS = 60 * 1000,
	PEER_SHARE = 4,    /* of connections */
	WAITING_SHARE = 2, /* of max_waiting */
	PEERS = 4096,      /* counters of connections, by a hash of the address */
	SWEEPS = 8,        /* checks for late connections within the shortest timeout */
};
enum { TLS_HELLO = 0x16, HTTP2_PREFACE = 'P' }; /* the first byte of a record */

struct conn {
	struct conns *of;
	struct conn *prev, *next;
	int fd;
	bool writing; /* waits for POLLOUT */
	struct tls_conn *tls;
	int64_t deadline;   /* deadline of the handshake */
	struct h2_conn *h2; /* NULL: before or in the handshake */
	struct peer *peer;
	char address[SOCK_ADDRESS_SIZE]; /* of the peer */
	bool used;                       /* had a request */
	int64_t since; /* when its last request ended, or it was accepted */
};

/* The counters of one address. */
struct peer {
	atomic_int n;         /* connections */
	atomic_int beginning; /* of these, in the handshake */
	struct h2_budget budget, held;
};

struct conns {
	struct conn *first, *last;
	int n;
};

struct loop {
	struct h2d *d;
	pthread_t thread;
	int epoll, wake;
	bool goaway_sent;
	struct conns open;      /* the most recently active one first */
	struct conns beginning; /* in the handshake; the oldest last */
	int64_t swept;
	char in[IN_SIZE];
	char record[TLS_RECORD]; /* the TLS record to send */
};

struct h2d {
	struct h2d_conf conf;
	int listener;
	atomic_bool stopping;
	int64_t until; /* set before `stopping` */
	atomic_int n;  /* connections */
	struct peer peers[PEERS];
	struct h2_budget budget;
	uint64_t key; /* of the hash */
	int64_t sweep_ms;
	int n_threads, n_loops; /* number wanted; number started */
	struct loop *loops;
};

/* ---- connections ------------------------------------------------------------------- */

static void conn_link(struct conns *to, struct conn *c)
{
	c->of = to;
	c->prev = NULL;
	c->next = to->first;
	if (to->first)
		to->first->prev = c;
	else
		to->last = c;
	to->first = c;
	to->n++;
}

static void conn_unlink(struct conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->of->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		c->of->last = c->prev;
	c->of->n--;
}

/* The end of a handshake. */
static void conn_unbegin(struct conn *c)
{
	atomic_fetch_sub(&c->peer->beginning, 1);
	conn_unlink(c);
}

static void conn_close(struct loop *l, struct conn *c)
{
	if (c->of == &l->beginning)
		conn_unbegin(c);
	else
		conn_unlink(c);
	atomic_fetch_sub(&l->d->n, 1);
	atomic_fetch_sub(&c->peer->n, 1);
	tls_close(c->tls);
	close(c->fd);
	h2_conn_free(c->h2);
	free(c);
}

static void report(const struct loop *l, const struct error *err)
{
	if (err->msg[0] && l->d->conf.on_broken)
		l->d->conf.on_broken(l->d->conf.ctx, err);
}

static int conn_watch(struct loop *l, struct conn *c, bool writing)
{
	struct epoll_event e = { .events = EPOLLIN | (writing ? EPOLLOUT : 0u),
				 .data.ptr = c };

	if (c->writing == writing)
		return 0;
	c->writing = writing;
	return epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

/*
 * Close the longest idle connection without a stream, of this peer (NULL: any). False:
 * this loop has none.
 */
static bool evict(struct loop *l, const struct peer *peer)
{
	for (struct conn *c = l->open.last; c; c = c->prev)
		if (!h2_streams(c->h2) && (!peer || c->peer == peer)) {
			conn_close(l, c);
			return true;
		}
	return false;
}

/* The oldest handshake of the address with the most of them. */
static struct conn *oldest_beginning(const struct loop *l)
{
	struct conn *ret = l->beginning.first;
	int most = 0;

	for (struct conn *c = ret; c; c = c->next) {
		int n = c->peer->beginning;

		if (n >= most) {
			most = n;
			ret = c;
		}
	}
	return ret;
}

/* False: max_connections, or max_per_peer of this peer, have streams: refuse another. */
static bool has_slot(struct loop *l, const struct peer *peer)
{
	const struct h2d_conf *conf = &l->d->conf;

	if (l->beginning.n >=
	    (conf->max_handshakes + l->d->n_threads - 1) / l->d->n_threads)
		conn_close(l, oldest_beginning(l));
	return (peer->n < conf->max_per_peer || evict(l, peer)) &&
	       (l->d->n < conf->max_connections || evict(l, NULL));
}

static struct peer *peer_of(struct h2d *d, const char text[SOCK_ADDRESS_SIZE])
{
	return &d->peers[address_hash(text, d->key) % PEERS];
}

static void conn_open(struct loop *l, struct conn *c, const struct h2_conf *conf)
{
	c->h2 = h2_conn_new(conf, l->d->budget.max ? &c->peer->budget : NULL,
			    c->peer->held.max ? &c->peer->held : NULL);
	h2_set_peer(c->h2, c->address);
	if (c->of)
		conn_unbegin(c);
	conn_link(&l->open, c);
}

static void conn_add(struct loop *l, int fd, const char address[SOCK_ADDRESS_SIZE])
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	struct peer *peer = peer_of(l->d, address);
	struct conn *c;

	if (!has_slot(l, peer)) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->fd = fd;
	c->since = clock_ms();
	c->peer = peer;
	snprintf(c->address, sizeof(c->address), "%s", address);
	atomic_fetch_add(&peer->n, 1);
	atomic_fetch_add(&l->d->n, 1);
	c->writing = !l->d->conf.tls; /* the settings */
	if (l->d->conf.tls) {
		e.events = EPOLLIN;
		c->deadline = clock_ms() + l->d->conf.handshake_ms;
		conn_link(&l->beginning, c);
		atomic_fetch_add(&c->peer->beginning, 1);
	} else {
		conn_open(l, c, &l->d->conf.h2);
	}
	e.data.ptr = c;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e))
		conn_close(l, c);
}

/* Peek at the first byte received. 0: none yet; -1: closed. */
static int first_byte(const struct conn *c)
{
	char first;
	ssize_t n = recv(c->fd, &first, 1, MSG_PEEK);

	if (n == 1)
		return first ? first : 0x80;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Continue the handshake. TLS_DONE: the connection is open. */
static enum tls_turn conn_begin(struct loop *l, struct conn *c, struct error *err)
{
	const struct h2d_conf *conf = &l->d->conf;
	enum tls_turn turn;
	int first = c->tls ? TLS_HELLO : first_byte(c);

	if (first <= 0)
		return first ? TLS_FAILED : TLS_WANTS_READ;
	if (first == HTTP2_PREFACE && conf->plain.begin) {
		error_set(err, ERR_FORMAT, "the client speaks HTTP/2 without TLS");
		report(l, err);
		conn_open(l, c, &conf->plain);
		return TLS_DONE;
	}
	if (!c->tls && tls_begin(&c->tls, conf->tls, NULL, c->fd, err))
		return TLS_FAILED;
	turn = tls_try_handshake(c->tls, err);
	if (turn == TLS_DONE)
		conn_open(l, c, &conf->h2);
	return turn;
}

/* Send one TLS record, as large as possible. */
static ssize_t send_record(struct loop *l, struct conn *c, const struct iovec *iov, int n)
{
	const void *data = iov->iov_base;
	struct error err = { 0 };
	size_t len = iov->iov_len, sent = 0;
	enum tls_turn turn;

	if (len < sizeof(l->record)) {
		len = 0;
		for (int i = 0; i < n && len < sizeof(l->record); i++) {
			size_t room = sizeof(l->record) - len;
			size_t part = iov[i].iov_len < room ? iov[i].iov_len : room;

			memcpy(l->record + len, iov[i].iov_base, part);
			len += part;
		}
		data = l->record;
	}
	turn = tls_try_write(c->tls, data, len < TLS_RECORD ? len : TLS_RECORD, &sent,
			     &err);
	if (turn == TLS_DONE)
		return (ssize_t)sent;
	errno = turn == TLS_FAILED ? EPIPE : EAGAIN;
	return -1;
}

static ssize_t send_some(struct loop *l, struct conn *c, struct iovec *iov, int n)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)n };

	return c->tls ? send_record(l, c, iov, n) : sendmsg(c->fd, &msg, MSG_NOSIGNAL);
}

/* 1: all sent; 0: more later; -1: the connection is broken. */
static int conn_send(struct loop *l, struct conn *c)
{
	struct iovec iov[IOVECS];
	struct error err = { 0 };

	for (size_t turn = 0; turn < TURN;) {
		ssize_t sent;
		int n;

		if (h2_next(c->h2, iov, IOVECS, &n, &err))
			return -1;
		if (!n)
			return 1;
		sent = send_some(l, c, iov, n);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		h2_sent(c->h2, (size_t)sent);
		turn += (size_t)sent;
	}
	return 0;
}

/* Receive as recv(2), decrypted. */
static ssize_t receive_some(struct loop *l, struct conn *c)
{
	struct error err = { 0 };
	enum tls_turn turn;
	size_t n = 0;

	if (!c->tls)
		return recv(c->fd, l->in, sizeof(l->in), 0);
	turn = tls_try_read(c->tls, l->in, sizeof(l->in), &n, &err);
	if (turn == TLS_DONE)
		return (ssize_t)n;
	errno = turn == TLS_FAILED ? ECONNRESET : EAGAIN;
	return -1;
}

/* Receive and feed bytes. -1: the peer has closed, or violated the protocol. */
static int conn_receive(struct loop *l, struct conn *c)
{
	struct error err = { 0 };

	for (int i = 0; i < READS; i++) {
		ssize_t n = receive_some(l, c);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (!n)
			return -1;
		if (!h2_feed(c->h2, l->in, (size_t)n, &err))
			continue;
		if (!c->tls && l->in[0] == TLS_HELLO)
			error_set(&err, ERR_FORMAT,
				  "the client speaks TLS, this server does not");
		report(l, &err);
		return -1;
	}
	return 0;
}

/* Serve an open connection. */
static void conn_serve(struct loop *l, struct conn *c, bool receive)
{
	bool broken = false;
	int sent;

	if (receive) {
		conn_unlink(c);
		conn_link(&l->open, c);
		broken = conn_receive(l, c);
	}
	if (h2_streams(c->h2)) {
		c->used = true;
		c->since = clock_ms();
	}
	sent = conn_send(l, c); /* send a GOAWAY with the error, too */
	if (broken || sent < 0 || h2_is_done(c->h2) || conn_watch(l, c, !sent))
		conn_close(l, c);
}

static void conn_turn(struct loop *l, struct conn *c, uint32_t events)
{
	bool receive = events & (EPOLLIN | EPOLLHUP | EPOLLERR);
	struct error err = { 0 };
	enum tls_turn turn;

	if (!c->h2) {
		turn = conn_begin(l, c, &err);
		if (turn == TLS_FAILED ||
		    (turn != TLS_DONE && conn_watch(l, c, turn == TLS_WANTS_WRITE))) {
			report(l, &err);
			conn_close(l, c);
		}
		if (turn != TLS_DONE)
			return;
		receive = true;
	}
	conn_serve(l, c, receive);
}

/* ---- the threads ------------------------------------------------------------------- */

static void accept_some(struct loop *l)
{
	char peer[SOCK_ADDRESS_SIZE];
	int fd, n = 0;

	while ((fd = sock_accept(l->d->listener, peer)) >= 0) {
		conn_add(l, fd, peer);
		if (++n == PREAUTH_ACCEPT_BATCH)
			return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		if (!evict(l, NULL))
			clock_sleep_ms(ACCEPT_BACKOFF_MS);
}

static void close_all(struct loop *l, struct conns *list)
{
	while (list->first)
		conn_close(l, list->first);
}

static void send_goaway(struct loop *l)
{
	struct conn *next;

	l->goaway_sent = true;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->d->listener, NULL);
	close_all(l, &l->beginning);
	for (struct conn *c = l->open.first; c; c = next) {
		next = c->next;
		h2_goaway(c->h2);
		conn_serve(l, c, false);
	}
}

static void resume_all(struct loop *l)
{
	struct conn *next;

	for (struct conn *c = l->open.first; c; c = next) {
		next = c->next;
		h2_resume(c->h2);
		conn_serve(l, c, false);
	}
}

/* True: a request exceeds request_ms, or the connection was idle for too long. */
static bool is_late(const struct loop *l, struct conn *c, int64_t now)
{
	const struct h2d_conf *conf = &l->d->conf;
	int64_t since = h2_incomplete_since(c->h2);

	if (since)
		return now - since >= conf->request_ms;
	if (h2_streams(c->h2)) {
		c->since = now;
		return false;
	}
	return now - c->since >= (c->used ? conf->idle_ms : conf->request_ms);
}

static void sweep(struct loop *l, int64_t now)
{
	struct conn *next;

	if (now - l->swept < l->d->sweep_ms)
		return;
	l->swept = now;
	for (struct conn *c = l->open.first; c; c = next) {
		next = c->next;
		if (!is_late(l, c, now))
			continue;
		h2_goaway(c->h2);
		(void)conn_send(l, c);
		conn_close(l, c);
	}
}

/* Close connections after their deadline. */
static void expire(struct loop *l)
{
	struct error err = { 0 };

	sweep(l, clock_ms());
	while (l->beginning.last && l->beginning.last->deadline <= clock_ms()) {
		error_set(&err, ERR_TIMEOUT, "TLS handshake: not over after %lld ms",
			  (long long)l->d->conf.handshake_ms);
		report(l, &err);
		conn_close(l, l->beginning.last);
	}
}

static bool drain(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

static void handle_events(struct loop *l, int timeout)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(l->epoll, events, EVENTS, timeout);
	bool incoming = false, woken = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == l->d)
			incoming = true;
		else if (events[i].data.ptr == l)
			woken = drain(l->wake);
		else
			conn_turn(l, events[i].data.ptr, events[i].events);
	}
	/* Last, because these may close connections that have pending events. */
	if (woken)
		resume_all(l);
	if (incoming)
		accept_some(l);
	expire(l);
}

/* Time until the next deadline; -1: none. */
static int time_left(const struct loop *l)
{
	int64_t now = clock_ms(), left = INT64_MAX;

	if (l->goaway_sent)
		left = l->d->until - now;
	else if (l->beginning.last)
		left = l->beginning.last->deadline - now;
	else if (!l->open.first)
		return -1;
	if (l->open.first && l->swept + l->d->sweep_ms - now < left)
		left = l->swept + l->d->sweep_ms - now;
	return left < 0 ? 0 : left > 1000 ? 1000 : (int)left;
}

static void *run_loop(void *ctx)
{
	struct loop *l = ctx;
	struct h2d *d = l->d;

	for (;;) {
		if (atomic_load(&d->stopping)) {
			if (!l->goaway_sent)
				send_goaway(l);
			if (clock_ms() >= d->until || !l->open.first)
				break;
		}
		handle_events(l, time_left(l));
	}
	close_all(l, &l->open);
	close_all(l, &l->beginning);
	return NULL;
}

static int loop_start(struct h2d *d, struct loop *l, struct error *err)
{
	struct epoll_event listen = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = d };
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = l };

	l->d = d;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0)
		return error_errno(err, errno, "eventfd");
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, d->listener, &listen) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &wake))
		return error_errno(err, errno, "epoll");
	return thread_start(&l->thread, run_loop, l, err);
}

static void loop_release(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->wake >= 0)
		close(l->wake);
}

static int start(struct h2d *d, struct error *err)
{
	if (random_bytes(&d->key, sizeof(d->key), err) ||
	    sock_listen(&d->listener, d->conf.host, d->conf.port, err))
		return -1;
	for (; d->n_loops < d->n_threads; d->n_loops++) {
		d->loops[d->n_loops].wake = d->loops[d->n_loops].epoll = -1;
		if (loop_start(d, &d->loops[d->n_loops], err)) {
			loop_release(&d->loops[d->n_loops]);
			return -1;
		}
	}
	return 0;
}

static void set_defaults(struct h2d_conf *c)
{
	if (!c->max_connections)
		c->max_connections = MAX_CONNECTIONS;
	if (!c->max_per_peer)
		c->max_per_peer = (c->max_connections + PEER_SHARE - 1) / PEER_SHARE;
	if (!c->handshake_ms)
		c->handshake_ms = HANDSHAKE_MS;
	if (!c->max_handshakes)
		c->max_handshakes = MAX_HANDSHAKES;
	if (!c->request_ms)
		c->request_ms = REQUEST_MS;
	if (!c->idle_ms)
		c->idle_ms = IDLE_MS;
}

int h2d_start(struct h2d **ret, const struct h2d_conf *conf, struct error *err)
{
	struct h2d *d = xcalloc(1, sizeof(*d));
	int threads = conf->threads ? conf->threads : THREADS;

	d->conf = *conf;
	set_defaults(&d->conf);
	d->sweep_ms = (d->conf.request_ms < d->conf.idle_ms ? d->conf.request_ms
							    : d->conf.idle_ms) /
			      SWEEPS +
		      1;
	d->budget.max = d->conf.max_waiting;
	for (size_t i = 0; i < PEERS; i++) {
		d->peers[i].budget =
			(struct h2_budget){ .max = d->budget.max / WAITING_SHARE,
					    .all = &d->budget };
		d->peers[i].held.max = d->conf.max_held;
	}
	d->listener = -1;
	d->n_threads = threads < MAX_THREADS ? threads : MAX_THREADS;
	d->loops = xcalloc((size_t)d->n_threads, sizeof(*d->loops));
	if (start(d, err)) {
		h2d_stop(d, 0);
		return -1;
	}
	*ret = d;
	return 0;
}

int h2d_port(const struct h2d *d)
{
	return sock_port(d->listener);
}

void h2d_resume(struct h2d *d)
{
	const uint64_t one = 1;

	for (int i = 0; i < d->n_loops; i++)
		if (write(d->loops[i].wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
			abort();
}

void h2d_stop(struct h2d *d, int64_t grace_ms)
{
	d->until = clock_ms() + grace_ms;
	atomic_store(&d->stopping, true);
	if (d->listener >= 0)
		shutdown(d->listener, SHUT_RDWR); /* new connections are refused */
	h2d_resume(d);
	for (int i = 0; i < d->n_loops; i++) {
		pthread_join(d->loops[i].thread, NULL);
		loop_release(&d->loops[i]);
	}
	if (d->listener >= 0)
		close(d->listener);
	free(d->loops);
	free(d);
}
