#include "kube/kube.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "crypto/x509.h"
#include "tests/unit/net/scripted.h"

static struct scripted server;

static int start_server(void **state)
{
	scripted_start(&server, NULL);
	return 0;
}

static int stop_server(void **state)
{
	scripted_stop(&server);
	return 0;
}

static struct kube *kube_with(const struct kube_config *config,
			      const struct kube_opts *opts)
{
	static const struct kube_opts plain;
	struct kube_config c = *config;
	struct error err = { 0 };
	struct kube *k;

	c.server = scripted_url(&server, "http", "");
	c.proxy_url = "";
	if (kube_new(&k, &c, opts ? opts : &plain, &err))
		fail_msg("%s", err.msg);
	return k;
}

static struct kube *plain_kube(void)
{
	return kube_with(&(struct kube_config){ .token = "secret-token" }, NULL);
}

static const char *sent(int n, const char *key)
{
	return json_str(scripted_request(&server, n), key);
}

static const char *sent_header(int n, const char *key)
{
	return json_str(scripted_request(&server, n), "headers", key);
}

static const struct kube_ref pod = { "v1", "Pod", "team-a", "bert" };
static const struct kube_ref pods = { "v1", "Pod", "team-a", NULL };
static const struct kube_ref jobset = { "jobset.x-k8s.io/v1alpha2", "JobSet", "team-a",
					"bert" };

TEST(get_sends_credentials_and_impersonation)
{
	struct kube *k = kube_with(
		&(struct kube_config){
			.token = "abc",
			.impersonate = "jane",
			.impersonate_uid = "u-7",
			.impersonate_extra =
				(const char *[]){ "Impersonate-Extra-k: v w", NULL },
			.impersonate_groups = (const char *const[]){ "a", "b", NULL } },
		&(struct kube_opts){ .user_agent = "me/1" });
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	scripted_script(&server, "[{'body':'{\\\"kind\\\":\\\"JobSet\\\"}'}]");
	if (kube_get(k, &jobset, &got, &err))
		fail_msg("%s", err.msg);
	check_text("kind", json_str(got, "kind"), "JobSet");
	check_text("method", sent(0, "method"), "GET");
	check_text("path", sent(0, "path"),
		   "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/bert");
	check_text("auth", sent_header(0, "authorization"), "Bearer abc");
	check_text("accept", sent_header(0, "accept"), "application/json");
	check_text("agent", sent_header(0, "user-agent"), "me/1");
	check_text("as", sent_header(0, "impersonate-user"), "jane");
	check_text("uid", sent_header(0, "impersonate-uid"), "u-7");
	check_text("extra", sent_header(0, "impersonate-extra-k"), "v w");
	check_text("groups", sent_header(0, "impersonate-group"), "a, b");
	kube_free(k);
}

TEST(test_basic_authentication)
{
	struct kube *k = kube_with(
		&(struct kube_config){ .username = "jane", .password = "p:w" }, NULL);
	struct error err = { 0 };
	cleanup_json cJSON *got = NULL;

	scripted_script(&server, "[{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	check_text("auth", sent_header(0, "authorization"), "Basic amFuZTpwOnc=");
	kube_free(k);
}

TEST(test_paths)
{
	static const struct {
		struct kube_ref ref;
		const char *path;
	} rows[] = {
		{ { "v1", "Pod", "a", "b" }, "/api/v1/namespaces/a/pods/b" },
		{ { "v1", "Pod", "a", NULL }, "/api/v1/namespaces/a/pods" },
		{ { "v1", "Pod", NULL, NULL }, "/api/v1/pods" },
		{ { "v1", "Pod", NULL, "b" }, "/api/v1/namespaces/mine/pods/b" },
		{ { "v1", "Node", "a", "b" }, "/api/v1/nodes/b" },
		{ { "v1", "Secret", "a b", "..c d?x=1#\n" },
		  "/api/v1/namespaces/a%20b/secrets/..c%20d%3Fx%3D1%23%0A" },
		{ { "trainer.kubeflow.org/v1alpha1", "TrainJob", "a", "b" },
		  "/apis/trainer.kubeflow.org/v1alpha1/namespaces/a/trainjobs/b" },
		{ { "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "a", "b" },
		  "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/b" },
	};
	struct kube *k = kube_with(&(struct kube_config){ .ns = "mine" }, NULL);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		const char *path = NULL;

		if (kube_path(&a, k, &rows[i].ref, &path, &err))
			fail_msg("%s: %s", rows[i].path, err.msg);
		check_text(rows[i].path, path, rows[i].path);
	}
	kube_free(k);
}

/* Escaped or not, such a name is another path for a proxy or the API server. */
TEST(test_names_that_cannot_be_in_a_path_are_not_sent)
{
	static const struct {
		const char *ns, *name, *want;
	} rows[] = {
		{ "a", "../x", "secrets: invalid name \"../x\": it must" },
		{ "a", "x/y", "invalid name \"x/y\"" },
		{ "a", "x%2fy", "invalid name \"x%2fy\"" },
		{ "a", "..", "invalid name \"..\"" },
		{ "a", ".", "invalid name \".\"" },
		{ "a", "", "invalid name \"\"" },
		{ "a", "\x1b/", "invalid name \"\\x1b/\"" },
		{ "..", "x", "invalid name \"..\"" },
		{ "a/b", "x", "namespaces: invalid name \"a/b\"" },
	};
	struct kube *k = kube_with(&(struct kube_config){ .ns = "mine" }, NULL);

	scripted_script(&server, "[]");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube_ref ref = { "v1", "Secret", rows[i].ns, rows[i].name };
		struct error err = { 0 };
		cJSON *got = NULL;

		assert_int_equal(kube_get(k, &ref, &got, &err), -1);
		check_int(rows[i].want, err.kind, ERR_NOT_FOUND);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("%s, not %s", err.msg, rows[i].want);
	}
	kube_free(k);
}

#define STATUS(reason, message)                                   \
	"{\\\"kind\\\":\\\"Status\\\",\\\"reason\\\":\\\"" reason \
	"\\\",\\\"message\\\":\\\"" message "\\\"}"

