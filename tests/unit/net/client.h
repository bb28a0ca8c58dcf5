/*
 * client.h - a peer that sends whatever bytes it likes, and a server for it.
 */
#ifndef TESTS_UNIT_NET_CLIENT_H
#define TESTS_UNIT_NET_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/httpd.h"
#include "tests/unit/unit.h"

enum { PATIENCE_MS = 30000 }; /* after which something that should happen has not */

/* From `source` ("127.0.0.2"), or NULL. */
static inline int client_connect(int port, const char *source)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	if (source) {
		inet_pton(AF_INET, source, &from.sin_addr);
		assert_int_equal(bind(fd, (const void *)&from, sizeof(from)), 0);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (const void *)&to, sizeof(to)), 0);
	return fd;
}

/* The server may have hung up: whether all went. */
static inline bool client_send(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
	}
	return true;
}

static inline bool client_say(int fd, const char *text)
{
	return client_send(fd, text, strlen(text));
}

/* Until the server closes. Only running out of patience is a failure. */
static inline void client_read_all(int fd, struct buf *out)
{
	char data[16384];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		buf_add(out, data, (size_t)n);
	assert_false(n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
	buf_add(out, "", 0);
}

/* Until `text` has come, once more than before in `out`. */
static inline void client_read_until(int fd, struct buf *out, const char *text)
{
	char data[1];

	buf_clear(out);
	buf_add(out, "", 0);
	while (!strstr((const char *)out->data, text)) {
		ssize_t n = recv(fd, data, 1, 0);

		if (n <= 0)
			fail_msg("'%s' ends before '%s'", out->data, text);
		buf_add(out, data, 1);
	}
}

/* Has the server hung up, without a word? Waits for it. */
static inline bool client_is_cut(int fd)
{
	char c;

	return recv(fd, &c, 1, 0) == 0 || errno == ECONNRESET;
}

/* "200 400": the statuses of the answers in the text. */
static inline void client_statuses(const struct buf *in, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (const char *p = (const char *)in->data; (p = strstr(p, "HTTP/1.1 ")); p += 9)
		len += (size_t)snprintf(ret + len, size - len, "%s%.3s", len ? " " : "",
					p + 9);
}

/* ---- a server whose handler tells what it got ---------------------------------------- */

struct world {
	struct httpd *d;
	int port;
	atomic_int handled, large, inside;
	atomic_bool wrong; /* an assertion in another thread would jump into this one's */
	atomic_bool hold;  /* paths that begin with /wait stay inside while set */
};

static inline void world_tell(void *ctx, const struct httpd_request *req,
			      struct httpd_response *resp)
{
	struct world *w = ctx;
	const char *x = httpd_header(req, "x-test");

	w->handled++;
	w->inside++;
	while (w->hold && str_starts(req->path, "/wait"))
		clock_sleep_ms(5);
	w->inside--;
	w->wrong |= req->body[req->body_len] != 0;
	if (str_eq(req->path, "/nothing"))
		return;
	resp->status = str_eq(req->path, "/empty") ? 204 : 200;
	if (str_eq(req->path, "/big")) {
		cleanup_free char *piece = calloc(1, 65536);

		memset(piece, 'b', 65535);
		for (int i = 0; i < 128; i++)
			buf_add(&resp->body, piece, 65535);
		return;
	}
	buf_printf(&resp->body, "<%s %s %s %lld %s %s>", req->method, req->path,
		   req->query, (long long)req->content_length, req->peer, x ? x : "none");
	buf_add(&resp->body, req->body, req->body_len);
}

static inline void world_large(void *ctx, const struct httpd_request *req,
			       struct httpd_response *resp)
{
	struct world *w = ctx;

	w->large++;
	w->wrong |= req->body || req->body_len;
	resp->status = 413;
	resp->content_type = "application/json";
	buf_printf(&resp->body, "{\"length\":%lld}", (long long)req->content_length);
}

/* conf's host, handler and context are filled in. */
static inline void world_start(struct world *w, struct httpd_conf conf)
{
	struct error err = { 0 };

	conf.host = conf.host ? conf.host : "127.0.0.1";
	conf.handle = world_tell;
	conf.ctx = w;
	if (httpd_start(&w->d, &conf, &err))
		fail_msg("%s", err.msg);
	w->port = httpd_port(w->d);
	assert_true(w->port > 0);
}

static inline void world_stop(struct world *w)
{
	httpd_stop(w->d, 0);
	w->d = NULL;
	assert_false(w->wrong);
}

/* ---- requests, and what comes back ---------------------------------------------------- */

#define AFTER   "GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define H       "Host: h\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"

/* What comes back for some bytes, followed by a request that ends the connection. */
static inline void exchange(struct world *w, const char *data, size_t len,
			    struct buf *out)
{
	int fd = client_connect(w->port, NULL);

	client_send(fd, data, len);
	client_say(fd, AFTER);
	client_read_all(fd, out);
	close(fd);
}

static inline void expect_answer(struct world *w, const char *request, const char *body)
{
	cleanup_buf struct buf out = { .max = 1024 * 1024 };
	const char *got;

	exchange(w, request, strlen(request), &out);
	got = strstr((char *)out.data, "\r\n\r\n");
	assert_non_null(got);
	if (!str_starts(got + 4, body))
		fail_msg("%s: '%s', not '%s'", request, got + 4, body);
}

#endif
