/*
 * A request to this machine's API of any method, path, query and body: it is answered, what
 * it answers of objects is JSON, what only reads changes nothing, and without the token it
 * gets nothing and changes nothing. The input: a line "METHOD PATH?QUERY CONTENT-TYPE", then
 * the body.
 */
#include <string.h>

#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

struct answer {
	int status;
	struct buf text;
};

static void no_bytes(const void *data, size_t len)
{
	FUZZ_CHECK(data || !len);
}

static int on_send(struct httpd_stream *s, const void *data, size_t len)
{
	no_bytes(data, len);
	return 0;
}

/* One look at the peer: it has gone. */
static bool on_listens(struct httpd_stream *s)
{
	return false;
}

static void ask(struct apiserver *api, bool inside, const struct httpd_request *req,
		struct answer *ret)
{
	struct httpd_response resp = { .headers.max = 65536, .body.max = 64 << 20 };
	struct httpd_stream stream = { on_send, on_listens };

	(inside ? apiserver_handle_inside : apiserver_handle)(api, req, &resp);
	if (resp.stream)
		resp.stream(resp.stream_ctx, &stream);
	if (resp.release)
		resp.release(resp.stream_ctx);
	buf_release(&resp.headers);
	*ret = (struct answer){ resp.status, resp.body };
	FUZZ_CHECK(resp.status == 0 || (resp.status >= 100 && resp.status < 600));
	FUZZ_CHECK(!resp.headers.overflowed);
}

static void call(struct apiserver *api, const char *method, const char *path,
		 const char *body, struct answer *ret)
{
	const struct httpd_header headers[] = { { "Content-Type", "application/json" },
						{ NULL, NULL } };
	const struct httpd_request req = { .method = method,
					   .path = path,
					   .query = "",
					   .body = (const unsigned char *)body,
					   .body_len = strlen(body),
					   .content_length = (int64_t)strlen(body),
					   .peer = "",
					   .headers = headers };

	ask(api, true, &req, ret);
}

/* The namespace has this ConfigMap, and nothing of earlier inputs. */
static void fill(struct apiserver *api)
{
	static const char *const objects[][2] = {
		{ "/api/v1/namespaces", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
					"\"metadata\":{\"name\":\"default\"}}" },
		{ MAPS,
		  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
		  "\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"k\":\"v\"}}" },
	};

	struct answer a;

	call(api, "DELETE", MAPS, "", &a);
	buf_release(&a.text);
	for (size_t i = 0; i < N_ELEMENTS(objects); i++) {
		call(api, "POST", objects[i][0], objects[i][1], &a);
		buf_release(&a.text);
	}
}

/* All ConfigMaps, as a text. */
static struct buf state(struct apiserver *api)
{
	struct answer a;

	call(api, "GET", MAPS, "", &a);
	return a.text;
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

static void check(struct apiserver *api, bool inside, const struct httpd_request *req)
{
	struct buf before = state(api), after;
	bool reads = str_eq(req->method, "GET") || str_eq(req->method, "HEAD");
	struct answer a;

	ask(api, inside, req, &a);
	after = state(api);
	FUZZ_CHECK(inside && !reads ? true : is_same(&before, &after));
	FUZZ_CHECK(inside || a.status >= 400 || str_starts(req->path, "/healthz") ||
		   str_starts(req->path, "/livez") || str_starts(req->path, "/readyz") ||
		   str_starts(req->path, "/version"));
	if (str_starts(req->path, "/api/v1/") && a.text.len) {
		cleanup_json cJSON *doc = NULL;
		struct error err = { 0 };

		FUZZ_CHECK(!json_parse(&doc, a.text.data, a.text.len, &err));
	}
	buf_release(&before);
	buf_release(&after);
	buf_release(&a.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct apiserver_conf conf = { .token = "right", .max_events = 4 };
	cleanup_arena struct arena arena = { 0 };
	char *text = str_slice(&arena, (const char *)data, size);
	char *body = strchr(text, '\n'), *path, *type, *query;
	static struct apiserver *api; /* to load the schemas costs most of the time */
	struct error err = { 0 };

	if (!body || memchr(data, 0, size))
		return 0;
	*body++ = 0;
	path = strchr(text, ' ');
	if (!path || path[1] != '/')
		return 0;
	*path++ = 0;
	type = strchr(path, ' ');
	if (type)
		*type++ = 0;
	query = strchr(path, '?');
	if (query)
		*query++ = 0;
	const struct httpd_header headers[] = { { "Content-Type", type ? type : "" },
						{ "Authorization", "Bearer wrong" },
						{ NULL, NULL } };
	const struct httpd_request req = { .method = text,
					   .path = path,
					   .query = query ? query : "",
					   .body = (const unsigned char *)body,
					   .body_len = strlen(body),
					   .content_length = (int64_t)strlen(body),
					   .peer = "127.0.0.1",
					   .headers = headers };

	FUZZ_CHECK(api || !apiserver_new(&api, &conf, &err));
	fill(api);
	check(api, false, &req);
	check(api, true, &req);
	return 0;
}
