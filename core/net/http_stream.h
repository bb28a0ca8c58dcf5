/*
 * http_stream.h - many calls at once on one thread (libcurl's multi interface), each
 * with an answer that comes in pieces for as long as the server likes.
 *
 * All calls go through one cache of connections: over HTTP/2 as many of them on one
 * connection as the server allows. Nothing is held of an answer: its pieces go to the
 * request's on_data, and while that takes its time nothing more is read, so that a slow
 * reader slows the servers down.
 */
#ifndef NET_HTTP_STREAM_H
#define NET_HTTP_STREAM_H

#include "net/http.h"

struct http_streams;
struct http_stream;

MUST_CHECK int http_streams_new(struct http_streams **ret, struct error *err);
void http_streams_free(struct http_streams *s); /* drops what is open, without a word */

/*
 * Begin a call. The client and what the request points to must last until it ends; the
 * request itself is copied. req->cancel is not looked at. on_end is called once, in
 * http_streams_run(), unless the stream is dropped before: `resp` or `err` is set, the
 * other is NULL; both are the callee's to read only. It may open and drop streams.
 */
MUST_CHECK int http_stream_open(struct http_stream **ret, struct http_streams *s,
				struct http_client *client,
				const struct http_request *req,
				void (*on_end)(void *ctx,
					       const struct http_response *resp,
					       const struct error *err),
				struct error *err);
void http_stream_drop(struct http_stream *stream); /* not in its own on_data */

/*
 * Wait for at most ms until something happens, and hand out what has come. 0 also when
 * nothing did. ERR_STOPPED: the process is asked to end.
 */
MUST_CHECK int http_streams_run(struct http_streams *s, int64_t ms, struct error *err);
/* From any thread: http_streams_run() returns soon. */
void http_streams_wake(struct http_streams *s);

#endif
