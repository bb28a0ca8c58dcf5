/*
 * Requests that are valid and too much of something: nothing on the stack of a connection's
 * thread grows with what clients write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/thread.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static struct apiserver *server;

static int open_server(void **state)
{
	const struct apiserver_conf conf = { 0 };
	struct error err = { 0 };

	(void)state;
	if (apiserver_new(&server, &conf, &err))
		fail_msg("%s", err.msg);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	apiserver_free(server);
	return 0;
}

/* As a connection's thread does it. */
struct request {
	const char *method, *target, *type, *body;
	struct httpd_response resp;
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
				     "\"name\":\"%s\",\"uid\":\"%s\"}",
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
	(void)state;
	create_chain("");
	assert_int_equal(ask("DELETE", MAPS "/m0", JSON, ""), 200);
	assert_int_equal(ask("GET", MAPS "/m1", JSON, ""), 404);
	assert_int_equal(ask("GET", MAPS "/m599", JSON, ""), 404);
}

/* All wait for the last one; then each goes when the one behind it is gone. */
static void test_foreground(void **state)
{
	(void)state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_owners),
		TEST(test_foreground),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
