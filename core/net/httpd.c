/* httpd.c - an HTTP/1.1 server: connections, limits, responses (net/httpd.h). */
#include "net/httpd.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/tls.h"
#include "net/httpd_parse.h"

enum {
	IN_SIZE = HTTPD_MAX_HEAD + 8 * 1024, /* a head, and pieces of a body */
	HANDSHAKE_MS = 10 * 1000,
	MAX_EMPTY_LINES = 2, /* before a request */
	LARGE_BODY =
		128 * 1024, /* freed memory of larger ones is returned to the system */
	IDLE_MS = 500,
	LINGER_MS = 500,
	LINGER_BYTES = 16 * 1024 * 1024, /* also of a refused body */
	SMALL_BODY = 64 * 1024,
	ACCEPT_BACKOFF_MS = 100, /* before accept() is retried when out of descriptors */
};
#define RESPONSE_MAX ((size_t)64 * 1024 * 1024)
#define BODIES_MIN   ((size_t)16 * 1024 * 1024)

enum phase {
	WAITING, /* waits for a request, a handshake or the end: may be closed */
	READING, /* a request is incomplete: may be closed for another connection */
	HANDLING,
	DONE, /* the thread is about to end */
};

struct conn {
	struct conn *next;
	struct httpd *server;
	pthread_t thread;
	struct tls_conn *tls; /* NULL: plain */
	char peer[SOCK_ADDRESS_SIZE];
	int of_peer; /* connections of that peer, with this one; used by the acceptor */

	/* Guarded by the server's lock. */
	enum phase phase;
	int fd;        /* -1: closed */
	int64_t since; /* waiting for a complete request */
	bool cut;      /* shut down, for another connection or by httpd_stop() */

	size_t counted; /* its part of the server's `bodies` */

	/* Received: [0, head) is the request's head, [start, len) is unused. */
	size_t head, start, len;
	char in[IN_SIZE];
};

struct httpd {
	struct httpd_conf conf;
	int listener, wake; /* wake: an eventfd, readable when something changed */
	pthread_t acceptor;
	atomic_bool stopping;
	atomic_size_t bodies; /* bytes of large bodies that are in memory */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a connection is done */
	struct conn *conns;     /* used by the acceptor, then by httpd_stop() */
};

/* ---- a connection's bytes ---------------------------------------------------------- */

static int conn_read(struct conn *c, void *data, size_t max, size_t *ret_n,
		     int64_t deadline, struct error *err)
{
	if (c->tls)
		return tls_read(c->tls, data, max, ret_n, deadline, err);
	return sock_read(c->fd, data, max, ret_n, deadline, err);
}

static int conn_write(struct conn *c, const void *data, size_t len, struct error *err)
{
	int64_t deadline = clock_ms() + c->server->conf.request_ms;

	if (c->tls)
		return tls_write(c->tls, data, len, deadline, err);
	return sock_write(c->fd, data, len, deadline, err);
}

/* Change phase; false if the connection must end instead. */
static bool conn_enter(struct conn *c, enum phase phase)
{
	struct httpd *d = c->server;
	bool go_on;

	pthread_mutex_lock(&d->lock);
	go_on = !c->cut && !(phase == WAITING && d->stopping);
	if (c->phase == HANDLING)
		c->since = clock_ms();
	if (go_on)
		c->phase = phase;
	pthread_mutex_unlock(&d->lock);
	return go_on;
}

/* Receive more bytes. 0; a status to refuse the request with; -1: the peer closed. */
static int conn_fill(struct conn *c, int64_t deadline)
{
	struct error err = { 0 };
	size_t n = 0;

	if (conn_read(c, c->in + c->len, IN_SIZE - c->len, &n, deadline, &err))
		return err.kind == ERR_TIMEOUT ? 408 : -1;
	c->len += n;
	return n ? 0 : -1;
}

/*
 * Closing while the peer still sends would reset the connection and lose the response:
 * shut down our side and read what the peer sends, within limits.
 */
static void conn_linger(struct conn *c)
{
	int64_t deadline = clock_ms() + LINGER_MS;
	struct error err = { 0 };
	size_t n = 1, total = 0;

	tls_close(STEAL(c->tls));
	shutdown(c->fd, SHUT_WR);
	conn_enter(c, WAITING);
	while (n && total < LINGER_BYTES &&
	       !sock_read(c->fd, c->in, IN_SIZE, &n, deadline, &err))
		total += n;
}

/* ---- responses --------------------------------------------------------------------- */

