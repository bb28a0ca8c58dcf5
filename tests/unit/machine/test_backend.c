/* Which run each JobSet gets, by what run directories say (machine/backend.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_owned.h"
#include "machine/backend_impl.h"
#include "machine/published.h"
#include "trainer/api.h"
#include "trainer/workspace_spec.h"

static char home[] = "/tmp/kftrainer-backend-XXXXXX";

#define PATH "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
#define JOBSET                                                                         \
	"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':" \
	"'%s','namespace':'default'},'spec':{'suspend':%s,'replicatedJobs':[{'name':"  \
	"'node','replicas':1,'template':{'spec':{'template':{'spec':{'containers':[{"  \
	"'name':'node','image':'x','command':['true']}]}}}}}]}}"

struct fixture {
	struct apiserver *api;
	struct backend *backend;
	char uid[64]; /* of the JobSet x */
};

static void add_jobset(struct fixture *f, const char *name, bool suspend)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc =
		parse(arena_printf(&a, JOBSET, name, suspend ? "true" : "false"));
	cleanup_json cJSON *made = NULL;
	struct error err = { 0 };

	if (apiserver_write(f->api, "POST", PATH, doc, &made, &err))
		fail_msg("%s", err.msg);
	snprintf(f->uid, sizeof(f->uid), "%s", meta_uid(made));
}

static size_t max_events; /* of the API; 0: its own limit */

/* A state folder and an API of its own for each test, and the JobSet x. */
static void open_fixture(struct fixture *f, const char *name, bool suspend)
{
	static int n;
	const struct apiserver_conf conf = { .max_events = max_events };
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	*f = (struct fixture){ 0 };
	setenv("XDG_STATE_HOME", arena_printf(&a, "%s/%d", home, n++), 1);
	assert_int_equal(apiserver_new(&f->api, &conf, &err), 0);
	add_jobset(f, name, suspend);
}

static void start(struct fixture *f)
{
	const struct backend_conf conf = { .api = f->api, .server = home };
	struct error err = { 0 };

	if (backend_start(&f->backend, &conf, &err))
		fail_msg("%s", err.msg);
}

static void close_fixture(struct fixture *f)
{
	apiserver_stop(f->api);
	backend_stop(f->backend);
	apiserver_free(f->api);
}

static bool has_status(struct fixture *f, const char *name, const char *key,
		       const char *value)
{
	cleanup_json cJSON *jobset =
		apiserver_get(f->api, JOBSET_API_VERSION, JOBSET_KIND, "default", name);

	return str_eq(json_str(jobset, "status", key), value);
}

/* Until its status has that member with that value. */
static void await(struct fixture *f, const char *name, const char *key, const char *value)
{
	EVENTUALLY(has_status(f, name, key, value));
}

/* The condition's message, in the arena; NULL: it is not true. */
static const char *condition(struct fixture *f, struct arena *a, const char *name,
			     const char *type, const char *reason)
{
	cleanup_json cJSON *jobset =
		apiserver_get(f->api, JOBSET_API_VERSION, JOBSET_KIND, "default", name);
	const cJSON *c =
		json_find_const(json_get(jobset, "status", "conditions"), "type", type);

	if (!str_eq(json_str(c, "status"), "True"))
		return NULL;
	if (reason)
		assert_string_equal(json_str(c, "reason"), reason);
	return arena_strdup(a, json_str(c, "message") ? json_str(c, "message") : "");
}

/* ---- runs -------------------------------------------------------------------------------- */

