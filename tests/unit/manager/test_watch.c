/* Which keys come into the queues when something changes: real informers. */
#include "manager/watch.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/map.h"
#include "base/str.h"
#include "base/yaml.h"
#include "manager/job_memory.h"
#include "tests/unit/kube/apiserver.h"
#include "trainer/jobset.h"

#define TRAINER "trainer.kubeflow.org/v1alpha1"
#define JOBSET  "jobset.x-k8s.io/v1alpha2"

struct world {
	struct apiserver server;
	struct workqueue *queue, *runtimes, *cluster_runtimes;
	struct runtimes *docs;
	struct watches *watches;
	struct job_memories memories;
};

static void create(struct world *w, const char *ns, const char *text)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	if (ns)
		meta_set_namespace(docs->child, ns);
	if (kube_create(w->server.kube, docs->child, &(struct kube_write){ 0 }, NULL,
			&err))
		fail_msg("%s: %s", text, err.msg);
}

static void remove_it(struct world *w, const char *api_version, const char *kind,
		      const char *ns, const char *name)
{
	struct kube_ref ref = { api_version, kind, ns, name };
	struct error err = { 0 };

	if (kube_delete(w->server.kube, &ref, NULL, NULL, &err))
		fail_msg("%s", err.msg);
}

/*
 * n keys come, each of these and no other; each ends with ' '. Late ones of the tests
 * before do not count: their namespaces come before these in the alphabet.
 */
static void expect(struct workqueue *q, int n, const char *keys)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_map struct map seen = { 0 };

	while (seen.n < (size_t)n) {
		const char *key = workqueue_get(q);

		if (strstr(keys, arena_printf(&arena, "%s ", key)))
			map_put(&seen, key, (void *)keys);
		else if (*key >= *keys)
			fail_msg("%s is not among %s", key, keys);
		workqueue_done(q, key);
	}
}

static int serve(void **state)
{
	static struct world w;
	struct error err = { 0 };

	apiserver_start(&w.server);
	w.queue = workqueue_new("a", NULL);
	w.runtimes = workqueue_new("b", NULL);
	w.cluster_runtimes = workqueue_new("c", NULL);
	if (runtimes_start(&w.docs, w.server.kube, &err))
		fail_msg("%s", err.msg);
	job_memories_init(&w.memories);
	*state = &w;
	return 0;
}

static void watch(struct world *w)
{
	const struct watches_conf conf = { .kube = w->server.kube,
					   .trainjobs = w->queue,
					   .runtimes = w->runtimes,
					   .cluster_runtimes = w->cluster_runtimes,
					   .runtime_docs = w->docs,
					   .memories = &w->memories };
	struct error err = { 0 };

	if (watches_start(&w->watches, &conf, &err) || watches_wait(w->watches, &err))
		fail_msg("%s", err.msg);
}

static int begin(void **state)
{
	serve(state);
	watch(*state);
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	watches_stop(w->watches);
	job_memories_release(&w->memories);
	runtimes_stop(w->docs);
	workqueue_free(w->queue);
	workqueue_free(w->runtimes);
	workqueue_free(w->cluster_runtimes);
	apiserver_stop(&w->server);
	return 0;
}

#define TRAINJOB(name, kind, suspend)                                                   \
	"{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: " name "}, spec: {" \
	"suspend: " suspend ", runtimeRef: {name: rt, kind: " kind ", apiGroup: "       \
	"trainer.kubeflow.org}}}"
#define OWNER(name)                                                               \
	"ownerReferences: [{apiVersion: " TRAINER ", kind: TrainJob, name: " name \
	", uid: u, controller: true}]"

/* Takes all that is in the queue: is it among that? */
static bool came(struct workqueue *q, const char *wanted)
{
	bool ret = false;

	while (workqueue_length(q)) {
		const char *key = workqueue_get(q);

		ret = ret || str_eq(key, wanted);
		workqueue_done(q, key);
	}
	return ret;
}

/* One of the kind comes and goes, of owner ns/name. */
static void come_and_go(struct world *w, const char *api_version, const char *kind,
			const char *ns, const char *name)
{
	cleanup_arena struct arena arena = { 0 };

	create(w, ns,
	       arena_printf(&arena,
			    "{apiVersion: %s, kind: %s, metadata: {name: %s, " OWNER(
				    "%s") "}, status: {conditions: []}}",
			    api_version, kind, name, name));
	if (str_eq(ns, "z") && str_eq(kind, "JobSet"))
		/* a new one of the others is our own writing */
		EVENTUALLY(came(w->queue, arena_printf(&arena, "z/%s", name)));
	remove_it(w, api_version, kind, ns, name);
}