TEST(test_errors)
{
	static const struct {
		int status;
		const char *body;
		enum error_kind kind;
		const char *message; /* behind "get pods team-a/bert: " */
	} rows[] = {
		{ 404, STATUS("NotFound", "none"), ERR_NOT_FOUND, "none" },
		{ 403, STATUS("Forbidden", "no"), ERR_DENIED, "no" },
		{ 403, STATUS("", "admission webhook \\\\\\\"v\\\\\\\" denied: x"),
		  ERR_INVALID, "admission webhook \"v\" denied: x" },
		{ 409, STATUS("AlreadyExists", "is"), ERR_EXISTS, "is" },
		{ 409, STATUS("Conflict", "c"), ERR_CONFLICT, "c" },
		{ 410, STATUS("Expired", "old"), ERR_EXPIRED, "old" },
		{ 400, STATUS("BadRequest", "b"), ERR_INVALID, "b" },
		{ 422, STATUS("Invalid", "i"), ERR_INVALID, "i" },
		{ 429, STATUS("TooManyRequests", "t"), ERR_BUSY, "t" },
		{ 503, STATUS("ServiceUnavailable", "u"), ERR_BUSY, "u" },
		{ 500, STATUS("InternalError", "e"), ERR_BUSY, "e" },
		{ 413, STATUS("RequestEntityTooLarge", "l"), ERR_LIMIT, "l" },
		{ 502, "", ERR_BUSY, "the API server returned 502" },
		{ 404, "404 page not found\\n", ERR_NOT_FOUND,
		  "the server could not find the requested resource" },
		{ 404, "page \\u001b[1mnot found\\n", ERR_NOT_FOUND,
		  "the API server returned 404: page \\x1b[1mnot found" },
		{ 404, "one\\ntwo\\n", ERR_NOT_FOUND,
		  "the API server returned 404: one\\x0atwo" },
		{ 400, "{\\\"kind\\\":\\\"Other\\\"}", ERR_INVALID,
		  "the API server returned 400: {\"kind\":\"Other\"}" },
	};
	struct kube *k = plain_kube();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		cJSON *got = NULL;

		scripted_script(&server, arena_printf(&a, "[{'status':%d,'body':'%s'}]",
						      rows[i].status, rows[i].body));
		assert_int_equal(kube_get(k, &pod, &got, &err), -1);
		assert_null(got);
		check_text(rows[i].message, err.msg,
			   arena_printf(&a, "get pods team-a/bert: %s", rows[i].message));
		check_int(rows[i].message, err.kind, rows[i].kind);
		check_int(rows[i].message, err.code, rows[i].status);
	}
	kube_free(k);
}

TEST(test_long_and_wrong_answers)
{
	struct kube *k = plain_kube();
	struct error err = { 0 };
	cJSON *got = NULL;

	scripted_script(&server, "[{'status':502,'body':'0123456789','times':1000},"
				 "{'body':'<html>hello</html>'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_true(strlen(err.msg) < 300);
	assert_non_null(strstr(err.msg, "0123456789 ..."));
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	kube_free(k);
}

/* delete and suspend had said that a redirect, as to a login page, was done. */
TEST(test_redirects)
{
	static const char to[] = "https://sso.example/login?state=secret-state";
	struct kube *k = plain_kube();
	struct kube_write how = { .manager = "m" };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	scripted_script(&server,
			arena_printf(&a,
				     "[{'status':302,'headers':{'Location':'%s'}},"
				     "{'status':307,'headers':{'Location':'%s'}},"
				     "{'status':302}]",
				     to, to));
	assert_int_equal(kube_delete(k, &pod, "Background", NULL, &err), -1);
	assert_string_equal(err.msg,
			    "delete pods team-a/bert: the API server returned 302, a "
			    "redirect to https://sso.example/login; is its address "
			    "right, and does a proxy want a login?");
	assert_int_equal(err.code, 302);
	assert_int_equal(kube_merge_patch(k, &pod, patch, &how, NULL, &err), -1);
	assert_int_equal(err.code, 307);
	assert_int_equal(kube_delete(k, &pod, "Background", NULL, &err), -1);
	assert_string_equal(err.msg, "delete pods team-a/bert: the API server returned "
				     "302");
	assert_int_equal(scripted_count(&server), 3);
	kube_free(k);
}

TEST(test_no_secret_in_errors)
{
	struct kube *k = plain_kube();
	struct error err = { 0 };
	cJSON *got = NULL;

	scripted_script(&server, "[{'status':401,'body':'" STATUS("Unauthorized",
								  "Unauthorized") "'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(scripted_count(&server), 1); /* there is no other token */
	assert_null(strstr(err.msg, "secret-token"));
	assert_non_null(strstr(err.msg, "does not accept these credentials"));
	kube_free(k);
}

/* ---- writing ---- */

enum verb { CREATE, UPDATE, APPLY, MERGE };

static int write_it(struct kube *k, enum verb verb, const cJSON *obj,
		    const struct kube_write *how, cJSON **ret, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);

	switch (verb) {
	case CREATE:
		return kube_create(k, obj, how, ret, err);
	case UPDATE:
		return kube_update(k, obj, how, ret, err);
	case APPLY:
		return kube_apply(k, obj, how, ret, err);
	default:
		return kube_merge_patch(k, &ref, obj, how, ret, err);
	}
}

TEST(test_writes)
{
	static const struct {
		enum verb verb;
		struct kube_write how;
		const char *method, *path, *type, *accept;
	} rows[] = {
		{ CREATE,
		  { 0 },
		  "POST",
		  "/api/v1/namespaces/n/configmaps",
		  "application/json",
		  "application/json" },
		{ CREATE,
		  { .manager = "a b", .dry_run = true },
		  "POST",
		  "/api/v1/namespaces/n/configmaps?fieldManager=a%20b&dryRun=All",
		  "application/json",
		  "application/json" },
		{ UPDATE,
		  { .subresource = "status", .meta_only = true },
		  "PUT",
		  "/api/v1/namespaces/n/configmaps/c/status",
		  "application/json",
		  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
		{ APPLY,
		  { .manager = "m", .force = true },
		  "PATCH",
		  "/api/v1/namespaces/n/configmaps/c?fieldManager=m&force=true",
		  "application/apply-patch+yaml",
		  "application/json" },
		{ MERGE,
		  { 0 },
		  "PATCH",
		  "/api/v1/namespaces/n/configmaps/c",
		  "application/merge-patch+json",
		  "application/json" },
	};
	static const char *const object =
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":"
		"{\"name\":\"c\",\"namespace\":\"n\",\"resourceVersion\":\"1\"}}";
	cleanup_json cJSON *obj = doc_of(object);
	struct kube *k = plain_kube();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *got = NULL, *warnings = NULL;
		struct kube_write how = rows[i].how;
		struct error err = { 0 };

		how.ret_warnings = &warnings;
		scripted_script(&server,
				"[{'status':201,'body':'{\\\"a\\\":1}','headers':"
				"{'Warning':'299 - \\\"careful\\\"'}},{'body':'{}'}]");
		if (write_it(k, rows[i].verb, obj, &how, &got, &err))
			fail_msg("%s: %s", rows[i].path, err.msg);
		check_int(rows[i].path, json_int(got, 0, "a"), 1);
		check_text("warning",
			   cJSON_GetStringValue(cJSON_GetArrayItem(warnings, 0)),
			   "careful");
		check_text("method", sent(0, "method"), rows[i].method);
		check_text("path", sent(0, "path"), rows[i].path);
		check_text("type", sent_header(0, "content-type"), rows[i].type);
		check_text("accept", sent_header(0, "accept"), rows[i].accept);
		check_text("body", sent(0, "body"), object);
		how.ret_warnings = NULL;
		assert_int_equal(write_it(k, rows[i].verb, obj, &how, NULL, &err), 0);
	}
	kube_free(k);
}

TEST(test_delete)
{
	struct kube *k = plain_kube();
	struct error err = { 0 };

	scripted_script(&server, "[{'body':'{}'},{'body':'{}'}]");
	assert_int_equal(kube_delete(k, &pod, "Background", "u-1", &err), 0);
	check_text("method", sent(0, "method"), "DELETE");
	check_text("path", sent(0, "path"), "/api/v1/namespaces/team-a/pods/bert");
	check_text(
		"body", sent(0, "body"),
		"{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\",\"preconditions\":{\"uid\":\"u-1\"}}");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), 0);
	assert_int_equal(kube_delete(k, &pods, NULL, NULL, &err), -1); /* never all */
	assert_int_equal(scripted_count(&server), 2);
	kube_free(k);
}

