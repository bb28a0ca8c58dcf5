/* What a run publishes in files is what the API of its server has (machine/backend_impl.h). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/state_impl.h"
#include "machine/backend_impl.h"
#include "machine/published.h"
#include "trainer/api.h"

static char home[] = "/tmp/kftrainer-backend-copy-XXXXXX";

#define JOBSETS "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"

struct scene {
	struct backend backend;
	struct backend_run run;
	struct state_owned owned;
	struct arena arena;
	char *uid; /* of the JobSet in the API */
};

static void new_run(struct scene *s, const char *name)
{
	struct error err = { 0 };

	s->owned.dir = arena_printf(&s->arena, "%s/%s", home, name);
	assert_int_equal(
		dir_make(path_join(&s->arena, s->owned.dir, STATE_API), 0700, &err), 0);
}

static void open_api(struct scene *s, const char *dir)
{
	const struct apiserver_conf conf = { .dir = dir };
	cleanup_json cJSON *jobset =
		parse("{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet',"
		      "'metadata':{'name':'js'},'spec':{'replicatedJobs':[]}}");
	cleanup_json cJSON *made = NULL;
	struct error err = { 0 };

	if (apiserver_new(&s->backend.conf.api, &conf, &err) ||
	    apiserver_write(s->backend.conf.api, "POST", JOBSETS, jobset, &made, &err))
		fail_msg("%s", err.msg);
	free(s->uid);
	s->uid = xstrdup(meta_uid(made));
}

static int setup(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	static int n;
	char name[16];

	open_api(s, NULL);
	published_run_init(&s->run.run, "default", "js");
	s->owned = (struct state_owned){ .ns = "default", .name = "js" };
	snprintf(name, sizeof(name), "run-%d", n++);
	new_run(s, name);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	apiserver_free(s->backend.conf.api);
	published_run_release(&s->run.run);
	free(s->uid);
	arena_clear(&s->arena);
	free(s);
	return 0;
}

/* As state_publish(): in the place of the old one, at once. */
static void publish(struct scene *s, const char *file, const char *text)
{
	const char *path =
		arena_printf(&s->arena, "%s/" STATE_API "/%s", s->owned.dir, file);
	struct error err = { 0 };

	if (file_write(path, text, strlen(text), 0600, &err))
		fail_msg("%s", err.msg);
}

static void publish_pod(struct scene *s, const char *name, const char *uid,
			const char *phase)
{
	cleanup_json cJSON *pod = parse(arena_printf(
		&s->arena,
		"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':"
		"'default','uid':'%s','labels':{'" JOBSET_UID_LABEL
		"':'%s'}},'status':{'phase':'%s','containerStatuses':[{'name':'c','state':{'running':{'startedAt':'2026-01-01T00:00:00Z'}}}]}}",
		name, uid, s->uid, phase));
	cleanup_free char *text = json_text(pod);

	publish(s, arena_printf(&s->arena, "Pod.%s.json", name), text);
}

static void publish_jobset(struct scene *s, const char *uid, const char *status)
{
	cleanup_json cJSON *jobset = parse(arena_printf(
		&s->arena,
		"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{"
		"'name':'js','namespace':'default','uid':'%s'},'status':%s}",
		uid, status));
	cleanup_free char *text = json_text(jobset);

	publish(s, "JobSet.js.json", text);
}

static bool copy(struct scene *s, bool ended)
{
	return backend_copy(&s->backend, &s->run, &s->owned, ended);
}

static const char *of_pod(struct scene *s, const char *name)
{
	cleanup_json cJSON *pod =
		apiserver_get(s->backend.conf.api, "v1", "Pod", "default", name);
	const char *phase = pod ? json_str(pod, "status", "phase") : "gone";

	return arena_strdup(&s->arena, phase ? phase : "");
}

static cJSON *jobset_of(struct scene *s)
{
	return apiserver_get(s->backend.conf.api, JOBSET_API_VERSION, JOBSET_KIND,
			     "default", "js");
}

static void test_copies(void **state)
{
	struct scene *s = *state;
	cleanup_json cJSON *jobset = NULL;

	publish_pod(s, "p", "u-1", "Running");
	publish(s, "Pod.torn.json", "{\"kind\":");
	publish(s, "note.txt", "x");
	assert_false(copy(s, false));
	assert_string_equal(of_pod(s, "p"), "Running");
	assert_string_equal(of_pod(s, "torn"), "gone");
	publish_jobset(s, s->uid, "{'restarts':1}");
	assert_false(copy(s, false));
	publish_jobset(s, s->uid, "{'terminalState':'Completed'}");
	publish_pod(s, "p", "u-1", "Succeeded");
	assert_true(copy(s, false));
	assert_string_equal(of_pod(s, "p"), "Succeeded");
	jobset = jobset_of(s);
	assert_string_equal(json_str(jobset, "status", "terminalState"), "Completed");
}

