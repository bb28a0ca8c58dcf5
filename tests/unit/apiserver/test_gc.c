/*
 * Owners and what belongs to them, in orders of events that are rare: two owners, one of
 * them in deletion; a write between two steps of a request; a server that is killed.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "tests/unit/kubelet/quoted.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static struct apiserver *server;
/* What another client does before the next write of an object of that name is stored. */
static struct {
	const char *name, *method, *path, *body;
} meanwhile;

static int ask(const char *method, const char *path, const char *body)
{
	cleanup_json cJSON *doc = body ? parse(body) : NULL;
	struct error err = { 0 };

	return apiserver_write(server, method, path, doc, NULL, &err) ? err.code : 200;
}

static int on_write(void *ctx, const cJSON *old, const cJSON *obj, struct error *err)
{
	if (!str_eq(meta_name(obj), meanwhile.name))
		return 0;
	meanwhile.name = NULL;
	assert_int_equal(ask(meanwhile.method, meanwhile.path, meanwhile.body), 200);
	return 0;
}

static int open_in(const char *dir)
{
	const struct apiserver_conf conf = { .dir = dir, .write = on_write };
	struct error err = { 0 };

	if (apiserver_new(&server, &conf, &err))
		fail_msg("%s", err.msg);
	return 0;
}

static int open_server(void **state)
{
	return open_in(NULL);
}

static int close_server(void **state)
{
	apiserver_free(server);
	return 0;
}

static cJSON *get(const char *name)
{
	return apiserver_get(server, "v1", "ConfigMap", "default", name);
}

static bool has(const char *name)
{
	cleanup_json cJSON *obj = get(name);

	return obj != NULL;
}

static int n_owners(const char *name)
{
	cleanup_json cJSON *obj = get(name);

	return cJSON_GetArraySize(json_get(obj, "metadata", "ownerReferences"));
}

/* A reference to that map, which need not exist. */
static const char *ref_to(struct arena *a, const char *owner, bool blocks)
{
	cleanup_json cJSON *obj = get(owner);

	return arena_printf(a,
			    "{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':"
			    "'%s','blockOwnerDeletion':%s}",
			    owner, obj ? meta_uid(obj) : "none",
			    blocks ? "true" : "false");
}

static void create(const char *name, const char *refs, const char *finalizers)
{
	cleanup_arena struct arena a = { 0 };

	assert_int_equal(
		ask("POST", MAPS,
		    arena_printf(&a,
				 "{'metadata':{'name':'%s','ownerReferences':[%s],"
				 "'finalizers':[%s]}}",
				 name, refs, finalizers)),
		200);
}

static void remove_as(const char *name, const char *policy)
{
	cleanup_arena struct arena a = { 0 };

	assert_int_equal(ask("DELETE",
			     arena_printf(&a, MAPS "/%s%s%s", name,
					  *policy ? "?propagationPolicy=" : "", policy),
			     NULL),
			 200);
}

static void patch(const char *name, const char *body)
{
	cleanup_arena struct arena a = { 0 };

	assert_int_equal(ask("PATCH", arena_printf(&a, MAPS "/%s", name), body), 200);
}

/* What has another owner does not hold up the one that waits for its dependents. */
static void test_two_owners(void **state)
{
	cleanup_arena struct arena a = { 0 };

	create("one", "", "");
	create("two", "", "");
	create("child",
	       arena_printf(&a, "%s,%s", ref_to(&a, "one", true),
			    ref_to(&a, "two", true)),
	       "");
	remove_as("one", "Foreground");
	assert_false(has("one"));
	assert_int_equal(n_owners("child"), 1);
	remove_as("two", "Background");
	assert_false(has("child"));
}

