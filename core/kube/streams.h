/*
 * streams.h - many streamed responses of one API server on one thread: follow the logs of
 * all pods of a job.
 *
 * A struct kube_streams and its streams are used by one thread; only kube_streams_wake()
 * may be called from others. A stream uses the client's current credentials; after a 401
 * the next one that is opened uses renewed ones. Nothing is retried: a caller opens a
 * stream again.
 */
#ifndef KUBE_STREAMS_H
#define KUBE_STREAMS_H

#include "base/cleanup.h"
#include "kube/kube.h"

struct kube_streams;
struct kube_stream;

/* The client k must outlive the streams. */
MUST_CHECK int kube_streams_new(struct kube_streams **ret, struct kube *k,
				struct error *err);
/* Drops open streams, without on_end. NULL is fine. */
void kube_streams_free(struct kube_streams *s);

/* Callbacks, called in kube_streams_run() only. */
struct kube_stream_sink {
	const char *what; /* for messages: "get pods/log a/b" */
	/* Returns -1 with err filled to end the stream with that error. */
	int (*on_data)(void *ctx, const void *data, size_t len, struct error *err);
	/*
	 * The stream has ended and is freed. err: NULL after a complete 2xx response,
	 * else an error as in kube.h. May open and drop other streams.
	 */
	void (*on_end)(void *ctx, const struct error *err);
	void *ctx;
};
/* Start a GET of a path with its query; path and sink->what are copied. */
MUST_CHECK int kube_stream_open(struct kube_stream **ret, struct kube_streams *s,
				const char *path, const struct kube_stream_sink *sink,
				struct error *err);
/* Cancel and free the stream, without on_end. Not from its own callbacks. */
void kube_stream_drop(struct kube_stream *stream);

/* See http_streams_run() and http_streams_wake() (net/http_stream.h). */
MUST_CHECK int kube_streams_run(struct kube_streams *s, int64_t ms, struct error *err);
void kube_streams_wake(struct kube_streams *s);

#endif