/* What has not changed is not copied again; what is gone goes; another run starts anew. */
static void test_changes(void **state)
{
	struct scene *s = *state;

	publish_pod(s, "a", "u-a", "Running");
	publish_pod(s, "b", "u-b", "Running");
	assert_false(copy(s, false));
	apiserver_drop(s->backend.conf.api, "v1", "Pod", "default", "a", NULL);
	assert_false(copy(s, false));
	assert_string_equal(of_pod(s, "a"), "gone");
	assert_int_equal(unlink(arena_printf(&s->arena, "%s/" STATE_API "/Pod.b.json",
					     s->owned.dir)),
			 0);
	assert_false(copy(s, false));
	assert_string_equal(of_pod(s, "b"), "gone");
	publish_pod(s, "b", "u-b2", "Running");
	new_run(s, "run-next");
	publish_pod(s, "a", "u-a", "Pending");
	assert_false(copy(s, false));
	assert_string_equal(of_pod(s, "a"), "Pending");
	assert_string_equal(of_pod(s, "b"), "gone");
}

static void test_another_jobset(void **state)
{
	struct scene *s = *state;
	cleanup_json cJSON *jobset = NULL;

	publish_jobset(s, "another", "{'restarts':7}");
	assert_false(copy(s, false));
	jobset = jobset_of(s);
	assert_null(json_get(jobset, "status", "restarts"));
}

/* A run that was killed is failed by the server; its files do not bring it back. */
static void test_failed(void **state)
{
	struct scene *s = *state;
	cleanup_json cJSON *jobset = NULL;
	cleanup_json cJSON *pod = NULL;
	const cJSON *ended;

	publish_pod(s, "runs", "u-1", "Running");
	publish_pod(s, "ended", "u-2", "Succeeded");
	publish_jobset(s, s->uid,
		       "{'replicatedJobsStatus':[{'name':'n','ready':1,'active':1,"
		       "'succeeded':0,'failed':0,'suspended':0}]}");
	assert_false(copy(s, false));
	backend_fail(&s->backend, "default", "js", "Interrupted", "killed");
	assert_string_equal(of_pod(s, "runs"), "Failed");
	assert_string_equal(of_pod(s, "ended"), "Succeeded");
	publish_pod(s, "runs", "u-1", "Running");
	assert_false(copy(s, true));
	assert_string_equal(of_pod(s, "runs"), "Failed");
	pod = apiserver_get(s->backend.conf.api, "v1", "Pod", "default", "runs");
	ended = json_find_const(
		json_get((const cJSON *)pod, "status", "containerStatuses"), "name", "c");
	assert_int_equal(json_int(ended, 0, "state", "terminated", "exitCode"), 137);
	assert_null(json_get(ended, "state", "running"));
	jobset = jobset_of(s);
	assert_string_equal(json_str(jobset, "status", "terminalState"), "Failed");
	ended = json_find_const(json_get((const cJSON *)jobset, "status", "conditions"),
				"reason", "Interrupted");
	assert_string_equal(json_str(ended, "message"), "killed");
	ended = json_find_const(
		json_get((const cJSON *)jobset, "status", "replicatedJobsStatus"), "name",
		"n");
	assert_int_equal(json_int(ended, -1, "active"), 0);
}

/* A full disk keeps no end of a job from being told once there is room again. */
static void test_full_disk(void **state)
{
	struct rlimit before, full;
	struct scene *s = *state;
	cleanup_json cJSON *jobset = NULL;

	apiserver_free(s->backend.conf.api);
	open_api(s, arena_printf(&s->arena, "%s/api", home));
	publish_pod(s, "p", "u-1", "Succeeded");
	publish_jobset(s, s->uid, "{'terminalState':'Completed'}");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full = (struct rlimit){ 1, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_true(copy(s, false));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_string_equal(of_pod(s, "p"), "gone");
	assert_true(s->backend.unwritten);
	s->backend.unwritten = false;
	assert_true(copy(s, false));
	assert_false(s->backend.unwritten);
	assert_string_equal(of_pod(s, "p"), "Succeeded");
	jobset = jobset_of(s);
	assert_string_equal(json_str(jobset, "status", "terminalState"), "Completed");
}

static void test_clear(void **state)
{
	struct scene *s = *state;

	publish_pod(s, "mine", "u-1", "Running");
	assert_false(copy(s, false));
	backend_clear(&s->backend, "default", "another", NULL);
	backend_clear(&s->backend, "default", s->uid, "Job");
	assert_string_equal(of_pod(s, "mine"), "Running");
	backend_clear(&s->backend, "default", s->uid, "Pod");
	assert_string_equal(of_pod(s, "mine"), "gone");
}

static void test_file_names(void **state)
{
	static const struct {
		const char *file, *kind, *name;
	} rows[] = {
		{ "Pod.a-b.json", "Pod", "a-b" }, { "JobSet.x.json", "JobSet", "x" },
		{ "Job.x.y.json", "Job", "x.y" }, { "Event.e.json", "Event", "e" },
		{ "Pod.a", NULL, NULL },          { "Pods.a.json", NULL, NULL },
		{ "Pod.json", NULL, NULL },       { "Pod..json", NULL, NULL },
		{ ".json", NULL, NULL },          { "", NULL, NULL },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *name = NULL;
		const struct published_type *p =
			published_kind(&s->arena, rows[i].file, &name);

		assert_true(str_eq(p ? p->kind : NULL, rows[i].kind));
		if (p)
			assert_string_equal(name, rows[i].name);
	}
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_copies),         IN_FOLDER(test_changes),
		IN_FOLDER(test_another_jobset), IN_FOLDER(test_failed),
		IN_FOLDER(test_clear),          IN_FOLDER(test_file_names),
		IN_FOLDER(test_full_disk),
	};
	struct error err = { 0 };
	int rc;

	if (!mkdtemp(home))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(home, &err) ? 1 : rc;
}
