/* inside.c - call a handler as a client calls a server (net/inside.h). */
#include "net/inside.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define DEFAULT_BODY ((size_t)64 * 1024 * 1024)

struct visit {
	struct httpd_stream stream; /* first: it is what the handler gets */
	const struct inside_server *server;
	const struct http_request *req;
	int64_t deadline; /* clock_ms(); -1: none */
	struct http_response answer;
	struct error *err;
	bool failed; /* and err says how */
};

/* ---- the answer ---------------------------------------------------------------------- */

static int take(struct httpd_stream *s, const void *data, size_t len)
{
	struct visit *v = (struct visit *)s;
	struct buf *body = &v->answer.body;

	if (v->failed || !len)
		return v->failed ? -1 : 0;
	if (v->req->on_data && v->answer.status < 300) {
		v->failed = v->req->on_data(v->req->ctx, data, len, v->err);
		return v->failed ? -1 : 0;
	}
	buf_add(body, data, len);
	v->failed = buf_check(body, "the response", v->err);
	return v->failed ? -1 : 0;
}

static bool listens(struct httpd_stream *s)
{
	struct visit *v = (struct visit *)s;
	const bool *cancel = v->req->cancel;

	if (v->failed)
		return false;
	if ((cancel && __atomic_load_n(cancel, __ATOMIC_ACQUIRE)) ||
	    (stop_requested() && !v->server->after_stop))
		v->failed = error_set(v->err, ERR_STOPPED, "stopped");
	else if (v->deadline >= 0 && clock_ms() >= v->deadline)
		v->failed = error_set(v->err, ERR_TIMEOUT, "no response within %lld ms",
				      (long long)v->req->timeout_ms);
	return !v->failed;
}

static void take_headers(struct visit *v, const struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	char *line = arena_strdup(
		&arena, resp->headers.len ? (const char *)resp->headers.data : "");
	const char *type =
		resp->content_type ? resp->content_type : "text/plain; charset=utf-8";

	http_response_field(&v->answer, "Content-Type", arena_strdup(&arena, type));
	for (char *next; (next = strstr(line, "\r\n")); line = next + 2) {
		char *colon = strchr(line, ':');

		*next = 0;
		if (!colon)
			continue;
		*colon = 0;
		http_response_field(&v->answer, line, str_trim(&arena, colon + 1));
	}
	if (v->req->on_header && v->req->on_header(v->req->ctx, v->answer.status,
						   "Content-Type", type, v->err))
		v->failed = true;
}

/* A body that is not handed out in pieces changes hands as it is. */
static void take_body(struct visit *v, struct httpd_response *resp)
{
	if (resp->stream) {
		resp->stream(resp->stream_ctx, &v->stream);
	} else if (v->req->on_data && v->answer.status < 300) {
		(void)!take(&v->stream, resp->body.data, resp->body.len);
	} else {
		v->answer.body = resp->body;
		resp->body = (struct buf){ 0 };
	}
}

/* ---- the request --------------------------------------------------------------------- */

static const struct httpd_header *headers_of(struct arena *arena,
					     const char *const *lines)
{
	struct httpd_header *ret;
	size_t n = 0;

	while (lines && lines[n])
		n++;
	ret = arena_alloc(arena, (n + 1) * sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(lines[i], ":");

		ret[i] = (struct httpd_header){
			str_slice(arena, lines[i], name),
			str_trim(arena, lines[i] + name + !!lines[i][name])
		};
	}
	ret[n] = (struct httpd_header){ NULL, NULL };
	return ret;
}

int inside_do(const struct inside_server *server, const struct http_request *req,
	      struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t path = strcspn(req->url, "?");
	const struct httpd_request asked = {
		.method = req->method,
		.path = str_slice(&arena, req->url, path),
		.query = req->url[path] ? req->url + path + 1 : "",
		.body = req->body ? req->body : (const unsigned char *)"",
		.body_len = req->body ? req->body_len : 0,
		.content_length = (int64_t)req->body_len,
		.peer = "",
		.headers = headers_of(&arena, req->headers),
	};
	struct httpd_response resp = {
		.body.max = req->max_body ? req->max_body : DEFAULT_BODY,
	};
	struct visit v = { .stream = { .send = take, .listens = listens },
			   .server = server,
			   .req = req,
			   .deadline =
				   req->timeout_ms ? clock_ms() + req->timeout_ms : -1,
			   .answer = { .retry_after_ms = -1, .body.max = resp.body.max },
			   .err = err };

	if (listens(&v.stream)) {
		server->handle(server->ctx, &asked, &resp);
		v.answer.status = resp.status ? resp.status : 404;
		v.failed = buf_check(&resp.body, "the response", err);
		if (!v.failed)
			take_headers(&v, &resp);
		if (!v.failed)
			take_body(&v, &resp);
		if (resp.release)
			resp.release(resp.stream_ctx);
	}
	buf_release(&resp.headers);
	buf_release(&resp.body);
	if (v.failed)
		http_response_release(&v.answer);
	else
		*ret = v.answer;
	return v.failed ? -1 : 0;
}
