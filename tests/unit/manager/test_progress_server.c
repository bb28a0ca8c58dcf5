/* Rules: upstream pkg/statusserver; KEP-2779 for who may report. */
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/xmalloc.h"
#include "crypto/jwt.h"
#include "manager/progress_server.h"
#include "tests/unit/manager/standin.h"

#define PATH     "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status"
#define REVIEWS  "/apis/authentication.k8s.io/v1/tokenreviews"
#define POD      "/api/v1/namespaces/ns/pods/tj-p"
#define JOBSET   "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/tj"
#define AUDIENCE "trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status"

#define USER(audience, name, extra)                                                      \
	"{status: {authenticated: true, audiences: ['" audience "'], user: {username: '" \
	"system:serviceaccount:" name "', extra: {" extra "}}}}"
#define BOUND                                             \
	"authentication.kubernetes.io/pod-name: [tj-p], " \
	"authentication.kubernetes.io/pod-uid: [u]"
#define GOOD_USER USER(AUDIENCE, "ns:default", BOUND)
#define GOOD_POD \
	"{metadata: {name: tj-p, uid: u, labels: {jobset.sigs.k8s.io/jobset-name: tj}}}"
#define OWNER(api, kind, name, more)                                                \
	"{metadata: {name: tj, ownerReferences: [{apiVersion: " api ", kind: " kind \
	", name: " name ", uid: tj-uid" more "}]}}"
#define GOOD_JOBSET \
	OWNER("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", ", controller: true")

/* What the API server puts into a token of that pod. */
#define CLAIMS                                                                           \
	"{iss: i, sub: 'system:serviceaccount:ns:default', aud: ['" AUDIENCE             \
	"'], kubernetes.io: {namespace: ns, pod: {name: tj-p, uid: u}, serviceaccount: " \
	"{name: default, uid: s}}}"

static struct standin api;
static struct arena tokens;

static struct progress_server *new_server(void)
{
	struct progress_server *s;
	struct error err = { 0 };

	if (progress_server_new(&s, api.kube, api.kube, &err))
		fail_msg("%s", err.msg);
	return s;
}

/* A header with a token of those claims; another for another id. */
static const char *bearer(const char *claims, const char *id)
{
	cleanup_buf struct buf out = { .max = 65536 };
	cleanup_json cJSON *doc = standin_doc(claims);

	if (id)
		json_put_str(doc, id, "jti");
	buf_adds(&out, "Bearer ");
	jwt_make(&out, "key", doc);
	return arena_strdup(&tokens, (const char *)out.data);
}
#define GOOD_BEARER bearer(CLAIMS, "t")

static int start(void **state)
{
	standin_start(&api);
	return 0;
}

static int stop(void **state)
{
	standin_stop(&api);
	arena_clear(&tokens);
	return 0;
}

struct reply {
	struct httpd_response resp;
	cJSON *doc;
};

static void reply_release(struct reply *r)
{
	buf_release(&r->resp.body);
	buf_release(&r->resp.headers);
	cJSON_Delete(r->doc);
}
#define cleanup_reply __attribute__((cleanup(reply_release)))

static void ask(struct progress_server *s, const char *authorization, const char *body,
		struct reply *r)
{
	const struct httpd_header headers[] = {
		{ authorization ? "Authorization" : "Other",
		  authorization ? authorization : "x" },
		{ NULL, NULL },
	};
	const struct httpd_request req = {
		.method = "POST",
		.path = PATH,
		.query = "",
		.body = (const unsigned char *)body,
		.body_len = strlen(body),
		.content_length = (int64_t)strlen(body),
		.peer = "127.0.0.1",
		.headers = headers,
	};

	*r = (struct reply){ 0 };
	progress_server_handle(s, &req, &r->resp);
	r->doc = standin_doc((const char *)r->resp.body.data);
	assert_string_equal(r->resp.content_type, "application/json");
}

static void assert_failure(const struct reply *r, int code, const char *reason,
			   const char *message)
{
	if (r->resp.status != code || !str_eq(json_str(r->doc, "message"), message))
		fail_msg("wanted %d %s, got %d %s", code, message, r->resp.status,
			 json_str(r->doc, "message"));
	assert_string_equal(json_str(r->doc, "status"), "Failure");
	assert_string_equal(json_str(r->doc, "reason"), reason);
	assert_int_equal(json_int(r->doc, 0, "code"), code);
}