static void begin(struct state_run *run, const char *name, const char *uid,
		  int64_t generation)
{
	const struct state_owner owner = { home, uid, generation };
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj =
		parse(arena_printf(&a, "{'metadata':{'name':'%s'}}", name));
	cleanup_json cJSON *objects = parse("[]");
	struct error err = { 0 };

	if (state_begin(run, "default", name, tj, objects, &err) ||
	    state_own(run, "default", name, &owner, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

/* What it consists of: a pod, and its JobSet's status. */
static void publish(const struct state_run *run, const char *name, const char *uid,
		    const char *phase, const char *status)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *pod = parse(arena_printf(
		&a,
		"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'default','uid':'p','labels':{'" JOBSET_UID_LABEL
		"':'%s'}},'status':{'phase':'%s'}}",
		uid, phase));
	cleanup_json cJSON *jobset = parse(arena_printf(
		&a,
		"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'%s','namespace':'default','uid':'%s'},'status':%s}",
		name, uid, status));

	state_publish(run, "Pod", "p", pod);
	state_publish(run, JOBSET_KIND, name, jobset);
}

static const char *phase_of(struct fixture *f, struct arena *a)
{
	cleanup_json cJSON *pod = apiserver_get(f->api, "v1", "Pod", "default", "p");

	return pod ? arena_strdup(a, json_str(pod, "status", "phase")) : "none";
}

/* ---- tests ------------------------------------------------------------------------------- */

/* One that ended while no server was there: its files are copied, and no other begins. */
static void test_ended(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;

	open_fixture(&f, "x", false);
	begin(&run, "x", f.uid, 1);
	publish(&run, "x", f.uid, "Succeeded", "{'terminalState':'Completed'}");
	state_end(&run);
	start(&f);
	await(&f, "x", "terminalState", "Completed");
	assert_string_equal(phase_of(&f, &a), "Succeeded");
	assert_false(backend_runs(f.backend));
	assert_null(state_owned(&a, home, "default", "x")->next);
	close_fixture(&f);
}

/* One that was killed has failed, with its pods and Jobs. */
static void test_killed(void **state)
{
	cleanup_json cJSON *job = NULL;
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;

	open_fixture(&f, "x", false);
	begin(&run, "x", f.uid, 1);
	publish(&run, "x", f.uid, "Running", "{}");
	job = parse(arena_printf(
		&a,
		"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'x-node-0','namespace':'default','uid':'j','labels':{'" JOBSET_UID_LABEL
		"':'%s'}},'status':{'active':1}}",
		f.uid));
	state_publish(&run, "Job", "x-node-0", job);
	state_end(&run);
	start(&f);
	await(&f, "x", "terminalState", "Failed");
	assert_non_null(condition(&f, &a, "x", "Failed", REASON_INTERRUPTED));
	assert_string_equal(phase_of(&f, &a), "Failed");
	cJSON_Delete(job);
	job = apiserver_get(f.api, "batch/v1", "Job", "default", "x-node-0");
	assert_string_equal(
		json_str(json_find_const(json_get(job, "status", "conditions"), "type",
					 "Failed"),
			 "reason"),
		REASON_INTERRUPTED);
	assert_null(json_get(job, "status", "active"));
	close_fixture(&f);
}

/* What a run that goes on publishes is there as it comes. */
static void test_running(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;

	open_fixture(&f, "x", false);
	begin(&run, "x", f.uid, 1);
	publish(&run, "x", f.uid, "Pending", "{}");
	start(&f);
	EVENTUALLY(str_eq(phase_of(&f, &a), "Pending"));
	publish(&run, "x", f.uid, "Running", "{}");
	EVENTUALLY(str_eq(phase_of(&f, &a), "Running"));
	assert_true(backend_runs(f.backend));
	state_publish(&run, "Pod", "p", NULL);
	EVENTUALLY(str_eq(phase_of(&f, &a), "none"));
	publish(&run, "x", f.uid, "Succeeded", "{'terminalState':'Completed'}");
	state_end(&run);
	await(&f, "x", "terminalState", "Completed");
	close_fixture(&f);
}

/* A suspended JobSet has no run, but a status. */
static void test_suspended(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct fixture f;

	open_fixture(&f, "x", true);
	start(&f);
	EVENTUALLY(condition(&f, &a, "x", "Suspended", NULL));
	assert_null(state_owned(&a, home, "default", "x"));
	assert_false(backend_runs(f.backend));
	close_fixture(&f);
}

/* Of the JobSet as it is read, which can be before its change is one to wait for. */
static int64_t version_of(struct fixture *f, const char *name)
{
	cleanup_json cJSON *jobset =
		apiserver_get(f->api, JOBSET_API_VERSION, JOBSET_KIND, "default", name);

	return strtoll(json_str(jobset, "metadata", "resourceVersion"), NULL, 10);
}

/* What a run had when its JobSet was suspended is not copied any more: its status stays. */
static void test_suspended_run(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	struct state_run run;
	struct fixture f;
	int64_t version;
	char *key = NULL;

	open_fixture(&f, "x", true);
	begin(&run, "x", f.uid, 1);
	publish(&run, "x", f.uid, "Running",
		"{'replicatedJobsStatus':[{'name':'node','ready':1,'succeeded':0,"
		"'failed':0,'active':1,'suspended':0}],'conditions':[]}");
	state_end(&run);
	state_owned_suspend(state_owned(&a, home, "default", "x"));
	start(&f);
	EVENTUALLY(condition(&f, &a, "x", "Suspended", NULL));
	assert_string_equal(phase_of(&f, &a), "none");
	version = version_of(&f, "x");
	while (apiserver_next(f.api, JOBSET_KIND, &version, clock_ms(), &key, &err))
		free(key);
	assert_int_equal(apiserver_next(f.api, JOBSET_KIND, &version, clock_ms() + 300,
					&key, &err),
			 0);
	assert_non_null(condition(&f, &a, "x", "Suspended", NULL));
	close_fixture(&f);
}

/* The run of a JobSet that is gone is removed. */
static void test_stale(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;

	open_fixture(&f, "x", true);
	begin(&run, "x", "another", 1);
	publish(&run, "x", "another", "Running", "{}");
	state_end(&run);
	start(&f);
	EVENTUALLY(!state_owned(&a, home, "default", "x"));
	close_fixture(&f);
}

static void write_jobset(struct fixture *f, const char *method, const char *path,
			 const char *body)
{
	cleanup_json cJSON *doc = body ? parse(body) : NULL;
	struct error err = { 0 };

	if (apiserver_write(f->api, method, path, doc, NULL, &err))
		fail_msg("%s", err.msg);
}

/* More happens than the API keeps: a JobSet that went is noticed all the same. */
static void test_missed(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;

	max_events = 1;
	open_fixture(&f, "x", true);
	max_events = 0;
	begin(&run, "x", f.uid, 1);
	state_end(&run);
	state_owned_suspend(state_owned(&a, home, "default", "x"));
	add_jobset(&f, "y", true);
	start(&f);
	EVENTUALLY(condition(&f, &a, "x", "Suspended", NULL));
	EVENTUALLY(condition(&f, &a, "y", "Suspended", NULL));
	pthread_mutex_lock(
		&f.backend->lock); /* who waits for changes is held by the first */
	write_jobset(&f, "PATCH", PATH "/y", "{'metadata':{'labels':{'a':'1'}}}");
	clock_sleep_ms(50);
	write_jobset(&f, "DELETE", PATH "/x", NULL);
	write_jobset(&f, "PATCH", PATH "/y", "{'metadata':{'labels':{'a':'2'}}}");
	pthread_mutex_unlock(&f.backend->lock);
	EVENTUALLY(!state_owned(&a, home, "default", "x"));
	close_fixture(&f);
}

/* ---- run processes ----------------------------------------------------------------------- */

/* Here in place of the program: what it is given decides what it does. */
static int run_jobset(void)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	struct state_run run;
	const char *name, *uid;

	if (file_read_fd(&text, STDIN_FILENO, "input", &err) ||
	    json_parse(&doc, text.data, text.len, &err))
		abort();
	name = meta_name(json_get(doc, RUN_TRAINJOB));
	uid = json_str(doc, RUN_UID);
	if (!str_eq(json_str(doc, RUN_SERVER), home) ||
	    !str_eq(meta_kind(json_get(doc, RUN_OBJECTS)->child), JOBSET_KIND))
		abort();
	if (str_eq(name, "refused")) {
		fprintf(stderr, "node has no command\n");
		return 1;
	}
	begin(&run, name, uid, json_int(doc, 0, RUN_GENERATION));
	publish(&run, name, uid, "Succeeded", "{'terminalState':'Completed'}");
	state_end(&run);
	return 0;
}

static void test_launched(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct fixture f;

	open_fixture(&f, "x", false);
	start(&f);
	await(&f, "x", "terminalState", "Completed");
	assert_int_equal(state_owned(&a, home, "default", "x")->owner.generation, 1);
	add_jobset(&f, "refused", false); /* while it serves */
	await(&f, "refused", "terminalState", "Failed");
	assert_string_equal(condition(&f, &a, "refused", "Failed", "FailedToStart"),
			    "node has no command");
	close_fixture(&f);
}

#define DIGEST "%064d"

static void add_trainjob(struct fixture *f, const char *name, const char *workspace)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc = parse(arena_printf(
		&a,
		"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob',"
		"'metadata':{'name':'%s','namespace':'default','uid':'%s','annotations':"
		"{'kftrainer.io/workspace':'%s'}}}",
		name, name, workspace));
	struct error err = { 0 };

	assert_int_equal(apiserver_store(f->api, doc, &err), 1);
}

