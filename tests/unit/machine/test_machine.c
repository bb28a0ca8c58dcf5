/* What run directories have is what the API of this machine answers (machine/machine.h). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_owned.h"
#include "machine/machine.h"
#include "trainer/api.h"
#include "trainer/trainjob_status.h"

static char home[] = "/tmp/kftrainer-machine-XXXXXX";

/* A fresh state folder for each test. */
static int setup(void **state)
{
	static int n;
	struct arena a = { 0 };

	setenv("XDG_STATE_HOME", arena_printf(&a, "%s/%d", home, n++), 1);
	arena_clear(&a);
	return 0;
}

static struct kube *connect_it(void)
{
	const struct kube_opts opts = { .user_agent = "test" };
	struct error err = { 0 };
	struct kube *k;

	if (machine_connect(&k, &opts, &err))
		fail_msg("%s", err.msg);
	return k;
}

#define JOBSET                                                                          \
	"[{'kind':'JobSet','apiVersion':'jobset.x-k8s.io/v1alpha2','metadata':{'name':" \
	"'j'},'spec':{'replicatedJobs':[]}}]"

static void begin(struct state_run *run, const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = parse(
		arena_printf(&a,
			     "{'metadata':{'name':'%s','labels':{'of':'%s'},'uid':'u-%s',"
			     "'creationTimestamp':'2026-01-01T00:00:00Z'}}",
			     name, name, name));
	cleanup_json cJSON *objects = parse(JOBSET);
	struct error err = { 0 };

	if (state_begin(run, ns, name, tj, objects, &err))
		fail_msg("%s", err.msg);
}

static void finish(struct state_run *run, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = parse(arena_printf(
		&a,
		"{'metadata':{'name':'%s','uid':'u-%s'},'status':{'conditions':[{'type':"
		"'Complete','status':'True'}]}}",
		name, name));
	struct error err = { 0 };

	assert_int_equal(state_save(run, tj, true, &err), 0);
	state_end(run);
}

static int add_name(void *ctx, cJSON *take_obj, struct error *err)
{
	buf_printf(ctx, "%s/%s ", meta_namespace(take_obj), meta_name(take_obj));
	cJSON_Delete(take_obj);
	return 0;
}

