/*
 * Requests as the HTTP server hands them over, good and bad. That answers are an API server's
 * is what tests/cluster/test_apiserver.sh compares; here is what must hold whatever is asked.
 */
#include <stdlib.h>

#include "api/meta.h"
#include "api/proto.h"
#include "apiserver/apiserver.h"
#include "apiserver/pod_token.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "tests/unit/unit.h"

#define MAPS     "/api/v1/namespaces/default/configmaps"
#define RUNTIMES "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes"
#define WHO      "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define JOBS     "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"

static struct apiserver *server;

static int setup(void **state)
{
	const struct apiserver_conf conf = { .token = "secret", .pod_key = "key" };
	struct error err = { 0 };

	if (apiserver_new(&server, &conf, &err))
		fail_msg("%s", err.msg);
	return 0;
}

static int teardown(void **state)
{
	apiserver_free(server);
	return 0;
}

#define TYPE(kind) \
	"\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"" kind "\""

struct answer {
	int status;
	cJSON *doc; /* NULL: not JSON */
	bool streams;
};

static struct answer send_as(const char *token, const char *method, const char *target,
			     const char *type, const char *body)
{
	cleanup_arena struct arena arena = { 0 };
	const char *query = strchr(target, '?');
	const struct httpd_header headers[] = {
		{ "Authorization", arena_printf(&arena, "Bearer %s", token) },
		{ "Content-Type", type },
		{ NULL, NULL }
	};
	const struct httpd_request req = {
		.method = method,
		.path = query ? str_slice(&arena, target, (size_t)(query - target))
			      : target,
		.query = query ? query + 1 : "",
		.body = (const unsigned char *)body,
		.body_len = strlen(body),
		.peer = "",
		.headers = headers
	};
	struct httpd_response resp = { .body.max = (size_t)64 * 1024 * 1024 };
	struct answer a = { 0 };
	struct error err = { 0 };

	apiserver_handle(server, &req, &resp);
	a.status = resp.status;
	a.streams = resp.stream;
	if (resp.release)
		resp.release(resp.stream_ctx);
	if (json_parse(&a.doc, resp.body.data, resp.body.len, &err))
		a.doc = NULL;
	buf_release(&resp.body);
	buf_release(&resp.headers);
	return a;
}

static int ask(const char *method, const char *target, const char *body)
{
	struct answer a = send_as("secret", method, target,
				  str_eq(method, "PATCH") ? "application/merge-patch+json"
							  : "application/json",
				  body);

	cJSON_Delete(a.doc);
	return a.status;
}

/* An API server stores what Go decodes: a client whose numNodes is an int32 reads it again. */
TEST(test_whole_numbers)
{
	static const char job[] = "{" TYPE(
		"TrainJob") ",\"metadata\":{\"name\":\"floats\"},\"spec\":{"
			    "\"suspend\":true,\"runtimeRef\":{\"name\":\"torch-"
			    "distributed\"},\"trainer\":{\"numNodes\":2.0,"
			    "\"resourcesPerNode\":{\"limits\":{\"cpu\":-0.0,\"memory\":"
			    "1e10}}}}}";
	static const char patch[] =
		"[{\"op\":\"add\",\"path\":\"/spec/ttlSecondsAfterFinished\",\"value\":"
		"300e-1}]";
	struct answer made = send_as("secret", "POST", JOBS, "application/json", job);
	struct answer patched = send_as("secret", "PATCH", JOBS "/floats",
					"application/json-patch+json", patch);
	cleanup_free char *trainer = json_text(json_get(made.doc, "spec", "trainer"));
	cleanup_free char *ttl =
		json_text(json_get(patched.doc, "spec", "ttlSecondsAfterFinished"));

	assert_string_equal(trainer, "{\"numNodes\":2,\"resourcesPerNode\":{\"limits\":"
				     "{\"cpu\":0,\"memory\":10000000000}}}");
	assert_string_equal(ttl, "30");
	cJSON_Delete(made.doc);
	cJSON_Delete(patched.doc);
	assert_int_equal(ask("DELETE", JOBS "/floats", ""), 200);
}

TEST(test_token)
{
	static const char *const wrong[] = { "", "secre", "secrets", "Secret", "\xff" };

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		struct answer a = send_as(wrong[i], "GET", MAPS, "", "");

		assert_int_equal(a.status, 401);
		assert_string_equal(json_str(a.doc, "reason"), "Unauthorized");
		cJSON_Delete(a.doc);
	}
	assert_int_equal(ask("GET", MAPS, ""), 200);
}

