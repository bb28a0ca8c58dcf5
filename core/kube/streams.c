/* streams.c - many open GETs on one thread (kube/streams.h). */
#include "kube/streams.h"

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "kube/kube_impl.h"
#include "net/http_stream.h"

enum {
	MAX_ERROR_BODY = 64 * 1024,
	LOOK_MS = 100, /* interval between steps of an API server in this process */
};

struct kube_streams {
	struct kube *kube;
	struct http_streams *http;
	struct kube_stream *first;
	unsigned round; /* counts calls of step_inside() */
};

struct kube_stream {
	struct kube_streams *streams;
	struct arena arena;
	struct kube_request req; /* the request, for messages */
	struct kube_stream_sink sink;
	struct kube_attempt attempt;
	struct http_stream *http;   /* to an API server elsewhere, or */
	struct inside_call *inside; /* to one in this process */
	unsigned round;             /* the last round in which it was stepped */
	bool heard;                 /* on_data was called in this step */
	struct kube_stream *next, **prev;
};

int kube_streams_new(struct kube_streams **ret, struct kube *k, struct error *err)
{
	struct kube_streams *s = xcalloc(1, sizeof(*s));

	s->kube = k;
	if (http_streams_new(&s->http, err)) {
		free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

static void stream_free(struct kube_stream *stream, bool refused)
{
	*stream->prev = stream->next;
	if (stream->next)
		stream->next->prev = stream->prev;
	if (stream->inside)
		inside_close(stream->inside);
	if (stream->attempt.conn)
		kube_attempt_end(stream->streams->kube, &stream->attempt, refused);
	arena_clear(&stream->arena);
	free(stream);
}

void kube_stream_drop(struct kube_stream *stream)
{
	if (!stream)
		return;
	if (stream->http)
		http_stream_drop(stream->http);
	stream_free(stream, false);
}

void kube_streams_free(struct kube_streams *s)
{
	if (!s)
		return;
	while (s->first)
		kube_stream_drop(s->first);
	http_streams_free(s->http);
	free(s);
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct kube_stream *stream = ctx;

	stream->heard = true;
	return stream->sink.on_data(stream->sink.ctx, data, len, err);
}

static void on_end(void *ctx, const struct http_response *resp, const struct error *err)
{
	struct kube_stream *stream = ctx;
	struct kube_stream_sink sink = stream->sink;
	struct error why = { 0 };

	if (err) {
		why = *err;
		error_wrap(&why, "%s", stream->req.what);
	} else if (resp->status >= 300) {
		kube_answer_error(&stream->req, resp, &why);
	}
	stream_free(stream, resp && resp->status == 401);
	sink.on_end(sink.ctx, why.kind ? &why : NULL);
}

/* Start the request, over the client's connection or within this process. */
static int begin(struct kube_stream *stream, struct error *err)
{
	struct kube *k = stream->streams->kube;
	const struct http_request req = {
		.method = stream->req.method,
		.url = arena_printf(&stream->arena, "%s%s", k->config.server,
				    stream->req.path),
		.headers = kube_headers(&stream->arena, k, &stream->req,
					stream->attempt.authorization),
		.max_body = MAX_ERROR_BODY,
		.on_data = on_data,
		.ctx = stream,
	};

	if (!kube_is_inside(k))
		return http_stream_open(&stream->http, stream->streams->http,
					stream->attempt.conn->http, &req, on_end, err);
	stream->inside = inside_open(&k->opts.inside, &req);
	return 0;
}

int kube_stream_open(struct kube_stream **ret, struct kube_streams *s, const char *path,
		     const struct kube_stream_sink *sink, struct error *err)
{
	struct kube_stream *stream;
	struct kube_attempt attempt = { 0 };

	if (!kube_is_inside(s->kube) && kube_attempt_begin(s->kube, &attempt, err))
		return error_wrap(err, "%s", sink->what);
	stream = xcalloc(1, sizeof(*stream));
	stream->streams = s;
	stream->sink = *sink;
	stream->attempt = attempt;
	stream->round = s->round;
	stream->req.method = "GET";
	stream->req.accept = "*/*";
	stream->req.path = arena_strdup(&stream->arena, path);
	stream->req.what = arena_strdup(&stream->arena, sink->what);
	stream->prev = &s->first;
	stream->next = s->first;
	if (s->first)
		s->first->prev = &stream->next;
	s->first = stream;
	if (begin(stream, err)) {
		error_wrap(err, "%s", stream->req.what);
		stream_free(stream, false);
		return -1;
	}
	*ret = stream;
	return 0;
}

/* ---- an API server in this process --------------------------------------------- */

/* The next stream not yet stepped in this round; callbacks may have changed the list. */
static struct kube_stream *next_inside(struct kube_streams *s)
{
	for (struct kube_stream *stream = s->first; stream; stream = stream->next)
		if (stream->inside && stream->round != s->round) {
			stream->round = s->round;
			return stream;
		}
	return NULL;
}

/* Step each stream once. True: one of them had data or ended. */
static bool step_inside(struct kube_streams *s)
{
	struct kube_stream *stream;
	bool any = false;

	s->round++;
	while ((stream = next_inside(s))) {
		struct http_response resp = { 0 };
		struct error err = { 0 };
		int rc;

		stream->heard = false;
		rc = inside_step(stream->inside, &resp, &err);
		any |= rc <= 0 || stream->heard;
		if (rc <= 0)
			on_end(stream, rc ? NULL : &resp, rc ? &err : NULL);
		http_response_release(&resp);
	}
	return any;
}

int kube_streams_run(struct kube_streams *s, int64_t ms, struct error *err)
{
	if (kube_is_inside(s->kube) && s->first) {
		int64_t most = step_inside(s) ? 0 : LOOK_MS;

		ms = ms < most ? ms : most;
	}
	return http_streams_run(s->http, ms, err);
}

void kube_streams_wake(struct kube_streams *s)
{
	http_streams_wake(s->http);
}
