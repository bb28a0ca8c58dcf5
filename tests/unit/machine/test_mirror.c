/* The runs of this machine among a server's objects (machine/mirror.h). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_owned.h"
#include "machine/machine_impl.h"
#include "machine/mirror.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

static char home[] = "/tmp/kftrainer-mirror-XXXXXX";

struct fixture {
	struct apiserver *api;
	struct mirror *mirror;
};

static bool on_disk; /* the API */

/* A state folder and an API of its own for each test. */
static void open_fixture(struct fixture *f)
{
	static int n;
	cleanup_arena struct arena a = { 0 };
	const struct apiserver_conf conf = { .dir = on_disk ? path_join(&a, home, "api")
							    : NULL };
	struct error err = { 0 };

	*f = (struct fixture){ 0 };
	setenv("XDG_STATE_HOME", arena_printf(&a, "%s/%d", home, n++), 1);
	assert_int_equal(apiserver_new(&f->api, &conf, &err), 0);
}

static void start(struct fixture *f)
{
	struct error err = { 0 };

	if (mirror_start(&f->mirror, f->api, &err))
		fail_msg("%s", err.msg);
}

static void close_fixture(struct fixture *f)
{
	apiserver_stop(f->api);
	mirror_stop(f->mirror);
	apiserver_free(f->api);
}

static cJSON *trainjob(const char *status)
{
	cleanup_arena struct arena a = { 0 };

	return parse(arena_printf(
		&a,
		"{'metadata':{'name':'x','uid':'u-x','creationTimestamp':"
		"'2026-01-01T00:00:00Z'},'spec':{'suspend':false},'status':%s}",
		status));
}

static void begin(struct state_run *run)
{
	cleanup_json cJSON *tj = trainjob("{}");
	cleanup_json cJSON *objects =
		parse("[{'kind':'JobSet','apiVersion':'jobset.x-k8s.io/v1alpha2',"
		      "'metadata':{'name':'x'},'spec':{'replicatedJobs':[]}}]");
	struct error err = { 0 };

	if (state_begin(run, "default", "x", tj, objects, &err))
		fail_msg("%s", err.msg);
}

static void finish(struct state_run *run)
{
	cleanup_json cJSON *tj =
		trainjob("{'conditions':[{'type':'Complete','status':'True'}]}");
	struct error err = { 0 };

	assert_int_equal(state_save(run, tj, true, &err), 0);
	state_end(run);
}

static cJSON *get(struct fixture *f, const char *kind, const char *name)
{
	mirror_sync(f->mirror);
	return apiserver_get(f->api,
			     str_eq(kind, TRAINJOB_KIND) ? TRAINER_API_VERSION : "v1",
			     kind, "default", name);
}

static void publish_pod(const struct state_run *run)
{
	cleanup_json cJSON *pod = parse("{'apiVersion':'v1','kind':'Pod','metadata':{"
					"'name':'p','namespace':'default','uid':'u'},"
					"'status':{'phase':'Running'}}");

	state_publish(run, "Pod", "p", pod);
}

/* It comes, ends and goes, and what it consists of with it. */
static void test_life(void **state)
{
	struct state_run run;
	struct fixture f;
	struct error err = { 0 };
	cJSON *obj;

	open_fixture(&f);
	start(&f);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	begin(&run);
	publish_pod(&run);
	obj = get(&f, TRAINJOB_KIND, "x");
	assert_true(mirror_has(obj));
	assert_string_equal(json_str(obj, "status", "state"), "Created");
	cJSON_Delete(obj);
	obj = get(&f, "Pod", "p");
	assert_true(mirror_has(obj));
	assert_string_equal(json_str(obj, "status", "phase"), "Running");
	cJSON_Delete(obj);
	state_publish(&run, "Pod", "p", NULL);
	assert_null(get(&f, "Pod", "p"));
	publish_pod(&run);
	finish(&run);
	obj = get(&f, TRAINJOB_KIND, "x");
	assert_string_equal(json_str(obj, "status", "state"), "Complete");
	cJSON_Delete(obj);
	assert_int_equal(state_remove("default", "x", &err), 0);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	assert_null(get(&f, "Pod", "p"));
	close_fixture(&f);
}

static void record(const struct state_run *run, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *event = parse(
		arena_printf(&a,
			     "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s',"
			     "'namespace':'default'},'reason':'%0*d'}",
			     name, 500, 0));

	state_record(run, event);
}

/* Its file of events is shorter than what was read of it. */
static void test_events_are_cut(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	struct fixture f;
	struct error err = { 0 };
	cJSON *obj;

	open_fixture(&f);
	start(&f);
	begin(&run);
	record(&run, "one");
	record(&run, "two");
	obj = get(&f, "Event", "two");
	assert_non_null(obj);
	cJSON_Delete(obj);
	assert_int_equal(truncate(path_join(&a, run.dir, STATE_EVENTS), 10), 0);
	obj = get(&f, "Event", "two");
	assert_non_null(obj);
	cJSON_Delete(obj);
	finish(&run);
	assert_int_equal(state_remove("default", "x", &err), 0);
	close_fixture(&f);
}