static int conn_answer(struct conn *c, const struct httpd_head *head,
		       const struct httpd_response *resp, bool close)
{
	bool empty = resp->status == 204 || resp->status == 304;
	cleanup_buf struct buf out = { .max = 1024 + resp->headers.len + resp->body.len };
	struct error err = { 0 };

	buf_printf(&out, "HTTP/1.1 %d %s\r\n", resp->status, httpd_reason(resp->status));
	if (!empty)
		buf_printf(&out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
			   resp->content_type ? resp->content_type
					      : "text/plain; charset=utf-8",
			   resp->body.len);
	if (resp->headers.len)
		buf_add(&out, resp->headers.data, resp->headers.len);
	buf_adds(&out, close ? "Connection: close\r\n\r\n" : "\r\n");
	if (!empty && !str_eq(head->req.method, "HEAD") && resp->body.len)
		buf_add(&out, resp->body.data, resp->body.len);
	return conn_write(c, out.data, out.len, &err);
}

/* ---- a body in pieces -------------------------------------------------------------- */

struct conn_stream {
	struct httpd_stream stream; /* the first member, which the handler gets */
	struct conn *conn;
	bool chunked; /* HTTP/1.0: the body is not chunked and ends with the connection */
	bool failed;
};

static int stream_send(struct httpd_stream *stream, const void *data, size_t len)
{
	struct conn_stream *s = (struct conn_stream *)stream;
	cleanup_buf struct buf piece = { .max = len + 32 };
	struct error err = { 0 };

	if (s->failed || !len)
		return s->failed ? -1 : 0;
	if (s->chunked)
		buf_printf(&piece, "%zx\r\n", len);
	buf_add(&piece, data, len);
	if (s->chunked)
		buf_adds(&piece, "\r\n");
	s->failed = conn_write(s->conn, piece.data, piece.len, &err);
	return s->failed ? -1 : 0;
}

static bool stream_listens(struct httpd_stream *stream)
{
	const struct conn_stream *s = (struct conn_stream *)stream;
	struct conn *c = s->conn;
	struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLRDHUP };
	bool cut;

	pthread_mutex_lock(&c->server->lock);
	cut = c->cut;
	pthread_mutex_unlock(&c->server->lock);
	if (s->failed || cut || c->server->stopping)
		return false;
	/*
	 * Received bytes are the next request, or a TLS alert, which also ends the
	 * stream.
	 */
	return poll(&p, 1, 0) <= 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static int conn_stream(struct conn *c, const struct httpd_head *head,
		       struct httpd_response *resp, bool close)
{
	struct conn_stream s = { .stream = { .send = stream_send,
					     .listens = stream_listens },
				 .conn = c,
				 .chunked = !head->http_1_0 };
	cleanup_buf struct buf out = { .max = 1024 + resp->headers.len };
	struct error err = { 0 };

	buf_printf(&out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", resp->status,
		   httpd_reason(resp->status),
		   resp->content_type ? resp->content_type : "text/plain; charset=utf-8");
	if (resp->headers.len)
		buf_add(&out, resp->headers.data, resp->headers.len);
	if (s.chunked)
		buf_adds(&out, "Transfer-Encoding: chunked\r\n");
	buf_adds(&out, close ? "Connection: close\r\n\r\n" : "\r\n");
	if (conn_write(c, out.data, out.len, &err))
		return -1;
	if (str_eq(head->req.method, "HEAD"))
		return 0;
	resp->stream(resp->stream_ctx, &s.stream);
	if (!s.failed && s.chunked)
		s.failed = conn_write(c, "0\r\n\r\n", 5, &err);
	return s.failed ? -1 : 0;
}

static void response_release(struct httpd_response *resp)
{
	if (resp->release)
		resp->release(resp->stream_ctx);
	buf_release(&resp->headers);
	buf_release(&resp->body);
}
#define cleanup_response __attribute__((cleanup(response_release)))

static void conn_refuse(struct conn *c, const struct httpd_head *head, int status)
{
	cleanup_response struct httpd_response resp = { .status = status,
							.body.max = 256 };

	buf_printf(&resp.body, "%s\n", httpd_reason(status));
	if (!conn_answer(c, head, &resp, true))
		conn_linger(c);
}

static void conn_drop_body(struct conn *c, struct buf *body)
{
	bool large = body->cap > LARGE_BODY;

	buf_release(body);
	if (large)
		xmalloc_trim();
	atomic_fetch_sub(&c->server->bodies, c->counted);
	c->counted = 0;
}

