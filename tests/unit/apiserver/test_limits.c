/*
 * Requests that are valid and too much of something: on the stack of a connection's thread
 * nothing grows with what clients write, and what is stored can be read again.
 */
#include <stdlib.h>

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "tests/unit/unit.h"

#define MAPS     "/api/v1/namespaces/default/configmaps"
#define SERVICES "/api/v1/namespaces/default/services"

static struct apiserver *server;
static char dir[64];

static int open_server(void **state)
{
	const struct apiserver_conf conf = { .dir = *dir ? dir : NULL };
	struct error err = { 0 };

	if (apiserver_new(&server, &conf, &err))
		fail_msg("%s", err.msg);
	return 0;
}

static int setup_on_disk(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/kft-limits.XXXXXX");
	return mkdtemp(dir) ? open_server(state) : -1;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	apiserver_free(server);
	if (*dir && dir_remove(dir, &err))
		return -1;
	*dir = 0;
	return 0;
}

/* As a connection's thread does it. */
struct request {
	const char *method, *target, *type, *body;
	struct httpd_response resp; /* body.max: 0 stands for the server's */
};

static void *handle(void *ctx)
{
	struct request *r = ctx;
	const struct httpd_header headers[] = { { "Content-Type", r->type },
						{ NULL, NULL } };
	const struct httpd_request req = { .method = r->method,
					   .path = r->target,
					   .query = "",
					   .body = (const unsigned char *)r->body,
					   .body_len = strlen(r->body),
					   .peer = "",
					   .headers = headers };

	apiserver_handle(server, &req, &r->resp);
	return NULL;
}

static void run(struct request *r)
{
	pthread_t thread;
	struct error err = { 0 };

	if (!r->resp.body.max)
		r->resp.body.max = (size_t)64 * 1024 * 1024;
	assert_int_equal(thread_start(&thread, handle, r, &err), 0);
	pthread_join(thread, NULL);
}

static void release(struct request *r)
{
	buf_release(&r->resp.body);
	buf_release(&r->resp.headers);
}

static int ask(const char *method, const char *target, const char *type, const char *body)
{
	struct request r = { method, target, type, body, { 0 } };

	run(&r);
	release(&r);
	return r.resp.status;
}

#define JSON  "application/json"
#define PATCH "application/json-patch+json"

/* ---- objects that belong to each other --------------------------------------------- */

enum { CHAIN = 600 };

static char *create_map(const char *name, const char *owner, const char *uid,
			const char *finalizer)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	const char *refs =
		owner ? arena_printf(&arena,
				     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
				     "\"name\":\"%s\",\"uid\":\"%s\","
				     "\"blockOwnerDeletion\":true}",
				     owner, uid)
		      : "";
	struct request r = { "POST",
			     MAPS,
			     JSON,
			     arena_printf(
				     &arena,
				     "{\"metadata\":{\"name\":\"%s\",\"finalizers\":[%s],"
				     "\"ownerReferences\":[%s]}}",
				     name, finalizer, refs),
			     { 0 } };

	run(&r);
	assert_int_equal(r.resp.status, 201);
	assert_int_equal(json_parse(&doc, r.resp.body.data, r.resp.body.len, &err), 0);
	release(&r);
	return strdup(json_str(doc, "metadata", "uid"));
}

static void create_chain(const char *finalizer)
{
	char name[16], owner[16] = "";
	char *uid = NULL;

	for (int i = 0; i < CHAIN; i++) {
		char *next;

		snprintf(name, sizeof(name), "m%d", i);
		next = create_map(name, uid ? owner : NULL, uid,
				  i == CHAIN - 1 ? finalizer : "");
		free(uid);
		uid = next;
		memcpy(owner, name, sizeof(owner));
	}
	free(uid);
}

/* Each belongs to the one before it. */
static void test_owners(void **state)
{
	create_chain("");
	assert_int_equal(ask("DELETE", MAPS "/m0", JSON, ""), 200);
	assert_int_equal(ask("GET", MAPS "/m1", JSON, ""), 404);
	assert_int_equal(ask("GET", MAPS "/m599", JSON, ""), 404);
}

/* All wait for the last one; then each goes when the one behind it is gone. */
static void test_foreground(void **state)
{
	create_chain("\"a.b/c\"");
	for (int i = CHAIN - 2; i >= 0; i--) {
		cleanup_arena struct arena arena = { 0 };

		assert_int_equal(ask("DELETE", arena_printf(&arena, MAPS "/m%d", i), JSON,
				     "{\"propagationPolicy\":\"Foreground\"}"),
				 200);
	}
	assert_int_equal(ask("GET", MAPS "/m0", JSON, ""), 200);
	assert_int_equal(ask("PATCH", MAPS "/m599", PATCH,
			     "[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]"),
			 200);
	assert_int_equal(ask("GET", MAPS "/m599", JSON, ""), 404);
	assert_int_equal(ask("GET", MAPS "/m0", JSON, ""), 404);
}

/* ---- values within values ----------------------------------------------------------- */

/* {"a":{"a":...}} */
static void nest(struct buf *out, int levels)
{
	for (int i = 0; i < levels; i++)
		buf_adds(out, "{\"a\":");
	buf_adds(out, "{}");
	for (int i = 0; i < levels; i++)
		buf_adds(out, "}");
}