static const struct row {
	int status;
	const char *method, *target, *body;
} rows[] = {
	{ 200, "GET", "/version", "" },
	{ 200, "GET", "/api", "" },
	{ 200, "GET", "/apis", "" },
	{ 200, "GET", "/openapi/v3", "" },
	{ 200, "GET", "/openapi/v3/api/v1?hash=1", "" },
	{ 200, "GET", "/openapi/v3/apis/trainer.kubeflow.org/v1alpha1", "" },
	{ 404, "GET", "/openapi/v3/apis/nothing/v1", "" },
	{ 404, "GET", "/openapi/v2", "" },
	{ 200, "GET", "/", "" },
	{ 404, "GET", "/api/v1/watch/configmaps", "" },
	{ 404, "GET", "//", "" },
	{ 400, "GET", MAPS "/..", "" },
	{ 404, "GET", MAPS "/a%2Fb", "" },
	{ 400, "GET", MAPS "/%00", "" },
	{ 400, "GET", MAPS "/%zz", "" },
	{ 404, "GET", MAPS "/a/b/c/d/e/f", "" },
	{ 405, "PUT", MAPS, "{}" },
	{ 405, "BREW", MAPS, "" },
	{ 405, "POST", "/api/v1/namespaces/default/pods", "{}" },
	{ 405, "POST", "/api/v1/configmaps", "{\"metadata\":{\"name\":\"a\"}}" },
	{ 405, "DELETE", "/api/v1/nodes/n", "" },
	{ 200, "GET", "/api/v1/namespaces/default/pods", "" },
	{ 400, "POST", MAPS, "" },
	{ 400, "POST", MAPS, "{" },
	{ 400, "POST", MAPS, "[]" },
	{ 400, "POST", MAPS, "null" },
	{ 400, "POST", MAPS, "{\"a\":1,\"a\":2}" },
	{ 400, "POST", MAPS, "{\"metadata\":[]}" },
	{ 422, "POST", MAPS, "{\"metadata\":{}}" },
	{ 422, "POST", MAPS, "{\"metadata\":{\"name\":\"../x\"}}" },
	{ 422, "POST", MAPS, "{\"metadata\":{\"name\":\"a/b\"}}" },
	{ 422, "POST", MAPS,
	  "{\"metadata\":{\"name\":\"a\"},\"data\":{\"../k\":\"v\"}}" },
	{ 400, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":[]}" },
	{ 400, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":1}}" },
	{ 404, "POST", "/api/v1/namespaces/absent/configmaps",
	  "{\"metadata\":{\"name\":\"a\"}}" },
	{ 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}" },
	{ 409, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}" },
	{ 201, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}" },
	{ 200, "PATCH", MAPS "/a", "{\"data\":{\"x\":\"1\"}}" },
	{ 400, "PATCH", MAPS "/a", "[1]" },
	{ 400, "PATCH", MAPS "/a", "nonsense" },
	{ 409, "PATCH", MAPS "/a", "{\"metadata\":{\"resourceVersion\":\"1\"}}" },
	{ 422, "PATCH", MAPS "/a?dryRun=x", "{}" },
	{ 409, "DELETE", MAPS "/a", "{\"preconditions\":{\"uid\":\"x\"}}" },
	{ 400, "DELETE", MAPS "/a", "nonsense" },
	{ 400, "GET", MAPS "?labelSelector=a%20b", "" },
	{ 400, "GET", MAPS "?fieldSelector=x%3D1", "" },
	{ 400, "GET", MAPS "?limit=x", "" },
	{ 400, "GET", MAPS "?timeoutSeconds=x", "" },
	{ 410, "GET", MAPS "?resourceVersion=1&resourceVersionMatch=Exact", "" },
	{ 400, "GET", MAPS "?continue=x", "" },
	{ 400, "GET", MAPS "?continue=e30%3D", "" },
	{ 422, "GET", MAPS "?continue=x&resourceVersion=1&resourceVersionMatch=Exact",
	  "" },
	{ 400, "GET", MAPS "?continue=x&resourceVersion=1", "" },
	{ 400, "GET", MAPS "?continue=x&resourceVersion=99999999", "" },
	{ 504, "GET", MAPS "?resourceVersion=99999999", "" },
	{ 404, "POST", WHO "s", "{}" },
	{ 404, "POST", "/apis/authentication.k8s.io/v2/selfsubjectreviews", "{}" },
	{ 400, "POST", WHO, "[]" },
	{ 400, "GET", MAPS "?watch=1&resourceVersion=-1", "" },
	{ 400, "POST", JOBS, "{\"metadata\":{\"name\":\"a\"}}" },
	{ 201, "POST", RUNTIMES "?fieldValidation=Strict",
	  "{" TYPE(
		  "TrainingRuntime") ",\"metadata\":{\"name\":\"unset\",\"creationTimestamp\":null},\"spec\":{\"template\":{\"metadata\":{\"creationTimestamp\":null},\"spec\":{\"replicatedJobs\":[]}}},\"status\":{}}" },
	{ 201, "POST", JOBS "?fieldValidation=Strict",
	  "{" TYPE("TrainJob") ",\"metadata\":{\"name\":\"unset\","
			       "\"creationTimestamp\":null},\"spec\":{\"runtimeRef\":{"
			       "\"name\":\"unset\",\"kind\":\"TrainingRuntime\"}},"
			       "\"status\":{}}" },
	{ 200, "PATCH", JOBS "/unset?fieldValidation=Strict",
	  "{\"metadata\":{\"creationTimestamp\":null},\"status\":{}}" },
	{ 409, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}" },
	{ 200, "DELETE", MAPS "/a", "" },
	{ 404, "DELETE", MAPS "/a", "" },
	{ 500, "POST", MAPS,
	  "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"5\"}}" },
	{ 400, "POST", MAPS,
	  "{\"metadata\":{\"name\":\"b\"},\"binaryData\":{\"k\":\"?\"}}" },
	{ 201, "POST", MAPS,
	  "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"0\"}}" },
	{ 200, "DELETE", MAPS "/b", "" },
	{ 201, "POST", MAPS,
	  "{\"metadata\":{\"name\":\"f\",\"finalizers\":[\"x.y/a\"]}}" },
	{ 200, "DELETE", MAPS "/f", "" },
	{ 422, "PATCH", MAPS "/f",
	  "{\"metadata\":{\"finalizers\":[\"x.y/a\",\"x.y/b\"]}}" },
	{ 200, "PATCH", MAPS "/f", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}" },
	{ 200, "PATCH", MAPS "/f", "{\"metadata\":{\"finalizers\":[]}}" },
	{ 404, "GET", MAPS "/f", "" },
};

