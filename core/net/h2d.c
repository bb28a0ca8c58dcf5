/* The server of HTTP/2: sockets and threads; see h2d.h. */
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
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/sock.h"

enum {
	THREADS = 2,
	MAX_THREADS = 16,
	MAX_CONNECTIONS = 1024,
	EVENTS = 64,
	IOVECS = 64,
	IN_SIZE = 64 * 1024,
	TURN = 4 * 1024 * 1024, /* bytes sent before others get their turn */
	READS = 16,             /* the same for what is received */
	ACCEPT_BACKOFF_MS = 100,
};

struct conn {
	struct conn *prev, *next; /* the one that was active last is the first */
	int fd;
	bool writing; /* waits until the socket takes more */
	struct h2_conn *h2;
};

struct loop {
	struct h2d *d;
	pthread_t thread;
	int epoll;
	bool goaway; /* was said */
	struct conn *first, *last;
	int n;
	char in[IN_SIZE];
};

struct h2d {
	struct h2d_conf conf;
	int listener, wake;
	atomic_bool stopping;
	int64_t until; /* set before `stopping` */
	int n_loops;
	struct loop *loops;
};

/* ---- connections ------------------------------------------------------------------- */

static void conn_link(struct loop *l, struct conn *c)
{
	c->prev = NULL;
	c->next = l->first;
	if (l->first)
		l->first->prev = c;
	else
		l->last = c;
	l->first = c;
}

static void conn_unlink(struct loop *l, struct conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		l->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		l->last = c->prev;
}

static void conn_close(struct loop *l, struct conn *c)
{
	conn_unlink(l, c);
	l->n--;
	close(c->fd);
	h2_conn_free(c->h2);
	free(c);
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

/* Of those without a stream the one idle longest makes room; false: there is none. */
static bool make_room(struct loop *l)
{
	for (struct conn *c = l->last; c; c = c->prev)
		if (!h2_streams(c->h2)) {
			conn_close(l, c);
			return true;
		}
	return false;
}

static void conn_add(struct loop *l, int fd)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	struct conn *c;

	if (l->n >= l->d->conf.max_connections / l->d->n_loops && !make_room(l)) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->fd = fd;
	c->writing = true; /* the settings */
	c->h2 = h2_conn_new(&l->d->conf.h2);
	e.data.ptr = c;
	conn_link(l, c);
	l->n++;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e))
		conn_close(l, c);
}

/* 1: all is sent; 0: there is more, for later; -1: the connection is broken. */
static int conn_send(struct conn *c)
{
	struct iovec iov[IOVECS];
	struct error err = { 0 };

	for (size_t turn = 0; turn < TURN;) {
		struct msghdr msg = { .msg_iov = iov };
		ssize_t sent;
		int n;

		if (h2_next(c->h2, iov, IOVECS, &n, &err))
			return -1;
		if (!n)
			return 1;
		msg.msg_iovlen = (size_t)n;
		sent = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		h2_sent(c->h2, (size_t)sent);
		turn += (size_t)sent;
	}
	return 0;
}

/* -1: the peer is gone, or says what it must not. */
static int conn_receive(struct loop *l, struct conn *c)
{
	struct error err = { 0 };

	for (int i = 0; i < READS; i++) {
		ssize_t n = recv(c->fd, l->in, sizeof(l->in), 0);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (!n || h2_feed(c->h2, l->in, (size_t)n, &err))
			return -1;
	}
	return 0;
}

static void conn_turn(struct loop *l, struct conn *c, uint32_t events)
{
	bool broken = false;
	int sent;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		conn_unlink(l, c);
		conn_link(l, c);
		broken = conn_receive(l, c);
	}
	sent = conn_send(c); /* also a GOAWAY that says what was wrong */
	if (broken || sent < 0 || h2_is_done(c->h2) || conn_watch(l, c, !sent))
		conn_close(l, c);
}

/* ---- the threads ------------------------------------------------------------------- */

static void accept_all(struct loop *l)
{
	char peer[SOCK_ADDRESS_SIZE];
	int fd;

	while ((fd = sock_accept(l->d->listener, peer)) >= 0)
		conn_add(l, fd);
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		if (!make_room(l))
			clock_sleep_ms(ACCEPT_BACKOFF_MS);
}

static void say_goaway(struct loop *l)
{
	struct conn *next;

	l->goaway = true;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->d->listener, NULL);
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->d->wake, NULL);
	for (struct conn *c = l->first; c; c = next) {
		next = c->next;
		h2_goaway(c->h2);
		conn_turn(l, c, 0);
	}
}

static void take_events(struct loop *l, int timeout)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(l->epoll, events, EVENTS, timeout);
	bool incoming = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == l->d)
			incoming = true;
		else if (events[i].data.ptr)
			conn_turn(l, events[i].data.ptr, events[i].events);
	}
	/* Last: it may close a connection whose event was still to come. */
	if (incoming)
		accept_all(l);
}

static void *run_loop(void *ctx)
{
	struct loop *l = ctx;
	struct h2d *d = l->d;

	for (;;) {
		int64_t left = -1;

		if (atomic_load(&d->stopping)) {
			if (!l->goaway)
				say_goaway(l);
			left = d->until - clock_ms();
			if (left <= 0 || !l->first)
				break;
		}
		take_events(l, left > 1000 ? 1000 : (int)left);
	}
	while (l->first)
		conn_close(l, l->first);
	return NULL;
}

static int loop_start(struct h2d *d, struct loop *l, struct error *err)
{
	struct epoll_event listen = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = d };
	struct epoll_event wake = { .events = EPOLLIN };

	l->d = d;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, d->listener, &listen) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, d->wake, &wake))
		return error_errno(err, errno, "epoll");
	return thread_start(&l->thread, run_loop, l, err);
}

static int start(struct h2d *d, int threads, struct error *err)
{
	if (sock_listen(&d->listener, d->conf.host, d->conf.port, err))
		return -1;
	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->wake < 0)
		return error_errno(err, errno, "eventfd");
	for (; d->n_loops < threads; d->n_loops++)
		if (loop_start(d, &d->loops[d->n_loops], err)) {
			if (d->loops[d->n_loops].epoll >= 0)
				close(d->loops[d->n_loops].epoll);
			return -1;
		}
	return 0;
}

int h2d_start(struct h2d **ret, const struct h2d_conf *conf, struct error *err)
{
	struct h2d *d = xcalloc(1, sizeof(*d));
	int threads = conf->threads ? conf->threads : THREADS;

	d->conf = *conf;
	if (!d->conf.max_connections)
		d->conf.max_connections = MAX_CONNECTIONS;
	d->listener = d->wake = -1;
	d->loops = xcalloc(MAX_THREADS, sizeof(*d->loops));
	if (start(d, threads < MAX_THREADS ? threads : MAX_THREADS, err)) {
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

void h2d_stop(struct h2d *d, int64_t grace_ms)
{
	uint64_t one = 1;

	d->until = clock_ms() + grace_ms;
	atomic_store(&d->stopping, true);
	if (d->wake >= 0 && write(d->wake, &one, sizeof(one)) < 0)
		abort();
	for (int i = 0; i < d->n_loops; i++) {
		pthread_join(d->loops[i].thread, NULL);
		close(d->loops[i].epoll);
	}
	if (d->listener >= 0)
		close(d->listener);
	if (d->wake >= 0)
		close(d->wake);
	free(d->loops);
	free(d);
}