static void expect_names(struct kube *k, const char *kind, const char *ns,
			 const char *selector, const char *names)
{
	const char *version =
		str_eq(kind, TRAINJOB_KIND) ? TRAINER_API_VERSION : JOBSET_API_VERSION;
	const struct kube_ref ref = { version, kind, ns, NULL };
	const struct kube_select select = { .label_selector = selector };
	cleanup_buf struct buf found = { .max = 4096 };
	const struct kube_sink sink = { .on_item = add_name, .ctx = &found };
	struct error err = { 0 };

	if (kube_list(k, &ref, &select, &sink, NULL, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(found.data ? (char *)found.data : "", names);
}

static const char *state_of(struct kube *k, const char *ns, const char *name)
{
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, ns, name };
	cleanup_json cJSON *tj = NULL;
	struct error err = { 0 };

	if (kube_get(k, &ref, &tj, &err))
		return err.kind == ERR_NOT_FOUND ? "gone" : "?";
	return status_state(json_get((const cJSON *)tj, "status"));
}

static void test_lists(void **state)
{
	struct kube *k = connect_it();
	struct state_run a, b, c;
	struct error err = { 0 };

	expect_names(k, TRAINJOB_KIND, NULL, NULL, "");
	begin(&b, "ns", "b");
	begin(&a, "ns", "a");
	begin(&c, "other", "c");
	expect_names(k, TRAINJOB_KIND, NULL, NULL, "ns/a ns/b other/c ");
	expect_names(k, TRAINJOB_KIND, "ns", NULL, "ns/a ns/b ");
	expect_names(k, TRAINJOB_KIND, NULL, "of!=a", "ns/b other/c ");
	expect_names(k, JOBSET_KIND, "ns", NULL, "ns/a ns/b ");
	expect_names(k, TRAINJOB_KIND, "none", NULL, "");
	finish(&a, "a");
	finish(&b, "b");
	assert_string_equal(state_of(k, "ns", "a"), "Complete");
	assert_int_equal(state_remove("ns", "a", &err), 0);
	assert_string_equal(state_of(k, "ns", "a"), "gone");
	expect_names(k, TRAINJOB_KIND, NULL, NULL, "ns/b other/c ");
	expect_names(k, JOBSET_KIND, NULL, NULL, "ns/b other/c ");
	finish(&c, "c");
	kube_free(k);
}

/* A process that is gone holds no lock, and nobody wrote how its job ended. */
static void test_killed(void **state)
{
	struct kube *k = connect_it();
	struct state_run run;

	begin(&run, "ns", "x");
	assert_string_not_equal(state_of(k, "ns", "x"), "Failed");
	state_end(&run);
	assert_string_equal(state_of(k, "ns", "x"), "Failed");
	begin(&run, "ns", "x");
	assert_string_not_equal(state_of(k, "ns", "x"), "Failed");
	finish(&run, "x");
	assert_string_equal(state_of(k, "ns", "x"), "Complete");
	kube_free(k);
}

#define POD                                                                              \
	"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'ns','uid':" \
	"'u'},"                                                                          \
	"'status':{'phase':'Running','containerStatuses':[{'name':'node','state':{'"     \
	"running':"                                                                      \
	"{'startedAt':'2026-01-01T00:00:00Z'}}}]}}"

static cJSON *get(struct kube *k, const char *version, const char *kind, const char *name)
{
	const struct kube_ref ref = { version, kind, "ns", name };
	struct error err = { 0 };
	cJSON *obj = NULL;

	return kube_get(k, &ref, &obj, &err) ? NULL : obj;
}

static const char *get_str(struct kube *k, const char *kind, const char *name,
			   const char *key, struct arena *a)
{
	const char *version = str_eq(kind, JOBSET_KIND) ? JOBSET_API_VERSION : "v1";
	cleanup_json cJSON *obj = get(k, version, kind, name);
	const char *value = obj ? json_str(obj, "status", key) : "gone";

	return value ? arena_strdup(a, value) : "";
}

/* What a run has published is there; once it is killed, none of it runs. */
static void test_parts(void **state)
{
	cleanup_json cJSON *pod = parse(POD);
	cleanup_json cJSON *jobset =
		parse("{'kind':'JobSet','metadata':{'name':'x','uid':"
		      "'j'},'status':{'restarts':1}}");
	cleanup_json cJSON *event = parse("{'apiVersion':'v1','kind':'Event','metadata':{"
					  "'name':'e','namespace':'ns'}}");
	cleanup_json cJSON *event2 =
		parse("{'apiVersion':'v1','kind':'Event','metadata':{"
		      "'name':'f','namespace':'ns'}}");
	cleanup_arena struct arena a = { 0 };
	struct kube *k = connect_it();
	struct state_run run;
	cJSON *got;

	begin(&run, "ns", "x");
	state_publish(&run, "Pod", "p", pod);
	state_publish(&run, "Pod", "q", pod);
	state_publish(&run, JOBSET_KIND, "x", jobset);
	state_record(&run, event);
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "Running");
	got = get(k, JOBSET_API_VERSION, JOBSET_KIND, "x");
	assert_string_equal(meta_uid(got), "j");
	assert_int_equal(json_int(got, 0, "status", "restarts"), 1);
	assert_non_null(json_get(got, "spec", "replicatedJobs"));
	cJSON_Delete(got);
	cJSON_Delete(got = get(k, "v1", "Event", "e"));
	assert_non_null(got);
	state_record(&run, event2);
	cJSON_Delete(got = get(k, "v1", "Event", "f"));
	assert_non_null(got);
	state_end(&run); /* as if it were killed */
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "Failed");
	got = get(k, "v1", "Pod", "p");
	assert_string_equal(
		json_str(json_find_const(json_get(got, "status", "conditions"), "type",
					 "DisruptionTarget"),
			 "reason"),
		"Interrupted");
	cJSON_Delete(got);
	assert_string_equal(get_str(k, JOBSET_KIND, "x", "terminalState", &a), "Failed");
	begin(&run, "ns", "x");
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "gone");
	assert_null(get(k, "v1", "Event", "e"));
	state_publish(&run, "Pod", "p", pod);
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "Running");
	state_publish(&run, "Pod", "p", NULL);
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "gone");
	finish(&run, "x");
	kube_free(k);
}