TEST(statuses_of_requests)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int status = ask(rows[i].method, rows[i].target, rows[i].body);

		if (status != rows[i].status)
			fail_msg("%s %s %s: %d instead of %d", rows[i].method,
				 rows[i].target, rows[i].body, status, rows[i].status);
	}
}

/* kubectl auth whoami */
TEST(auth_whoami)
{
	struct answer a = send_as("secret", "POST", WHO, "application/json", "{}");

	assert_int_equal(a.status, 201);
	assert_string_equal(json_str(a.doc, "status", "userInfo", "username"),
			    "kftrainer");
	assert_true(json_has_str(json_get(a.doc, "status", "userInfo", "groups"),
				 "system:masters"));
	cJSON_Delete(a.doc);
}

/* kubectl apply --server-side of what a Go program wrote. */
TEST(test_apply_unset)
{
	struct answer a =
		send_as("secret", "PATCH",
			RUNTIMES "/applied?fieldManager=m&fieldValidation=Strict",
			"application/apply-patch+yaml",
			"apiVersion: trainer.kubeflow.org/v1alpha1\n"
			"kind: TrainingRuntime\n"
			"metadata: {name: applied, creationTimestamp: null}\n"
			"spec: {template: {metadata: {creationTimestamp: null}, spec: "
			"{replicatedJobs: []}}}\n"
			"status: {}\n");

	assert_int_equal(a.status, 201);
	assert_null(json_get(a.doc, "spec", "template", "metadata")->child);
	cJSON_Delete(a.doc);
}

TEST(test_pages)
{
	cleanup_arena struct arena arena = { 0 };
	const char *token = "";
	int pages = 0, items = 0;

	for (int i = 0; i < 7; i++)
		ask("POST", MAPS,
		    arena_printf(
			    &arena,
			    "{\"metadata\":{\"name\":\"p%d\",\"labels\":{\"p\":\"\"}}}",
			    i));
	do {
		cleanup_buf struct buf escaped = { .max = 1000 };
		struct answer a;

		for (const char *c = token; *c; c++)
			buf_printf(&escaped, "%%%02x", (unsigned char)*c);
		buf_adds(&escaped, "");
		a = send_as("secret", "GET",
			    arena_printf(&arena,
					 MAPS "?limit=3&labelSelector=p&continue=%s",
					 escaped.data ? (char *)escaped.data : ""),
			    "", "");
		assert_int_equal(a.status, 200);
		items += cJSON_GetArraySize(json_get(a.doc, "items"));
		token = json_str(a.doc, "metadata", "continue");
		token = token ? arena_strdup(&arena, token) : "";
		cJSON_Delete(a.doc);
		pages++;
	} while (*token);
	assert_int_equal(items, 7);
	assert_true(pages >= 3);
}