/* kubernetes#86509, #121113: the owner waits for those alone that block its deletion. */
static void test_who_blocks(void **state)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *child = NULL;

		create("owner", "", "");
		create("child", ref_to(&a, "owner", blocks), "'a.b/c'");
		remove_as("owner", "Foreground");
		child = get("child");
		assert_true(meta_is_deleted(child));
		assert_int_equal(has("owner"), blocks);
		patch("child", "{'metadata':{'finalizers':null}}");
		assert_false(has("child"));
		assert_false(has("owner"));
	}
}

/* What is made for an owner that waits goes at once; another owner keeps it. */
static void test_late_dependents(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *owner;

	create("owner", "", "");
	create("other", "", "");
	owner = ref_to(&a, "owner", true);
	create("held", owner, "'a.b/c'");
	remove_as("owner", "Foreground");
	create("late", owner, "");
	assert_false(has("late"));
	create("shared", arena_printf(&a, "%s,%s", owner, ref_to(&a, "other", true)), "");
	assert_int_equal(n_owners("shared"), 1);
	patch("held", "{'metadata':{'finalizers':null}}");
	assert_false(has("owner"));
	assert_true(has("shared"));
}

static void test_edited_references(void **state)
{
	cleanup_arena struct arena a = { 0 };

	create("owner", "", "");
	create("child", ref_to(&a, "owner", true), "'a.b/c'");
	remove_as("owner", "Foreground");
	assert_true(has("owner"));
	patch("child", "{'metadata':{'ownerReferences':null}}");
	assert_false(has("owner"));
	create("adopted", "", "");
	patch("adopted", arena_printf(&a, "{'metadata':{'ownerReferences':[%s]}}",
				      ref_to(&a, "nobody", true)));
	assert_false(has("adopted"));
}

/* A deletion without a policy does not end one that waits, or orphans. */
static void test_no_policy(void **state)
{
	cleanup_arena struct arena a = { 0 };

	create("owner", "", "");
	create("held", ref_to(&a, "owner", true), "'a.b/c'");
	remove_as("owner", "Foreground");
	remove_as("owner", "");
	assert_true(has("owner"));
	remove_as("owner", "Background");
	assert_false(has("owner"));
	create("releases", "", "'orphan'");
	create("free", ref_to(&a, "releases", true), "");
	remove_as("releases", "");
	assert_false(has("releases"));
	assert_int_equal(n_owners("free"), 0);
	assert_true(has("free"));
}

/* ---- another client, between two steps of a request --------------------------------- */

enum { CHILDREN = 300 };

static void *keep_writing(void *stop)
{
	for (int i = 0; !atomic_load((atomic_bool *)stop); i++) {
		cleanup_arena struct arena a = { 0 };

		patch(arena_printf(&a, "c%d", i % CHILDREN),
		      arena_printf(&a, "{'data':{'i':'%d'}}", i));
	}
	return NULL;
}

/* kubernetes#26120: what is written meanwhile is released, too, and not collected. */
static void test_orphans_that_change(void **state)
{
	cleanup_arena struct arena a = { 0 };
	atomic_bool stop = false;
	struct error err = { 0 };
	const char *owner;
	pthread_t writer;

	create("owner", "", "");
	owner = ref_to(&a, "owner", true);
	for (int i = 0; i < CHILDREN; i++)
		create(arena_printf(&a, "c%d", i), owner, "");
	assert_int_equal(thread_start(&writer, keep_writing, &stop, &err), 0);
	remove_as("owner", "Orphan");
	atomic_store(&stop, true);
	pthread_join(writer, NULL);
	assert_false(has("owner"));
	for (int i = 0; i < CHILDREN; i++) {
		const char *name = arena_printf(&a, "c%d", i);

		assert_true(has(name));
		assert_int_equal(n_owners(name), 0);
	}
}

/* A finalizer goes while that of the deletion does. */
static void test_two_finalizers(void **state)
{
	create("owner", "", "'a.b/c'");
	meanwhile.name = "owner";
	meanwhile.method = "PATCH";
	meanwhile.path = MAPS "/owner";
	meanwhile.body = "{'metadata':{'finalizers':['foregroundDeletion']}}";
	remove_as("owner", "Foreground");
	assert_null(meanwhile.name);
	assert_false(has("owner"));
}