/* Who has asked for its TrainJob alone since it ended has the end of its pods, too. */
static void test_ended_in_parts(void **state)
{
	cleanup_json cJSON *pod = parse(POD);
	cleanup_arena struct arena a = { 0 };
	struct kube *k = connect_it();
	struct state_run run;

	begin(&run, "ns", "x");
	state_publish(&run, "Pod", "p", pod);
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "Running");
	state_end(&run);
	assert_string_equal(state_of(k, "ns", "x"), "Failed");
	assert_string_equal(get_str(k, "Pod", "p", "phase", &a), "Failed");
	kube_free(k);
}

/* Nothing that is left of a run that was stopped runs, or is on its way out for ever. */
static void test_stopped(void **state)
{
	cleanup_json cJSON *pod = parse(
		"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'ns','deletionTimestamp':'2026-01-01T00:00:00Z'},'status':{'phase':'Failed'}}");
	cleanup_json cJSON *job = parse(
		"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'x-node-0',"
		"'namespace':'ns'},'status':{'active':1,'ready':1}}");
	cleanup_json cJSON *tj = parse(
		"{'metadata':{'name':'x'},'status':{'conditions':[{'type':'Failed',"
		"'status':'True','reason':'Interrupted','message':'--timeout expired',"
		"'lastTransitionTime':'2026-01-01T00:00:01Z'}]}}");
	struct kube *k = connect_it();
	struct error err = { 0 };
	struct state_run run;
	cJSON *got;

	begin(&run, "ns", "x");
	state_publish(&run, "Pod", "p", pod);
	state_publish(&run, "Job", "x-node-0", job);
	got = get(k, "batch/v1", "Job", "x-node-0");
	assert_int_equal(json_int(got, 0, "status", "active"), 1);
	cJSON_Delete(got);
	assert_int_equal(state_save(&run, tj, true, &err), 0);
	state_end(&run);
	got = get(k, "batch/v1", "Job", "x-node-0");
	assert_null(json_get(got, "status", "active"));
	assert_string_equal(
		json_str(json_find_const(json_get(got, "status", "conditions"), "type",
					 "Failed"),
			 "message"),
		"--timeout expired");
	cJSON_Delete(got);
	got = get(k, "v1", "Pod", "p");
	assert_non_null(got);
	assert_false(meta_is_deleted(got));
	cJSON_Delete(got);
	kube_free(k);
}

static int patch(struct kube *k, const char *text, bool dry_run)
{
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, "ns", "x" };
	const struct kube_write how = { .manager = "test", .dry_run = dry_run };
	cleanup_json cJSON *doc = parse(text);
	struct error err = { 0 };

	if (!kube_merge_patch(k, &ref, doc, &how, NULL, &err))
		return 0;
	print_message("%s: %s\n", text, err.msg);
	return err.code;
}

/* spec.suspend alone can be changed, and that is kept. */
static void test_writes(void **state)
{
	cleanup_json cJSON *map =
		parse("{'apiVersion':'v1','kind':'ConfigMap','metadata':{"
		      "'name':'m','namespace':'ns'}}");
	cleanup_json cJSON *tj =
		parse("{'metadata':{'name':'x','uid':'u-x'},'spec':{"
		      "'runtimeRef':{'name':'torch-distributed','kind':'"
		      "ClusterTrainingRuntime',"
		      "'apiGroup':'trainer.kubeflow.org'},'suspend':false,"
		      "'managedBy':'trainer.kubeflow.org/trainjob-controller'}}");
	const struct kube_write how = { .manager = "test" };
	struct kube *k = connect_it();
	struct error err = { 0 };
	struct state_run run;

	begin(&run, "ns", "x");
	assert_int_equal(state_save(&run, tj, false, &err), 0);
	assert_int_equal(patch(k, "{'spec':{'suspend':true}}", true), 0);
	assert_false(state_suspended(run.dir));
	assert_int_equal(patch(k, "{'spec':{'suspend':true}}", false), 0);
	assert_true(state_suspended(run.dir));
	assert_int_equal(patch(k, "{'spec':{'suspend':false}}", false), 0);
	assert_false(state_suspended(run.dir));
	json_put_bool(tj, true, "spec", "suspend"); /* it has not heard of that yet */
	assert_int_equal(state_save(&run, tj, false, &err), 0);
	assert_int_equal(patch(k, "{'spec':{'suspend':true}}", false), 0);
	assert_true(state_suspended(run.dir));
	assert_int_equal(patch(k, "{'metadata':{'labels':{'a':'b'}}}", false), 422);
	assert_int_equal(kube_create(k, map, &how, NULL, &err), -1);
	assert_int_equal(err.code, 422);
	finish(&run, "x");
	kube_free(k);
}

