/*
 * h2.h - an HTTP/2 connection of a server (RFC 9113, nghttp2), without I/O.
 *
 * The caller feeds received bytes, sends what h2_next() lists, and reports with h2_sent()
 * how much was sent. A request is judged by its headers and handled once it is complete;
 * an answer before that ends it, and its body is no longer stored. The body of a response
 * is requested piece by piece and never copied: the caller sends the pieces in DATA
 * frames as large as the peer allows, and no piece is requested before the peer's
 * flow-control window is open. One thread at a time.
 *
 * Protection against hostile peers: limits on streams, headers and bodies, also over all
 * connections, on resets, and nghttp2's on CONTINUATION, SETTINGS and answers to PING.
 * Protocol errors end the stream or the connection.
 */
#ifndef NET_H2_H
#define NET_H2_H

#include <stdatomic.h>
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
	const void *data; /* valid until the body is released; or set: */
	void *take;       /* malloc()ed data, freed once it is sent; or NULL */
	size_t len;       /* 0: the end, with these trailers */
	size_t held;      /* bytes that the body holds until the next one is requested */
	const struct h2_header *trailers;
	size_t n_trailers;
};

/* A response's body; release() is called exactly once, even if nothing was requested. */
struct h2_body {
	void (*next)(void *ctx, struct h2_piece *ret);
	void (*release)(void *ctx);
	void *ctx;
	size_t held; /* bytes, from h2_respond() to its release */
};

/*
 * Bytes of requests that wait to be handled, of several connections. A quarter more is
 * for small requests (4 KiB).
 */
struct h2_budget {
	atomic_size_t used;
	size_t max;
	struct h2_budget *all; /* of which it is a part; or NULL */
};

enum h2_verdict { H2_ACCEPTED, H2_ANSWERED, H2_LATER };

struct h2_conf {
	size_t max_body;    /* of a request, and of all of a connection */
	size_t max_streams; /* of a connection at a time; 0: 100 */
	/*
	 * Judges a request by its headers, before any of its body is stored: may lower
	 * *max_body, or answer with h2_respond(), which ends the request. H2_LATER:
	 * h2_resume() calls it again; meanwhile *max_body holds. NULL: all are accepted.
	 */
	enum h2_verdict (*begin)(void *ctx, struct h2_stream *s, size_t *max_body);
	/* Called when an accepted request is complete; answers with h2_respond(). */
	void (*handle)(void *ctx, struct h2_stream *s);
	/* True: the body that begins with this part will exceed `max`. Or NULL. */
	bool (*is_too_large)(const struct buf *part, size_t max);
	/*
	 * Answers a request whose body is too large, or that exceeds the budget. NULL:
	 * it is reset.
	 */
	void (*refuse)(void *ctx, struct h2_stream *s, bool too_large);
	void *ctx;
};

/*
 * conf and the budgets (NULL: none) must outlive it. `held`: of what bodies hold for peers
 * that do not read it; a stream beyond it is reset (ENHANCE_YOUR_CALM, which is gRPC's
 * RESOURCE_EXHAUSTED).
 */
struct h2_conn *h2_conn_new(const struct h2_conf *conf, struct h2_budget *budget,
			    struct h2_budget *held);
void h2_conn_free(struct h2_conn *c); /* NULL is fine */
/* The client's address, for h2_peer(); outlives it. */
void h2_set_peer(struct h2_conn *c, const char *address);

/*
 * Process received bytes. ERR_FORMAT: the peer does not speak HTTP/2, or violates it so
 * that no GOAWAY can be sent. ERR_LIMIT: the peer provokes frames and reads none.
 */
MUST_CHECK int h2_feed(struct h2_conn *c, const void *data, size_t len,
		       struct error *err);

/* List the bytes to send next, at most `max` parts; *ret_n 0: nothing. ERR_IO. */
MUST_CHECK int h2_next(struct h2_conn *c, struct iovec *iov, int max, int *ret_n,
		       struct error *err);
void h2_sent(struct h2_conn *c, size_t n); /* n bytes of that were sent */

bool h2_is_done(const struct h2_conn *c); /* nothing more to read or send: close it */
size_t h2_streams(const struct h2_conn *c);
void h2_resume(struct h2_conn *c); /* judge again requests with H2_LATER */
/*
 * The time of clock_ms() since which the oldest request is incomplete, or waits to be
 * judged; 0: none.
 */
int64_t h2_incomplete_since(const struct h2_conn *c);
void h2_goaway(struct h2_conn *c); /* accept no new streams; open ones continue */

/*
 * A header of the request, by its name in lower case, such as ":path"; NULL: missing.
 * Headers and body are freed by h2_respond().
 */
const char *h2_header(const struct h2_stream *s, const char *name);
const char *h2_peer(const struct h2_stream *s); /* "": unknown */
const struct buf *h2_request_body(const struct h2_stream *s);

/*
 * Answer; call it once for each stream. Headers are copied. `body` NULL: no body. The
 * body is released in every case, at the end of its stream or later.
 */
void h2_respond(struct h2_stream *s, const struct h2_header *headers, size_t n,
		const struct h2_body *body);

#endif