/* ---- trying again ---- */

TEST(test_busy_servers)
{
	struct kube *k = plain_kube();
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };
	int64_t start = clock_ms();

	scripted_script(&server, "[{'status':429,'headers':{'Retry-After':'1'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':500,'headers':{'Retry-After':'0'}},"
				 "{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	assert_int_equal(scripted_count(&server), 4);
	assert_true(clock_ms() - start >= 1000);
	scripted_script(&server, "[{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},"
				 "{'status':503,'headers':{'Retry-After':'0'}},{}]");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_BUSY);
	assert_int_equal(scripted_count(&server), 6);
	kube_free(k);
	/* Who waits for 9 s at most does not wait for longer than that, either. */
	k = kube_with(&(struct kube_config){ 0 },
		      &(struct kube_opts){ .timeout_ms = 9000 });
	scripted_script(&server, "[{'status':429,'headers':{'Retry-After':'300'}},{}]");
	err = (struct error){ 0 };
	assert_int_equal(kube_get(k, &pod, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_BUSY);
	assert_int_equal(scripted_count(&server), 1);
	kube_free(k);
}

#define CONFLICT(kind)                                                                      \
	"{'status':409,'body':'{\\\"kind\\\":\\\"Status\\\",\\\"reason\\\":\\\""            \
	"Conflict\\\",\\\"message\\\":\\\"lost\\\",\\\"details\\\":{\\\"kind\\\":\\\"" kind \
	"\\\"}}'}"

/*
 * Others wrote what the same quota counts (kubernetes/kubernetes#67761): nothing is stored,
 * and the write is tried again. Any other conflict is the caller's.
 */
TEST(test_lost_to_a_quota)
{
	struct kube *k = plain_kube();
	const struct kube_write how = { 0 };
	cleanup_json cJSON *obj = meta_new("v1", "Pod", "team-a", "bert");
	struct error err = { 0 };

	scripted_script(&server, "[" CONFLICT("resourcequotas") "," CONFLICT(
					 "clusterresourcequotas") ",{'body':'{}'}]");
	assert_int_equal(kube_create(k, obj, &how, NULL, &err), 0);
	assert_int_equal(scripted_count(&server), 3);
	scripted_script(&server, "[" CONFLICT("pods") ",{'body':'{}'}]");
	assert_int_equal(kube_create(k, obj, &how, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_int_equal(scripted_count(&server), 1);
	kube_free(k);
}

static bool may_write(void *yes)
{
	return *(bool *)yes;
}

/* Who no longer leads writes nothing, not even once more. */
TEST(test_may_not_write)
{
	bool yes = true;
	struct kube *k =
		kube_with(&(struct kube_config){ 0 },
			  &(struct kube_opts){ .may_write = may_write, .ctx = &yes });
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	scripted_script(&server, "[{},{'body':'{}'}]");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), 0);
	yes = false;
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_STOPPED);
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	assert_int_equal(scripted_count(&server), 2);
	kube_free(k);
}

/* What is safe is sent once more; what could happen twice is not. */
TEST(test_broken_connections)
{
	struct kube *k = plain_kube();
	cleanup_json cJSON *got = NULL,
			   *obj = doc_of("{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
					 "\"metadata\":{\"name\":\"a\"}}");
	struct kube_write how = { .manager = "m" };
	struct error err = { 0 };

	scripted_script(&server, "[{'raw':''},{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	scripted_script(&server, "[{'raw':''},{'body':'{}'}]");
	assert_int_equal(kube_apply(k, obj, &how, NULL, &err), 0);
	assert_int_equal(scripted_count(&server), 2);
	kube_free(k);
	k = plain_kube(); /* without a kept connection */
	scripted_script(&server, "[{'raw':''},{'body':'{}'}]");
	assert_int_equal(kube_apply(k, obj, &how, NULL, &err), 0);
	assert_int_equal(scripted_count(&server), 2);
	kube_free(k);
	k = plain_kube();
	scripted_script(&server, "[{'raw':''},{'body':'{}'}]");
	assert_int_equal(kube_create(k, obj, &how, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_IO);
	assert_int_equal(scripted_count(&server), 1);
	for (int ok = 0; ok < 2; ok++) { /* on a kept one, too, unless it is harmless */
		how.exists_ok = ok;
		scripted_script(&server, "[{'body':'{}'},{'raw':''},{'body':'{}'}]");
		assert_int_equal(kube_apply(k, obj, &how, NULL, &err), 0);
		assert_int_equal(kube_create(k, obj, &how, NULL, &err), ok ? 0 : -1);
		assert_int_equal(scripted_count(&server), 2 + ok);
	}
	kube_free(k);
	k = plain_kube();
	scripted_script(&server, "[{'raw':''},{'raw':''},{'body':'{}'}]");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), -1);
	assert_int_equal(scripted_count(&server), 2);
	kube_free(k);
}

static void put_file(const char *path, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(file_write(path, text, strlen(text), 0700, &err), 0);
}