TEST(test_paths_and_methods)
{
	static const struct {
		const char *method, *path;
	} rows[] = {
		{ "GET", PATH },
		{ "PUT", PATH },
		{ "POST", PATH "/" },
		{ "POST", "/" },
		{ "POST", "" },
		{ "POST",
		  "/apis/trainer.kubeflow.org/v1alpha1/namespaces//trainjobs/tj/status" },
		{ "POST",
		  "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs//status" },
		{ "POST",
		  "/apis/trainer.kubeflow.org/v1/namespaces/ns/trainjobs/tj/status" },
		{ "POST",
		  "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj" },
	};
	struct progress_server *s = new_server();
	const struct httpd_header none = { NULL, NULL };

	standin_set(&api, NULL);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_reply struct reply r = { 0 };
		const struct httpd_request req = { .method = rows[i].method,
						   .path = rows[i].path,
						   .headers = &none };

		progress_server_handle(s, &req, &r.resp);
		r.doc = standin_doc((const char *)r.resp.body.data);
		assert_failure(&r, 404, "NotFound", "Not found");
	}
	assert_string_equal((const char *)api.asked.data, "");
	progress_server_free(s);
}

TEST(test_too_large)
{
	cleanup_reply struct reply r = { 0 };
	const struct httpd_request req = { .method = "POST", .path = PATH };

	progress_server_large(NULL, &req, &r.resp);
	r.doc = standin_doc((const char *)r.resp.body.data);
	assert_failure(&r, 413, "RequestEntityTooLarge", "Payload too large");
}

/* Nothing is asked for a header that holds no bearer token, or a name that is none. */
TEST(test_without_a_token)
{
	static const char *const rows[] = { NULL, "",        "Bearer",    "Bearer ",
					    "t",  "Basic t", "Bearer t t" };
	static const char *const paths[] = {
		"/apis/trainer.kubeflow.org/v1alpha1/namespaces/n%20s/trainjobs/tj/status",
		"/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/t_j/status",
	};
	const struct httpd_header headers[] = { { "Authorization", "Bearer t" },
						{ NULL, NULL } };
	struct progress_server *s = new_server();

	standin_set(&api, NULL);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_reply struct reply r;

		ask(s, rows[i], "{}", &r);
		assert_failure(&r, 403, "Forbidden", "Forbidden");
	}
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		cleanup_reply struct reply r = { 0 };
		const struct httpd_request req = { .method = "POST",
						   .path = paths[i],
						   .headers = headers };

		progress_server_handle(s, &req, &r.resp);
		r.doc = standin_doc((const char *)r.resp.body.data);
		assert_failure(&r, 403, "Forbidden", "Forbidden");
	}
	assert_string_equal((const char *)api.asked.data, "");
	progress_server_free(s);
}