/* Handle a request; `body` NULL: too large. True: the connection continues. */
static bool conn_handle(struct conn *c, struct httpd_head *head, struct buf *body)
{
	const struct httpd_conf *conf = &c->server->conf;
	cleanup_response struct httpd_response resp = { .body.max = RESPONSE_MAX };
	struct conn_stream client = {
		.stream = { .send = stream_send, .listens = stream_listens }, .conn = c
	};
	bool close = !body || !head->keep_alive;

	if (!conn_enter(c, HANDLING))
		return false;
	head->req.peer = c->peer;
	head->req.client = &client.stream;
	if (body) {
		head->req.body = body->len ? body->data : (const unsigned char *)"";
		head->req.body_len = body->len;
		conf->handle(conf->ctx, &head->req, &resp);
		conn_drop_body(c, body);
	} else {
		conf->on_large(conf->ctx, &head->req, &resp);
	}
	if (!resp.status)
		resp.status = 404;
	if (resp.body.overflowed) {
		resp.status = 500;
		buf_clear(&resp.body);
	}
	close |= c->server->stopping || (resp.stream && head->http_1_0);
	if (resp.stream ? conn_stream(c, head, &resp, close)
			: conn_answer(c, head, &resp, close))
		return false;
	if (close)
		conn_linger(c);
	return !close;
}

/* ---- requests ---------------------------------------------------------------------- */

/* Skip empty lines before a request (RFC 9112, 2.2), at most *left. */
static void skip_empty_lines(struct conn *c, int *left)
{
	size_t n = 0;

	for (; *left && c->len >= n + 2 && !memcmp(c->in + n, "\r\n", 2); --*left)
		n += 2;
	c->len -= n;
	if (n)
		memmove(c->in, c->in + n, c->len);
}

static int conn_read_head(struct conn *c, struct httpd_head *head, int64_t deadline)
{
	size_t scanned = 0, end = 0;
	int status, empty_lines = MAX_EMPTY_LINES;

	for (;;) {
		skip_empty_lines(c, &empty_lines);
		status = httpd_find_head(c->in, c->len, &scanned, &end);
		if (status || end)
			break;
		status = conn_fill(c, deadline);
		if (status)
			return status;
	}
	c->head = c->start = end;
	return status ? status : httpd_parse_head(head, c->in, end);
}

/*
 * Count the bytes of a body beyond SMALL_BODY against a common limit, because bodies at
 * their maximum on all connections would need too much memory.
 */
static int conn_count_body(struct conn *c, const struct buf *body)
{
	struct httpd *d = c->server;
	size_t max = 4 * d->conf.max_body, more;

	if (body->len <= SMALL_BODY)
		return 0;
	more = body->len - SMALL_BODY - c->counted;
	c->counted += more;
	if (atomic_fetch_add(&d->bodies, more) + more <= max + BODIES_MIN)
		return 0;
	return 503;
}

/* Receive more of the body. 0: there are bytes at c->start. */
static int conn_more_body(struct conn *c, int64_t deadline)
{
	if (c->start < c->len)
		return 0;
	c->start = c->len = c->head;
	return conn_fill(c, deadline);
}

static int conn_read_chunks(struct conn *c, struct buf *body, int64_t deadline)
{
	struct httpd_chunks chunks = { 0 };
	int status = 0;

	while (!status && chunks.state != CHUNK_DONE) {
		size_t used = 0;

		status = conn_more_body(c, deadline);
		if (!status)
			status = httpd_chunks_add(&chunks, c->in + c->start,
						  c->len - c->start, &used, body);
		c->start += used;
		if (!status)
			status = conn_count_body(c, body);
	}
	return status;
}

static int conn_read_length(struct conn *c, size_t left, struct buf *body,
			    int64_t deadline)
{
	while (left) {
		int status = conn_more_body(c, deadline);
		size_t n = c->len - c->start;

		if (status)
			return status;
		if (n > left)
			n = left;
		buf_add(body, c->in + c->start, n);
		c->start += n;
		left -= n;
		status = conn_count_body(c, body);
		if (status)
			return status;
	}
	return 0;
}

static int conn_read_body(struct conn *c, const struct httpd_head *head, struct buf *body,
			  int64_t deadline)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	int64_t length = head->req.content_length;
	struct error err = { 0 };

	if (length > 0 && (uint64_t)length > body->max)
		return 413;
	if (head->expect_continue && length && c->start == c->len &&
	    conn_write(c, go_on, sizeof(go_on) - 1, &err))
		return -1;
	if (head->chunked)
		return conn_read_chunks(c, body, deadline);
	return conn_read_length(c, (size_t)length, body, deadline);
}