TEST(test_a_tokens_file_is_read_again)
{
	char dir[] = "/tmp/kube-test-XXXXXX";
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };
	const char *path;
	struct kube *k;

	assert_non_null(mkdtemp(dir));
	path = path_join(&a, dir, "token");
	k = kube_with(&(struct kube_config){ .token_file = path }, NULL);
	scripted_script(&server, "[{'body':'{}'},{'status':401},{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_non_null(strstr(err.msg, path));
	put_file(path, "one\ntwo\n");
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_non_null(strstr(err.msg, ": not a token"));
	put_file(path, "\n");
	assert_int_equal(kube_get(k, &pod, &got, &err), -1);
	assert_non_null(strstr(err.msg, ": not a token"));
	put_file(path, " \r\n\tone\r\n \t");
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	put_file(path, "two");
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	check_text("first", sent_header(0, "authorization"), "Bearer one");
	check_text("second", sent_header(1, "authorization"), "Bearer one");
	check_text("third", sent_header(2, "authorization"), "Bearer two");
	/* refused for good: two attempts, no more */
	scripted_script(&server, "[{'status':401},{'status':401},{'status':401}]");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(scripted_count(&server), 2);
	/* empty or gone meanwhile: what we have still counts */
	put_file(path, " \n");
	scripted_script(&server, "[{'status':401},{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	assert_int_equal(dir_remove(dir, &err), 0);
	scripted_script(&server, "[{'status':401},{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	kube_free(k);
}

/* The program "plugin" in the directory of the kubeconfig. */
static cJSON *plugin_exec(void)
{
	return doc_of("{\"apiVersion\":\"client.authentication.k8s.io/v1\","
		      "\"command\":\"./plugin\",\"interactiveMode\":\"Never\"}");
}

/* A plugin that gives another token each time: t1, t2, ... */
TEST(test_exec_plugin)
{
	char dir[] = "/tmp/kube-test-XXXXXX";
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *exec = plugin_exec();
	const struct kube_config config = { .exec = exec, .dir = dir };
	struct error err = { 0 };
	struct kube *k;

	assert_non_null(mkdtemp(dir));
	put_file(
		path_join(&a, dir, "plugin"),
		"#!/bin/sh\n"
		"cd \"${0%/*}\"; echo x >> calls\n"
		"[ -e forever ] || e=',\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"'\n"
		"echo \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"t$(wc -l < calls)\\\"$e}}\"\n");
	k = kube_with(&config, NULL);
	scripted_script(&server,
			"[{'body':'{}'},{'body':'{}'},{'status':401},{'body':'{}'},"
			"{'body':'{}'}]");
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0); /* t1, expired already */
	put_file(path_join(&a, dir, "forever"), "");
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0); /* t2, which does not */
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0); /* t2 refused, t3 */
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	check_text("1", sent_header(0, "authorization"), "Bearer t1");
	check_text("2", sent_header(1, "authorization"), "Bearer t2");
	check_text("3", sent_header(2, "authorization"), "Bearer t2");
	check_text("4", sent_header(3, "authorization"), "Bearer t3");
	check_text("5", sent_header(4, "authorization"), "Bearer t3");
	kube_free(k);
	assert_int_equal(dir_remove(dir, &err), 0);
}

TEST(test_limiter)
{
	struct kube *k = kube_with(&(struct kube_config){ 0 },
				   &(struct kube_opts){ .qps = 20, .burst = 2 });
	int64_t start = clock_ms();
	struct error err = { 0 };

	scripted_script(&server, "[{},{},{},{},{},{}]");
	for (int i = 0; i < 6; i++)
		assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), 0);
	assert_true(clock_ms() - start >= 190); /* 2 at once, 4 at 50 ms each */
	kube_free(k);
}

/* Who asked us would have given up before its turn comes. */
TEST(test_a_call_does_not_wait_longer_for_its_turn_than_it_may_take)
{
	struct kube *k = kube_with(
		&(struct kube_config){ 0 },
		&(struct kube_opts){ .qps = 0.01, .burst = 1, .timeout_ms = 60000 });
	struct error err = { 0 };

	scripted_script(&server, "[{},{},{}]");
	assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), 0);
	for (int i = 0; i < 3; i++) { /* its turn would come after 100 s */
		assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), -1);
		assert_int_equal(err.kind, ERR_BUSY);
		assert_non_null(strstr(err.msg, "too many calls are waiting"));
	}
	assert_int_equal(scripted_count(&server), 1);
	kube_free(k);
}

/* Calls beyond the limit go one by one as each may: they do not gather to go together. */
TEST(test_limited_calls_do_not_gather)
{
	struct kube *k = kube_with(&(struct kube_config){ 0 },
				   &(struct kube_opts){ .qps = 10, .burst = 5 });
	int64_t shortest = INT64_MAX;
	struct error err = { 0 };

	scripted_script(&server, "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]");
	for (int i = 0; i < 16; i++) {
		int64_t start = clock_ms(), took;

		assert_int_equal(kube_delete(k, &pod, NULL, NULL, &err), 0);
		took = clock_ms() - start;
		if (took >= 50 && took < shortest)
			shortest = took;
	}
	assert_true(shortest < 300); /* 100 ms a call; five together: 500 ms */
	kube_free(k);
}

/* ---- lists and watches ---- */

struct seen {
	struct buf names; /* "a b c " */
	int fail_at, n;
};

static int on_item(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *obj = take_obj;
	struct seen *s = ctx;

	check_text("apiVersion", json_str(obj, "apiVersion"), "v1");
	check_text("kind", json_str(obj, "kind"), "Pod");
	buf_printf(&s->names, "%s ", json_str(obj, "metadata", "name"));
	return ++s->n == s->fail_at ? error_set(err, ERR_INVALID, "enough") : 0;
}

/* The names, or the error's message. */
static const char *list_with(struct arena *a, const struct kube_select *select,
			     const char *want_version)
{
	struct kube *k = plain_kube();
	struct seen seen = { .names = { .max = 10000 } };
	struct kube_sink sink = { .on_item = on_item, .ctx = &seen };
	cleanup_free char *version = NULL;
	struct error err = { 0 };
	const char *ret;

	buf_adds(&seen.names, "");
	if (kube_list(k, &pods, select, &sink, &version, &err))
		ret = arena_strdup(a, err.msg);
	else
		ret = arena_strdup(a, (char *)seen.names.data);
	check_text("version", version, want_version);
	buf_release(&seen.names);
	kube_free(k);
	return ret;
}

#define LIST(meta, items)                                       \
	"{\\\"kind\\\":\\\"PodList\\\",\\\"metadata\\\":{" meta \
	"},\\\"items\\\":[" items "]}"