TEST(test_who_may_report)
{
	static const struct {
		const char *review, *pod, *jobset; /* NULL: not there */
		bool may;
	} rows[] = {
		{ GOOD_USER, GOOD_POD, GOOD_JOBSET, true },
		{ "{status: {error: bad token}}", GOOD_POD, GOOD_JOBSET, false },
		{ "{status: {authenticated: false, audiences: ['" AUDIENCE "']}}",
		  GOOD_POD, GOOD_JOBSET, false },
		{ USER("other", "ns:default", BOUND), GOOD_POD, GOOD_JOBSET, false },
		{ USER(AUDIENCE, "ns2:default", BOUND), GOOD_POD, GOOD_JOBSET, false },
		{ USER(AUDIENCE, "ns:default", ""), GOOD_POD, GOOD_JOBSET, false },
		{ USER(AUDIENCE, "ns:default",
		       "authentication.kubernetes.io/pod-name: [tj-p]"),
		  GOOD_POD, GOOD_JOBSET, false },
		{ USER(AUDIENCE, "ns:default",
		       "authentication.kubernetes.io/pod-name: [tj-p], "
		       "authentication.kubernetes.io/pod-uid: [other]"),
		  GOOD_POD, GOOD_JOBSET, false },
		{ "{status: {authenticated: true, audiences: ['" AUDIENCE
		  "'], user: {username: admin, extra: {" BOUND "}}}}",
		  GOOD_POD, GOOD_JOBSET, false },
		{ GOOD_USER, NULL, GOOD_JOBSET, false },
		{ GOOD_USER, "{metadata: {name: tj-p, uid: u}}", GOOD_JOBSET, false },
		{ GOOD_USER,
		  "{metadata: {name: tj-p, uid: u, labels: "
		  "{jobset.sigs.k8s.io/jobset-name: tj2}}}",
		  GOOD_JOBSET, false },
		{ GOOD_USER, GOOD_POD, NULL, false },
		{ GOOD_USER, GOOD_POD, "{metadata: {name: tj}}", false },
		{ GOOD_USER, GOOD_POD,
		  OWNER("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", ""), false },
		{ GOOD_USER, GOOD_POD,
		  OWNER("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj2",
			", controller: true"),
		  false },
		{ GOOD_USER, GOOD_POD,
		  OWNER("acme.io/v1", "TrainJob", "tj", ", controller: true"), false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct standin_answer answers[] = {
			{ REVIEWS, 201, rows[i].review },
			{ rows[i].pod ? POD : "-", 200, rows[i].pod },
			{ rows[i].jobset ? JOBSET : "-", 200, rows[i].jobset },
			{ PATH, 200, "{}" },
			{ NULL, 0, NULL },
		};
		struct progress_server *s = new_server();
		cleanup_reply struct reply r;

		standin_set(&api, answers);
		ask(s, GOOD_BEARER, "{\"trainerStatus\": {\"progressPercentage\": 3}}",
		    &r);
		if (rows[i].may != (r.resp.status == 200))
			fail_msg("row %zu: %d", i, r.resp.status);
		if (!rows[i].may) {
			assert_failure(&r, 403, "Forbidden", "Forbidden");
			assert_null(strstr((const char *)api.asked.data, "PATCH"));
		}
		progress_server_free(s);
	}
}

/* What cannot be asked is our failure, not a refusal. */
TEST(test_when_the_api_server_fails)
{
	static const char *const paths[] = { REVIEWS, POD, JOBSET, PATH };

	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		const struct standin_answer answers[] = {
			{ paths[i], 403, "{kind: Status, message: no rights}" },
			{ REVIEWS, 201, GOOD_USER },
			{ POD, 200, GOOD_POD },
			{ JOBSET, 200, GOOD_JOBSET },
			{ PATH, 200, "{}" },
			{ NULL, 0, NULL },
		};
		struct progress_server *s = new_server();
		cleanup_reply struct reply r;

		standin_set(&api, answers);
		ask(s, GOOD_BEARER, "{\"trainerStatus\": {}}", &r);
		assert_failure(&r, 500, "InternalError", "Internal error");
		progress_server_free(s);
	}
}

static const struct standin_answer fine[] = {
	{ REVIEWS, 201, GOOD_USER }, { POD, 200, GOOD_POD }, { JOBSET, 200, GOOD_JOBSET },
	{ PATH, 200, "{}" },         { NULL, 0, NULL },
};

TEST(test_what_is_written)
{
	struct progress_server *s = new_server();
	const char *token = strchr(GOOD_BEARER, ' ') + 1;
	cleanup_reply struct reply r;
	cleanup_json cJSON *want = NULL;

	standin_set(&api, fine);
	ask(s, arena_printf(&tokens, "  bearer \t %s ", token),
	    "{\"trainerStatus\": {\"lastUpdatedTime\": "
	    "\"2026-11-21T04:48:17.5+00:00\", \"progressPercentage\": 7, \"x\": 1}} more",
	    &r);
	assert_int_equal(r.resp.status, 200);
	want = standin_doc("{trainerStatus: {progressPercentage: 7, lastUpdatedTime: "
			   "'2026-11-21T04:48:17Z'}}");
	assert_true(json_equal(r.doc, want));
	assert_non_null(strstr(
		(const char *)api.asked.data,
		arena_printf(&tokens, "\"token\":\"%s\",\"audiences\":[\"" AUDIENCE "\"]",
			     token)));
	assert_non_null(strstr(
		(const char *)api.asked.data,
		"PATCH " PATH " {\"apiVersion\":\"trainer.kubeflow.org/"
		"v1alpha1\",\"kind\":\"TrainJob\","
		"\"metadata\":{\"name\":\"tj\",\"namespace\":\"ns\",\"uid\":\"tj-uid\"},"
		"\"status\":{\"trainerStatus\":{\"progressPercentage\":7,"
		"\"lastUpdatedTime\":\"2026-11-21T04:48:17Z\"}}}\n"));
	progress_server_free(s);
}