static int count_item(void *ctx, cJSON *take_obj, struct error *err)
{
	++*(int *)ctx;
	cJSON_Delete(take_obj);
	return 0;
}

/* Everything is asked for; another job is there whatever is wrong with the one. */
static void ask_all(void)
{
	static const char *const kinds[][2] = { { TRAINER_API_VERSION, TRAINJOB_KIND },
						{ JOBSET_API_VERSION, JOBSET_KIND },
						{ "v1", "Pod" },
						{ "v1", "Event" } };
	struct kube *k = connect_it();

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		const struct kube_ref ref = { kinds[i][0], kinds[i][1], NULL, NULL };
		int n = 0;
		const struct kube_sink sink = { .on_item = count_item, .ctx = &n };
		struct error err = { 0 };

		if (kube_list(k, &ref, NULL, &sink, NULL, &err))
			fail_msg("%s", err.msg);
		assert_true(i > 1 || n >= 1);
	}
	kube_free(k);
}

/* Files that were cut anywhere, or hold anything. */
static void test_torn(void **state)
{
	static const char *const files[] = { "trainjob.json", "objects.json",
					     "api/Pod.p.json", "api/JobSet.x.json",
					     "events" };
	cleanup_json cJSON *pod = parse(POD);
	cleanup_json cJSON *event = parse("{'apiVersion':'v1','kind':'Event','metadata':{"
					  "'name':'e','namespace':'ns'}}");
	cleanup_arena struct arena a = { 0 };
	struct state_run run, good;

	begin(&good, "ns", "good");
	begin(&run, "ns", "x");
	state_publish(&run, "Pod", "p", pod);
	state_publish(&run, JOBSET_KIND, "x", pod);
	state_record(&run, event);
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		const char *path = path_join(&a, run.dir, files[i]);
		cleanup_buf struct buf text = { .max = 65536 };
		struct error err = { 0 };

		assert_int_equal(file_read(&text, path, &err), 0);
		for (size_t n = 0; n < text.len; n += 11) {
			assert_int_equal(file_write(path, text.data, n, 0600, &err), 0);
			ask_all();
		}
		assert_int_equal(file_write(path, "[[\0{\n", 6, 0600, &err), 0);
		ask_all();
		assert_int_equal(file_write(path, "{\"metadata\":[]}\n", 16, 0600, &err),
				 0);
		ask_all();
		assert_int_equal(file_write(path, text.data, text.len, 0600, &err), 0);
	}
	state_end(&run);
	ask_all();
	finish(&good, "good");
}

static void test_runtimes(void **state)
{
	const struct kube_ref builtin = { TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL,
					  "torch-distributed" };
	const struct kube_ref mine = { TRAINER_API_VERSION, RUNTIME_KIND, "ns", "mine" };
	cleanup_json cJSON *runtime =
		parse("{'apiVersion':'trainer.kubeflow.org/v1alpha1',"
		      "'kind':'TrainingRuntime',"
		      "'metadata':{'name':'mine'}}");
	cleanup_json cJSON *got = NULL, *own = NULL;
	struct kube *k = connect_it();
	struct state_run run;
	struct error err = { 0 };

	assert_int_equal(kube_get(k, &builtin, &got, &err), 0);
	begin(&run, "ns", "x");
	state_save_runtime(&run, runtime);
	finish(&run, "x");
	assert_string_equal(state_of(k, "ns", "x"), "Complete");
	if (kube_get(k, &mine, &own, &err))
		fail_msg("%s", err.msg);
	kube_free(k);
}