/* Wait for the first bytes of a request; an idle thread returns freed memory. */
static int conn_wait(struct conn *c)
{
	int64_t now = clock_ms(), idle = c->server->conf.idle_ms;
	int status = conn_fill(c, now + (idle < IDLE_MS ? idle : IDLE_MS));

	if (status != 408)
		return status;
	xmalloc_trim();
	return conn_fill(c, now + idle);
}

/* Serve one request, with an empty buf for its body. True: another may follow. */
static bool conn_serve(struct conn *c, struct buf *body)
{
	const struct httpd_conf *conf = &c->server->conf;
	struct httpd_head head = { .req.method = "" };
	int64_t deadline;
	int status;

	if (!conn_enter(c, WAITING) || (!c->len && conn_wait(c)) ||
	    !conn_enter(c, READING))
		return false;
	deadline = clock_ms() + conf->request_ms;
	status = conn_read_head(c, &head, deadline);
	if (!status)
		status = conn_read_body(c, &head, body, deadline);
	if (status)
		conn_drop_body(c, body);
	if (status == 413 && conf->on_large)
		return conn_handle(c, &head, NULL);
	if (status > 0)
		conn_refuse(c, &head, status);
	if (status || !conn_handle(c, &head, body))
		return false;
	c->len -= c->start;
	memmove(c->in, c->in + c->start, c->len);
	c->start = c->head = 0;
	return true;
}

static bool conn_serve_one(struct conn *c)
{
	struct buf body = { .max = c->server->conf.max_body };
	bool go_on = conn_serve(c, &body);

	conn_drop_body(c, &body);
	return go_on;
}

static void wake(struct httpd *d)
{
	static const uint64_t one = 1;

	/* Fails only if the counter is at its maximum, and so the fd is readable. */
	if (write(d->wake, &one, sizeof(one)) < 0)
		return;
}

static bool conn_begin(struct conn *c)
{
	const struct httpd_conf *conf = &c->server->conf;
	int64_t ms = conf->idle_ms < HANDSHAKE_MS ? conf->idle_ms : HANDSHAKE_MS;
	struct error err = { 0 };

	return !conf->tls || !tls_accept(&c->tls, conf->tls, conf->client_ca, c->fd,
					 clock_ms() + ms, &err);
}