static void on_event(void *ctx, const cJSON *about, const char *reason,
		     const char *message)
{
	buf_printf(ctx, "%s %s: %s\n", meta_name(about), reason, message);
	assert_string_equal(meta_uid(about), "tj-uid");
	assert_null(json_get(about, "status"));
}

#define TRAINJOB "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj"
#define TOLD                                                                               \
	"{\"supervision\":{\"restarts\":2,\"lost\":0,\"stalls\":1,\"failed\":{\"rank\":1," \
	"\"status\":137},\"since\":5,\"at\":9,\"seconds\":{\"queued\":0,\"starting\":1,"   \
	"\"productive\":1,\"stalled\":1,\"repeated\":0,\"restarting\":1}}}"

TEST(test_what_supervisors_tell)
{
	const struct standin_answer answers[] = {
		{ REVIEWS, 201, GOOD_USER },
		{ POD, 200, GOOD_POD },
		{ JOBSET, 200, GOOD_JOBSET },
		{ PATH, 200, "{}" },
		{ TRAINJOB, 200,
		  "{metadata: {name: tj, namespace: ns, uid: tj-uid}, status: {supervision: "
		  "{restarts: 1, lost: 0, stalls: 1, since: 5, at: 6, pod: tj-p, seconds: "
		  "{queued: 0, starting: 1, productive: 1, stalled: 0, repeated: 0, "
		  "restarting: 0}}}}" },
		{ NULL, 0, NULL },
	};
	cleanup_buf struct buf events = { .max = 1000 }, counted = { .max = 4000 };
	struct metrics *metrics = metrics_new(progress_server_metrics);
	const struct progress_watch watch = { on_event, &events, metrics };
	struct progress_server *s = new_server();
	cleanup_reply struct reply r, bad;

	standin_set(&api, answers);
	progress_server_watch(s, &watch);
	ask(s, GOOD_BEARER, TOLD, &r);
	assert_int_equal(r.resp.status, 200);
	assert_non_null(strstr(
		(const char *)api.asked.data,
		"PATCH " PATH " {\"apiVersion\":\"trainer.kubeflow.org/"
		"v1alpha1\",\"kind\":\"TrainJob\","
		"\"metadata\":{\"name\":\"tj\",\"namespace\":\"ns\",\"uid\":\"tj-uid\"},"
		"\"status\":{\"supervision\":{\"restarts\":2,"));
	assert_string_equal(
		(const char *)events.data,
		"tj Restarted: rank 1 ended first, with status 137: all ranks "
		"start again in their pods, restart 2\n");
	metrics_print(&counted, metrics);
	assert_non_null(
		strstr((const char *)counted.data,
		       "trainer_trainjob_supervision_total{event=\"restart\"} 1\n"));
	ask(s, GOOD_BEARER, "{\"supervision\":{\"restarts\":2}}", &bad);
	assert_failure(&bad, 422, "Invalid", "Invalid payload");
	for (size_t i = 0; i < 4; i++) { /* neither read nor written */
		struct standin_answer fewer[N_ELEMENTS(answers)];
		cleanup_reply struct reply failed;
		int status = i < 2 ? 500 : 429;

		memcpy(fewer, answers, sizeof(answers));
		fewer[3 + i % 2].status = status;
		standin_set(&api, fewer);
		ask(s, GOOD_BEARER, TOLD, &failed);
		assert_int_equal(failed.resp.status, status);
		assert_int_equal(failed.resp.headers.data &&
					 strstr((const char *)failed.resp.headers.data,
						"Retry-After: 1\r\n"),
				 status == 429);
	}
	progress_server_free(s);
	metrics_free(metrics);
}

struct asking {
	struct progress_server *server;
	const char *bearer;
};

