/*
 * streams.h - many text answers of one API server at once, on one thread: the logs of
 * a job's pods, as long as they are written.
 *
 * Each stream has the client's current credentials; after a 401 the next one has renewed
 * ones. Nothing is retried here.
 */
#ifndef KUBE_STREAMS_H
#define KUBE_STREAMS_H

#include "base/cleanup.h"
#include "kube/kube.h"

struct kube_streams;
struct kube_stream;

MUST_CHECK int kube_streams_new(struct kube_streams **ret, struct kube *k,
				struct error *err);
void kube_streams_free(
	struct kube_streams *s); /* drops open streams without calling on_end */
CLEANUP(kube_streams, struct kube_streams *, kube_streams_free);
#define cleanup_kube_streams __attribute__((cleanup(cleanup_kube_streamsp)))

/* Called in kube_streams_run(). */
struct kube_stream_sink {
	const char *what; /* for messages: "get pods/log a/b" */
	/* -1 with err ends the stream with that error. */
	int (*on_data)(void *ctx, const void *data, size_t len, struct error *err);
	/*
	 * It has ended, and kube_stream is gone: err NULL in order (2xx, all of it came),
	 * else as of kube.h. It may open and drop others.
	 */
	void (*on_end)(void *ctx, const struct error *err);
	void *ctx;
};
/* GET of a path with its query. */
MUST_CHECK int kube_stream_open(struct kube_stream **ret, struct kube_streams *s,
				const char *path, const struct kube_stream_sink *sink,
				struct error *err);
void kube_stream_drop(struct kube_stream *stream); /* not in its own callbacks */

/* As http_streams_run() and _wake() of net/http_stream.h. */
MUST_CHECK int kube_streams_run(struct kube_streams *s, int64_t ms, struct error *err);
void kube_streams_wake(struct kube_streams *s);

#endif