/* An archive goes with the last job that has it, and stays while one cannot be read. */
static void test_archives(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *mine = arena_printf(&a, DIGEST, 1),
		   *other = arena_printf(&a, DIGEST, 2);
	const char *dir = path_join(&a, home, WORKSPACE_STORE);
	struct backend b = { .server = home };
	struct error err = { 0 };
	struct fixture f;

	open_fixture(&f, "x", true);
	b.conf.api = f.api;
	assert_int_equal(dir_make(path_join(&a, dir, mine), 0700, &err), 0);
	assert_int_equal(dir_make(path_join(&a, dir, other), 0700, &err), 0);
	add_trainjob(&f, "good", arena_printf(&a, "sha256:%s", mine));
	add_trainjob(&f, "bad", "sha512:0");
	backend_sweep_archives(&b);
	assert_true(file_exists(path_join(&a, dir, mine)));
	assert_true(file_exists(path_join(&a, dir, other)));
	apiserver_drop(f.api, TRAINER_API_VERSION, TRAINJOB_KIND, "default", "bad", NULL);
	backend_sweep_archives(&b);
	assert_true(file_exists(path_join(&a, dir, mine)));
	assert_false(file_exists(path_join(&a, dir, other)));
	apiserver_stop(f.api);
	apiserver_free(f.api);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),         cmocka_unit_test(test_killed),
		cmocka_unit_test(test_running),       cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_suspended_run), cmocka_unit_test(test_stale),
		cmocka_unit_test(test_launched),      cmocka_unit_test(test_archives),
		cmocka_unit_test(test_missed),
	};
	struct error err = { 0 };
	int rc;

	if (argc > 1 && str_eq(argv[1], "run-jobset")) {
		snprintf(home, sizeof(home), "%s", getenv("TEST_BACKEND_HOME"));
		return run_jobset();
	}
	if (!mkdtemp(home))
		return 1;
	setenv("TEST_BACKEND_HOME", home, 1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(home, &err) ? 1 : rc;
}