static void test_owners(void **state)
{
	static const struct {
		const char *api_version, *kind;
	} kinds[] = {
		{ JOBSET, "JobSet" },
		{ "scheduling.x-k8s.io/v1alpha1", "PodGroup" },
		{ "scheduling.volcano.sh/v1beta1", "PodGroup" },
		{ "v1", "ConfigMap" },
	};
	struct world *w = *state;
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		const char *name = arena_printf(&arena, "o%zu", i);
		const char *key = arena_printf(&arena, "a/%s", name);

		/* Until the watch of the kind, which nobody waits for, is there. */
		EVENTUALLY(
			(come_and_go(w, kinds[i].api_version, kinds[i].kind, "a", name),
			 came(w->queue, key)));
		/* Late ones of "a" may come between. */
		come_and_go(w, kinds[i].api_version, kinds[i].kind, "z", name);
		EVENTUALLY(came(w->queue, arena_printf(&arena, "z/%s", name)));
	}
}

static void test_one_that_stood_in_the_way(void **state)
{
	struct world *w = *state;

	create(w, "b", "{apiVersion: " JOBSET ", kind: JobSet, metadata: {name: x}}");
	create(w, "b", "{apiVersion: " JOBSET ", kind: JobSet, metadata: {name: z}}");
	create(w, "b", TRAINJOB("x", "TrainingRuntime", "false"));
	expect(w->queue, 1, "b/x ");
	remove_it(w, JOBSET, "JobSet", "b", "z"); /* in nobody's way */
	remove_it(w, JOBSET, "JobSet", "b", "x");
	expect(w->queue, 1, "b/x ");
}

static void test_limit_ranges(void **state)
{
	struct world *w = *state;

	create(w, "c", TRAINJOB("asleep", "TrainingRuntime", "true"));
	create(w, "c", TRAINJOB("awake", "TrainingRuntime", "false"));
	create(w, "d", TRAINJOB("asleep", "TrainingRuntime", "true"));
	expect(w->queue, 3, "c/asleep c/awake d/asleep ");
	create(w, "c", "{apiVersion: v1, kind: LimitRange, metadata: {name: l}}");
	expect(w->queue, 1, "c/asleep ");
	remove_it(w, "v1", "LimitRange", "c", "l");
	expect(w->queue, 1, "c/asleep ");
}

static void change(struct world *w, const char *kind, const char *ns, const char *patch)
{
	struct kube_ref ref = { str_eq(kind, "JobSet") ? JOBSET : TRAINER, kind, ns,
				"x" };
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, patch, strlen(patch), &err) ||
	    kube_merge_patch(w->server.kube, &ref, docs->child, &(struct kube_write){ 0 },
			     NULL, &err))
		fail_msg("%s: %s", patch, err.msg);
}

static int drop(void *ctx, cJSON *take_obj, struct error *err)
{
	cJSON_Delete(take_obj);
	return 0;
}

/* What the API server writes next has this resourceVersion. */
static uint64_t next_version(struct world *w)
{
	const struct kube_ref all = { TRAINER, "TrainJob", NULL, NULL };
	cleanup_free char *version = NULL;
	struct error err = { 0 };

	if (kube_list(w->server.kube, &all, NULL, &(struct kube_sink){ .on_item = drop },
		      &version, &err))
		fail_msg("%s", err.msg);
	return strtoull(version, NULL, 10) + 1;
}

/* What is said of a TrainJob, and of a JobSet what we do not look at. */
static void test_what_asks_for_nothing(void **state)
{
	static const struct {
		const char *kind, *patch;
		bool wakes, ours;
	} rows[] = {
		{ "TrainJob", "{status: {trainerStatus: {progressPercentage: 3}}}", false,
		  false },
		{ "TrainJob", "{status: {state: Running}}", true, false },
		{ "TrainJob", "{status: {state: Suspended}}", false, true },
		{ "TrainJob", "{spec: {suspend: true}}", true, true },
		{ "TrainJob", "{status: null}", true, false },
		{ "TrainJob", "{metadata: {annotations: {a: b}}}", true, false },
		{ "TrainJob", "{spec: {suspend: false}}", true, false },
		{ "JobSet", "{metadata: {labels: {a: b}}}", true, false },
		{ "JobSet", "{status: {restartsCountTowardsMax: 3}}", false, false },
		{ "JobSet", "{status: {conditions: [{type: Failed}]}}", true, false },
		{ "JobSet", "{spec: {suspend: true}}", true, false },
		{ "JobSet", "{metadata: {deletionTimestamp: x}}", true, false },
	};
	struct world *w = *state;

	create(w, "da", TRAINJOB("x", "TrainingRuntime", "false"));
	expect(w->queue, 1, "da/x ");
	create(w, "da",
	       "{apiVersion: " JOBSET
	       ", kind: JobSet, metadata: {name: x, " OWNER("x") "}}");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		job_memory_of(&w->memories, "da/x")->written.trainjob_version =
			rows[i].ours ? next_version(w) : 0;
		change(w, rows[i].kind, "da", rows[i].patch);
		if (rows[i].wakes) {
			expect(w->queue, 1, "da/x ");
		} else {
			clock_sleep_ms(50);
			check_int(rows[i].patch, (long long)workqueue_length(w->queue),
				  0);
		}
	}
}