static void *ask_again(void *ctx)
{
	static const int code = 1;
	const struct asking *a = ctx;
	cleanup_reply struct reply r;

	ask(a->server, a->bearer, "{\"trainerStatus\": {}}", &r);
	return r.resp.status == 200 ? NULL : (void *)&code;
}

/* A TrainJob whose pods report all the time takes no more than its turns. */
TEST(test_writes_at_once)
{
	enum { MAX_WRITES = 4 };
	struct progress_server *s = new_server();
	struct asking again = { s, GOOD_BEARER };
	pthread_t threads[MAX_WRITES];
	cleanup_reply struct reply first, one_more, last;
	void *failed;
	int calls;

	standin_set(&api, fine);
	ask(s, GOOD_BEARER, "{\"trainerStatus\": {}}", &first);
	assert_int_equal(first.resp.status, 200);
	calls = __atomic_load_n(&api.calls, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&api.lock); /* the answers wait */
	for (int i = 0; i < MAX_WRITES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_again, &again), 0);
	while (__atomic_load_n(&api.calls, __ATOMIC_SEQ_CST) < calls + MAX_WRITES)
		usleep(1000);
	ask(s, GOOD_BEARER, "{\"trainerStatus\": {}}", &one_more);
	pthread_mutex_unlock(&api.lock);
	assert_failure(&one_more, 429, "TooManyRequests", "Too many requests");
	assert_non_null(
		strstr((const char *)one_more.resp.headers.data, "Retry-After: 1\r\n"));
	for (int i = 0; i < MAX_WRITES; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	ask(s, GOOD_BEARER, "{\"trainerStatus\": {}}", &last);
	assert_int_equal(last.resp.status, 200);
	progress_server_free(s);
}

TEST(test_nothing_to_report)
{
	static const char *const rows[] = { "{}", "null", "{\"trainerStatus\": null}",
					    "{\"more\": 1}" };
	struct progress_server *s = new_server();

	standin_set(&api, fine);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_reply struct reply r;

		ask(s, GOOD_BEARER, rows[i], &r);
		assert_int_equal(r.resp.status, 200);
		assert_string_equal((const char *)r.resp.body.data, "{}\n");
	}
	assert_null(strstr((const char *)api.asked.data, "PATCH"));
	progress_server_free(s);
}

TEST(test_bad_bodies)
{
	static const char *const rows[] = {
		"",
		"invalid payload",
		"{",
		"}",
		"[1]",
		"{\"trainerStatus\": 7}",
		"{\"trainerStatus\": {\"progressPercentage\": \"7\"}}",
		"{\"trainerStatus\": {\"a\": \"}",
		"{\"trainerStatus\": {\"a\": \"\\",
		"\"",
		"{\"a\": \"\xff\"}",
	};
	struct progress_server *s = new_server();

	standin_set(&api, fine);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_reply struct reply r;

		ask(s, GOOD_BEARER, rows[i], &r);
		assert_failure(&r, 422, "Invalid", "Invalid payload");
	}
	assert_null(strstr((const char *)api.asked.data, "PATCH"));
	progress_server_free(s);
}

