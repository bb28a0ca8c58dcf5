/* inside.c - calls a handler as a client calls a server (net/inside.h). */
#include "net/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define DEFAULT_BODY ((size_t)64 * 1024 * 1024)

struct visit {
	struct httpd_stream stream; /* the first member, which the handler gets */
	const struct inside_server *server;
	const struct http_request *req;
	int64_t deadline; /* clock_ms(); -1: none */
	struct http_response answer;
	struct error *err;
	bool failed; /* err has the cause */
	bool steps;  /* called by inside_step(): */
	bool paused; /* the handler had no more data for now */
};

/* ---- the answer ---------------------------------------------------------------- */

static bool cancelled(struct visit *v)
{
	const bool *cancel = v->req->cancel;

	if (v->failed || !((cancel && __atomic_load_n(cancel, __ATOMIC_ACQUIRE)) ||
			   (stop_requested() && !v->server->after_stop)))
		return v->failed;
	v->failed = error_set(v->err, ERR_STOPPED, "stopped");
	return true;
}

static int receive_piece(struct httpd_stream *s, const void *data, size_t len)
{
	struct visit *v = (struct visit *)s;
	struct buf *body = &v->answer.body;

	if (cancelled(v) || !len)
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

	if (cancelled(v))
		return false;
	if (v->deadline >= 0 && clock_ms() >= v->deadline)
		v->failed = error_set(v->err, ERR_TIMEOUT, "no response within %lld ms",
				      (long long)v->req->timeout_ms);
	v->paused = v->steps && !v->failed;
	return !v->failed && !v->paused;
}

static void copy_headers(struct visit *v, const struct httpd_response *resp)
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

/* Move the body of a response that is not streamed. */
static void move_body(struct visit *v, struct httpd_response *resp)
{
	if (resp->stream) {
		resp->stream(resp->stream_ctx, &v->stream);
	} else if (v->req->on_data && v->answer.status < 300) {
		(void)!receive_piece(&v->stream, resp->body.data, resp->body.len);
	} else {
		v->answer.body = resp->body;
		resp->body = (struct buf){ 0 };
		v->answer.doc = STEAL(resp->doc);
	}
}

/* ---- the request --------------------------------------------------------------- */

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

struct inside_call {
	struct visit visit;
	struct http_request req;
	struct arena arena;
	struct httpd_response resp;
	bool begun;
};

static void begin(struct inside_call *c)
{
	const struct http_request *req = &c->req;
	size_t path = strcspn(req->url, "?");
	const struct httpd_request asked = {
		.method = req->method,
		.path = str_slice(&c->arena, req->url, path),
		.query = req->url[path] ? req->url + path + 1 : "",
		.body = req->body ? req->body : (const unsigned char *)"",
		.body_len = req->body ? req->body_len : 0,
		.doc = c->visit.server->documents ? req->doc : NULL,
		.wants_doc = c->visit.server->documents && !req->on_data,
		.content_length = (int64_t)req->body_len,
		.peer = "",
		.headers = headers_of(&c->arena, req->headers),
	};
	struct visit *v = &c->visit;

	v->server->handle(v->server->ctx, &asked, &c->resp);
	c->begun = true;
	v->answer.status = c->resp.status ? c->resp.status : 404;
	v->failed = buf_check(&c->resp.body, "the response", v->err);
	if (!v->failed)
		copy_headers(v, &c->resp);
}

static void call_init(struct inside_call *c, const struct inside_server *server,
		      const struct http_request *req)
{
	*c = (struct inside_call){ .req = *req };
	c->resp.body.max = req->max_body ? req->max_body : DEFAULT_BODY;
	c->visit = (struct visit){
		.stream = { .send = receive_piece, .listens = listens },
		.server = server,
		.req = &c->req,
		.deadline = req->timeout_ms ? clock_ms() + req->timeout_ms : -1,
		.answer = { .retry_after_ms = -1, .body.max = c->resp.body.max },
	};
}

int inside_step(struct inside_call *c, struct http_response *ret, struct error *err)
{
	struct visit *v = &c->visit;

	v->err = err;
	v->paused = false;
	if (!c->begun)
		begin(c);
	if (!v->failed)
		move_body(v, &c->resp);
	if (v->failed)
		return -1;
	if (v->paused)
		return 1;
	*ret = v->answer;
	v->answer = (struct http_response){ 0 };
	return 0;
}

static void call_release(struct inside_call *c)
{
	if (c->resp.release)
		c->resp.release(c->resp.stream_ctx);
	buf_release(&c->resp.headers);
	buf_release(&c->resp.body);
	cJSON_Delete(c->resp.doc);
	http_response_release(&c->visit.answer);
	arena_clear(&c->arena);
}

int inside_do(const struct inside_server *server, const struct http_request *req,
	      struct http_response *ret, struct error *err)
{
	struct inside_call c;
	int rc = -1;

	call_init(&c, server, req);
	c.visit.err = err;
	if (listens(&c.visit.stream))
		rc = inside_step(&c, ret, err);
	call_release(&c);
	return rc;
}

struct inside_call *inside_open(const struct inside_server *server,
				const struct http_request *req)
{
	struct inside_call *c = xmalloc(sizeof(*c));

	call_init(c, server, req);
	c->visit.steps = true;
	return c;
}

void inside_close(struct inside_call *c)
{
	call_release(c);
	free(c);
}
