/* http_stream.c - many HTTP calls in one thread (net/http_stream.h). */
#include "net/http_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/xmalloc.h"
#include "net/http_impl.h"

struct http_stream {
	struct http_streams *streams;
	struct http_request req;
	struct slot slot; /* without a multi handle of its own */
	struct call call;
	struct error err; /* of the call */
	void (*on_end)(void *ctx, const struct http_response *resp,
		       const struct error *err);
	struct http_stream *next, **prev;
};

struct http_streams {
	CURLM *multi;
	struct http_stream *first;
	int64_t checked_ms; /* when call_must_end() was last checked */
};

int http_streams_new(struct http_streams **ret, struct error *err)
{
	struct http_streams *s = xcalloc(1, sizeof(*s));

	s->multi = curl_multi_init();
	if (!s->multi) {
		free(s);
		return error_set(err, ERR_IO, "cannot open a connection: %s",
				 strerror(errno));
	}
	curl_multi_setopt(s->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	*ret = s;
	return 0;
}

/* Remove an ended call from the list. */
static void unlink_stream(struct http_stream *stream)
{
	*stream->prev = stream->next;
	if (stream->next)
		stream->next->prev = stream->prev;
	curl_easy_cleanup(stream->slot.easy);
	arena_clear(&stream->slot.arena);
	free(stream);
}

void http_stream_drop(struct http_stream *stream)
{
	if (!stream)
		return;
	curl_multi_remove_handle(stream->streams->multi, stream->slot.easy);
	call_drop(&stream->call);
	unlink_stream(stream);
}

void http_streams_free(struct http_streams *s)
{
	if (!s)
		return;
	while (s->first)
		http_stream_drop(s->first);
	curl_multi_cleanup(s->multi);
	free(s);
}

static int begin(struct http_stream *stream, struct error *err)
{
	if (call_prepare(&stream->call, &stream->slot)) {
		*err = stream->err;
		return -1;
	}
	curl_easy_setopt(stream->slot.easy, CURLOPT_PRIVATE, stream);
	/* Prefer waiting for a connection that can be shared to opening another. */
	curl_easy_setopt(stream->slot.easy, CURLOPT_PIPEWAIT, 1L);
	if (curl_multi_add_handle(stream->streams->multi, stream->slot.easy))
		return error_set(err, ERR_IO, "%s: cannot start a request",
				 stream->call.host);
	return 0;
}

int http_stream_open(struct http_stream **ret, struct http_streams *s,
		     struct http_client *client, const struct http_request *req,
		     void (*on_end)(void *ctx, const struct http_response *resp,
				    const struct error *err),
		     struct error *err)
{
	struct http_stream *stream = xcalloc(1, sizeof(*stream));

	stream->streams = s;
	stream->req = *req;
	stream->on_end = on_end;
	stream->slot.easy = curl_easy_init();
	if (!stream->slot.easy) {
		free(stream);
		return error_set(err, ERR_IO, "cannot open a connection: %s",
				 strerror(errno));
	}
	stream->prev = &s->first;
	stream->next = s->first;
	if (s->first)
		s->first->prev = &stream->next;
	s->first = stream;
	call_init(&stream->call, client, &stream->req, &stream->err);
	if (begin(stream, err)) {
		call_drop(&stream->call);
		unlink_stream(stream);
		return -1;
	}
	*ret = stream;
	return 0;
}

static void end(struct http_stream *stream, CURLcode code)
{
	struct http_response resp = { 0 };
	int rc;

	curl_multi_remove_handle(stream->streams->multi, stream->slot.easy);
	rc = call_finish(&stream->call, code, &resp);
	stream->on_end(stream->req.ctx, rc ? NULL : &resp, rc ? &stream->err : NULL);
	http_response_release(&resp);
	unlink_stream(stream);
}

static void end_finished(struct http_streams *s)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(s->multi, &left))) {
		CURLcode code = msg->data.result;
		char *stream = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &stream);
		end((struct http_stream *)(void *)stream, code);
	}
}

/* End the calls that exceed idle_ms. */
static void end_idle(struct http_streams *s)
{
	int64_t now = clock_ms();

	if (now - s->checked_ms < HTTP_POLL_MS)
		return;
	s->checked_ms = now;
	for (struct http_stream *stream = s->first, *next; stream; stream = next) {
		next = stream->next;
		if (stream->req.idle_ms && call_must_end(&stream->call)) {
			end(stream, CURLE_ABORTED_BY_CALLBACK);
			next = s->first; /* restart: on_end may have changed the list */
			s->checked_ms = now - HTTP_POLL_MS;
		}
	}
}

int http_streams_run(struct http_streams *s, int64_t ms, struct error *err)
{
	struct curl_waitfd stop = { .fd = stop_fd(), .events = CURL_WAIT_POLLIN };
	int running;

	if (!stop_requested() &&
	    curl_multi_poll(s->multi, &stop, stop.fd >= 0,
			    ms > HTTP_POLL_MS ? HTTP_POLL_MS : (int)ms, NULL))
		return error_set(err, ERR_IO, "cannot wait for connections");
	if (stop_requested())
		return error_set(err, ERR_STOPPED, "stopped");
	if (curl_multi_perform(s->multi, &running))
		return error_set(err, ERR_IO, "connections failed");
	end_finished(s);
	end_idle(s);
	return 0;
}

void http_streams_wake(struct http_streams *s)
{
	curl_multi_wakeup(s->multi);
}