TEST(test_what_the_api_server_says_of_it)
{
	static const struct {
		int status;
		const char *body;
		int code;
		const char *reason, *message;
	} rows[] = {
		{ 422,
		  "{kind: Status, message: 'TrainJob \"tj\" is invalid: must have x'}",
		  422, "Invalid", "TrainJob \"tj\" is invalid: must have x" },
		{ 400, "{kind: Status, message: 'bad'}", 422, "Invalid", "bad" },
		{ 404, "{kind: Status, message: 'gone'}", 404, "NotFound",
		  "Train job not found" },
		{ 409, "{kind: Status, message: 'Precondition failed: UID'}", 403,
		  "Forbidden", "Forbidden" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct standin_answer answers[] = {
			{ REVIEWS, 201, GOOD_USER },
			{ POD, 200, GOOD_POD },
			{ JOBSET, 200, GOOD_JOBSET },
			{ PATH, rows[i].status, rows[i].body },
			{ NULL, 0, NULL },
		};
		struct progress_server *s = new_server();
		cleanup_reply struct reply r;

		standin_set(&api, answers);
		ask(s, GOOD_BEARER, "{\"trainerStatus\": {}}", &r);
		assert_failure(&r, rows[i].code, rows[i].reason, rows[i].message);
		progress_server_free(s);
	}
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* A client that reports again at once costs one call; another token is asked for. */
TEST(test_a_verdict_is_remembered)
{
	static const char *const ids[] = { "a", "a", "b", "a" };
	static const struct {
		const char *review;
		size_t status, patches;
	} rows[] = { { GOOD_USER, 200, 4 }, { "{status: {error: forged}}", 403, 0 } };

	for (size_t i = 0; i < 2; i++) {
		const struct standin_answer answers[] = {
			{ REVIEWS, 201, rows[i].review },
			{ POD, 200, GOOD_POD },
			{ JOBSET, 200, GOOD_JOBSET },
			{ PATH, 200, "{}" },
			{ NULL, 0, NULL },
		};
		struct progress_server *s = new_server();

		standin_set(&api, answers);
		for (size_t j = 0; j < N_ELEMENTS(ids); j++) {
			cleanup_reply struct reply r;

			ask(s, bearer(CLAIMS, ids[j]), "{\"trainerStatus\": {}}", &r);
			assert_int_equal(r.resp.status, rows[i].status);
		}
		assert_int_equal(count((const char *)api.asked.data, "POST " REVIEWS), 2);
		assert_int_equal(count((const char *)api.asked.data, "PATCH "),
				 rows[i].patches);
		progress_server_free(s);
	}
}

#define OTHER(sub, aud, ns, pod, more)                     \
	"{sub: 'system:serviceaccount:" sub "', aud: " aud \
	", kubernetes.io: {namespace: " ns ", pod: {name: " pod ", uid: u}}" more "}"

/* Tokens that anybody can make cost nothing: the API server is not asked about them. */
TEST(test_claims_that_do_not_fit)
{
	static const struct {
		const char *claims;
		bool asked;
	} rows[] = {
		{ CLAIMS, true },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ""), true },
		{ OTHER("ns:a", "[x, " AUDIENCE "]", "ns", "tj-p", ", exp: 4e9"), true },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ", exp: 99999999999.5"), true },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ", exp: 1000"), false },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ", exp: -1"), false },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ", exp: '4000000000'"), false },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj-p", ", nbf: 4000000000"), false },
		{ OTHER("ns:a", "x", "ns", "tj-p", ""), false },
		{ OTHER("ns:a", "[[" AUDIENCE "]]", "ns", "tj-p", ""), false },
		{ OTHER("ns:a", "{a: " AUDIENCE "}", "ns", "tj-p", ""), false },
		{ OTHER("ns:a", "null", "ns", "tj-p", ""), false },
		{ OTHER("ns2:a", AUDIENCE, "ns2", "tj-p", ""), false },
		{ OTHER("ns2:a", AUDIENCE, "ns", "tj-p", ""), false },
		{ OTHER("ns:a", AUDIENCE, "ns2", "tj-p", ""), false },
		{ OTHER("ns", AUDIENCE, "ns", "tj-p", ""), false },
		{ OTHER("ns:a:b", AUDIENCE, "ns", "tj-p", ""), false },
		{ OTHER("ns:a", AUDIENCE, "ns", "tj2-p", ""), false },
		{ OTHER("ns:a", AUDIENCE, "ns", "null", ""), false },
		{ "{sub: 'system:serviceaccount:ns:a', aud: " AUDIENCE "}", false },
		{ "{sub: [], aud: " AUDIENCE "}", false },
		{ "{}", false },
		{ "[]", false },
	};
	static const char *const forms[] = { "t", "a.b.c", "..", "e30.e30.",
					     "e30.e30.eA" };
	struct progress_server *s = new_server();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_reply struct reply r;

		standin_set(&api, fine);
		ask(s, bearer(rows[i].claims, NULL), "{}", &r);
		if (rows[i].asked != (r.resp.status == 200) ||
		    !rows[i].asked != !api.asked.len)
			fail_msg("%s: %d", rows[i].claims, r.resp.status);
	}
	for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
		cleanup_reply struct reply r;

		ask(s, arena_printf(&tokens, "Bearer %s", forms[i]), "{}", &r);
		assert_failure(&r, 403, "Forbidden", "Forbidden");
		assert_int_equal(api.asked.len, 0);
	}
	progress_server_free(s);
}