static void test_unreadable(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, getenv("XDG_STATE_HOME"), "kftrainer");
	const struct kube_ref jobs = { TRAINER_API_VERSION, TRAINJOB_KIND, NULL, NULL };
	const struct kube_sink sink = { .on_item = add_name };
	struct kube *k = connect_it();
	struct error err = { 0 };

	assert_int_equal(dir_make(dir, 0700, &err), 0);
	assert_int_equal(file_write(path_join(&a, dir, "jobs"), "", 0, 0600, &err), 0);
	assert_int_equal(kube_list(k, &jobs, NULL, &sink, NULL, &err), -1);
	assert_int_equal(err.code, 500);
	assert_non_null(strstr(err.msg, "kftrainer/jobs: Not a directory"));
	kube_free(k);
}

/* A job that has no run yet, found by a request that then failed. */
static void test_half_read(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, getenv("XDG_STATE_HOME"), "kftrainer/jobs");
	const struct kube_ref builtin = { TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL,
					  "torch-distributed" };
	const struct kube_ref jobs = { TRAINER_API_VERSION, TRAINJOB_KIND, NULL, NULL };
	const struct kube_sink sink = { .on_item = add_name };
	cleanup_json cJSON *got = NULL;
	struct kube *k = connect_it();
	struct error err = { 0 };

	assert_int_equal(dir_make(path_join(&a, dir, "a/x"), 0700, &err), 0);
	assert_int_equal(file_write(path_join(&a, dir, "b"), "", 0, 0600, &err), 0);
	assert_int_equal(kube_list(k, &jobs, NULL, &sink, NULL, &err), -1);
	assert_int_equal(kube_get(k, &builtin, &got, &err), 0);
	kube_free(k);
}

/* ---- watches ------------------------------------------------------------------------- */

struct watching {
	struct kube *kube;
	bool cancel;
	pthread_mutex_t lock;
	char text[4096];
};

static int on_event(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	struct watching *w = ctx;
	size_t len;

	pthread_mutex_lock(&w->lock);
	len = strlen(w->text);
	snprintf(w->text + len, sizeof(w->text) - len, "%s %s %s\n", type,
		 meta_name(take_obj),
		 status_state(json_get((const cJSON *)take_obj, "status")));
	pthread_mutex_unlock(&w->lock);
	cJSON_Delete(take_obj);
	return 0;
}

static void *watch(void *ctx)
{
	struct watching *w = ctx;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, "ns", NULL };
	const struct kube_watch_opts opts = {
		.version = "0", .cancel = &w->cancel, .on_event = on_event, .ctx = w
	};
	struct error err = { 0 };

	(void)!kube_watch(w->kube, &ref, &opts, &err);
	return NULL;
}

static bool has_seen(struct watching *w, const char *line)
{
	bool seen;

	pthread_mutex_lock(&w->lock);
	seen = strstr(w->text, line);
	pthread_mutex_unlock(&w->lock);
	return seen;
}

static void await(struct watching *w, const char *line)
{
	EVENTUALLY(has_seen(w, line));
}

static void test_watch(void **state)
{
	struct watching w = { .kube = connect_it(), .lock = PTHREAD_MUTEX_INITIALIZER };
	struct state_run run, other;
	struct error err = { 0 };
	pthread_t thread;

	begin(&run, "ns", "x");
	assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
	await(&w, "ADDED x ");
	begin(&other, "ns", "y");
	await(&w, "ADDED y ");
	finish(&run, "x");
	await(&w, "MODIFIED x Complete\n");
	state_end(&other); /* as if it were killed */
	await(&w, "MODIFIED y Failed\n");
	assert_int_equal(state_remove("ns", "x", &err), 0);
	await(&w, "DELETED x ");
	__atomic_store_n(&w.cancel, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	kube_free(w.kube);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lists, setup),
		cmocka_unit_test_setup(test_killed, setup),
		cmocka_unit_test_setup(test_stopped, setup),
		cmocka_unit_test_setup(test_parts, setup),
		cmocka_unit_test_setup(test_ended_in_parts, setup),
		cmocka_unit_test_setup(test_writes, setup),
		cmocka_unit_test_setup(test_torn, setup),
		cmocka_unit_test_setup(test_runtimes, setup),
		cmocka_unit_test_setup(test_unreadable, setup),
		cmocka_unit_test_setup(test_half_read, setup),
		cmocka_unit_test_setup(test_watch, setup),
	};
	struct error err = { 0 };
	int rc;

	if (!mkdtemp(home))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(home, &err) ? 1 : rc;
}