#define AT(v)      "\\\"resourceVersion\\\":\\\"" v "\\\""
#define NEXT(v)    ",\\\"continue\\\":\\\"" v "\\\""
#define ITEM(name) "{\\\"metadata\\\":{\\\"name\\\":\\\"" name "\\\"}}"

TEST(test_list_pages)
{
	struct kube_select select = { .label_selector = "a=b,c in (d)",
				      .field_selector = "x!=y",
				      .page = 2 };
	cleanup_arena struct arena a = { 0 };

	scripted_script(
		&server,
		"[{'body':'" LIST(AT("7") NEXT("t/1"), ITEM("a") "," ITEM("b")) "'},{'body':'" LIST(
			AT("7") NEXT("t2"),
			ITEM("c") "," ITEM("d")) "'},{'body':'" LIST(AT("7"),
								     ITEM("e")) "'}]");
	check_text("names", list_with(&a, &select, "7"), "a b c d e ");
	check_text("first", sent(0, "path"),
		   "/api/v1/namespaces/team-a/pods?labelSelector=a%3Db%2Cc%20in%20%28d%29"
		   "&fieldSelector=x%21%3Dy&limit=2");
	assert_non_null(strstr(sent(1, "path"), "&limit=2&continue=t%2F1"));
	assert_non_null(strstr(sent(2, "path"), "&limit=2&continue=t2"));
}

/* The token has expired: all of it again, in one piece. */
TEST(test_list_expired)
{
	cleanup_arena struct arena a = { 0 };

	scripted_script(
		&server,
		"[{'body':'" LIST(AT("7") NEXT("t"), ITEM("a")) "'},{'status':410,'body':'" STATUS(
			"Expired",
			"too old") "'},{'body':'" LIST(AT("9"),
						       ITEM("a") "," ITEM("b")) "'}]");
	check_text("names", list_with(&a, NULL, "9"), "a a b ");
	check_text("first", sent(0, "path"), "/api/v1/namespaces/team-a/pods?limit=500");
	check_text("last", sent(2, "path"), "/api/v1/namespaces/team-a/pods");
}