#define JOBS(active)                                                       \
	"replicatedJobsStatus: [{name: a, active: " active ", ready: 0}, " \
	"{name: b, active: 0, ready: 0}]"

/* What JobSet's controller says first is told at once, though no Job does anything yet. */
static void test_first_look(void **state)
{
	struct world *w = *state;

	create(w, "db", TRAINJOB("x", "TrainingRuntime", "false"));
	create(w, "db",
	       "{apiVersion: " JOBSET
	       ", kind: JobSet, metadata: {name: x, " OWNER("x") "}}");
	expect(w->queue, 1, "db/x ");
	change(w, "JobSet", "db",
	       "{status: {" JOBS("0") ", conditions: [{type: Suspended}]}}");
	EVENTUALLY(workqueue_length(w->queue) == 1);
	expect(w->queue, 1, "db/x ");
}

#define RUNTIME(kind, name, class)                                                      \
	"{apiVersion: " TRAINER ", kind: " kind ", metadata: {name: " name "}, spec: {" \
	"template: {spec: {replicatedJobs: [{name: a}, {name: b, template: {spec: {"    \
	"template: {spec: {runtimeClassName: " class "}}}}}]}}}}"

/* Has the watch shown the runtime? Who uses one that it has not is told of every class. */
static bool is_shown(struct world *w, const char *kind, const char *ns)
{
	struct kube_ref ref = { TRAINER, kind, ns, "rt" };
	cleanup_json cJSON *runtime = NULL;
	struct error err = { 0 };

	return !runtimes_get(w->docs, NULL, &ref, &runtime, &err);
}

static void test_runtime_classes(void **state)
{
	struct world *w = *state;

	/* One name in two namespaces, and cluster-wide: three runtimes. */
	create(w, "e", RUNTIME("TrainingRuntime", "rt", "kata"));
	create(w, "f", RUNTIME("TrainingRuntime", "rt", "other"));
	create(w, NULL, RUNTIME("ClusterTrainingRuntime", "rt", "kata"));
	create(w, "e", TRAINJOB("named", "TrainingRuntime", "true"));
	create(w, "e", TRAINJOB("named2", "TrainingRuntime", "true"));
	create(w, "e", TRAINJOB("awake", "TrainingRuntime", "false"));
	create(w, "f", TRAINJOB("named", "TrainingRuntime", "true"));
	create(w, "f", TRAINJOB("cluster", "ClusterTrainingRuntime", "true"));
	expect(w->queue, 5, "e/named e/named2 e/awake f/named f/cluster ");
	remove_it(w, TRAINER, "TrainJob", "c", "asleep");
	remove_it(w, TRAINER, "TrainJob", "d", "asleep");
	expect(w->queue, 2, "c/asleep d/asleep ");
	EVENTUALLY(is_shown(w, "TrainingRuntime", "e") &&
		   is_shown(w, "TrainingRuntime", "f") &&
		   is_shown(w, "ClusterTrainingRuntime", NULL));
	create(w, NULL,
	       "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, "
	       "metadata: {name: kata}, handler: x}");
	expect(w->queue, 3, "e/named e/named2 f/cluster ");
}