/* kubernetes#36891: an object whose namespace ends while it is made does not stay. */
static void test_namespace_ends(void **state)
{
	cleanup_json cJSON *left = NULL;

	assert_int_equal(ask("POST", "/api/v1/namespaces", "{'metadata':{'name':'n'}}"),
			 200);
	meanwhile.name = "x";
	meanwhile.method = "DELETE";
	meanwhile.path = "/api/v1/namespaces/n";
	meanwhile.body = NULL;
	assert_int_equal(ask("POST", "/api/v1/namespaces/n/configmaps",
			     "{'metadata':{'name':'x'}}"),
			 200);
	assert_null(meanwhile.name);
	left = apiserver_list(server, "v1", "ConfigMap", "n");
	assert_int_equal(cJSON_GetArraySize(left), 0);
}

/* kubernetes#64892: who applies what somebody else has just created changes it. */
static void test_applied_by_two(void **state)
{
	static const char body[] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
				   "  name: m\ndata:\n  mine: \"1\"\n";
	const struct httpd_header headers[] = {
		{ "Content-Type", "application/apply-patch+yaml" }, { NULL, NULL }
	};
	const struct httpd_request req = { .method = "PATCH",
					   .path = MAPS "/m",
					   .query = "fieldManager=me",
					   .body = (const unsigned char *)body,
					   .body_len = sizeof(body) - 1,
					   .peer = "",
					   .headers = headers };
	struct httpd_response resp = { .body.max = 65536 };
	cleanup_json cJSON *obj = NULL;

	meanwhile.name = "m";
	meanwhile.method = "POST";
	meanwhile.path = MAPS;
	meanwhile.body = "{'metadata':{'name':'m'},'data':{'theirs':'1'}}";
	apiserver_handle_inside(server, &req, &resp);
	assert_int_equal(resp.status, 200);
	obj = get("m");
	assert_non_null(json_str(obj, "data", "mine"));
	assert_non_null(json_str(obj, "data", "theirs"));
	buf_release(&resp.body);
	buf_release(&resp.headers);
}

/* ---- a server that is killed ---------------------------------------------------------- */

/* It had said that the owner goes, and did nothing else. */
static void mark(const char *finalizer)
{
	cleanup_json cJSON *owner = get("owner");
	struct error err = { 0 };

	json_del(owner, JSON_PATH("metadata", "resourceVersion"));
	json_put_str(owner, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp");
	cJSON_AddItemToArray(json_list(owner, "metadata", "finalizers"),
			     cJSON_CreateString(finalizer));
	assert_int_equal(apiserver_store(server, owner, &err), 1);
}

static void test_killed(void **state)
{
	static const char *const finalizers[] = { "foregroundDeletion", "orphan" };

	for (size_t i = 0; i < N_ELEMENTS(finalizers); i++) {
		char dir[] = "/tmp/kftrainer-gc-XXXXXX";
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };

		assert_non_null(mkdtemp(dir));
		open_in(dir);
		create("owner", "", "");
		create("child", ref_to(&a, "owner", true), "");
		mark(finalizers[i]);
		apiserver_free(server);
		open_in(dir);
		assert_false(has("owner"));
		assert_int_equal(has("child"), i == 1);
		assert_int_equal(n_owners("child"), 0);
		apiserver_free(server);
		assert_int_equal(dir_remove(dir, &err), 0);
	}
}

#define ON_SERVER(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_SERVER(test_two_owners),      ON_SERVER(test_who_blocks),
		ON_SERVER(test_late_dependents), ON_SERVER(test_edited_references),
		ON_SERVER(test_no_policy),       ON_SERVER(test_orphans_that_change),
		ON_SERVER(test_two_finalizers),  ON_SERVER(test_namespace_ends),
		ON_SERVER(test_applied_by_two),  cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