TEST(test_list_as_metadata)
{
	struct kube_select select = { .meta_only = true };
	cleanup_arena struct arena a = { 0 };

	scripted_script(
		&server,
		"[{'body':'" LIST(
			AT("7"),
			"{\\\"kind\\\":\\\"X\\\",\\\"metadata\\\":{\\\"name\\\":\\\"a\\\"}}") "'}]");
	check_text("names", list_with(&a, &select, "7"), "a ");
	check_text("accept", sent_header(0, "accept"),
		   "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
}

/* Text that could be taken for the structure of the list, in pieces of each length. */
TEST(test_list_in_pieces)
{
	static const char *const text =
		"{\"kind\":\"items\",\"x\":{\"items\":[{\"no\":1}]},\"a\\\"items\":[1,{\"n\":2}],\"items\":\n"
		"[ {\"metadata\":{\"name\":\"]},{\"},\"items\":[[],{}]} "
		",{\"metadata\":{\"name\":\"\\\\\"},\"s\":\"\\\"items\\\":[\"}],\"itemsx\":[{}],\"metadata\":{\"resourceVersion\":\"3\"}}";

	for (size_t step = 1; step < 12; step++) {
		cleanup_json cJSON *script = cJSON_CreateArray();
		cleanup_free char *body = NULL;
		cleanup_arena struct arena a = { 0 };
		cleanup_http_response struct http_response resp = { 0 };
		cJSON *answer = cJSON_CreateObject();

		cJSON_AddItemToArray(script, answer);
		for (size_t at = 0; at < strlen(text); at += step) {
			char *piece = str_slice(
				&a, text + at,
				strlen(text + at) < step ? strlen(text + at) : step);

			cJSON_AddItemToArray(json_list(answer, "chunks"),
					     cJSON_CreateString(piece));
		}
		body = json_text(script);
		scripted_control(&server, "POST", body, &resp);
		check_text("names", list_with(&a, NULL, "3"), "]},{ \\ ");
	}
}

TEST(test_list_failures)
{
	static const struct {
		const char *script, *words;
	} rows[] = {
		{ "[{'body':'<html>'}]", "not a list" },
		{ "[{'body':'{}'}]", "not a list" },
		{ "[{'body':'" LIST(AT("1"), "{\\\"a\\\":}") "'}]",
		  "an object of the list: 1:6" },
		{ "[{'body':'{\\\"items\\\":[{\\\"a\\\":1'}]", "not a list" },
		{ "[{'body':']]]]}}}}'}]", "not a list" },
		{ "[{'body':'{\\\"items\\\":[{\\\"a'},{}]", "not a list" },
		{ "[{'status':403,'body':'" STATUS("Forbidden", "no") "'}]",
		  "list pods team-a: no" },
		{ "[{'status':410,'body':'" STATUS("Expired", "old") "'}]",
		  "list pods team-a: old" },
		{ "[{'body':'{\\\"items\\\":[{\\\"a\\\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,','times':600000}]",
		  "an object of the list: over 16777216 bytes" },
		{ "[{'body':'0123456789','times':200000}]",
		  "what is around the objects of the list: over 1048576 bytes" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *got;

		scripted_script(&server, rows[i].script);
		got = list_with(&a, NULL, NULL);
		if (!strstr(got, rows[i].words))
			fail_msg("got %s, want %s", got, rows[i].words);
	}
}

/* A page that broke after its first object is not asked for again by itself. */
TEST(test_list_broken)
{
	cleanup_arena struct arena a = { 0 };
	const char *got;

	scripted_script(&server,
			"[{'raw':'HTTP/1.1 200 OK\\r\\nContent-Length: 999\\r\\n\\r\\n"
			"{\\\"items\\\":[" ITEM("a") ",'},{'body':'" LIST(
				AT("7"), ITEM("a")) "'}]");
	got = list_with(&a, NULL, NULL);
	assert_non_null(strstr(got, "connection lost"));
	assert_int_equal(scripted_count(&server), 1);
}

static int on_event(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *obj = take_obj;
	struct seen *s = ctx;

	check_text("kind", json_str(obj, "kind"), "Pod");
	buf_printf(&s->names, "%s:%s ", type, json_str(obj, "metadata", "name"));
	return ++s->n == s->fail_at ? error_set(err, ERR_INVALID, "enough") : 0;
}

#define EVENT(type, name) "{\\\"type\\\":\\\"" type "\\\",\\\"object\\\":" ITEM(name) "}"

TEST(test_watch)
{
	static const struct {
		const char *script, *events;
		enum error_kind kind;
		const char *words;
	} rows[] = {
		{ "[{'chunks':['" EVENT("ADDED", "a") "\\n" EVENT("MODIFIED",
								  "b") "\\n']}]",
		  "ADDED:a MODIFIED:b ", ERR_NONE, "" },
		{ "[{'chunks':['{\\\"type\\\":\\\"DEL',0.05,'ETED\\\",\\\"object\\\":',0.05,'" ITEM(
			  "a") "}','\\n{',0.05,'\\\"type\\\":\\\"BOOKMARK\\\",\\\"object\\\":{}}\\n']}]",
		  "DELETED:a BOOKMARK:(null) ", ERR_NONE, "" },
		{ "[{'chunks':['" EVENT(
			  "ADDED",
			  "a") "\\n{\\\"type\\\":\\\"ERROR\\\",\\\"object\\\":{\\\"kind\\\":\\\"Status\\\",\\\"code\\\":410,\\\"message\\\":\\\"too old\\\"}}\\n']}]",
		  "ADDED:a ", ERR_EXPIRED,
		  "watch pods team-a: the watch ended: too old" },
		{ "[{'status':410,'body':'" STATUS("Expired", "old") "'}]", "",
		  ERR_EXPIRED, "watch pods team-a: old" },
		{ "[{'chunks':['nonsense\\n']}]", "", ERR_FORMAT,
		  "an event of the watch" },
		{ "[{'chunks':['{}\\n']}]", "", ERR_FORMAT, "not a watch" },
		{ "[{'chunks':['{\\\"type\\\":1,\\\"object\\\":{}}\\n']}]", "",
		  ERR_FORMAT, "not a watch" },
		{ "[{'body':'[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,','times':600000}]", "",
		  ERR_LIMIT, "an event of the watch: over 16777216 bytes" },
		{ "[{'chunks':['" EVENT("ADDED", "a") "\\n" EVENT(
			  "ADDED", "b") "\\n" EVENT("ADDED", "c") "\\n']}]",
		  "ADDED:a ADDED:b ADDED:c ", ERR_INVALID, "enough" },
		{ "[{'raw':'HTTP/1.1 200 OK\\r\\nContent-Length: 999\\r\\n\\r\\n" EVENT(
			  "ADDED", "a") "\\n'}]",
		  "ADDED:a ", ERR_IO, "connection lost" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube *k = plain_kube();
		struct seen seen = { .names = { .max = 10000 }, .fail_at = 3 };
		struct kube_watch_opts opts = { .version = "77",
						.on_event = on_event,
						.ctx = &seen };
		struct error err = { 0 };

		buf_adds(&seen.names, "");
		scripted_script(&server, rows[i].script);
		check_int(rows[i].script, kube_watch(k, &pods, &opts, &err),
			  rows[i].kind ? -1 : 0);
		check_int(rows[i].script, err.kind, rows[i].kind);
		if (!strstr(err.msg, rows[i].words))
			fail_msg("got %s, want %s", err.msg, rows[i].words);
		check_text(rows[i].script, (char *)seen.names.data, rows[i].events);
		assert_non_null(
			strstr(sent(0, "path"), "?watch=true&allowWatchBookmarks=true&"));
		assert_non_null(strstr(sent(0, "path"), "&resourceVersion=77"));
		buf_release(&seen.names);
		kube_free(k);
	}
}

static void on_unreadable(void *ctx, const struct error *err)
{
	struct seen *s = ctx;

	assert_non_null(strstr(err->msg, ": 1:"));
	assert_non_null(strstr(err->msg, "half of a surrogate pair"));
	buf_adds(&s->names, "? ");
}

/* The API server stores NUL in strings: others' objects come all the same. */
#define BAD_ITEM "{\\\"metadata\\\":{\\\"name\\\":\\\"b\\\\ud800\\\"}}"
#define NUL_ITEM "{\\\"metadata\\\":{\\\"name\\\":\\\"b\\\\u0000\\\"}}"
TEST(test_unreadable)
{
	struct kube *k = plain_kube();
	struct seen seen = { .names = { .max = 1000 } };
	const struct kube_sink sink = { .on_item = on_item,
					.ctx = &seen,
					.on_unreadable = on_unreadable };
	struct kube_watch_opts opts = { .version = "7",
					.on_event = on_event,
					.on_unreadable = on_unreadable,
					.ctx = &seen };
	struct error err = { 0 };

	scripted_script(
		&server,
		"[{'body':'" LIST(
			AT("7"),
			ITEM("a") "," BAD_ITEM "," ITEM(
				"c")) "'},{'chunks':['{\\\"type\\\":\\\"ADDED\\\",\\\"object\\\":" BAD_ITEM
				      "}\\n" EVENT("ADDED", "d") "\\n']}]");
	assert_int_equal(kube_list(k, &pods, NULL, &sink, NULL, &err), 0);
	assert_int_equal(kube_watch(k, &pods, &opts, &err), 0);
	check_text("seen", (char *)seen.names.data, "a ? c ? ADDED:d ");
	buf_release(&seen.names);
	kube_free(k);
}

/* As of a pod whose container wrote bytes to its termination message. */
TEST(test_nul_of_a_pod)
{
	struct kube *k = plain_kube();
	struct seen seen = { .names = { .max = 1000 } };
	const struct kube_sink sink = { .on_item = on_item, .ctx = &seen };
	struct kube_watch_opts opts = { .version = "7",
					.on_event = on_event,
					.ctx = &seen };
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	scripted_script(
		&server,
		"[{'body':'" LIST(AT("7"),
				  NUL_ITEM) "'},{'chunks':['{\\\"type\\\":"
					    "\\\"ADDED\\\",\\\"object\\\":" NUL_ITEM
					    "}\\n']},{'body':'" NUL_ITEM "'}]");
	assert_int_equal(kube_list(k, &pods, NULL, &sink, NULL, &err), 0);
	assert_int_equal(kube_watch(k, &pods, &opts, &err), 0);
	check_text("seen", (char *)seen.names.data, "b\xef\xbf\xbd ADDED:b\xef\xbf\xbd ");
	assert_int_equal(kube_get(k, &pod, &got, &err), 0);
	check_text("got", json_str(got, "metadata", "name"), "b\xef\xbf\xbd");
	buf_release(&seen.names);
	kube_free(k);
}

TEST(test_a_path_that_is_too_long)
{
	static char selector[70000];
	cleanup_arena struct arena a = { 0 };
	const struct kube_select select = { .label_selector = selector };

	memset(selector, 'a', sizeof(selector) - 1);
	scripted_script(&server, "[{'body':'" LIST("", "") "'}]");
	check_text("error", list_with(&a, &select, NULL), "path: over 65536 bytes");
	/* what the server says where to go on */
	scripted_script(
		&server,
		arena_printf(&a,
			     "[{'body':'" LIST(AT("7") NEXT("%s"),
					       ITEM("a")) "'},{'body':'" LIST(AT("7"),
									      "") "'}]",
			     selector));
	check_text("error", list_with(&a, NULL, NULL), "path: over 65536 bytes");
	assert_int_equal(scripted_count(&server), 1);
}

/* ---- the rest ---- */

#define RESOURCES                                                                        \
	"{\\\"kind\\\":\\\"APIResourceList\\\",\\\"resources\\\":[{\\\"name\\\":\\\"ws/" \
	"status\\\",\\\"kind\\\":\\\"W\\\",\\\"namespaced\\\":false},{\\\"name\\\":"     \
	"\\\"ws"                                                                         \
	"\\\",\\\"kind\\\":\\\"W\\\",\\\"namespaced\\\":true}]}"

TEST(test_discovery)
{
	static const struct kube_ref w = { "x.example/v2", "W", "a", "b" },
				     v = { "x.example/v2", "V", "a", "b" };
	struct kube *k = plain_kube();
	struct error err = { 0 };
	bool serves = false;

	scripted_script(
		&server,
		"[{'headers':{'Content-Type':'application/json'},'body':'" RESOURCES
		"'},{'body':'{}'},{'body':'{}'},"
		"{'headers':{'Content-Type':'application/json'},'body':'" RESOURCES
		"'},{'headers':{'Content-Type':'application/json'},'body':'" RESOURCES
		"'},{'status':404}]");
	assert_int_equal(kube_get(k, &w, NULL, &err), 0);
	assert_int_equal(kube_get(k, &w, NULL, &err), 0); /* remembered */
	check_text("asked", sent(0, "path"), "/apis/x.example/v2");
	check_text("first", sent(1, "path"), "/apis/x.example/v2/namespaces/a/ws/b");
	check_text("second", sent(2, "path"), "/apis/x.example/v2/namespaces/a/ws/b");
	assert_int_equal(kube_get(k, &v, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "no kind V in x.example/v2"));
	assert_int_equal(kube_serves(k, "x.example/v2", "W", &serves, &err), 0);
	assert_true(serves);
	assert_int_equal(kube_serves(k, "x.example/v2", "W", &serves, &err), 0);
	assert_false(serves);
	kube_free(k);
}

TEST(test_discovery_that_fails)
{
	static const struct kube_ref w = { "x.example/v2", "W", "a", "b" };
	struct kube *k = plain_kube();
	struct error err = { 0 };
	bool serves = false;

	scripted_script(&server, "[{'status':403},{'status':403},{'status':403}]");
	assert_int_equal(kube_get(k, &w, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	check_text("asked", sent(0, "path"), "/apis/x.example/v2");
	assert_int_equal(kube_serves(k, "x.example/v2", "W", &serves, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	kube_free(k);
}

static int add_text(void *ctx, const void *data, size_t len, struct error *err)
{
	buf_add(ctx, data, len);
	return 0;
}

TEST(test_any_call)
{
	struct kube *k = plain_kube();
	cleanup_buf struct buf text = { .max = 1000 };
	cleanup_json cJSON *got = NULL, *body = doc_of("{\"a\":1}");
	struct error err = { 0 };

	scripted_script(
		&server,
		"[{'headers':{'Content-Type':'application/json'},'body':'{\\\"b\\\":2}'},"
		"{'headers':{'Content-Type':'text/plain'},'body':'ok'},"
		"{'chunks':['line 1\\n',0.05,'line 2\\n']}]");
	assert_int_equal(kube_call(k, "POST", "/apis/r", body, &got, &err), 0);
	assert_int_equal(json_int(got, 0, "b"), 2);
	check_text("body", sent(0, "body"), "{\"a\":1}");
	cJSON_Delete(got);
	assert_int_equal(kube_call(k, "GET", "/readyz", NULL, &got, &err), 0);
	assert_null(got);
	assert_int_equal(kube_stream(k, "/log", add_text, &text, &err), 0);
	check_text("log", (char *)text.data, "line 1\nline 2\n");
	kube_free(k);
}

TEST(test_metrics)
{
	static const struct metric *const table[] = { &kube_requests_total, NULL };
	struct metrics *m = metrics_new(table);
	struct kube *k = kube_with(&(struct kube_config){ 0 },
				   &(struct kube_opts){ .metrics = m });
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf out = { .max = 10000 };
	struct error err = { 0 };

	scripted_script(
		&server,
		"[{'status':200},{'status':404},{'status':200},{'raw':''},{'raw':''}]");
	for (int i = 0; i < 4; i++)
		(void)!kube_delete(k, &pod, NULL, NULL, &err);
	metrics_print(&out, m);
	assert_non_null(strstr(
		(char *)out.data,
		arena_printf(&a,
			     "{code=\"200\",host=\"localhost:%d\",method=\"DELETE\"} 2\n",
			     server.port)));
	assert_non_null(strstr((char *)out.data, "code=\"404\""));
	assert_non_null(strstr((char *)out.data, "code=\"<error>\""));
	kube_free(k);
	metrics_free(m);
}

TEST(test_other_paths_that_are_too_long)
{
	static char text[70000];
	const struct kube_ref named = { "v1", "Pod", "a", text };
	const struct kube_watch_opts opts = { .version = text, .on_event = on_event };
	const struct kube_watch_opts from_1 = { .version = "1", .on_event = on_event };
	const struct kube_ref odd = { text, "W", "a", "b" };
	cleanup_json cJSON *obj = doc_of("{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
					 "\"metadata\":{\"name\":\"p\"}}");
	const struct kube_write how = { .manager = text };
	struct kube *k = plain_kube();
	struct error err = { 0 };
	bool serves;

	memset(text, 'a', sizeof(text) - 1);
	scripted_script(&server, "[]");
	assert_int_equal(kube_get(k, &named, NULL, &err), -1);
	check_text("get", err.msg, "path: over 4000 bytes");
	assert_int_equal(kube_delete(k, &named, NULL, NULL, &err), -1);
	check_text("delete", err.msg, "path: over 4000 bytes");
	assert_int_equal(kube_merge_patch(k, &named, obj, &kube_plain, NULL, &err), -1);
	check_text("patch", err.msg, "path: over 4000 bytes");
	assert_int_equal(kube_apply(k, obj, &how, NULL, &err), -1);
	check_text("apply", err.msg, "path: over 8000 bytes");
	assert_int_equal(kube_watch(k, &pods, &opts, &err), -1);
	check_text("watch", err.msg, "path: over 65536 bytes");
	assert_int_equal(kube_watch(k, &odd, &from_1, &err), -1);
	check_text("watch", err.msg, "apiVersion: over 1000 bytes");
	assert_int_equal(kube_serves(k, text, "W", &serves, &err), -1);
	check_text("discovery", err.msg, "apiVersion: over 1000 bytes");
	assert_int_equal(scripted_count(&server), 0);
	kube_free(k);
}

TEST(test_what_is_not_sent)
{
	static const struct kube_ref no_kind = { "v1", NULL, "a", "b" },
				     empty_kind = { "v1", "", "a", "b" },
				     no_version = { NULL, "Pod", "a", "b" },
				     empty_version = { "", "Pod", "a", "b" };
	const struct kube_ref *const refs[] = { &no_kind, &empty_kind, &no_version,
						&empty_version };
	cleanup_json cJSON *unnamed = doc_of("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}");
	cleanup_json cJSON *named = doc_of("{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
					   "\"metadata\":{\"name\":\"p\"}}");
	const struct kube_write by_me = { .manager = "me" };
	struct kube *k = plain_kube(), *none = NULL;
	struct error err = { 0 };

	scripted_script(&server, "[]");
	for (size_t i = 0; i < N_ELEMENTS(refs); i++) {
		assert_int_equal(kube_get(k, refs[i], NULL, &err), -1);
		check_text("get", err.msg, "the object has no apiVersion or kind");
	}
	assert_int_equal(kube_update(k, unnamed, &kube_plain, NULL, &err), -1);
	check_text("update", err.msg, "update: the object has no name");
	assert_int_equal(kube_apply(k, unnamed, &by_me, NULL, &err), -1);
	check_text("apply", err.msg, "apply: the object has no name");
	assert_int_equal(kube_apply(k, named, &kube_plain, NULL, &err), -1);
	check_text("apply", err.msg, "apply: no field manager");
	assert_int_equal(scripted_count(&server), 0);
	kube_free(k);
	assert_int_equal(kube_new(&none, &(struct kube_config){ 0 },
				  &(struct kube_opts){ 0 }, &err),
			 -1);
	check_text("server", err.msg, "no API server specified");
	assert_int_equal(
		kube_new(&none,
			 &(struct kube_config){ .server = "http://h", .cert_pem = "c" },
			 &(struct kube_opts){ 0 }, &err),
		-1);
	check_text("key", err.msg,
		   "http://h: a client certificate and its key must both be set");
	assert_null(none);
	kube_free(NULL);
}

/* What the server answers to a write is read, and may be nonsense. */
TEST(test_an_answer_to_a_write_that_is_wrong)
{
	cleanup_json cJSON *obj = doc_of("{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
					 "\"metadata\":{\"name\":\"p\"}}");
	struct kube *k = plain_kube();
	struct error err = { 0 };
	cJSON *got = NULL;

	scripted_script(&server, "[{'body':'<html>'},{'body':'<html>'}]");
	assert_int_equal(kube_create(k, obj, &kube_plain, &got, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_null(got);
	assert_int_equal(kube_create(k, obj, &kube_plain, NULL, &err), 0);
	kube_free(k);
}

/* An answer with a certificate of its own, which has expired. */
static void put_certificate(const char *path)
{
	cleanup_x509_pair struct x509_pair pair = { 0 };
	cleanup_json cJSON *answer =
		doc_of("{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
		       "\"ExecCredential\",\"status\":{\"expirationTimestamp\":"
		       "\"2020-01-01T00:00:00Z\"}}");
	cleanup_free char *text = NULL;
	struct error err = { 0 };

	assert_int_equal(x509_new_p256_ca(&pair, "c", "o", 0, 1, &err), 0);
	json_put_str(answer, pair.cert_pem, "status", "clientCertificateData");
	json_put_str(answer, pair.key_pem, "status", "clientKeyData");
	text = json_text(answer);
	put_file(path, text);
}

/* A plugin that fails, and one that gives another certificate each time. */
TEST(test_certificates_of_a_plugin)
{
	char dir[] = "/tmp/kube-test-XXXXXX";
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *exec = plugin_exec();
	const struct kube_config config = { .exec = exec, .dir = dir };
	struct error err = { 0 };
	struct kube *k;

	assert_non_null(mkdtemp(dir));
	k = kube_with(&config, NULL);
	scripted_script(&server, "[{'body':'{}'},{'body':'{}'}]");
	put_file(path_join(&a, dir, "plugin"), "#!/bin/sh\nexit 3\n");
	assert_int_equal(kube_get(k, &pod, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "exec plugin ./plugin: exited with status 3"));
	assert_int_equal(scripted_count(&server), 0);
	put_file(path_join(&a, dir, "plugin"),
		 "#!/bin/sh\ncd \"${0%/*}\"; echo x >> calls; cat c$(wc -l < calls)\n");
	put_certificate(path_join(&a, dir, "c1"));
	put_certificate(path_join(&a, dir, "c2"));
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	assert_int_equal(kube_get(k, &pod, NULL, &err), 0);
	assert_null(sent_header(0, "authorization"));
	/* the connection of another identity is not used */
	assert_int_not_equal(json_int(scripted_request(&server, 0), -1, "connection"),
			     json_int(scripted_request(&server, 1), -1, "connection"));
	kube_free(k);
	assert_int_equal(dir_remove(dir, &err), 0);
}

TEST(test_no_server)
{
	struct kube_opts opts = { 0 };
	struct error err = { 0 };
	struct kube *k;

	assert_int_equal(kube_new(&k, &(struct kube_config){ 0 }, &opts, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

/* The last test: the process is asked to end only once. */
TEST(test_after_stop)
{
	struct kube *k = plain_kube();
	struct kube *last = kube_with(&(struct kube_config){ 0 },
				      &(struct kube_opts){ .after_stop = true });
	struct error err = { 0 };

	scripted_script(&server,
			"[{'status':503,'headers':{'Retry-After':'1'}},{'body':'{}'}]");
	assert_int_equal(stop_setup(&err), 0);
	stop_request();
	assert_int_equal(kube_get(k, &pod, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_STOPPED);
	if (kube_get(last, &pod, NULL, &err))
		fail_msg("%s", err.msg);
	kube_free(k);
	kube_free(last);
}

RUN_TESTS(start_server, stop_server)