/* Its managedFields are deeper than the object is. */
static void test_deep(void **state)
{
	static const int levels[] = { 150, 190, 195, 196, 197, 198 };

	for (size_t i = 0; i < N_ELEMENTS(levels); i++) {
		cleanup_buf struct buf body = { .max = 65536 };
		int status;

		buf_printf(&body,
			   "{\"metadata\":{\"name\":\"s%d\"},\"spec\":", levels[i]);
		nest(&body, levels[i]);
		buf_adds(&body, "}");
		status = ask("POST", SERVICES, JSON, (const char *)body.data);
		if (levels[i] <= 190)
			assert_int_equal(status, 201);
		else
			assert_true(status == 201 || status == 413);
	}
	apiserver_free(server);
	open_server(state);
	assert_int_equal(ask("GET", SERVICES "/s190", JSON, ""), 200);
}

/* Each makes twice as many levels. */
static void copy_often(struct buf *out, int times)
{
	buf_adds(out, "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":{}}}");
	for (int i = 0, levels = 1; i < times; i++, levels *= 2) {
		buf_adds(out, ",{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/data");
		for (int k = 0; k < levels; k++)
			buf_adds(out, "/a");
		buf_adds(out, "\"}");
	}
	buf_adds(out, "]");
}

static void test_deep_copies(void **state)
{
	cleanup_buf struct buf patch = { .max = 1024 * 1024 };

	copy_often(&patch, 15);
	free(create_map("deep", NULL, NULL, ""));
	assert_int_equal(ask("PATCH", MAPS "/deep", PATCH, (const char *)patch.data),
			 413);
	assert_int_equal(ask("GET", MAPS "/deep", JSON, ""), 200);
}

/* Each adds 150 levels where the last one ended. */
static void test_deep_adds(void **state)
{
	cleanup_buf struct buf patch = { .max = 3 * 1024 * 1024 };
	cleanup_buf struct buf path = { .max = 65536 };

	buf_adds(&patch, "[");
	buf_adds(&path, "/data");
	for (int i = 0; i < 60; i++) {
		buf_printf(&patch,
			   "%s{\"op\":\"add\",\"path\":\"%s\",\"value\":", i ? "," : "",
			   (const char *)path.data);
		nest(&patch, 150);
		buf_adds(&patch, "}");
		for (int k = 0; k < 151; k++)
			buf_adds(&path, "/a");
	}
	buf_adds(&patch, "]");
	free(create_map("deep", NULL, NULL, ""));
	assert_int_equal(ask("PATCH", MAPS "/deep", PATCH, (const char *)patch.data),
			 413);
	assert_int_equal(ask("GET", MAPS "/deep", JSON, ""), 200);
}

/* ---- warnings ------------------------------------------------------------------------ */

/* What does not fit in the head is left out; the head ends where a head ends. */
static void test_warnings(void **state)
{
	cleanup_buf struct buf body = { .max = 1024 * 1024 };
	struct request r = { "POST", MAPS, JSON, NULL, { 0 } };
	const char *end;

	buf_adds(&body, "{\"metadata\":{\"name\":\"w\"}");
	for (int i = 0; i < 90; i++)
		buf_printf(&body, ",\"u%d%01500d\":1", i, 0);
	buf_adds(&body, "}");
	r.body = (const char *)body.data;
	run(&r);
	assert_int_equal(r.resp.status, 201);
	assert_true(r.resp.headers.len > 1000);
	end = (const char *)r.resp.headers.data + r.resp.headers.len;
	assert_true(str_ends((const char *)r.resp.headers.data, "\r\n"));
	assert_int_equal(end[-3], '"');
	release(&r);
}

/* ---- answers ------------------------------------------------------------------------- */

/* A list that does not fit says so, and how to read it. */
static void test_large_list(void **state)
{
	struct request r = { "GET", MAPS, JSON, "", { .body.max = (size_t)1 << 20 } };
	cleanup_buf struct buf body = { .max = 1024 * 1024 };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	for (int i = 0; i < 3; i++) {
		buf_clear(&body);
		buf_printf(
			&body,
			"{\"metadata\":{\"name\":\"l%d\"},\"data\":{\"a\":\"%0500000d\"}}",
			i, 0);
		assert_int_equal(ask("POST", MAPS, JSON, (const char *)body.data), 201);
	}
	run(&r);
	assert_int_equal(r.resp.status, 500);
	assert_int_equal(json_parse(&doc, r.resp.body.data, r.resp.body.len, &err), 0);
	assert_string_equal(json_str(doc, "reason"), "InternalError");
	assert_non_null(strstr(json_str(doc, "message"),
			       "larger than 1 MiB; read the list in pages"));
	release(&r);
}

#define ON_SERVER(name) cmocka_unit_test_setup_teardown(name, open_server, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_SERVER(test_owners),
		ON_SERVER(test_foreground),
		cmocka_unit_test_setup_teardown(test_deep, setup_on_disk, teardown),
		ON_SERVER(test_deep_copies),
		ON_SERVER(test_deep_adds),
		ON_SERVER(test_warnings),
		ON_SERVER(test_large_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
