/*
 * h2.h - one HTTP/2 connection of a server (RFC 9113, nghttp2), without a socket.
 *
 * The caller feeds what it received, sends what h2_next() lists and says how much of it
 * went out. A request is handled once it is complete. The body of a response is asked
 * for piece by piece and never copied: its pieces are what the caller sends, in DATA
 * frames as large as the peer allows, and nothing is asked for that its window cannot
 * take. One thread at a time.
 *
 * Against hostile peers: limits on streams, headers, bodies, and nghttp2's on resets,
 * CONTINUATION, SETTINGS and answers to PING. What breaks the protocol ends the stream or
 * the connection.
 */
#ifndef NET_H2_H
#define NET_H2_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"

struct h2_conn;
struct h2_stream;

struct h2_header {
	const char *name, *value;
};

struct h2_piece {
	const void *data; /* stays until the body is released, or is: */
	void *take;       /* malloc()ed, to be freed once it is sent; or NULL */
	size_t len;       /* 0: the end, with these trailers */
	const struct h2_header *trailers;
	size_t n_trailers;
};

/* A response's body; `release` is called once, also when nothing was asked for. */
struct h2_body {
	void (*next)(void *ctx, struct h2_piece *ret);
	void (*release)(void *ctx);
	void *ctx;
};

struct h2_conf {
	size_t max_body;    /* of a request */
	size_t max_streams; /* of a connection at a time; 0: 100 */
	/* Answers with h2_respond(); or not yet: h2_resume() calls it once more. */
	void (*handle)(void *ctx, struct h2_stream *s);
	void *ctx;
};

/* conf outlives it. */
struct h2_conn *h2_conn_new(const struct h2_conf *conf);
void h2_conn_free(struct h2_conn *c); /* NULL is fine */

/*
 * ERR_FORMAT: the peer speaks no HTTP/2, or breaks it beyond what a GOAWAY says. ERR_LIMIT:
 * it asks for answers and reads none.
 */
MUST_CHECK int h2_feed(struct h2_conn *c, const void *data, size_t len,
		       struct error *err);

/* What to send next, `max` parts at most; 0: nothing. ERR_IO. */
MUST_CHECK int h2_next(struct h2_conn *c, struct iovec *iov, int max, int *ret_n,
		       struct error *err);
void h2_sent(struct h2_conn *c, size_t n); /* that many bytes of it */

bool h2_is_done(const struct h2_conn *c); /* nothing more to read or to send: close it */
size_t h2_streams(const struct h2_conn *c);
void h2_resume(struct h2_conn *c); /* handles the requests without an answer again */
void h2_goaway(struct h2_conn *c); /* no new streams; those under way go on */

/* Of a request: NULL when missing; names in lower case, ":path" among them. */
const char *h2_header(const struct h2_stream *s, const char *name);
const struct buf *h2_request_body(const struct h2_stream *s);

/*
 * Once a stream. Headers are copied; `body` NULL: they are all. The body is released in
 * every case, at the end of its stream or later.
 */
void h2_respond(struct h2_stream *s, const struct h2_header *headers, size_t n,
		const struct h2_body *body);

#endif