/* Who watches from the version of a list in pages misses nothing that came meanwhile. */
TEST(test_pages_version)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf escaped = { .max = 1000 };
	struct answer first, second;
	const char *token;

	ask("DELETE", MAPS, "");
	for (int i = 0; i < 3; i++)
		ask("POST", MAPS,
		    arena_printf(&arena, "{\"metadata\":{\"name\":\"v%d\"}}", i));
	first = send_as("secret", "GET", MAPS "?limit=2", "", "");
	for (token = json_str(first.doc, "metadata", "continue"); *token; token++)
		buf_printf(&escaped, "%%%02x", (unsigned char)*token);
	buf_adds(&escaped, "");
	ask("POST", MAPS, "{\"metadata\":{\"name\":\"a-before-all\"}}");
	ask("POST", MAPS, "{\"metadata\":{\"name\":\"v9\"}}");
	ask("PATCH", MAPS "/v2", "{\"data\":{\"a\":\"1\"}}");
	ask("DELETE", MAPS "/v2", "");
	second = send_as(
		"secret", "GET",
		arena_printf(&arena, MAPS "?limit=2&continue=%s", (char *)escaped.data),
		"", "");
	assert_int_equal(second.status, 200);
	assert_string_equal(json_str(second.doc, "metadata", "resourceVersion"),
			    json_str(first.doc, "metadata", "resourceVersion"));
	/* Both are as the first was. */
	assert_int_equal(cJSON_GetArraySize(json_get(second.doc, "items")), 1);
	assert_string_equal(meta_name(json_get(second.doc, "items")->child), "v2");
	assert_null(json_get(json_get(second.doc, "items")->child, "data"));
	cJSON_Delete(first.doc);
	cJSON_Delete(second.doc);
	ask("DELETE", MAPS, "");
}

static const char *owner_ref(struct arena *arena, const char *name, const char *uid)
{
	return arena_printf(
		arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\","
		"\"uid\":\"%s\",\"blockOwnerDeletion\":true}",
		name, uid);
}

/* What belongs to an object goes with it; what has another owner as well stays. */
TEST(test_owners)
{
	cleanup_arena struct arena arena = { 0 };
	struct answer owner = send_as("secret", "POST", MAPS, "application/json",
				      "{\"metadata\":{\"name\":\"owner\"}}");
	struct answer second = send_as("secret", "POST", MAPS, "application/json",
				       "{\"metadata\":{\"name\":\"second\"}}");
	const char *uid = json_str(owner.doc, "metadata", "uid");
	const char *uid2 = json_str(second.doc, "metadata", "uid");
	const char *one = owner_ref(&arena, "owner", uid);
	const char *two = owner_ref(&arena, "second", uid2);

	assert_int_equal(ask("POST", MAPS,
			     arena_printf(&arena,
					  "{\"metadata\":{\"name\":\"child\","
					  "\"ownerReferences\":[%s]}}",
					  one)),
			 201);
	assert_int_equal(ask("POST", MAPS,
			     arena_printf(&arena,
					  "{\"metadata\":{\"name\":\"shared\","
					  "\"ownerReferences\":[%s,%s]}}",
					  one, two)),
			 201);
	assert_int_equal(ask("DELETE", MAPS "/owner", ""), 200);
	assert_int_equal(ask("GET", MAPS "/child", ""), 404);
	assert_int_equal(ask("GET", MAPS "/shared", ""), 200);
	assert_int_equal(ask("DELETE", MAPS "/second?propagationPolicy=Orphan", ""), 200);
	assert_int_equal(ask("GET", MAPS "/shared", ""), 200);
	cJSON_Delete(owner.doc);
	cJSON_Delete(second.doc);
}

/* An owner that is deleted in the foreground stays until nothing belongs to it. */
TEST(test_foreground)
{
	cleanup_arena struct arena arena = { 0 };
	struct answer owner = send_as("secret", "POST", MAPS, "application/json",
				      "{\"metadata\":{\"name\":\"owner\"}}");
	const char *uid = json_str(owner.doc, "metadata", "uid");

	for (int held = 0; held < 2; held++)
		assert_int_equal(
			ask("POST", MAPS,
			    arena_printf(&arena,
					 "{\"metadata\":{\"name\":\"child%d\","
					 "\"finalizers\":[%s],\"ownerReferences\":[%s]}}",
					 held, held ? "\"a.b/c\"" : "",
					 owner_ref(&arena, "owner", uid))),
			201);
	assert_int_equal(ask("DELETE", MAPS "/owner?propagationPolicy=Foreground", ""),
			 200);
	assert_int_equal(ask("GET", MAPS "/child0", ""), 404);
	assert_int_equal(ask("GET", MAPS "/owner", ""), 200);
	assert_int_equal(
		ask("PATCH", MAPS "/child1", "{\"metadata\":{\"finalizers\":null}}"),
		200);
	assert_int_equal(ask("GET", MAPS "/child1", ""), 404);
	assert_int_equal(ask("GET", MAPS "/owner", ""), 404);
	assert_int_equal(ask("POST", MAPS, "{\"metadata\":{\"name\":\"alone\"}}"), 201);
	assert_int_equal(ask("DELETE", MAPS "/alone?propagationPolicy=Foreground", ""),
			 200);
	assert_int_equal(ask("GET", MAPS "/alone", ""), 404);
	cJSON_Delete(owner.doc);
}

