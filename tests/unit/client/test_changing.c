/* Jobs suspended, resumed and deleted, and runtimes listed, against an API server. */
#include "client/changes.h"
#include "client/deletion.h"
#include "client/jobs.h"
#include "client/queue.h"
#include "tests/unit/client/outcome_test.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

static void put(struct apiserver *s, const char *api_version, const char *kind,
		const char *ns, const char *name)
{
	const struct kube_write plain = { 0 };
	cleanup_json cJSON *obj = meta_new(api_version, kind, ns, name);
	struct error err = { 0 };

	if (kube_create(s->kube, obj, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static cJSON *job_now(struct apiserver *s)
{
	struct error err = { 0 };
	cJSON *job = NULL;

	if (job_get(s->kube, "a", "one", &job, &err))
		fail_msg("%s", err.msg);
	return job;
}

TEST(test_suspend_and_resume)
{
	static const struct {
		bool suspend;
		enum suspension want;
	} steps[] = {
		{ false, SUSPENSION_UNCHANGED },
		{ true, SUSPENSION_SET },
		{ true, SUSPENSION_UNCHANGED },
		{ false, SUSPENSION_SET },
	};
	struct apiserver s = { 0 };

	apiserver_start(&s);
	put(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "a", "one");
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		cleanup_json cJSON *before = job_now(&s), *after = NULL;
		enum suspension result;
		struct error err = { 0 };

		assert_int_equal(queue_set_suspended(s.kube, before, steps[i].suspend,
						     &result, &err),
				 0);
		check_int("step", (int)result, (int)steps[i].want);
		after = job_now(&s);
		assert_int_equal(tj_suspend(after), steps[i].suspend);
	}
	apiserver_stop(&s);
}

TEST(test_what_cannot_be_suspended)
{
	static const char *const jobs[] = {
		"{\"metadata\":{\"name\":\"one\"},\"status\":{\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}",
		"{\"metadata\":{\"name\":\"one\",\"deletionTimestamp\":"
		"\"2026-01-01T00:00:00Z\"}}",
	};

	for (size_t i = 0; i < N_ELEMENTS(jobs); i++) {
		cleanup_json cJSON *job = doc_of(jobs[i]);
		enum suspension result;
		struct error err = { 0 };

		assert_int_equal(queue_set_suspended(NULL, job, true, &result, &err), -1);
		assert_int_equal(err.kind, ERR_CONFLICT);
	}
}

TEST(deletion_wait_ends_when_the_object_is_gone)
{
	const struct kube_ref ref = job_ref("a", "one");
	struct apiserver s = { 0 };
	cleanup_json cJSON *job = NULL;
	struct error err = { 0 };

	apiserver_start(&s);
	put(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "a", "one");
	job = job_now(&s);
	assert_int_equal(deletion_wait(s.kube, job, clock_ms() + 300, &err), 0);
	assert_int_equal(kube_delete(s.kube, &ref, "Background", meta_uid(job), &err), 0);
	assert_int_equal(deletion_wait(s.kube, job, -1, &err), 1);
	/* one of its name that came after it is another job */
	put(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "a", "one");
	assert_int_equal(deletion_wait(s.kube, job, -1, &err), 1);
	apiserver_stop(&s);
}

TEST(test_pods)
{
	struct apiserver s = { 0 };

	apiserver_start(&s);
	assert_int_equal(deletion_pods(s.kube, "a", "one"), 0);
	put(&s, "v1", "Pod", "a", "one-node-0-0");
	assert_int_equal(deletion_pods(s.kube, "a", "one"), 1);
	apiserver_do(&s, "{'op':'deny','on':true,'plural':'pods'}");
	assert_int_equal(deletion_pods(s.kube, "a", "one"), -1);
	apiserver_stop(&s);
}

TEST(test_runtimes)
{
	struct apiserver s = { 0 };
	cleanup_json cJSON *list = cJSON_CreateArray();
	struct error err = { 0 };

	apiserver_start(&s);
	put(&s, TRAINER_API_VERSION, RUNTIME_KIND, "a", "mine");
	put(&s, TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL, "ours");
	assert_int_equal(job_runtimes(s.kube, RUNTIME_KIND, "a", true, list, &err), 0);
	assert_int_equal(
		job_runtimes(s.kube, CLUSTER_RUNTIME_KIND, "a", true, list, &err), 0);
	assert_int_equal(cJSON_GetArraySize(list), 2);
	assert_string_equal(meta_name(list->child), "mine");
	assert_string_equal(meta_name(list->child->next), "ours");
	apiserver_do(&s, "{'op':'deny','on':true,'plural':'trainingruntimes'}");
	assert_int_equal(job_runtimes(s.kube, RUNTIME_KIND, "a", true, list, &err), -1);
	assert_int_equal(cJSON_GetArraySize(list), 2);
	assert_null(job_runtime_ref(CLUSTER_RUNTIME_KIND, "a", "x").ns);
	assert_string_equal(job_runtime_ref(RUNTIME_KIND, "a", "x").ns, "a");
	apiserver_stop(&s);
}

static enum change_kind next_kind(struct changes *c)
{
	cleanup_change struct change change = { 0 };
	struct error err = { 0 };

	if (changes_next(c, -1, &change, &err) != 1)
		fail_msg("%s", err.msg);
	return change.kind;
}

/* One more than there may be: refused, and the others go on. */
TEST(test_too_many_watches)
{
	const struct kube_ref jobs = job_ref("a", NULL);
	cleanup_changes struct changes *c = NULL;
	struct apiserver s = { 0 };
	struct error err = { 0 };

	apiserver_start(&s);
	assert_int_equal(changes_new(&c, s.kube, NULL, NULL, &err), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(changes_watch(c, &jobs, NULL, NULL, &err), 0);
	assert_int_equal(changes_watch(c, &jobs, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(next_kind(c), CHANGE_SYNCED);
	changes_free(STEAL(c));
	apiserver_stop(&s);
}

/* An API server that starts has not read the rights and the CRDs yet (kubernetes#121635). */
TEST(test_refused_while_the_api_server_starts)
{
	static const char *const ops[] = { "deny", "unserved" };
	const struct kube_ref ref = job_ref("a", NULL);
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(ops); i++) {
		struct apiserver s = { 0 };
		struct change none = { 0 };
		struct changes *c = NULL;
		char op[100];
		int64_t asked;

		apiserver_start(&s);
		put(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "a", "one");
		assert_int_equal(changes_new(&c, s.kube, NULL, NULL, &err) ||
					 changes_watch(c, &ref, NULL, NULL, &err),
				 0);
		assert_int_equal(next_kind(c), CHANGE_ADDED);
		assert_int_equal(next_kind(c), CHANGE_SYNCED);
		EVENTUALLY(apiserver_seen(&s, "watch trainjobs") > 0);
		asked = apiserver_seen(&s, "watch trainjobs");
		snprintf(op, sizeof(op), "{'op':'%s','on':true,'plural':'trainjobs'}",
			 ops[i]);
		apiserver_do(&s, op);
		apiserver_do(&s, "{'op':'cut'}");
		while (apiserver_seen(&s, "watch trainjobs") < asked + 2)
			if (changes_next(c, 10, &none, &err))
				fail_msg("%s: %s", ops[i], err.msg);
		snprintf(op, sizeof(op), "{'op':'%s','on':false,'plural':'trainjobs'}",
			 ops[i]);
		apiserver_do(&s, op);
		put(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "a", "two");
		assert_int_equal(next_kind(c), CHANGE_ADDED);
		changes_free(c);
		apiserver_stop(&s);
	}
}

TEST(test_refused_for_good)
{
	const struct kube_ref ref = job_ref("a", NULL);

	for (int answered = 0; answered < 2; answered++) {
		struct apiserver s = { 0 };
		struct change none = { 0 };
		struct changes *c = NULL;
		struct error err = { 0 };
		int64_t asked;

		apiserver_start(&s);
		if (!answered)
			apiserver_do(&s, "{'op':'deny','on':true,'plural':'trainjobs'}");
		assert_int_equal(changes_new(&c, s.kube, NULL, NULL, &err) ||
					 changes_watch(c, &ref, NULL, NULL, &err),
				 0);
		if (answered) {
			assert_int_equal(next_kind(c), CHANGE_SYNCED);
			apiserver_do(&s, "{'op':'deny','on':true,'plural':'trainjobs'}");
		}
		assert_int_equal(changes_next(c, -1, &none, &err), -1);
		assert_int_equal(err.kind, ERR_DENIED);
		asked = apiserver_seen(&s, "watch trainjobs");
		check_int("tries", asked > 3, answered);
		changes_free(c);
		apiserver_stop(&s);
	}
}

RUN_TESTS(NULL, NULL)