static void test_what_is_kept(void **state)
{
	struct world *w = *state;
	cleanup_json cJSON *tj = NULL;
	cleanup_json cJSON *jobset = NULL;

	create(w, "g",
	       "{apiVersion: " JOBSET ", kind: JobSet, metadata: {name: x, labels: {a: "
	       "b}, managedFields: [{manager: m}], " OWNER(
		       "x") "}, spec: {suspend: true, replicatedJobs: [{name: node}]}, "
			    "status: {restarts: 1, conditions: [{type: Suspended}], "
			    "replicatedJobsStatus: [{name: node, active: 1}]}}");
	create(w, "g",
	       "{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: x, "
	       "annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', a: "
	       "b}, managedFields: [{manager: m}]}, spec: {runtimeRef: {name: rt}}, "
	       "status: {state: Created}}");
	expect(w->queue, 1, "g/x ");
	EVENTUALLY((cJSON_Delete(tj),
		    tj = informer_get(watches_trainjobs(w->watches), "g", "x")));
	EVENTUALLY((cJSON_Delete(jobset),
		    jobset = informer_get(watches_jobsets(w->watches), "g", "x")));
	assert_null(json_get(tj, "metadata", "managedFields"));
	check_text("a", meta_annotation(tj, "a"), "b");
	check_text(
		"last applied",
		meta_annotation(tj, "kubectl.kubernetes.io/last-applied-configuration"),
		NULL);
	check_text("state", json_str(tj, "status", "state"), "Created");
	check_text("label", meta_label(jobset, "a"), "b");
	assert_null(json_get(jobset, "metadata", "managedFields"));
	assert_null(json_get(jobset, "spec", "replicatedJobs"));
	assert_int_equal(jobset_restarts(jobset), 1);
	assert_true(json_bool(jobset, false, "spec", "suspend"));
	assert_int_equal(
		json_int(json_get(jobset, "status", "replicatedJobsStatus")->child, 0,
			 "active"),
		1);
}

static void test_runtimes_with_the_old_finalizer(void **state)
{
	struct world *w = *state;

#define FINALIZER ", finalizers: [trainer.kubeflow.org/resource-in-use]"
	create(w, "h",
	       "{apiVersion: " TRAINER ", kind: TrainingRuntime, metadata: {name: a}}");
	create(w, "h",
	       "{apiVersion: " TRAINER
	       ", kind: TrainingRuntime, metadata: {name: b" FINALIZER "}}");
	expect(w->runtimes, 1, "h/b ");
	create(w, NULL,
	       "{apiVersion: " TRAINER
	       ", kind: ClusterTrainingRuntime, metadata: {name: c" FINALIZER "}}");
	expect(w->cluster_runtimes, 1, "c ");
}

/* ---- what was there before ---- */

#define SETTLED(name, suspend, condition)                                        \
	"{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: " name       \
	"}, spec: {suspend: " suspend ", runtimeRef: {name: rt}}, status: "      \
	"{conditions: [{type: Suspended, status: \"" condition "\", reason: R, " \
	"message: m, lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}}"

/* Which two keys come next, in whatever order. */
static void expect_two(struct workqueue *q, const char *one, const char *other)
{
	for (int i = 0; i < 2; i++) {
		const char *key = workqueue_get(q);

		if (!str_eq(key, one) && !str_eq(key, other))
			fail_msg("%s comes before %s and %s", key, one, other);
		workqueue_done(q, key);
	}
}

/*
 * A controller that starts finds jobs, with their JobSets, of which all is done: a job
 * nobody has looked at and one that was resumed meanwhile do not wait behind them.
 */
static void test_what_was_there_makes_way(void **state)
{
	struct world *w = *state;

	create(w, "a", SETTLED("old", "true", "True"));
	create(w, "a", SETTLED("older", "false", "False"));
	create(w, "a",
	       "{apiVersion: " JOBSET ", kind: JobSet, metadata: {name: old, " OWNER(
		       "old") "}, status: {restarts: 0}}");
	create(w, "z", TRAINJOB("new", "TrainingRuntime", "true"));
	create(w, "z", SETTLED("resumed", "false", "True"));
	watch(w);
	assert_int_equal(workqueue_length(w->queue), 2);
	expect_two(w->queue, "z/new", "z/resumed");
	expect_two(w->queue, "a/old", "a/older");
	create(w, "a", SETTLED("later", "true", "True"));
	expect(w->queue, 1, "a/later ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_that_stood_in_the_way),
		cmocka_unit_test(test_limit_ranges),
		cmocka_unit_test(test_what_asks_for_nothing),
		cmocka_unit_test(test_first_look),
		cmocka_unit_test(test_runtime_classes),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_runtimes_with_the_old_finalizer),
		/* Last: the server takes both kinds of PodGroup for one. */
		cmocka_unit_test(test_owners),
	};

	const struct CMUnitTest starts[] = {
		cmocka_unit_test(test_what_was_there_makes_way),
	};
	int failed = cmocka_run_group_tests_name("watch", tests, begin, end);

	return failed + cmocka_run_group_tests_name("start", starts, serve, end);
}