/* Of a run's objects spec.suspend of the TrainJob alone can be changed. */
static void test_writes(void **state)
{
	struct error err = { 0 };
	struct state_run run;
	struct fixture f;
	cJSON *old, *now, *pod;

	open_fixture(&f);
	begin(&run);
	publish_pod(&run);
	start(&f);
	old = get(&f, TRAINJOB_KIND, "x");
	now = json_dup(old);
	tj_set_suspend(now, true);
	assert_int_equal(mirror_check(old, now, &err), 0);
	assert_int_equal(mirror_write(old, now, &err), 0);
	assert_true(state_suspended(run.dir));
	meta_set_label(now, "a", "b");
	assert_int_equal(mirror_check(old, now, &err), -1);
	assert_int_equal(err.code, 403);
	err = (struct error){ 0 };
	pod = get(&f, "Pod", "p");
	assert_int_equal(mirror_check(pod, pod, &err), -1);
	err = (struct error){ 0 };
	assert_int_equal(mirror_remove(pod, &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	finish(&run);
	err = (struct error){ 0 };
	assert_int_equal(mirror_remove(old, &err), 0);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	assert_int_equal(mirror_remove(old, &err), 0); /* gone by itself */
	cJSON_Delete(old);
	cJSON_Delete(now);
	cJSON_Delete(pod);
	close_fixture(&f);
}

static void store(struct fixture *f, const char *run)
{
	cleanup_json cJSON *tj = trainjob("{}");
	struct error err = { 0 };

	json_put_str(tj, TRAINER_API_VERSION, "apiVersion");
	json_put_str(tj, TRAINJOB_KIND, "kind");
	meta_set_namespace(tj, "default");
	meta_set_label(tj, "of", "server");
	if (run)
		meta_set_annotation(tj, LOCAL_RUN_ANNOTATION, run);
	assert_int_equal(apiserver_store(f->api, tj, &err), 1);
}

/* While a server has a TrainJob of that name, a run is not shown; then it is. */
static void test_name_taken(void **state)
{
	struct state_run run;
	struct fixture f;
	cJSON *obj;

	open_fixture(&f);
	store(&f, NULL);
	begin(&run);
	publish_pod(&run);
	start(&f);
	obj = get(&f, TRAINJOB_KIND, "x");
	assert_string_equal(meta_label(obj, "of"), "server");
	cJSON_Delete(obj);
	assert_null(get(&f, "Pod", "p"));
	apiserver_drop(f.api, TRAINER_API_VERSION, TRAINJOB_KIND, "default", "x", NULL);
	finish(&run); /* which it sees */
	obj = get(&f, TRAINJOB_KIND, "x");
	assert_true(mirror_has(obj));
	cJSON_Delete(obj);
	close_fixture(&f);
}

/* A run that a server owns is in its own API alone. */
static void test_of_server(void **state)
{
	const struct state_owner owner = { .server = "/", .uid = "u", .generation = 1 };
	struct error err = { 0 };
	struct state_run run;
	struct fixture f;

	open_fixture(&f);
	begin(&run);
	assert_int_equal(state_own(&run, "default", "x", &owner, &err), 0);
	publish_pod(&run);
	start(&f);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	assert_null(get(&f, "Pod", "p"));
	finish(&run);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	close_fixture(&f);
}

/* What an earlier server stored of a run that is gone by now, is dropped. */
static void test_strangers(void **state)
{
	struct fixture f;

	open_fixture(&f);
	store(&f, "/nowhere");
	start(&f);
	assert_null(get(&f, TRAINJOB_KIND, "x"));
	close_fixture(&f);
}

/* Without a request, too: watches see it at once. */
static void test_by_itself(void **state)
{
	struct state_run run;
	struct fixture f;
	cJSON *obj;

	open_fixture(&f);
	start(&f);
	begin(&run);
	EVENTUALLY((obj = apiserver_get(f.api, TRAINER_API_VERSION, TRAINJOB_KIND,
					"default", "x")));
	cJSON_Delete(obj);
	finish(&run);
	close_fixture(&f);
}

/* What a full disk did not take is there once it has room, also of a run that has ended. */
static void test_full_disk(void **state)
{
	struct rlimit before, full;
	struct machine m;
	struct state_run run;
	struct fixture f;
	struct error err = { 0 };
	cJSON *obj;

	on_disk = true;
	open_fixture(&f);
	on_disk = false;
	begin(&run);
	machine_init(&m, f.api, -1, true);
	assert_int_equal(machine_read_all(&m, &err), 0);
	publish_pod(&run);
	finish(&run);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full = (struct rlimit){ 1, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_int_equal(machine_read_all(&m, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(get(&f, "Pod", "p"));
	assert_int_equal(machine_read_all(&m, &err), 0);
	obj = get(&f, TRAINJOB_KIND, "x");
	assert_string_equal(json_str(obj, "status", "state"), "Complete");
	cJSON_Delete(obj);
	obj = get(&f, "Pod", "p");
	assert_non_null(obj);
	cJSON_Delete(obj);
	machine_release(&m);
	apiserver_free(f.api);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),      cmocka_unit_test(test_events_are_cut),
		cmocka_unit_test(test_writes),    cmocka_unit_test(test_name_taken),
		cmocka_unit_test(test_of_server), cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_by_itself), cmocka_unit_test(test_full_disk),
	};
	struct error err = { 0 };
	int rc;

	if (!mkdtemp(home))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(home, &err) ? 1 : rc;
}