static void on_alone(void *ctx, const cJSON *about, const char *reason,
		     const char *message)
{
	buf_printf(ctx, "%s: %.*s\n", meta_name(about), (int)strcspn(message, ";"),
		   message);
}

/* One letter of `pods` for each report: the pod that sends it. */
TEST(test_who_takes_turns)
{
	static const struct {
		const char *letters, *name;
	} names[] = {
		{ "a", "tj-node-0-0-x1" },  { "b", "tj-node-0-1-x2" },
		{ "c", "tj-node-0-2-x3" },  { "A", "tj-node-0-0-y1" },
		{ "d", "tj-data-0-0-x4" },  { "e", "tj-launcher-0-0-x5" },
		{ "0", "tj-node-0-10-x6" }, { "1", "tj-node-0-11-x6" },
		{ "2", "tj-node-0-12-x6" }, { "3", "tj-node-0-13-x6" },
		{ "4", "tj-node-0-14-x6" }, { "5", "tj-node-0-15-x6" },
		{ "6", "tj-node-0-16-x6" }, { "7", "tj-node-0-17-x6" },
	};
#define BOTH(a, b)                                                                  \
	"tj: pods tj-node-0-" a " and tj-node-0-" b " both report progress, which " \
	"only the first rank does\n"
	static const struct {
		const char *pods, *want;
	} rows[] = {
		{ "aaaa", "" },                     /* one */
		{ "aab", "" },                      /* rank 0 moves */
		{ "aabbb", "" },                    /* ... and stays there */
		{ "aAaA", "" },                     /* a pod is replaced */
		{ "adedea", "" },                   /* other steps report, too */
		{ "aba", BOTH("0", "1") },          /* turns */
		{ "abababab", BOTH("0", "1") },     /* ... are told once */
		{ "abA", BOTH("0", "1") },          /* ... of a replaced pod */
		{ "dabdab", BOTH("0", "1") },       /* after another step */
		{ "abcbc", BOTH("1", "2") },        /* the first one is lost */
		{ "aabbcca", BOTH("0", "1") },      /* several */
		{ "abc01234567a", BOTH("0", "1") }, /* more than are remembered */
		{ "abc01234567c", BOTH("2", "10") },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf said = { .max = 4096 };
		struct progress_server *s = new_server();

		standin_set(&api, fine);
		progress_server_watch(s,
				      &(struct progress_watch){ on_alone, &said, NULL });
		for (const char *pod = rows[i].pods; *pod; pod++) {
			cleanup_reply struct reply r;
			size_t n = 0;

			while (*names[n].letters != *pod)
				n++;
			ask(s,
			    bearer(arena_printf(&tokens,
						OTHER("ns:a", AUDIENCE, "ns", "%s", ""),
						names[n].name),
				   NULL),
			    "{\"trainerStatus\": {}}", &r);
			assert_int_equal(r.resp.status, 200);
		}
		buf_adds(&said, "");
		if (!str_eq(said.len ? (const char *)said.data : "", rows[i].want))
			fail_msg("%s: %s", rows[i].pods,
				 said.len ? (const char *)said.data : "nothing");
		progress_server_free(s);
	}
}

/* What is sent without progress, or in vain, is no report. */
TEST(test_what_is_no_turn)
{
	static const char *const bodies[] = { "{\"trainerStatus\": {}}", "{}",
					      "{\"trainerStatus\": {}}" };
	static const char *const pods[] = { "tj-node-0-0-a", "tj-node-0-1-b",
					    "tj-node-0-0-a" };
	cleanup_buf struct buf said = { .max = 4096 };
	struct progress_server *s = new_server();

	standin_set(&api, fine);
	progress_server_watch(s, &(struct progress_watch){ on_alone, &said, NULL });
	for (size_t i = 0; i < N_ELEMENTS(pods); i++) {
		cleanup_reply struct reply r;

		ask(s,
		    bearer(arena_printf(&tokens, OTHER("ns:a", AUDIENCE, "ns", "%s", ""),
					pods[i]),
			   NULL),
		    bodies[i], &r);
		assert_int_equal(r.resp.status, 200);
	}
	assert_int_equal(said.len, 0);
	progress_server_free(s);
}

RUN_TESTS(start, stop)
