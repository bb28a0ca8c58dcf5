/*
 * http_stream.h - many concurrent calls in one thread (libcurl's multi interface), each
 * with an answer that may be streamed for any time.
 *
 * All calls share a connection cache; over HTTP/2 as many of them share a connection as
 * the server allows. Answers are not buffered: pieces are passed to the request's
 * on_data, and a slow on_data slows the servers down.
 */
#ifndef NET_HTTP_STREAM_H
#define NET_HTTP_STREAM_H

#include "net/http.h"

struct http_streams;
struct http_stream;

MUST_CHECK int http_streams_new(struct http_streams **ret, struct error *err);
/* Drops open streams, without on_end. */
void http_streams_free(struct http_streams *s);

/*
 * Begin a call. The client and what the request points to must live until it ends; the
 * request itself is copied. req->cancel is ignored. on_end is called once, in
 * http_streams_run(), unless the stream is dropped before, with either `resp` or `err`,
 * valid during the call; the other is NULL. on_end may open and drop streams.
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
 * Wait at most ms for something to happen, and call the callbacks. 0 even if nothing
 * happened. ERR_STOPPED: the process is asked to stop.
 */
MUST_CHECK int http_streams_run(struct http_streams *s, int64_t ms, struct error *err);
/* Make http_streams_run() return soon; from any thread. */
void http_streams_wake(struct http_streams *s);

#endif