static void *conn_main(void *ctx)
{
	struct conn *c = ctx;
	struct httpd *d = c->server;

	if (conn_begin(c))
		while (conn_serve_one(c))
			;
	tls_close(c->tls);
	pthread_mutex_lock(&d->lock);
	close(c->fd);
	c->fd = -1;
	c->phase = DONE;
	pthread_cond_broadcast(&d->changed);
	wake(d);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- open and close connections -------------------------------------------------- */

static void conn_cut(struct conn *c)
{
	c->cut = true;
	if (c->fd >= 0)
		shutdown(c->fd, SHUT_RDWR);
}

/* Update of_peer of a peer's connections, after one was opened or closed. */
static void count_peer(struct httpd *d, const char *peer)
{
	int n = 0;

	for (const struct conn *c = d->conns; c; c = c->next)
		n += str_eq(c->peer, peer);
	for (struct conn *c = d->conns; c; c = c->next)
		if (str_eq(c->peer, peer))
			c->of_peer = n;
}

static void conn_join(struct httpd *d, struct conn *c)
{
	struct conn **at = &d->conns;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	count_peer(d, c->peer);
	pthread_join(c->thread, NULL);
	free(c);
}

static enum phase conn_phase(struct conn *c)
{
	enum phase phase;

	pthread_mutex_lock(&c->server->lock);
	phase = c->phase;
	pthread_mutex_unlock(&c->server->lock);
	return phase;
}

static void reap(struct httpd *d)
{
	for (struct conn *c = d->conns, *next; c; c = next) {
		next = c->next;
		if (conn_phase(c) == DONE)
			conn_join(d, c);
	}
}

/* Close connections of the peer with the most first, so that none can have all. */
static bool goes_before(const struct conn *c, const struct conn *other)
{
	if (!other || c->of_peer != other->of_peer)
		return !other || c->of_peer > other->of_peer;
	return c->since <= other->since;
}

/* Close a connection that handles no request, of that peer (NULL: any). False: none. */
static bool evict(struct httpd *d, const char *peer)
{
	struct conn *victim = NULL;

	pthread_mutex_lock(&d->lock);
	for (struct conn *c = d->conns; c; c = c->next)
		if (c->phase != HANDLING && (!peer || str_eq(c->peer, peer)) &&
		    goes_before(c, victim))
			victim = c;
	if (victim)
		conn_cut(victim);
	pthread_mutex_unlock(&d->lock);
	if (victim)
		conn_join(d, victim);
	return victim;
}

static bool has_slot(struct httpd *d, const char *peer)
{
	int n = 0, of_peer = 0;

	reap(d);
	for (struct conn *c = d->conns; c; c = c->next) {
		n++;
		of_peer += str_eq(c->peer, peer);
	}
	if (of_peer >= d->conf.max_per_peer)
		return evict(d, peer);
	return n < d->conf.max_connections || evict(d, NULL);
}

/* Serve a connection; closes fd upon failure, too. False: no thread could be started. */
static bool admit(struct httpd *d, int fd, const char *peer)
{
	struct error err = { 0 };
	struct conn *c;

	if (!has_slot(d, peer)) {
		close(fd);
		return true;
	}
	c = xcalloc(1, sizeof(*c));
	c->server = d;
	c->fd = fd;
	c->since = clock_ms();
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	if (thread_start(&c->thread, conn_main, c, &err)) {
		free(c);
		close(fd);
		return false;
	}
	c->next = d->conns;
	d->conns = c;
	count_peer(d, peer);
	return true;
}

/* Accept a connection. False: the process has no resources for another one now. */
static bool accept_one(struct httpd *d)
{
	char peer[SOCK_ADDRESS_SIZE];
	int fd = sock_accept(d->listener, peer);

	if (fd >= 0)
		return admit(d, fd, peer);
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return true;
	evict(d, NULL);
	return false;
}

static void *accept_main(void *ctx)
{
	struct httpd *d = ctx;
	bool backoff = false;

	while (!d->stopping) {
		struct pollfd p[] = { { .fd = d->wake, .events = POLLIN },
				      { .fd = d->listener, .events = POLLIN } };
		uint64_t n;

		if (poll(p, backoff ? 1 : 2, backoff ? ACCEPT_BACKOFF_MS : -1) < 0)
			continue;
		backoff = false;
		if (p[0].revents && read(d->wake, &n, sizeof(n)) > 0)
			reap(d);
		if (p[1].revents && !d->stopping)
			backoff = !accept_one(d);
	}
	return NULL;
}

/* ---- start and stop ------------------------------------------------------------ */

static void set_defaults(struct httpd_conf *conf)
{
	if (!conf->max_body)
		conf->max_body = 65536;
	if (conf->max_connections <= 0)
		conf->max_connections = 128;
	if (conf->max_per_peer <= 0)
		conf->max_per_peer = 64;
	if (conf->request_ms <= 0)
		conf->request_ms = 10 * 1000;
	if (conf->idle_ms <= 0)
		conf->idle_ms = 120 * 1000;
	conf->host = NULL; /* the caller's string; not used later */
}

static void httpd_free(struct httpd *d)
{
	if (d->listener >= 0)
		close(d->listener);
	if (d->wake >= 0)
		close(d->wake);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int httpd_start(struct httpd **ret, const struct httpd_conf *conf, struct error *err)
{
	struct httpd *d = xcalloc(1, sizeof(*d));
	int rc;

	d->conf = *conf;
	set_defaults(&d->conf);
	d->listener = -1;
	pthread_mutex_init(&d->lock, NULL);
	cond_init(&d->changed);
	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->wake < 0)
		rc = error_errno(err, errno, "eventfd");
	else
		rc = sock_listen(&d->listener, conf->host, conf->port, err);
	if (!rc)
		rc = thread_start(&d->acceptor, accept_main, d, err);
	if (rc)
		httpd_free(d);
	else
		*ret = d;
	return rc;
}

int httpd_port(const struct httpd *d)
{
	return sock_port(d->listener);
}

static bool all_done(const struct httpd *d)
{
	for (const struct conn *c = d->conns; c; c = c->next)
		if (c->phase != DONE)
			return false;
	return true;
}

void httpd_stop(struct httpd *d, int64_t grace_ms)
{
	int64_t until = clock_ms() + grace_ms;

	if (!d)
		return;
	d->stopping = true;
	wake(d);
	pthread_join(d->acceptor, NULL);
	close(d->listener);
	d->listener = -1;
	pthread_mutex_lock(&d->lock);
	for (struct conn *c = d->conns; c; c = c->next)
		if (c->phase == WAITING)
			conn_cut(c);
	while (!all_done(d) && clock_ms() < until)
		cond_wait_until(&d->changed, &d->lock, until);
	for (struct conn *c = d->conns; c; c = c->next)
		conn_cut(c);
	pthread_mutex_unlock(&d->lock);
	while (d->conns)
		conn_join(d, d->conns);
	httpd_free(d);
}