TEST(test_namespace)
{
	assert_int_equal(
		ask("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"),
		201);
	assert_int_equal(ask("POST", "/api/v1/namespaces/n/configmaps",
			     "{\"metadata\":{\"name\":\"x\"}}"),
			 201);
	assert_int_equal(ask("DELETE", "/api/v1/namespaces/n", ""), 200);
	assert_int_equal(ask("GET", "/api/v1/namespaces/n/configmaps/x", ""), 404);
	assert_int_equal(ask("POST", "/api/v1/namespaces/n/configmaps",
			     "{\"metadata\":{\"name\":\"x\"}}"),
			 404);
}

/* What has a finalizer holds its namespace, which takes nothing new meanwhile. */
TEST(test_held_namespace)
{
	static const struct {
		int status;
		const char *method, *path, *body, *phase;
	} rows[] = {
		{ 201, "POST", "", "{\"metadata\":{\"name\":\"h\"}}", "Active" },
		{ 201, "POST", "/h/configmaps",
		  "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"a.b/c\"]}}", NULL },
		{ 201, "POST", "/h/configmaps", "{\"metadata\":{\"name\":\"y\"}}", NULL },
		{ 200, "DELETE", "/h?dryRun=All", "", "Terminating" },
		{ 200, "GET", "/h", "", "Active" },
		{ 200, "DELETE", "/h", "", "Terminating" },
		{ 200, "GET", "/h", "", "Terminating" },
		{ 404, "GET", "/h/configmaps/y", "", NULL },
		{ 403, "POST", "/h/configmaps", "{\"metadata\":{\"name\":\"z\"}}", NULL },
		{ 200, "DELETE", "/h", "", "Terminating" },
		{ 200, "PATCH", "/h", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
		  "Terminating" },
		{ 200, "GET", "/h", "", "Terminating" },
		{ 200, "PATCH", "/h/configmaps/x", "{\"metadata\":{\"finalizers\":null}}",
		  NULL },
		{ 404, "GET", "/h/configmaps/x", "", NULL },
		{ 404, "GET", "/h", "", NULL },
		{ 201, "POST", "", "{\"metadata\":{\"name\":\"h\"}}", "Active" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *path =
			arena_printf(&arena, "/api/v1/namespaces%s", rows[i].path);
		struct answer a = send_as("secret", rows[i].method, path,
					  str_eq(rows[i].method, "PATCH")
						  ? "application/merge-patch+json"
						  : "application/json",
					  rows[i].body);

		if (a.status != rows[i].status ||
		    (rows[i].phase &&
		     !str_eq(json_str(a.doc, "status", "phase"), rows[i].phase)))
			fail_msg("%zu: %s %s: %d %s", i, rows[i].method, rows[i].path,
				 a.status, json_str(a.doc, "status", "phase"));
		if (a.status == 403)
			assert_string_equal(
				json_str(json_get(a.doc, "details", "causes")->child,
					 "reason"),
				"NamespaceTerminating");
		cJSON_Delete(a.doc);
	}
}

TEST(test_watch)
{
	struct answer a = send_as("secret", "GET", MAPS "?watch=true", "", "");

	assert_int_equal(a.status, 200);
	assert_true(a.streams);
	cJSON_Delete(a.doc);
}

/* The machine writes what clients may only read. */
TEST(test_machine)
{
	cleanup_json cJSON *pod = json_reread("{\"metadata\":{\"name\":\"p\"},\"spec\":{"
					      "\"containers\":[{\"name\":\"c\"}]},"
					      "\"status\":{\"phase\":\"Running\"}}");
	cleanup_json cJSON *stored = NULL;
	struct error err = { 0 };

	assert_int_equal(apiserver_write(server, "POST",
					 "/api/v1/namespaces/default/pods", pod, &stored,
					 &err),
			 0);
	assert_string_equal(json_str(stored, "status", "phase"), "Running");
	assert_int_equal(ask("DELETE", "/api/v1/namespaces/default/pods/p", ""), 405);
	assert_int_equal(ask("GET", "/api/v1/namespaces/default/pods/p/status", ""), 200);
	assert_int_equal(apiserver_write(server, "GET",
					 "/api/v1/namespaces/default/pods/absent", NULL,
					 NULL, &err),
			 -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

TEST(test_subresources)
{
	struct answer a = send_as("secret", "GET", "/api/v1", "", "");
	const cJSON *list = json_get((const cJSON *)a.doc, "resources");
	const cJSON *log = json_find_const(list, "name", "pods/log");

	assert_string_equal(json_str(log, "kind"), "Pod");
	assert_string_equal(json_get(log, "verbs")->child->valuestring, "get");
	assert_null(json_get(log, "verbs")->child->next);
	assert_null(json_find_const(list, "name", "configmaps/log"));
	cJSON_Delete(a.doc);
}

/* kubectl create sends protobuf where it makes the object itself. */
static void put_message(struct buf *out, uint32_t number, struct buf *take)
{
	pb_put_bytes(out, number, take->data ? take->data : (void *)"", take->len);
	buf_release(take);
}

/* A ConfigMap whose data has the key "k" that many times over. */
static int send_map(const char *name, size_t keys, bool same)
{
	struct buf out = { .max = (size_t)16 << 20 }, type = { .max = 64 },
		   map = { .max = (size_t)16 << 20 }, meta = { .max = 64 };
	struct httpd_response resp = { .body.max = (size_t)64 << 20 };
	const struct httpd_header headers[] = { { "Authorization", "Bearer secret" },
						{ "Content-Type", PROTO_TYPE },
						{ NULL, NULL } };
	struct httpd_request req = { .method = "POST",
				     .path = MAPS,
				     .query = "",
				     .peer = "",
				     .headers = headers };

	pb_put_str(&type, 1, "v1");
	pb_put_str(&type, 2, "ConfigMap");
	pb_put_str(&meta, 1, name);
	put_message(&map, 1, &meta);
	for (size_t i = 0; i < keys; i++) {
		struct buf entry = { .max = 64 };
		char key[32];

		snprintf(key, sizeof(key), "k%zu", same ? 0 : i);
		pb_put_str(&entry, 1, key);
		put_message(&map, 2, &entry);
	}
	buf_add(&out, "k8s\0", 4);
	put_message(&out, 1, &type);
	put_message(&out, 2, &map);
	req.body = out.data;
	req.body_len = out.len;
	apiserver_handle(server, &req, &resp);
	buf_release(&out);
	buf_release(&resp.body);
	buf_release(&resp.headers);
	return resp.status;
}

TEST(test_protobuf)
{
	static const struct {
		const char *method, *target, *body;
		int status;
	} bad[] = {
		{ "POST", MAPS, "k8s", 400 },       { "POST", MAPS, "{}", 400 },
		{ "PUT", MAPS "/a", "", 400 },      { "PATCH", MAPS "/a", "k8s", 415 },
		{ "POST", JOBS, "k8s", 415 },       { "PUT", JOBS "/a", "k8s", 415 },
		{ "DELETE", MAPS "/a", "k8s", 400 }
	};

	assert_int_equal(ask("POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}"), 201);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct answer a = send_as("secret", bad[i].method, bad[i].target,
					  PROTO_TYPE, bad[i].body);

		assert_int_equal(a.status, bad[i].status);
		assert_string_equal(json_str(a.doc, "reason"),
				    a.status == 415 ? "UnsupportedMediaType"
						    : "BadRequest");
		cJSON_Delete(a.doc);
	}
	assert_int_equal(send_map("proto", 3, false), 201);
	assert_int_equal(send_map("proto", 3, false), 409);
	assert_int_equal(send_map("twice", 2, true), 400);
	assert_int_equal(send_map("many", 200000, false), 400);
}

/* Of a request from this process: its document, which is read in place of the body. */
static cJSON *send_document(const char *method, const char *path, const char *type,
			    const cJSON *doc)
{
	const struct httpd_header headers[] = { { "Content-Type", type },
						{ NULL, NULL } };
	const struct httpd_request req = { .method = method,
					   .path = path,
					   .query = "fieldManager=test",
					   .body = (const unsigned char *)"{",
					   .body_len = 1,
					   .doc = doc,
					   .peer = "",
					   .headers = headers };
	struct httpd_response resp = { .body.max = (size_t)1024 * 1024 };
	cJSON *ret = NULL;

	apiserver_handle_inside(server, &req, &resp);
	assert_int_equal(json_parse(&ret, resp.body.data, resp.body.len, IGNORED), 0);
	assert_in_range(resp.status, 200, 201);
	buf_release(&resp.body);
	buf_release(&resp.headers);
	return ret;
}

/* It stays the caller's, unchanged. */
TEST(test_document)
{
	static const struct {
		const char *type, *key;
	} patches[] = { { "application/merge-patch+json", "merged" },
			{ "application/apply-patch+yaml", "applied" } };
	cleanup_json cJSON *map = meta_new("v1", "ConfigMap", "default", "document");
	cleanup_json cJSON *before = NULL;

	json_put_str(map, "7", "data", "n");
	before = json_dup(map);
	cJSON_Delete(send_document("POST", MAPS, "application/json", map));
	assert_true(json_equal(map, before));
	for (size_t i = 0; i < N_ELEMENTS(patches); i++) {
		cleanup_json cJSON *answer = NULL;

		json_put_str(map, "8", "data", patches[i].key);
		answer = send_document("PATCH", MAPS "/document", patches[i].type, map);
		assert_string_equal(json_str(answer, "data", patches[i].key), "8");
		assert_string_equal(json_str(answer, "data", "n"), "7");
		assert_null(meta_uid(map));
	}
}

/* The request has a status of its own, which the answer must not have. */
static cJSON *review(const char *token, const char *audience)
{
	cleanup_arena struct arena arena = { 0 };
	const char *body = arena_printf(
		&arena,
		"{\"spec\":{\"token\":\"%s\",\"audiences\":[\"%s\"]},"
		"\"status\":{\"authenticated\":true,\"user\":{\"username\":\"root\"}}}",
		token, audience);
	struct answer a =
		send_as("secret", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
			"application/json", body);

	assert_int_equal(a.status, 201);
	return a.doc;
}

static bool is_known(const char *token, const char *audience)
{
	cleanup_json cJSON *doc = review(token, audience);

	return json_bool((const cJSON *)doc, false, "status", "authenticated");
}

/* A pod's token is good for its audience, while that very pod exists. */
TEST(test_token_review)
{
	cleanup_json cJSON *pod = json_reread(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":"
		"\"default\",\"name\":\"t\",\"uid\":\"u-1\"}}");
	cleanup_json cJSON *another = json_dup(pod), *doc = NULL;
	cleanup_buf struct buf token = { .max = 4096 }, foreign = { .max = 4096 };
	struct error err = { 0 };
	const cJSON *user;

	pod_token_make(&token, "key", pod, "a");
	pod_token_make(&foreign, "another key", pod, "a");
	assert_false(is_known((char *)token.data, "a")); /* no such pod */
	assert_int_equal(apiserver_store(server, pod, &err), 1);
	doc = review((char *)token.data, "a");
	user = json_get((const cJSON *)doc, "status", "user");
	assert_string_equal(json_str(user, "username"),
			    "system:serviceaccount:default:default");
	assert_string_equal(
		json_get(user, "extra", "authentication.kubernetes.io/pod-uid")
			->child->valuestring,
		"u-1");
	assert_string_equal(
		json_get((const cJSON *)doc, "status", "audiences")->child->valuestring,
		"a");
	assert_false(is_known((char *)token.data, "b"));
	assert_false(is_known((char *)foreign.data, "a"));
	assert_false(is_known("secret", "a"));
	meta_set_uid(another, "u-2");
	assert_int_equal(apiserver_store(server, another, &err), 1);
	assert_false(is_known((char *)token.data, "a"));
}

#define MAP                                                                              \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"%s%" \
	"s%s}}"

static void create_map(struct apiserver *s, const char *name, const char *owner_uid)
{
	cleanup_arena struct arena a = { 0 };
	const char *text = arena_printf(
		&a, MAP, name,
		owner_uid ? ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
			    "\"ConfigMap\",\"name\":\"owner\",\"uid\":\""
			  : "",
		owner_uid ? owner_uid : "", owner_uid ? "\"}]" : "");
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
	if (apiserver_write(s, "POST", MAPS, doc, NULL, &err))
		fail_msg("%s", err.msg);
}

/* A server that was killed between an owner and what belongs to it: the next one goes on. */
TEST(test_leftovers)
{
	char dir[] = "/tmp/kftrainer-leftovers-XXXXXX";
	const struct apiserver_conf conf = { .dir = dir };
	cleanup_json cJSON *owner = NULL, *mine = NULL, *free_one = NULL;
	struct error err = { 0 };
	struct apiserver *s;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(apiserver_new(&s, &conf, &err), 0);
	create_map(s, "owner", NULL);
	owner = apiserver_get(s, "v1", "ConfigMap", "default", "owner");
	create_map(s, "mine", json_str(owner, "metadata", "uid"));
	create_map(s, "free", NULL);
	apiserver_drop(s, "v1", "ConfigMap", "default", "owner", NULL);
	mine = apiserver_get(s, "v1", "ConfigMap", "default", "mine");
	assert_non_null(mine);
	apiserver_free(s);
	assert_int_equal(apiserver_new(&s, &conf, &err), 0);
	assert_null(apiserver_get(s, "v1", "ConfigMap", "default", "mine"));
	free_one = apiserver_get(s, "v1", "ConfigMap", "default", "free");
	assert_non_null(free_one);
	apiserver_free(s);
	assert_int_equal(dir_remove(dir, &err), 0);
}

static struct apiserver *busy_server;

/* Each changes while it is about to be deleted, once. */
static int change_it(void *ctx, const cJSON *obj, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *patch = cJSON_CreateObject();

	if (meta_label(obj, "changed"))
		return 0;
	json_put_str(patch, "yes", "metadata", "labels", "changed");
	return apiserver_write(busy_server, "PATCH",
			       arena_printf(&arena, MAPS "/%s", meta_name(obj)), patch,
			       NULL, err);
}

TEST(test_collection)
{
	const struct apiserver_conf conf = { .remove = change_it };
	cleanup_json cJSON *left = NULL;
	struct error err = { 0 };
	cJSON *answer = NULL;

	assert_int_equal(apiserver_new(&busy_server, &conf, &err), 0);
	create_map(busy_server, "a", NULL);
	create_map(busy_server, "b", NULL);
	if (apiserver_write(busy_server, "DELETE", MAPS, NULL, &answer, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(cJSON_GetArraySize(json_get(answer, "items")), 2);
	left = apiserver_list(busy_server, "v1", "ConfigMap", "default");
	assert_int_equal(cJSON_GetArraySize(left), 0);
	cJSON_Delete(answer);
	apiserver_free(busy_server);
}

/* While one goes, there is another of the second one's name, which belongs to nobody. */
static int replace_second(void *ctx, const cJSON *obj, struct error *err)
{
	if (!str_eq(meta_name(obj), "child-1"))
		return 0;
	if (apiserver_write(busy_server, "DELETE", MAPS "/child-2", NULL, NULL, err))
		return -1;
	create_map(busy_server, "child-2", NULL);
	return 0;
}

TEST(test_another_of_the_name)
{
	const struct apiserver_conf conf = { .remove = replace_second };
	cleanup_json cJSON *owner = NULL, *left = NULL;
	struct error err = { 0 };

	assert_int_equal(apiserver_new(&busy_server, &conf, &err), 0);
	create_map(busy_server, "owner", NULL);
	owner = apiserver_get(busy_server, "v1", "ConfigMap", "default", "owner");
	create_map(busy_server, "child-1", meta_uid(owner));
	create_map(busy_server, "child-2", meta_uid(owner));
	assert_int_equal(
		apiserver_write(busy_server, "DELETE", MAPS "/owner", NULL, NULL, &err),
		0);
	left = apiserver_list(busy_server, "v1", "ConfigMap", "default");
	assert_int_equal(cJSON_GetArraySize(left), 1);
	assert_string_equal(meta_name(left->child), "child-2");
	apiserver_free(busy_server);
}

static int change_before(void *ctx, const cJSON *old, const cJSON *obj, struct error *err)
{
	return !old || meta_label(obj, "changed") ? 0 : change_it(ctx, old, err);
}

/* A patch of what changes meanwhile is made again, unless it is of a version. */
TEST(test_patch_of_what_changes)
{
	const struct apiserver_conf conf = { .write = change_before };
	cleanup_json cJSON *patch = cJSON_CreateObject(), *map = NULL;
	struct error err = { 0 };

	assert_int_equal(apiserver_new(&busy_server, &conf, &err), 0);
	json_put_str(patch, "1", "data", "x");
	for (int of_version = 0; of_version < 2; of_version++) {
		const char *name = of_version ? "b" : "a";
		cleanup_arena struct arena arena = { 0 };

		create_map(busy_server, name, NULL);
		map = apiserver_get(busy_server, "v1", "ConfigMap", "default", name);
		if (of_version)
			meta_set_version(patch, meta_version(map));
		cJSON_Delete(map);
		assert_int_equal(apiserver_write(busy_server, "PATCH",
						 arena_printf(&arena, MAPS "/%s", name),
						 patch, NULL, &err),
				 -of_version);
	}
	assert_int_equal(err.kind, ERR_CONFLICT);
	map = apiserver_get(busy_server, "v1", "ConfigMap", "default", "a");
	assert_string_equal(json_str(map, "data", "x"), "1");
	assert_string_equal(meta_label(map, "changed"), "yes");
	apiserver_free(busy_server);
}

/* Who waits for changes hears of those of a kind, and that some were missed. */
TEST(next_change_of_a_kind_or_expired)
{
	const struct apiserver_conf conf = { .max_events = 3 };
	struct error err = { 0 };
	struct apiserver *s;
	int64_t version = 0, first;
	char *key = NULL;

	assert_int_equal(apiserver_new(&s, &conf, &err), 0);
	assert_int_equal(apiserver_next(s, "ConfigMap", &version, 0, &key, &err), 0);
	first = version;
	create_map(s, "a", NULL);
	assert_int_equal(apiserver_next(s, "Secret", &version, 0, &key, &err), 0);
	version = first;
	assert_int_equal(apiserver_next(s, "ConfigMap", &version, 0, &key, &err), 1);
	assert_string_equal(key, "default/a");
	for (const char *name = "bcde"; *name; name++)
		create_map(s, name, NULL);
	version = first;
	assert_int_equal(apiserver_next(s, "ConfigMap", &version, 0, &key, &err), -1);
	assert_int_equal(err.kind, ERR_EXPIRED);
	assert_int_equal(apiserver_next(s, "ConfigMap", &version, 0, &key, &err), 0);
	free(key);
	apiserver_free(s);
}

RUN_TESTS(setup, teardown)
