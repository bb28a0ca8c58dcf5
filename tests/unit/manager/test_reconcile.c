/*
 * The reconciler with its watches and a queue, as manager/work.c joins them, against a
 * small API server. Each test has a namespace of its own.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "api/meta.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/yaml.h"
#include "kube/kube_impl.h"
#include "manager/outage.h"
#include "manager/reconcile_impl.h"
#include "manager/watch.h"
#include "tests/unit/kube/apiserver.h"
#include "tests/unit/manager/yaml.h"
#include "trainer/api.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob_status.h"

struct world {
	struct apiserver server;
	_Atomic(const char *) first_of; /* namespace whose first pass is looked at */
	atomic_int first_has;           /* 1: it left a status; -1: it did not */
	int64_t first_after;            /* ms until the next pass that it asked for */
	struct event_recorder *events;
	struct metrics *metrics;
	struct workqueue *queue, *runtimes, *cluster_runtimes;
	struct runtimes *runtime_docs;
	struct watches *watches;
	struct job_memories memories;
	pthread_mutex_t pass; /* held during a pass: forget() must not free its memory */
	struct reconciler *reconciler;
	struct pod_facts *pods;
	pthread_t worker;
};

static void look_at_first_pass(struct world *w, const char *key, int64_t after_ms);

static void *work(void *ctx)
{
	struct world *w = ctx;
	const char *key;

	while ((key = workqueue_get(w->queue))) {
		struct error err = { 0 };
		int64_t after_ms;
		int rc;

		pthread_mutex_lock(&w->pass);
		rc = reconcile_trainjob(w->reconciler, key, &after_ms, &err);
		pthread_mutex_unlock(&w->pass);
		if (rc) {
			workqueue_retry(w->queue, key);
		} else {
			workqueue_forget(w->queue, key);
			if (after_ms)
				workqueue_add_after(w->queue, key, after_ms);
		}
		look_at_first_pass(w, key, after_ms);
		workqueue_done(w->queue, key);
	}
	return NULL;
}

/* Only the tests of that namespace are about pods. */
#define PODS_NS "pods"

static cJSON *find_trainjob(void *ctx, const char *ns, const char *name)
{
	struct world *w = ctx;

	return str_eq(ns, PODS_NS) ? informer_get(watches_trainjobs(w->watches), ns, name)
				   : NULL;
}

static int start_watches(struct world *w, struct error *err)
{
	const struct watches_conf conf = { .kube = w->server.kube,
					   .trainjobs = w->queue,
					   .runtimes = w->runtimes,
					   .cluster_runtimes = w->cluster_runtimes,
					   .runtime_docs = w->runtime_docs,
					   .pods = w->pods,
					   .memories = &w->memories };

	return watches_start(&w->watches, &conf, err);
}

static int begin(void **state)
{
	static struct world w;
	struct error err = { 0 };

	w.first_has = 0;
	job_memories_init(&w.memories);
	pthread_mutex_init(&w.pass, NULL);
	apiserver_start(&w.server);
	w.metrics = metrics_new(reconcile_metrics);
	w.queue = workqueue_new("test", NULL);
	w.runtimes = workqueue_new("test-runtimes", NULL);
	w.cluster_runtimes = workqueue_new("test-cluster-runtimes", NULL);
	if (event_recorder_new(&w.events,
			       &(struct event_recorder_conf){ .kube = w.server.kube,
							      .component = "test" },
			       &err) ||
	    runtimes_start(&w.runtime_docs, w.server.kube, &err) ||
	    !(w.pods = pod_facts_new(w.events, find_trainjob, &w)) ||
	    start_watches(&w, &err) || watches_wait(w.watches, &err))
		fail_msg("%s", err.msg);
	w.reconciler = reconciler_new(
		&(struct reconciler_conf){ .kube = w.server.kube,
					   .trainjobs = watches_trainjobs(w.watches),
					   .jobsets = watches_jobsets(w.watches),
					   .watches = w.watches,
					   .memories = &w.memories,
					   .runtimes = w.runtime_docs,
					   .events = w.events,
					   .metrics = w.metrics });
	/* These are not waited for; the tests take them away. */
	EVENTUALLY(apiserver_seen(&w.server, "watch configmaps") > 0);
	if (thread_start(&w.worker, work, &w, &err))
		fail_msg("%s", err.msg);
	*state = &w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	workqueue_shut_down(w->queue);
	pthread_join(w->worker, NULL);
	watches_stop(w->watches);
	runtimes_stop(w->runtime_docs);
	pod_facts_free(w->pods);
	reconciler_free(w->reconciler);
	job_memories_release(&w->memories);
	event_recorder_free(w->events, 1000);
	workqueue_free(w->queue);
	workqueue_free(w->runtimes);
	workqueue_free(w->cluster_runtimes);
	metrics_free(w->metrics);
	apiserver_stop(&w->server);
	return 0;
}

/* ---- objects ---- */

#define TRAINER "trainer.kubeflow.org/v1alpha1"
#define JOBSET  "jobset.x-k8s.io/v1alpha2"

static void create(struct world *w, const char *ns, const char *text)
{
	cleanup_json cJSON *obj = yaml(text);
	struct error err = { 0 };

	meta_set_namespace(obj, ns);
	if (kube_create(w->server.kube, obj, &(struct kube_write){ 0 }, NULL, &err))
		fail_msg("%s: %s", text, err.msg);
}

#define RUNTIME_OF(policy, meta)                                                         \
	"{apiVersion: " TRAINER ", kind: TrainingRuntime, metadata: {name: rt}, spec: {" \
	"mlPolicy: {" policy "}, template: {" meta                                       \
	"spec: {replicatedJobs: [{name: node, "                                          \
	"template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "   \
	"trainer}}, spec: {template: {spec: {containers: [{name: node, image: "          \
	"x}]}}}}}]}}}}"
#define RUNTIME(policy) RUNTIME_OF(policy, "")
#define TRAINJOB(meta, spec)                                                             \
	"{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: tj, generation: 1, " \
	"creationTimestamp: '2026-01-01T00:00:00Z'" meta "}, spec: {runtimeRef: {name: " \
	"rt, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}, trainer: {}" spec   \
	"}}"

struct place {
	struct world *w;
	const char *ns;
};

static struct kube_ref at(struct place p, const char *what)
{
	static const struct {
		const char *what, *api_version, *kind, *name;
	} known[] = {
		{ "trainjob", TRAINER, "TrainJob", "tj" },
		{ "jobset", JOBSET, "JobSet", "tj" },
		{ "snapshot", "v1", "ConfigMap", "tj-runtime-snapshot" },
		{ "late snapshot", "v1", "ConfigMap", "late-runtime-snapshot" },
		{ "hostfile", "v1", "ConfigMap", "tj-mpi-hostfile" },
		{ "keys", "v1", "Secret", "tj-mpi-ssh-auth" },
		{ "runtime", TRAINER, "TrainingRuntime", "rt" },
		{ "waiting", "v1", "Pod", "waiting" },
		{ "workload", SCHEDULING_API_VERSION, "Workload", "tj-bda28d8c" },
		{ "group", SCHEDULING_API_VERSION, "PodGroup", "tj-bda28d8c-12b3a4b5" },
		{ "plugins' group", "scheduling.x-k8s.io/v1alpha1", "PodGroup", "tj" },
	};

	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		if (str_eq(known[i].what, what))
			return (struct kube_ref){ known[i].api_version, known[i].kind,
						  p.ns, known[i].name };
	fail_msg("what is %s?", what);
	return (struct kube_ref){ 0 };
}

static cJSON *get(struct place p, const char *what)
{
	struct kube_ref ref = at(p, what);
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (kube_get(p.w->server.kube, &ref, &ret, &err) && err.kind != ERR_NOT_FOUND)
		fail_msg("%s", err.msg);
	return ret;
}

static bool exists(struct place p, const char *what)
{
	cleanup_json cJSON *obj = get(p, what);

	return obj != NULL;
}

static void merge(struct place p, const char *what, const cJSON *patch)
{
	struct kube_ref ref = at(p, what);
	struct error err = { 0 };

	if (kube_merge_patch(p.w->server.kube, &ref, patch, &(struct kube_write){ 0 },
			     NULL, &err))
		fail_msg("%s", err.msg);
}

static void change(struct place p, const char *what, const char *patch)
{
	cleanup_json cJSON *doc = yaml(patch);

	merge(p, what, doc);
}

static void remove_it(struct place p, const char *what)
{
	struct kube_ref ref = at(p, what);
	struct error err = { 0 };

	if (kube_delete(p.w->server.kube, &ref, NULL, NULL, &err))
		fail_msg("%s", err.msg);
}

static bool has_state(struct place p, const char *want)
{
	cleanup_json cJSON *tj = get(p, "trainjob");

	return str_eq(json_str(tj, "status", "state"), want);
}

static bool has_condition(struct place p, const char *type, const char *status,
			  const char *reason)
{
	cleanup_json cJSON *tj = get(p, "trainjob");
	const cJSON *c =
		json_find_const(json_get(tj, "status", "conditions"), "type", type);

	return str_eq(json_str(c, "status"), status) &&
	       str_eq(json_str(c, "reason"), reason);
}

static bool is_suspended(struct place p)
{
	cleanup_json cJSON *jobset = get(p, "jobset");

	return json_bool(jobset, false, "spec", "suspend");
}

static bool has_jobs_status(struct place p)
{
	cleanup_json cJSON *tj = get(p, "trainjob");

	return json_get(tj, "status", "jobsStatus") != NULL;
}

/*
 * How many events of that reason there are in the namespace, repetitions not counted. Only
 * what failed is a warning.
 */
static int64_t told(struct place p, const char *reason)
{
	bool warns = strstr(reason, "Failed") || strstr(reason, "Exceeded");
	cleanup_json cJSON *all =
		apiserver_ctl(&p.w->server, "{'op':'objects','plural':'events'}");
	const cJSON *e;
	int64_t n = 0;

	json_each(e, json_get(all, "items"))
		if (str_eq(meta_namespace(e), p.ns) &&
		    str_eq(json_str(e, "reason"), reason)) {
			check_text(reason, json_str(e, "type"),
				   warns ? "Warning" : "Normal");
			n++;
		}
	return n;
}

#define JOBS(active, ready)                                                       \
	"{status: {replicatedJobsStatus: [{name: node, succeeded: 0, failed: 0, " \
	"suspended: 0, active: " #active ", ready: " #ready "}]}}"

/* ---- tests ---- */

static void test_from_creation_to_the_end(void **state)
{
	struct place p = { *state, "life" };
	cleanup_json cJSON *snapshot = NULL;
	cleanup_json cJSON *jobset = NULL;
	int64_t patches;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: false"));
	EVENTUALLY(exists(p, "jobset"));
	snapshot = get(p, "snapshot");
	jobset = get(p, "jobset");
	check_text("owner", meta_owner_name(meta_controller(snapshot)), "tj");
	check_text("owner", meta_owner_name(meta_controller(jobset)), "tj");
	change(p, "jobset", JOBS(1, 0));
	EVENTUALLY(has_state(p, "Created"));
	EVENTUALLY(told(p, "JobSetCreated") == 1);
	/* What does not change is not written again. */
	patches = apiserver_seen(&p.w->server, "PATCH jobsets");
	change(p, "trainjob", "{metadata: {annotations: {look: again}}}");
	change(p, "jobset", JOBS(1, 1));
	EVENTUALLY(has_state(p, "Running"));
	assert_int_equal(apiserver_seen(&p.w->server, "PATCH jobsets"), patches + 1);
	change(p, "jobset",
	       "{status: {conditions: [{type: Completed, status: 'True', reason: "
	       "AllJobsCompleted, message: done, lastTransitionTime: "
	       "'2026-01-01T01:00:00Z'}]}}");
	EVENTUALLY(has_state(p, "Complete"));
	EVENTUALLY(told(p, "Completed") == 1);
	assert_true(has_condition(p, "Complete", "True", "AllJobsCompleted"));
	/* The JobSet's time to live: its end changes nothing. */
	remove_it(p, "jobset");
	change(p, "trainjob", "{metadata: {annotations: {look: once more}}}");
	clock_sleep_ms(300);
	assert_false(exists(p, "jobset"));
	assert_true(has_state(p, "Complete"));
}

static void look_at_first_pass(struct world *w, const char *key, int64_t after_ms)
{
	const char *ns = w->first_of;
	const char *rest = ns ? str_after(key, ns) : NULL;

	if (!rest || *rest != '/' || w->first_has)
		return;
	w->first_after = after_ms;
	w->first_has = has_state((struct place){ w, ns }, "Suspended") ? 1 : -1;
}

/* Is the TrainJob, as the watch shows it, what the reconciler wrote? */
static bool is_own(struct place p)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj =
		informer_get(watches_trainjobs(p.w->watches), p.ns, "tj");

	return tj && job_memory_is_own(&p.w->memories, informer_key(&arena, p.ns, "tj"),
				       meta_version_number(tj));
}

/* The watch shows the reconciler's own writes, too: they need no pass. */
static void test_own_writes_need_no_pass(void **state)
{
	struct place p = { *state, "own" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended") && is_own(p));
	change(p, "trainjob", "{metadata: {annotations: {a: b}}}");
	EVENTUALLY(!is_own(p));
	assert_false(job_memory_is_own(&p.w->memories, "own/none", 0));
}

/* Nothing is waited for: it is known as soon as the JobSet is made. */
static void test_the_first_status_comes_with_the_jobset(void **state)
{
	struct place p = { *state, "first" };

	p.w->first_of = p.ns;
	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(p.w->first_has);
	assert_int_equal(p.w->first_has, 1);
	/* Its watch may never say that it is gone: a pass looks for it. */
	assert_int_equal(p.w->first_after, 20000);
	assert_true(exists(p, "jobset"));
}

static void test_suspended_and_resumed(void **state)
{
	struct place p = { *state, "suspend" };
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *after = NULL;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_condition(p, "Suspended", "True", "Suspended"));
	assert_true(has_state(p, "Suspended"));
	assert_true(is_suspended(p));
	before = get(p, "jobset");
	change(p, "trainjob", "{metadata: {generation: 2}, spec: {suspend: false}}");
	EVENTUALLY(has_condition(p, "Suspended", "False", "Resumed"));
	assert_false(is_suspended(p));
	EVENTUALLY(told(p, "Resumed") == 1);
	/* Suspended from outside: taken back. */
	change(p, "jobset", "{spec: {suspend: true}}");
	EVENTUALLY(!is_suspended(p));
	/* Changed otherwise while it runs: left alone. */
	change(p, "jobset", "{spec: {network: {subdomain: other}}}");
	change(p, "trainjob", "{metadata: {annotations: {look: again}}}");
	clock_sleep_ms(200);
	after = get(p, "jobset");
	check_text("subdomain", json_str(after, "spec", "network", "subdomain"), "other");
	check_text("uid", meta_uid(after), meta_uid(before));
	change(p, "trainjob", "{metadata: {generation: 3}, spec: {suspend: true}}");
	EVENTUALLY(has_condition(p, "Suspended", "True", "Suspended"));
	assert_true(is_suspended(p));
	EVENTUALLY(told(p, "Suspended") == 1);
}

static bool is_active(struct place p)
{
	cleanup_json cJSON *tj = get(p, "trainjob");

	return status_is_active(json_get(tj, "status"));
}

/* Kueue waits for it to free the quota: it is not held back as other counts are. */
static void test_the_last_pod_of_a_suspended_job(void **state)
{
	struct place p = { *state, "last-pod" };
	struct job_memory *memory = job_memory_of(&p.w->memories, "last-pod/tj");

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset"));
	change(p, "jobset", JOBS(2, 2));
	EVENTUALLY(has_state(p, "Running"));
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(has_condition(p, "Suspended", "True", "Suspended"));
	pthread_mutex_lock(&p.w->pass);
	memory->written.status.written_ms = clock_ms() + 3600 * 1000;
	memory->written.status.full_ms = clock_ms() + 3600 * 1000;
	pthread_mutex_unlock(&p.w->pass);
	assert_true(is_active(p));
	change(p, "jobset", JOBS(0, 0));
	EVENTUALLY(!is_active(p));
}

static int64_t min_count(const cJSON *of)
{
	return json_int(of, 0, "schedulingPolicy", "gang", "minCount");
}

static bool is_gang_of(struct place p, int64_t nodes)
{
	cleanup_json cJSON *workload = get(p, "workload");
	cleanup_json cJSON *group = get(p, "group");
	const cJSON *templates = json_get(workload, "spec", "podGroupTemplates");

	return templates && min_count(templates->child) == nodes &&
	       min_count(json_get(group, "spec")) == nodes;
}

/* Kubernetes 1.37 lets minCount change, in a Workload and in its PodGroups. */
static void test_nodes_of_a_suspended_gang(void **state)
{
	struct place p = { *state, "gang" };
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *after = NULL;

	create(p.w, p.ns, RUNTIME("numNodes: 3, torch: {}}, scheduling: {"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	assert_true(is_gang_of(p, 3));
	before = get(p, "group");
	change(p, "trainjob",
	       "{metadata: {generation: 2}, spec: {trainer: {numNodes: 5}}}");
	EVENTUALLY(is_gang_of(p, 5));
	after = get(p, "group");
	check_text("uid", meta_uid(after), meta_uid(before));
	/* The runtime is read anew. */
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 4}}}");
	change(p, "trainjob",
	       "{metadata: {generation: 3}, spec: {trainer: {numNodes: null}}}");
	EVENTUALLY(is_gang_of(p, 3));
	remove_it(p, "snapshot");
	EVENTUALLY(is_gang_of(p, 4));
}

static bool has_min_member(struct place p, int64_t want)
{
	cleanup_json cJSON *group = get(p, "plugins' group");

	return json_int(group, 0, "spec", "minMember") == want;
}

/* So does minMember of the PodGroup of scheduler-plugins. */
static void test_nodes_of_a_suspended_podgroup(void **state)
{
	struct place p = { *state, "plugins" };

	create(p.w, p.ns,
	       RUNTIME("numNodes: 3, torch: {}}, podGroupPolicy: {coscheduling: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	assert_true(has_min_member(p, 3));
	change(p, "trainjob",
	       "{metadata: {generation: 2}, spec: {trainer: {numNodes: 5}}}");
	EVENTUALLY(has_min_member(p, 5));
}

/* Until PodGroup is installed the condition says so; then the job starts by itself. */
static void test_a_kind_that_comes_later(void **state)
{
	struct place p = { *state, "later" };

	apiserver_do(&p.w->server, "{'op':'unserved','plural':'podgroups','on':true}");
	create(p.w, p.ns, RUNTIME("torch: {}}, podGroupPolicy: {coscheduling: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(has_condition(p, COND_RESOURCES, "False", REASON_NO_GROUPS));
	EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") == 1);
	clock_sleep_ms(1500); /* the next pass is a second later */
	assert_false(exists(p, "jobset"));
	apiserver_do(&p.w->server, "{'op':'unserved','plural':'podgroups','on':false}");
	EVENTUALLY(exists(p, "jobset"));
	assert_true(exists(p, "plugins' group"));
	EVENTUALLY(has_condition(p, COND_RESOURCES, NULL, NULL));
}

static bool has_hostfile(struct place p, const char *text)
{
	cleanup_json cJSON *map = get(p, "hostfile");
	const char *file = json_str(map, "data", "hostfile");

	return file && strstr(file, text);
}

static void test_what_is_lost_comes_back(void **state)
{
	struct place p = { *state, "lost" };
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *after = NULL;
	int64_t patches;

	create(p.w, p.ns, RUNTIME("numNodes: 2, mpi: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset"));
	before = get(p, "keys");
	assert_non_null(before);
	patches = apiserver_seen(&p.w->server, "PATCH jobsets");
	/* Nobody else says anything: their own watch does. */
	remove_it(p, "hostfile");
	EVENTUALLY(exists(p, "hostfile"));
	remove_it(p, "snapshot");
	EVENTUALLY(exists(p, "snapshot"));
	change(p, "hostfile", "{data: {hostfile: mine}, immutable: null}");
	EVENTUALLY(has_hostfile(p, "tj-node-0-0"));
	after = get(p, "keys");
	assert_true(json_equal(before, after));
	assert_int_equal(apiserver_seen(&p.w->server, "PATCH jobsets"), patches);
	remove_it(p, "jobset");
	EVENTUALLY(exists(p, "jobset"));
	EVENTUALLY(told(p, "JobSetCreated") == 1); /* twice, counted in one */
}

#define WAITING_POD                                                      \
	"{apiVersion: v1, kind: Pod, metadata: {name: waiting, labels: " \
	"{jobset.sigs.k8s.io/jobset-name: tj}, ownerReferences: "        \
	"[{apiVersion: batch/v1, kind: Job, name: tj-node-0, uid: o, "   \
	"controller: true}]}, status: {phase: Pending}}"

/* Nobody watches Secrets: a pod that waits for one has it looked for. */
static void test_a_lost_secret_is_back_when_a_pod_waits(void **state)
{
	struct place p = { *state, "secret" };
	int64_t reads;

	create(p.w, p.ns, RUNTIME("numNodes: 2, mpi: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset"));
	remove_it(p, "keys");
	create(p.w, p.ns, WAITING_POD);
	EVENTUALLY(exists(p, "keys"));
	/* While it is there a pod costs a look at it, and nothing else. */
	clock_sleep_ms(300);
	reads = apiserver_seen(&p.w->server, "GET configmaps");
	change(p, "waiting", "{status: {message: still}}");
	clock_sleep_ms(300);
	assert_int_equal(apiserver_seen(&p.w->server, "GET configmaps"), reads);
	remove_it(p, "keys");
	change(p, "waiting", "{status: {message: again}}");
	EVENTUALLY(exists(p, "keys"));
	assert_int_equal(apiserver_seen(&p.w->server, "watch secrets"), 0);
}

/*
 * A pass so many ms after the Secret was read. The ms until the next; -1: it failed, and is
 * repeated soon.
 */
static int64_t pass_after(struct place p, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key = informer_key(&arena, p.ns, "tj");
	struct error err = { 0 };
	int64_t after_ms = 0;

	pthread_mutex_lock(&p.w->pass);
	job_memory_of(&p.w->memories, key)->secret.checked_ms -= ms;
	if (reconcile_trainjob(p.w->reconciler, key, &after_ms, &err))
		after_ms = -1;
	pthread_mutex_unlock(&p.w->pass);
	return after_ms;
}

/* Without a pod that waits it is looked for at intervals, while the job may run. */
static void test_a_lost_secret_is_back_in_time(void **state)
{
	struct place p = { *state, "secret-in-time" };
	int64_t reads, wait;

	create(p.w, p.ns, RUNTIME("numNodes: 2, mpi: {}"));
	create(p.w, p.ns, TRAINJOB("", ", activeDeadlineSeconds: 2147483647"));
	EVENTUALLY(has_state(p, "Created"));
	reads = apiserver_seen(&p.w->server, "GET secrets");
	EVENTUALLY((wait = pass_after(p, 0)) > 20000); /* no watch lags any more */
	assert_true(wait <= 50000);
	assert_int_equal(apiserver_seen(&p.w->server, "GET secrets"), reads);
	assert_int_equal(pass_after(p, 50000), 50000);
	assert_int_equal(apiserver_seen(&p.w->server, "GET secrets"), reads + 1);
	remove_it(p, "keys");
	assert_int_equal(pass_after(p, 50000), 50000);
	assert_true(exists(p, "keys"));
	remove_it(p, "keys");
	apiserver_do(&p.w->server, "{'op':'fail','status':403,'n':1,'of':'GET secrets'}");
	assert_int_equal(pass_after(p, 50000), -1);
	assert_int_equal(pass_after(p, 0), 50000);
	assert_true(exists(p, "keys"));
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(has_state(p, "Suspended") && !pass_after(p, 0));
	remove_it(p, "keys");
	assert_int_equal(pass_after(p, 50000), 0);
	assert_false(exists(p, "keys"));
}

static bool has_label(struct place p, const char *what, const char *want)
{
	cleanup_json cJSON *obj = get(p, what);

	return str_eq(meta_label(obj, "team"), want);
}

static void test_a_changed_label_of_a_suspended_jobset_is_restored(void **state)
{
	struct place p = { *state, "label" };

	create(p.w, p.ns, RUNTIME_OF("torch: {}", "metadata: {labels: {team: a}}, "));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	assert_true(has_label(p, "jobset", "a"));
	change(p, "jobset", "{metadata: {labels: {team: b}}}");
	EVENTUALLY(has_label(p, "jobset", "a"));
	change(p, "jobset", "{metadata: {labels: {team: null}}}");
	EVENTUALLY(has_label(p, "jobset", "a"));
}

static void test_a_status_that_somebody_changed_is_mended(void **state)
{
	static const char *const changes[] = {
		"{status: null}",
		"{status: {conditions: null}}",
		"{status: {state: Running}}",
		"{status: {conditions: [{type: Suspended, status: 'False'}]}}",
		"{status: {jobsStatus: [{name: x, ready: 1}]}}",
	};
	struct place p = { *state, "mended" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	for (size_t i = 0; i <= N_ELEMENTS(changes); i++) {
		EVENTUALLY(has_state(p, "Suspended") && !has_jobs_status(p) &&
			   has_condition(p, "Suspended", "True", "Suspended"));
		if (i < N_ELEMENTS(changes))
			change(p, "trainjob", changes[i]);
	}
}

/* A backup's restore writes the status after the TrainJob, and perhaps before our first. */
static void test_the_first_status_keeps_that_of_another(void **state)
{
	struct place p = { *state, "restored" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	apiserver_do(
		&p.w->server,
		"{'op':'race','plural':'trainjobs','patch':{'status':{'conditions':[{"
		"'type':'Complete','status':'True','reason':'Restored','message':'x',"
		"'lastTransitionTime':'2026-01-01T01:00:00Z'}]}}}");
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Complete"));
	assert_true(has_condition(p, "Complete", "True", "Restored"));
	apiserver_do(&p.w->server, "{'op':'race','plural':''}");
}

static bool is_replaced(struct place p, const char *what, const char *uid)
{
	cleanup_json cJSON *obj = get(p, what);

	return str_eq(meta_uid(obj), uid);
}

/* Who posts progress without end does not keep the end from being written. */
static void test_progress_does_not_hold_up_the_end(void **state)
{
	struct place p = { *state, "progress" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	apiserver_do(&p.w->server, "{'op':'race','plural':'trainjobs'}");
	create(p.w, p.ns, TRAINJOB("", ", activeDeadlineSeconds: 5"));
	EVENTUALLY(has_condition(p, "Failed", "True", "DeadlineExceeded"));
	EVENTUALLY(!exists(p, "jobset"));
	apiserver_do(&p.w->server, "{'op':'race','plural':''}");
}

/* One that was deleted and made anew before the PATCH does not get the end of the old. */
static void test_a_new_one_of_the_name_does_not_end(void **state)
{
	struct place p = { *state, "anew" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	apiserver_do(&p.w->server, "{'op':'race','plural':'trainjobs','uid':'new'}");
	create(p.w, p.ns, TRAINJOB("", ", activeDeadlineSeconds: 1"));
	EVENTUALLY(is_replaced(p, "trainjob", "new"));
	assert_false(has_condition(p, "Failed", "True", "DeadlineExceeded"));
	EVENTUALLY(has_condition(p, "Suspended", "False", "Resumed") ||
		   has_state(p, "Created"));
	apiserver_do(&p.w->server, "{'op':'race','plural':''}");
}

/* Upstream's CRD knows no state: alone it is refused, and is not sent again and again. */
static void test_a_crd_without_state(void **state)
{
	struct place p = { *state, "stateless" };
	int64_t patches;

	apiserver_do(&p.w->server,
		     "{'op':'prune','member':'state,startTime,completionTime'}");
	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(told(p, "JobSetCreated") == 1);
	change(p, "jobset", JOBS(1, 0));
	EVENTUALLY(has_jobs_status(p));
	patches = apiserver_seen(&p.w->server, "PATCH trainjobs");
	change(p, "trainjob", "{metadata: {annotations: {look: again}}}");
	change(p, "trainjob", "{metadata: {annotations: {look: twice}}}");
	change(p, "trainjob", "{status: null}");
	EVENTUALLY(has_jobs_status(p));
	assert_int_equal(apiserver_seen(&p.w->server, "PATCH trainjobs"), patches + 4);
	/* The CRD is upgraded after the controller, which asks again some time later. */
	apiserver_do(&p.w->server, "{'op':'prune','member':''}");
	p.w->reconciler->state_lacks_until = p.w->reconciler->times_lack_until =
		clock_ms();
	change(p, "trainjob", "{status: null}");
	EVENTUALLY(has_state(p, "Created"));
}

/* A status that is refused for another reason does not mean that the CRD lacks `state`. */
static void test_a_refused_state(void **state)
{
	struct place p = { *state, "refused-state" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	apiserver_do(&p.w->server,
		     "{'op':'fail','status':422,'n':1,'of':'PATCH trainjobs/status'}");
	change(p, "trainjob", "{status: {state: Created}}");
	EVENTUALLY(has_state(p, "Suspended"));
}

static bool told_of(struct place p, const char *text)
{
	cleanup_json cJSON *all =
		apiserver_ctl(&p.w->server, "{'op':'objects','plural':'events'}");
	const cJSON *e;

	json_each(e, json_get(all, "items"))
		if (str_eq(meta_namespace(e), p.ns) &&
		    strstr(json_str(e, "message") ? json_str(e, "message") : "", text))
			return true;
	return false;
}

/* Admission, which refuses this, was not asked: the API server refuses the JobSet. */
static void test_a_job_that_does_not_fit(void **state)
{
	struct place p = { *state, "misfit" };

	apiserver_do(&p.w->server,
		     "{'op':'fail','status':422,'n':1,'of':'PATCH jobsets'}");
	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns,
	       TRAINJOB("", ", runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: "
			    "{template: {spec: {replicatedJobs: [{name: absent}]}}}}]"));
	EVENTUALLY(told_of(p, "does not fit its runtime: spec.runtimePatches"));
}

static bool snapshot_has(struct place p, const char *text)
{
	cleanup_json cJSON *map = get(p, "snapshot");
	const char *runtime = json_str(map, "data", "runtime");

	return runtime && strstr(runtime, text);
}

/* What was read for another TrainJob does not count for one that is not new. */
static void test_a_snapshot_taken_again(void **state)
{
	struct place p = { *state, "retaken" };
	cleanup_json cJSON *other = yaml(TRAINJOB("", ", suspend: true"));
	struct error err = { 0 };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	meta_set_name(other, "late");
	meta_set_namespace(other, p.ns);
	if (kube_create(p.w->server.kube, other, &(struct kube_write){ 0 }, NULL, &err))
		fail_msg("%s", err.msg);
	EVENTUALLY(exists(p, "late snapshot"));
	assert_true(snapshot_has(p, "numNodes: 2"));
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 5}}}");
	remove_it(p, "snapshot");
	change(p, "jobset", "{spec: {network: {subdomain: other}}}");
	EVENTUALLY(exists(p, "snapshot"));
	assert_true(snapshot_has(p, "numNodes: 5"));
}

static void test_what_is_not_ours(void **state)
{
	static const struct {
		const char *ns, *what, *obj;
		bool runtime_of_mpi, has_jobset;
	} rows[] = {
		{ "foreign-a", "snapshot",
		  "{apiVersion: v1, kind: ConfigMap, metadata: {name: "
		  "tj-runtime-snapshot}, data: {a: b}}",
		  false, false },
		{ "foreign-b", "jobset",
		  "{apiVersion: " JOBSET
		  ", kind: JobSet, metadata: {name: tj}, spec: {}, "
		  "status: {replicatedJobsStatus: [{name: other, active: 3}]}}",
		  false, true },
		{ "foreign-c", "hostfile",
		  "{apiVersion: v1, kind: ConfigMap, metadata: {name: tj-mpi-hostfile}, "
		  "data: {hostfile: mine}}",
		  true, false },
		{ "foreign-d", "keys",
		  "{apiVersion: v1, kind: Secret, metadata: {name: "
		  "tj-mpi-ssh-auth, ownerReferences: [{kind: TrainJob, name: "
		  "other, uid: u, controller: true}]}}",
		  true, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };
		cleanup_json cJSON *before = NULL;
		cleanup_json cJSON *after = NULL;
		cleanup_json cJSON *tj = NULL;

		create(p.w, p.ns, rows[i].obj);
		before = get(p, rows[i].what);
		create(p.w, p.ns,
		       rows[i].runtime_of_mpi ? RUNTIME("mpi: {}")
					      : RUNTIME("torch: {}"));
		create(p.w, p.ns, TRAINJOB("", ""));
		EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") == 1);
		after = get(p, rows[i].what);
		check_text(p.ns, meta_version(after), meta_version(before));
		assert_int_equal(exists(p, "jobset"), rows[i].has_jobset);
		EVENTUALLY(has_state(p, "Created"));
		tj = get(p, "trainjob");
		assert_null(json_get(tj, "status", "jobsStatus"));
	}
}

static void test_a_snapshot_that_is_there(void **state)
{
	struct place p = { *state, "taken" };
	cleanup_json cJSON *tj = NULL;
	cleanup_json cJSON *jobset = NULL;
	cleanup_arena struct arena arena = { 0 };

	/* The runtime has gone; upstream's snapshot of it is there. */
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") == 1);
	tj = get(p, "trainjob");
	create(p.w, p.ns,
	       arena_printf(&arena,
			    "apiVersion: v1\n"
			    "kind: ConfigMap\n"
			    "metadata:\n"
			    "  name: tj-runtime-snapshot\n"
			    "  ownerReferences: [{apiVersion: " TRAINER
			    ", kind: TrainJob, name: tj, uid: %s, controller: true}]\n"
			    "data:\n  runtime: |\n    %s\n",
			    meta_uid(tj), RUNTIME("numNodes: 3, torch: {}")));
	change(p, "trainjob", "{metadata: {annotations: {look: again}}}");
	EVENTUALLY(exists(p, "jobset"));
	jobset = get(p, "jobset");
	assert_int_equal(json_int(json_get(jobset, "spec", "replicatedJobs")->child, 0,
				  "template", "spec", "parallelism"),
			 3);
}

/* As whoever may write ConfigMaps, and nothing else. */
static void forge_snapshot(struct place p)
{
	cleanup_json cJSON *map = get(p, "snapshot"), *docs = NULL, *patch = NULL;
	cleanup_buf struct buf text = { .max = 65536 };
	const char *runtime = json_str(map, "data", "runtime");
	struct error err = { 0 };

	assert_non_null(runtime);
	assert_int_equal(yaml_parse(&docs, runtime, strlen(runtime), &err), 0);
	json_put_int(docs->child, 9, "spec", "mlPolicy", "numNodes");
	yaml_print(&text, docs->child);
	patch = cJSON_CreateObject();
	json_put_str(patch, (const char *)text.data, "data", "runtime");
	merge(p, "snapshot", patch);
}

/* 0: there is no JobSet, as while it is replaced. */
static int64_t parallelism(struct place p)
{
	cleanup_json cJSON *jobset = get(p, "jobset");
	const cJSON *jobs = json_get(jobset, "spec", "replicatedJobs");

	return json_int(jobs ? jobs->child : NULL, 0, "template", "spec", "parallelism");
}

static void test_a_snapshot_that_another_changed(void **state)
{
	struct place p = { *state, "forged" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	forge_snapshot(p);
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") >= 1);
	assert_int_equal(parallelism(p), 2);
	/* Without it, the current runtime counts again. */
	remove_it(p, "snapshot");
	EVENTUALLY(exists(p, "snapshot"));
	EVENTUALLY(!is_suspended(p));
	assert_int_equal(parallelism(p), 2);
}

static bool is_watched(struct place p)
{
	cleanup_json cJSON *jobset =
		informer_get(watches_jobsets(p.w->watches), p.ns, "tj");

	return jobset;
}

/* As another process does that has just started: it has listed the JobSets. */
static void forget(struct place p)
{
	cleanup_arena struct arena arena = { 0 };

	EVENTUALLY(is_watched(p));
	pthread_mutex_lock(&p.w->pass);
	job_memory_drop(&p.w->memories, arena_printf(&arena, "%s/tj", p.ns));
	pthread_mutex_unlock(&p.w->pass);
}

/* The runtime has changed since: the JobSet shows from which snapshot it was built. */
static void test_a_snapshot_that_a_jobset_was_built_from(void **state)
{
	struct place p = { *state, "built" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 5}}}");
	forget(p);
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY(!is_suspended(p));
	assert_int_equal(parallelism(p), 2);
}

/* As Kueue does, while the controller and the runtime are upgraded. */
static void test_a_snapshot_of_a_job_that_a_queue_moved(void **state)
{
	struct place p = { *state, "moved" };
	cleanup_json cJSON *jobset = NULL;

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 5}}}");
	forget(p);
	change(p, "trainjob",
	       "{spec: {suspend: false, runtimePatches: [{manager: kueue.x-k8s.io/manager, "
	       "trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
	       "template: {spec: {template: {metadata: {labels: {rack: b}}, spec: "
	       "{nodeSelector: {rack: b}, tolerations: [{key: rack}]}}}}}]}}}}]}}");
	EVENTUALLY(!is_suspended(p));
	assert_int_equal(parallelism(p), 2);
	jobset = get(p, "jobset");
	check_text("rack",
		   json_str(json_get(jobset, "spec", "replicatedJobs")->child, "template",
			    "spec", "template", "spec", "nodeSelector", "rack"),
		   "b");
}

static void test_a_snapshot_that_was_changed_unseen(void **state)
{
	struct place p = { *state, "unseen" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	forge_snapshot(p);
	forget(p);
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") >= 1);
	assert_true(is_suspended(p));
	assert_int_equal(parallelism(p), 2);
}

static void immutable(struct place p, bool on)
{
	cleanup_arena struct arena arena = { 0 };

	apiserver_do(&p.w->server,
		     arena_printf(&arena, "{'op':'immutable','namespace':'%s'}",
				  on ? p.ns : ""));
}

/* What the job was made of is known: the runtime of today is not its. */
static void test_a_lost_snapshot_of_a_running_job(void **state)
{
	struct place p = { *state, "running" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset") && has_state(p, "Created"));
	immutable(p, true);
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 5}}}");
	remove_it(p, "snapshot");
	EVENTUALLY(exists(p, "snapshot"));
	assert_true(snapshot_has(p, "numNodes: 2"));
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(is_suspended(p));
	EVENTUALLY(has_state(p, "Suspended"));
	assert_int_equal(parallelism(p), 2);
	assert_int_equal(told(p, "JobSetReplaced"), 0);
	immutable(p, false);
}

#define FLAVOR(suspended, selector)                                              \
	"{spec: {suspend: " #suspended ", runtimePatches: [{manager: a.b/c, "    \
	"trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, " \
	"template: {spec: {template: {spec: {nodeSelector: " selector "}}}}}]}}}}]}}"

static bool is_placed(struct place p, const char *key)
{
	cleanup_json cJSON *jobset = get(p, "jobset");
	const cJSON *jobs = json_get(jobset, "spec", "replicatedJobs");

	return json_str(jobs ? jobs->child : NULL, "template", "spec", "template", "spec",
			"nodeSelector", key);
}

/* kubernetes-sigs/jobset#1294: a Job that is resumed would have the selectors of both. */
static void test_another_flavor(void **state)
{
	struct place p = { *state, "flavors" };
	cleanup_json cJSON *first = NULL;
	cleanup_json cJSON *same = NULL;
	cleanup_json cJSON *other = NULL;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true"));
	EVENTUALLY(has_state(p, "Suspended"));
	first = get(p, "jobset");
	change(p, "trainjob", FLAVOR(false, "{a: x}"));
	EVENTUALLY(is_placed(p, "a") && !is_suspended(p));
	change(p, "trainjob", FLAVOR(true, "{a: x}"));
	EVENTUALLY(is_suspended(p));
	change(p, "trainjob", FLAVOR(false, "{a: x, c: z}"));
	EVENTUALLY(is_placed(p, "c") && !is_suspended(p));
	same = get(p, "jobset");
	check_text("uid", meta_uid(same), meta_uid(first));
	change(p, "trainjob", FLAVOR(true, "{a: x, c: z}"));
	EVENTUALLY(is_suspended(p));
	change(p, "trainjob", FLAVOR(false, "{b: x}"));
	EVENTUALLY(is_placed(p, "b") && !is_suspended(p));
	other = get(p, "jobset");
	assert_string_not_equal(meta_uid(other), meta_uid(first));
	assert_false(is_placed(p, "a"));
	assert_int_equal(told(p, "JobSetReplaced"), 1);
}

static bool is_vouched_for(struct place p)
{
	cleanup_json cJSON *jobset = get(p, "jobset");

	return meta_annotation(jobset, "kftrainer.io/runtime-snapshot");
}

/*
 * It is not known: the runtime changes while no controller of ours runs, and again before
 * another looks (as with jobs of an upstream that makes no snapshots). The job is suspended
 * all the same (kubeflow/trainer#3008), and its JobSet recreated once its pods have ended.
 */
static void test_a_job_of_a_runtime_that_is_gone(void **state)
{
	struct place p = { *state, "adopted" };
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *after = NULL;

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset") && has_state(p, "Created"));
	immutable(p, true);
	before = get(p, "jobset");
	change(p, "jobset", JOBS(1, 1));
	EVENTUALLY(has_state(p, "Running"));
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 5}}}");
	forget(p);
	remove_it(p, "snapshot");
	EVENTUALLY(exists(p, "snapshot") && told(p, "RuntimeChanged") == 1);
	assert_true(snapshot_has(p, "numNodes: 5") && is_vouched_for(p));
	change(p, "runtime", "{spec: {mlPolicy: {numNodes: 6}}}");
	forget(p);
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(has_state(p, "Suspended") && is_suspended(p));
	after = get(p, "jobset");
	check_text("uid", meta_uid(after), meta_uid(before));
	assert_int_equal(parallelism(p), 2);
	assert_int_equal(told(p, "TrainJobResourcesCreationFailed"), 0);
	change(p, "jobset", JOBS(0, 0));
	EVENTUALLY(parallelism(p) == 5);
	assert_true(is_suspended(p));
	EVENTUALLY(told(p, "JobSetReplaced") == 1);
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY(!is_suspended(p));
	assert_int_equal(parallelism(p), 5);
	immutable(p, false);
}

/* A runtime that gives the same JobSet is what the job was made of. */
static void test_a_lost_snapshot_of_the_same_jobset(void **state)
{
	struct place p = { *state, "same" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset") && has_state(p, "Created"));
	change(p, "runtime", "{metadata: {labels: {a: b}}}");
	forget(p);
	remove_it(p, "snapshot");
	EVENTUALLY(exists(p, "snapshot"));
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(has_state(p, "Suspended") && is_suspended(p));
	assert_false(is_vouched_for(p));
	assert_int_equal(told(p, "RuntimeChanged"), 0);
}

/* Whatever fails: nobody's pods run on because of it. */
static void test_a_job_with_a_forged_snapshot_is_suspended(void **state)
{
	struct place p = { *state, "held" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset") && has_state(p, "Created"));
	forge_snapshot(p);
	forget(p);
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(is_suspended(p) && has_state(p, "Suspended"));
	EVENTUALLY(told(p, "TrainJobResourcesCreationFailed") >= 1);
	assert_int_equal(parallelism(p), 2);
	/* Resumed only with a snapshot that is certain. */
	change(p, "trainjob", "{spec: {suspend: false}}");
	remove_it(p, "snapshot");
	EVENTUALLY(!is_suspended(p));
	assert_int_equal(parallelism(p), 2);
}

/* Of a quota, or of what the controller's role lacks. */
static void test_a_job_whose_objects_are_denied_is_suspended(void **state)
{
	struct place p = { *state, "quota" };

	create(p.w, p.ns, RUNTIME("numNodes: 2, mpi: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset") && has_state(p, "Created"));
	apiserver_do(&p.w->server,
		     "{'op':'fail','status':403,'n':1000,'of':'PATCH configmaps'}");
	remove_it(p, "hostfile");
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(is_suspended(p) && has_state(p, "Suspended"));
	assert_false(exists(p, "hostfile"));
	apiserver_do(&p.w->server, "{'op':'fail','status':403,'n':0}");
	EVENTUALLY(exists(p, "hostfile"));
}

/* The watch has not said so yet: what is missing is not made again for it. */
static void test_a_job_that_is_gone_unseen(void **state)
{
	static const struct {
		const char *ns;
		bool stays, new;
	} rows[] = {
		{ "unseen-end", false, false },
		{ "unseen-deletion", true, false },
		{ "unseen-successor", false, true },
	};
	int64_t reads;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };

		create(p.w, p.ns, RUNTIME("torch: {}"));
		create(p.w, p.ns, TRAINJOB("", ""));
		EVENTUALLY(has_state(p, "Created"));
		apiserver_do(&p.w->server, "{'op':'hold','on':'trainjobs'}");
		apiserver_do(&p.w->server, "{'op':'cut'}");
		if (rows[i].stays)
			change(p, "trainjob",
			       "{metadata: {deletionTimestamp: '2026-01-01T00:00:01Z'}}");
		else
			remove_it(p, "trainjob");
		if (rows[i].new)
			create(p.w, p.ns, TRAINJOB("", ""));
		reads = apiserver_seen(&p.w->server, "GET trainjobs");
		remove_it(p, "jobset");
		EVENTUALLY(apiserver_seen(&p.w->server, "GET trainjobs") > reads);
		pthread_mutex_lock(&p.w->pass); /* the pass has ended */
		assert_false(exists(p, "jobset"));
		pthread_mutex_unlock(&p.w->pass);
		if (rows[i].stays || rows[i].new)
			remove_it(p, "trainjob");
		apiserver_do(&p.w->server, "{'op':'hold','on':false}");
	}
}

static void test_left_alone(void **state)
{
	static const struct {
		const char *ns, *tj;
	} rows[] = {
		{ "gone", TRAINJOB(", deletionTimestamp: '2026-01-01T00:00:01Z'", "") },
		{ "kueue", TRAINJOB("", ", managedBy: kueue.x-k8s.io/multikueue") },
	};
	struct place last = { *state, "last" };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		create(*state, rows[i].ns, RUNTIME("torch: {}"));
		create(*state, rows[i].ns, rows[i].tj);
	}
	/* One queue: when this one is done, they were looked at. */
	create(last.w, last.ns, RUNTIME("torch: {}"));
	create(last.w, last.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(last, "jobset"));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };
		cleanup_json cJSON *tj = get(p, "trainjob");

		assert_false(exists(p, "jobset"));
		assert_false(exists(p, "snapshot"));
		assert_null(json_get(tj, "status"));
	}
}

static void test_a_runtime_of_no_kind_of_ours(void **state)
{
	struct place p = { *state, "kind" };

	create(p.w, p.ns,
	       "{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: tj}, spec: "
	       "{runtimeRef: {name: rt, kind: Other, apiGroup: example.com}}}");
	EVENTUALLY(has_condition(p, "Failed", "True", "TrainingRuntimeNotSupported"));
	EVENTUALLY(told(p, "Failed") == 1);
	assert_true(has_state(p, "Failed"));
	assert_false(exists(p, "snapshot"));
}

static void test_the_deadline(void **state)
{
	struct place p = { *state, "deadline" };
	cleanup_json cJSON *tj = NULL;

	/* Created long ago: it is over as soon as it is seen. */
	create(p.w, p.ns, RUNTIME("mpi: {}"));
	create(p.w, p.ns, TRAINJOB("", ", activeDeadlineSeconds: 5"));
	EVENTUALLY(has_condition(p, "Failed", "True", "DeadlineExceeded"));
	EVENTUALLY(!exists(p, "jobset"));
	assert_true(exists(p, "keys"));
	EVENTUALLY(told(p, "Failed") == 1);
	clock_sleep_ms(200);
	assert_false(exists(p, "jobset"));
	tj = get(p, "trainjob");
	check_text("state", json_str(tj, "status", "state"), "Failed");
}

/* Its JobSet cannot be resumed at once: that it is late by the time before is no end. */
static void test_a_resume_that_fails_is_not_late(void **state)
{
	struct place p = { *state, "late-resume" };
	int64_t before;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: true, activeDeadlineSeconds: 3600"));
	EVENTUALLY(has_state(p, "Suspended"));
	before = apiserver_seen(&p.w->server, "PATCH jobsets");
	apiserver_do(&p.w->server,
		     "{'op':'fail','status':403,'n':1,'of':'PATCH jobsets'}");
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY(has_condition(p, "Suspended", "False", "Resumed"));
	assert_true(apiserver_seen(&p.w->server, "PATCH jobsets") >= before + 2);
	assert_false(has_condition(p, "Failed", "True", "DeadlineExceeded"));
}

/*
 * The end was written, its answer is lost, and no watch shows it: what the next pass does
 * follows from the live TrainJob, or the JobSet that has completed now would be its end.
 */
static void test_an_end_without_an_answer_stays(void **state)
{
	struct place p = { *state, "unanswered" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	apiserver_do(&p.w->server,
		     "{'op':'lose','of':'PATCH trainjobs/status',"
		     "'path':'/apis/" JOBSET "/namespaces/unanswered/jobsets/tj',"
		     "'patch':{'status':{'conditions':[{'type':'Completed',"
		     "'status':'True','reason':'AllJobsCompleted','message':'done',"
		     "'lastTransitionTime':'2026-01-01T01:00:00Z'}]}}}");
	create(p.w, p.ns, TRAINJOB("", ", activeDeadlineSeconds: 5"));
	EVENTUALLY(has_condition(p, "Failed", "True", "DeadlineExceeded"));
	EVENTUALLY(!exists(p, "jobset"));
	assert_true(has_state(p, "Failed"));
	assert_false(has_condition(p, "Complete", "True", "AllJobsCompleted"));
	apiserver_do(&p.w->server, "{'op':'lose'}");
}

static char *of_status(struct place p, struct arena *arena, const char *member)
{
	cleanup_json cJSON *tj = get(p, "trainjob");

	return arena_strdup(arena, json_str(tj, "status", member));
}

static bool status_is(struct place p, const char *member, const char *want)
{
	cleanup_arena struct arena a = { 0 };

	return str_eq(of_status(p, &a, member), want);
}

#define RESTARTED(n) \
	"{status: {restarts: " #n ", replicatedJobsStatus: [{name: node, active: 1}]}}"
#define ENDED(time)                                                                   \
	"{status: {conditions: [{type: Completed, status: 'True', reason: AllJobsCom" \
	"pleted, message: done, lastTransitionTime: '" time "'}]}}"
#define LONG_AGO "2026-01-01T01:00:00Z"

/* JobSet's own TTL of 0 s (trainer#2981, #3737): gone before a pass could see the end. */
static void test_an_end_that_no_pass_has_seen(void **state)
{
	struct place p = { *state, "at-once" };
	struct informer *jobsets = watches_jobsets(p.w->watches);
	cJSON *seen;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ", suspend: false"));
	EVENTUALLY(exists(p, "jobset"));
	pthread_mutex_lock(&p.w->pass);
	change(p, "jobset", ENDED(LONG_AGO));
	remove_it(p, "jobset");
	while ((seen = informer_get(jobsets, p.ns, "tj"))) {
		cJSON_Delete(seen);
		clock_sleep_ms(10);
	}
	pthread_mutex_unlock(&p.w->pass);
	EVENTUALLY(has_state(p, "Complete"));
	assert_true(status_is(p, "completionTime", LONG_AGO));
	assert_false(exists(p, "jobset"));
	EVENTUALLY(told(p, "JobSetCreated"));
	assert_int_equal(told(p, "JobSetCreated"), 1);
	/* It is the end of that TrainJob alone. */
	remove_it(p, "trainjob");
	remove_it(p, "snapshot");
	create(p.w, p.ns, TRAINJOB("", ", suspend: false"));
	EVENTUALLY(exists(p, "jobset"));
	assert_false(has_state(p, "Complete"));
}

static void test_when_it_runs(void **state)
{
	struct place p = { *state, "times" };
	cleanup_arena struct arena a = { 0 };
	const char *first, *second;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(of_status(p, &a, "startTime"));
	first = of_status(p, &a, "startTime");
	change(p, "trainjob", "{spec: {suspend: true}}");
	EVENTUALLY(!of_status(p, &a, "startTime") && has_state(p, "Suspended"));
	clock_sleep_ms(1100); /* times are whole seconds */
	change(p, "trainjob", "{spec: {suspend: false}}");
	EVENTUALLY((second = of_status(p, &a, "startTime")));
	assert_true(strcmp(first, second) < 0);
	clock_sleep_ms(1100);
	change(p, "jobset", RESTARTED(1));
	EVENTUALLY(!status_is(p, "startTime", second));
	first = of_status(p, &a, "startTime");
	assert_true(strcmp(second, first) < 0);
	/* One Job alone is restarted, and a new process looks: it is the same run. */
	clock_sleep_ms(1100);
	forget(p);
	change(p, "jobset", JOBS(1, 0));
	change(p, "jobset", JOBS(1, 1));
	EVENTUALLY(has_state(p, "Running"));
	assert_true(status_is(p, "startTime", first));
	change(p, "jobset", ENDED(LONG_AGO));
	EVENTUALLY(status_is(p, "completionTime", LONG_AGO));
	assert_true(status_is(p, "startTime", first));
}

#define RUN_POLICY(policy)                                                              \
	"{apiVersion: " TRAINER ", kind: TrainingRuntime, metadata: {name: rt}, spec: " \
	"{runPolicy: {" policy "}, template: {spec: {replicatedJobs: [{name: node, "    \
	"template: {spec: {template: {spec: {containers: [{name: node, image: x}]}}}}}" \
	"]}}}}"

/* What a time to live does to a job that ended long ago. */
static void test_the_time_to_live(void **state)
{
	static const struct {
		const char *ns, *runtime, *spec;
		bool goes;
		int fails; /* the first DELETE, with that status */
	} rows[] = {
		{ "ttl-none", "", "", false, 0 },
		{ "ttl-denied", "", ", ttlSecondsAfterFinished: 5", true, 403 },
		{ "ttl-changed", "", ", ttlSecondsAfterFinished: 5", true, 409 },
		{ "ttl-zero", "", ", ttlSecondsAfterFinished: 0", true, 0 },
		{ "ttl-short", "", ", ttlSecondsAfterFinished: 5", true, 0 },
		{ "ttl-most", "", ", ttlSecondsAfterFinished: 2147483647", false, 0 },
		{ "ttl-runtime", "ttlSecondsAfterFinished: 1", "", true, 0 },
		{ "ttl-job-wins", "ttlSecondsAfterFinished: 0",
		  ", ttlSecondsAfterFinished: 2147483647", false, 0 },
		{ "ttl-job-sooner", "ttlSecondsAfterFinished: 2147483647",
		  ", ttlSecondsAfterFinished: 0", true, 0 },
		{ "ttl-deadline",
		  "activeDeadlineSeconds: 5, ttlSecondsAfterFinished: 2147483647", "",
		  false, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };
		cleanup_arena struct arena a = { 0 };

		create(p.w, p.ns, arena_printf(&a, RUN_POLICY("%s"), rows[i].runtime));
		create(p.w, p.ns, arena_printf(&a, TRAINJOB("", "%s"), rows[i].spec));
		EVENTUALLY(told(p, "JobSetCreated") == 1);
		if (rows[i].fails)
			apiserver_do(&p.w->server,
				     arena_printf(&a,
						  "{'op':'fail','status':%d,'n':1,'of':"
						  "'DELETE trainjobs'}",
						  rows[i].fails));
		if (!str_eq(p.ns, "ttl-deadline"))
			change(p, "jobset", ENDED(LONG_AGO));
		EVENTUALLY(rows[i].goes ? !exists(p, "trainjob")
					: of_status(p, &a, "completionTime") != NULL);
		if (rows[i].goes)
			EVENTUALLY(told(p, "Expired") == 1);
		if (rows[i].fails == 403)
			EVENTUALLY(told(p, "DeletionFailed") == 1);
		else
			assert_int_equal(told(p, "DeletionFailed"), 0);
	}
	clock_sleep_ms(200);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_int(rows[i].ns,
			  exists((struct place){ *state, rows[i].ns }, "trainjob"),
			  !rows[i].goes);
}

/* A shorter time counts at once, a clock that is set forward never. */
static void test_a_time_to_live_that_is_edited(void **state)
{
	struct place p = { *state, "ttl-edited" };

	create(p.w, p.ns, RUN_POLICY(""));
	create(p.w, p.ns, TRAINJOB("", ", ttlSecondsAfterFinished: 2147483647"));
	EVENTUALLY(told(p, "JobSetCreated") == 1);
	change(p, "jobset", ENDED(LONG_AGO));
	EVENTUALLY(has_state(p, "Complete"));
	/* The API server says that it is 2020: the clock of this machine is wrong. */
	apiserver_do(&p.w->server, "{'op':'clock','seconds':-200000000}");
	change(p, "trainjob", "{spec: {ttlSecondsAfterFinished: 3600}}");
	clock_sleep_ms(300);
	assert_true(exists(p, "trainjob"));
	apiserver_do(&p.w->server, "{'op':'clock','seconds':0}");
	/* What only an API server without our CRD and webhooks has. */
	change(p, "trainjob", "{spec: {ttlSecondsAfterFinished: -5}}");
	change(p, "trainjob", "{spec: {ttlSecondsAfterFinished: 9223372036854775807}}");
	clock_sleep_ms(300);
	assert_true(exists(p, "trainjob"));
	change(p, "trainjob", "{spec: {ttlSecondsAfterFinished: 60}}");
	EVENTUALLY(!exists(p, "trainjob"));
}

/* The runtime changes after the end: what it said then counts, for a new process, too. */
static void test_a_time_to_live_that_was_kept(void **state)
{
	struct place p = { *state, "ttl-kept" };
	cleanup_json cJSON *tj = NULL;

	create(p.w, p.ns, RUN_POLICY("ttlSecondsAfterFinished: 2147483647"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(told(p, "JobSetCreated") == 1);
	change(p, "jobset", ENDED(LONG_AGO));
	EVENTUALLY(has_state(p, "Complete"));
	tj = get(p, "trainjob");
	check_int("kept", json_int(tj, -1, "status", "ttlSecondsAfterFinished"),
		  2147483647);
	forget(p);
	change(p, "runtime", "{spec: {runPolicy: {ttlSecondsAfterFinished: 0}}}");
	change(p, "trainjob", "{metadata: {annotations: {look: again}}}");
	clock_sleep_ms(200);
	assert_true(exists(p, "trainjob"));
	change(p, "trainjob", "{status: {ttlSecondsAfterFinished: 5}}");
	EVENTUALLY(!exists(p, "trainjob"));
}

/* What the runtime says cannot be read as the job ends: it is asked again, if it can be. */
static void test_a_time_to_live_that_is_read_late(void **state)
{
	static const struct {
		const char *ns;
		bool lost;
	} rows[] = { { "ttl-late", false }, { "ttl-lost", true } };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };
		cleanup_json cJSON *tj = NULL;
		int64_t reads;

		create(p.w, p.ns, RUN_POLICY("ttlSecondsAfterFinished: 2147483647"));
		create(p.w, p.ns, TRAINJOB("", ""));
		EVENTUALLY(has_state(p, "Created"));
		if (rows[i].lost)
			remove_it(p, "runtime");
		else
			apiserver_do(&p.w->server, "{'op':'fail','status':500,'n':1000,"
						   "'of':'GET configmaps'}");
		reads = apiserver_seen(&p.w->server, "GET configmaps");
		pthread_mutex_lock(&p.w->pass);
		job_memory_drop(&p.w->memories,
				rows[i].lost ? "ttl-lost/tj" : "ttl-late/tj");
		if (rows[i].lost)
			remove_it(p, "snapshot");
		change(p, "jobset", ENDED(LONG_AGO));
		pthread_mutex_unlock(&p.w->pass);
		if (!rows[i].lost) {
			EVENTUALLY(apiserver_seen(&p.w->server, "GET configmaps") >=
				   reads + 4);
			assert_false(has_state(p, "Complete"));
			apiserver_do(&p.w->server, "{'op':'fail','status':500,'n':0}");
		}
		EVENTUALLY(has_state(p, "Complete"));
		tj = get(p, "trainjob");
		check_int(p.ns, json_int(tj, -1, "status", "ttlSecondsAfterFinished"),
			  rows[i].lost ? -1 : 2147483647);
	}
}

/* Kueue runs it in another cluster, and copies its end; this controller deletes it. */
static void test_the_time_to_live_of_a_managed_job(void **state)
{
	static const struct {
		const char *ns, *runtime, *spec;
		bool goes;
	} rows[] = {
		{ "managed-none", "", "", false },
		{ "managed-own", "", ", ttlSecondsAfterFinished: 5", true },
		{ "managed-runtime", "ttlSecondsAfterFinished: 5", "", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct place p = { *state, rows[i].ns };
		cleanup_arena struct arena a = { 0 };

		create(p.w, p.ns, arena_printf(&a, RUN_POLICY("%s"), rows[i].runtime));
		create(p.w, p.ns,
		       arena_printf(&a,
				    TRAINJOB("", ", managedBy: "
						 "kueue.x-k8s.io/multikueue%s"),
				    rows[i].spec));
		change(p, "trainjob",
		       "{status: {conditions: [{type: Complete, status: 'True', reason: "
		       "AllJobsCompleted, lastTransitionTime: '" LONG_AGO "'}]}}");
		if (rows[i].goes)
			EVENTUALLY(!exists(p, "trainjob"));
	}
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_int(rows[i].ns,
			  exists((struct place){ *state, rows[i].ns }, "trainjob"),
			  !rows[i].goes);
}

static void test_a_new_one_of_the_same_name(void **state)
{
	struct place p = { *state, "again" };
	cleanup_json cJSON *old = NULL;
	cleanup_json cJSON *tj = NULL;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset"));
	remove_it(p, "trainjob");
	create(p.w, p.ns, TRAINJOB("", ""));
	/* What the old one leaves is on its way out: it is waited for, in silence. */
	clock_sleep_ms(200);
	old = get(p, "jobset");
	remove_it(p, "snapshot");
	remove_it(p, "jobset");
	EVENTUALLY(exists(p, "jobset"));
	tj = get(p, "trainjob");
	{
		cleanup_json cJSON *jobset = get(p, "jobset");

		assert_true(meta_is_controlled(jobset, tj));
		assert_false(meta_is_controlled(old, tj));
	}
	assert_int_equal(told(p, "TrainJobResourcesCreationFailed"), 0);
}

/* Has the watch brought the TrainJob of that uid? */
static bool is_known(struct place p, const char *uid)
{
	cleanup_json cJSON *tj =
		informer_get(watches_trainjobs(p.w->watches), p.ns, "tj");

	return str_eq(meta_uid(tj), uid);
}

/* No pass sees that the old one is gone: its pods do not explain how the new one fails. */
static void test_pods_of_another(void **state)
{
	struct place p = { *state, PODS_NS };
	cleanup_json cJSON *pod = yaml(
		"{apiVersion: v1, kind: Pod, metadata: {name: tj-node-0-0-old, "
		"namespace: " PODS_NS ", labels: {jobset.sigs.k8s.io/jobset-name: tj}}, "
		"status: {phase: Failed, containerStatuses: [{name: node, state: "
		"{terminated: {exitCode: 3, finishedAt: '2026-01-01T00:00:01Z'}}}]}}");
	cleanup_json cJSON *tj = NULL;

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(exists(p, "jobset"));
	pod_facts_event(p.w->pods, NULL, pod);
	pthread_mutex_lock(&p.w->pass);
	remove_it(p, "trainjob");
	remove_it(p, "snapshot");
	remove_it(p, "jobset");
	create(p.w, p.ns, TRAINJOB("", ""));
	tj = get(p, "trainjob");
	EVENTUALLY(is_known(p, meta_uid(tj)));
	pthread_mutex_unlock(&p.w->pass);
	EVENTUALLY(exists(p, "jobset"));
	change(p, "jobset",
	       "{status: {conditions: [{type: Failed, status: 'True', reason: FailedJobs, "
	       "message: failed, lastTransitionTime: '2026-01-01T00:00:02Z'}]}}");
	EVENTUALLY(has_condition(p, "Failed", "True", "FailedJobs"));
	cJSON_Delete(tj);
	tj = get(p, "trainjob");
	check_text("message",
		   json_str(json_find_const(
				    json_get((const cJSON *)tj, "status", "conditions"),
				    "type", "Failed"),
			    "message"),
		   "failed");
}

/* A pass that sees an older JobSet than was written does nothing, and is repeated. */
static void test_a_watch_that_lags(void **state)
{
	struct place p = { *state, "lag" };
	struct job_memory *memory = job_memory_of(&p.w->memories, "lag/tj");

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(has_state(p, "Created"));
	pthread_mutex_lock(&p.w->pass);
	memory->written.jobset_version = UINT64_MAX;
	memory->stale_passes = 0;
	pthread_mutex_unlock(&p.w->pass);
	assert_int_equal(pass_after(p, 0), 200);
	assert_int_equal(pass_after(p, 0), 400);
}

/* Versions that the watches do not reach: a watch hangs, or the data is of a backup. */
static void test_watches_that_stay_behind(void **state)
{
	struct place p = { *state, "behind" };
	struct job_memory *memory = job_memory_of(&p.w->memories, "behind/tj");

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns, TRAINJOB("", ""));
	EVENTUALLY(has_state(p, "Created"));
	pthread_mutex_lock(&p.w->pass);
	memory->written.trainjob_version = memory->written.jobset_version = UINT64_MAX;
	memory->stale_passes = 6; /* as after 25 s */
	pthread_mutex_unlock(&p.w->pass);
	change(p, "jobset", JOBS(1, 1));
	EVENTUALLY(has_state(p, "Running"));
}

static void test_the_old_finalizer(void **state)
{
	struct place p = { *state, "finalizer" };
	cleanup_json cJSON *rt = NULL;
	cleanup_json cJSON *now = NULL;
	struct error err = { 0 };
	const char *key;

	create(p.w, p.ns,
	       "{apiVersion: " TRAINER ", kind: TrainingRuntime, metadata: {name: rt, "
	       "finalizers: [a.b/c, trainer.kubeflow.org/resource-in-use]}}");
	key = workqueue_get(p.w->runtimes);
	check_text("key", key, "finalizer/rt");
	workqueue_done(p.w->runtimes, key);
	rt = get(p, "runtime");
	assert_int_equal(reconcile_runtime(p.w->reconciler, rt, &err), 0);
	now = get(p, "runtime");
	assert_int_equal(cJSON_GetArraySize(meta_finalizers(now)), 1);
	assert_string_equal(meta_finalizers(now)->child->valuestring, "a.b/c");
}

static bool metrics_have(struct place p, const char *line)
{
	cleanup_buf struct buf text = { .max = 65536 };

	metrics_print(&text, p.w->metrics);
	return strstr((char *)text.data, line) != NULL;
}

static void test_counted(void **state)
{
	struct place p = { *state, "counted" };

	create(p.w, p.ns, RUNTIME("torch: {}"));
	create(p.w, p.ns,
	       "{apiVersion: " TRAINER ", kind: TrainJob, metadata: {name: tj}, spec: "
	       "{runtimeRef: {name: counted, kind: Other}}}");
	EVENTUALLY(metrics_have(
		p, "trainer_trainjobs{state=\"Failed\",runtime=\"counted\"} 1"));
	EVENTUALLY(metrics_have(p, "trainer_trainjob_failures_total{runtime=\"counted\","
				   "reason=\"TrainingRuntimeNotSupported\"} 1"));
	remove_it(p, "trainjob");
	EVENTUALLY(metrics_have(p, "{state=\"Failed\",runtime=\"counted\"} 0"));
}

/* ---- pure parts ---- */

static void test_status_patch(void **state)
{
	static const struct {
		const char *was, *is, *want;
	} rows[] = {
		{ "{}", "{}", NULL },
		{ "{a: 1, b: [1, 2]}", "{b: [1, 2], a: 1}", NULL },
		{ "{}", "{a: {b: 1}}", "{a: {b: 1}}" },
		{ "{a: 1, b: 2}", "{a: 1, b: 3}", "{b: 3}" },
		{ "{l: [1, 2]}", "{l: [1]}", "{l: [1]}" },
		{ "{a: 1, trainerStatus: {x: 1}}", "{trainerStatus: {x: 1}}",
		  "{a: null}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *was = yaml(rows[i].was);
		cleanup_json cJSON *is = yaml(rows[i].is);
		cleanup_json cJSON *want = rows[i].want ? yaml(rows[i].want) : NULL;
		cleanup_json cJSON *got = status_patch(was, is);
		cleanup_free char *text = got ? json_text(got) : NULL;

		if (got ? !want || !json_equal(got, want) : want != NULL)
			fail_msg("row %zu: %s", i, text ? text : "NULL");
	}
}

static void test_whose_it_is(void **state)
{
	static const struct {
		const char *meta;
		enum error_kind want;
	} rows[] = {
		{ "{ownerReferences: [{uid: u1, controller: true}]}", ERR_NONE },
		{ "{ownerReferences: [{uid: u1}]}", ERR_EXISTS },
		{ "{ownerReferences: [{uid: u1}, {uid: u2, controller: true}]}",
		  ERR_EXISTS },
		{ "{name: x}", ERR_EXISTS },
		{ "{ownerReferences: [{kind: TrainJob, name: tj, uid: u0, "
		  "controller: true}]}",
		  ERR_CONFLICT },
		{ "{ownerReferences: [{kind: TrainJob, name: tk, uid: u0, "
		  "controller: true}]}",
		  ERR_EXISTS },
		{ "{deletionTimestamp: x}", ERR_CONFLICT },
	};
	cleanup_json cJSON *tj = yaml("{metadata: {name: tj, uid: u1}}");

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = yaml("{kind: ConfigMap}");
		struct error err = { 0 };

		json_put(obj, yaml(rows[i].meta), "metadata");
		assert_int_equal(pass_check_owner(obj, tj, &err), rows[i].want ? -1 : 0);
		check_int(rows[i].meta, err.kind, rows[i].want);
	}
}

static void test_preconditions_and_sameness(void **state)
{
	cleanup_json cJSON *want =
		yaml("{kind: ConfigMap, metadata: {name: a}, data: {x: y}}");
	cleanup_json cJSON *have =
		yaml("{kind: ConfigMap, metadata: {name: a, uid: u}, data: {x: y}, "
		     "immutable: true}");
	struct error going = { .kind = ERR_DENIED,
			       .code = 403,
			       .msg = "x: unable to create new content in namespace a "
				      "because it is being terminated" };
	static const struct {
		int code;
		bool unsure;
	} answers[] = {
		{ 400, false }, { 403, false }, { 404, false }, { 409, false },
		{ 413, false }, { 422, false }, { 408, true },  { 429, true },
		{ 500, true },  { 503, true },  { 504, true },
	};

	assert_true(meta_has_members(have, want, NULL));
	json_put_str(have, "z", "data", "x");
	assert_false(meta_has_members(have, want, NULL));
	pass_write_precondition(want, have);
	check_text("uid", meta_uid(want), "u");
	check_text("version", meta_version(want), NULL);
	meta_set_uid(want, NULL);
	pass_write_precondition(want, NULL);
	check_text("version", meta_version(want), "1");
	assert_true(pass_namespace_dying(&going));
	going.code = 404;
	assert_false(pass_namespace_dying(&going));
	for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
		struct error err = { 0 };

		kube_status_error("write", answers[i].code, NULL, &err);
		assert_int_equal(pass_no_answer(&err), answers[i].unsure);
	}
	for (int kind = ERR_TIMEOUT; kind <= ERR_STOPPED; kind++)
		assert_int_equal(pass_no_answer(&(struct error){ .kind = kind }),
				 kind != ERR_UNSUPPORTED);
	for (int code = 500; code < 507; code++) {
		const struct error err = { .kind = ERR_BUSY, .code = code };

		assert_int_equal(outage_logged(&err), code >= 502 && code <= 504);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_patch),
		cmocka_unit_test(test_whose_it_is),
		cmocka_unit_test(test_preconditions_and_sameness),
		cmocka_unit_test(test_from_creation_to_the_end),
		cmocka_unit_test(test_own_writes_need_no_pass),
		cmocka_unit_test(test_the_first_status_comes_with_the_jobset),
		cmocka_unit_test(test_suspended_and_resumed),
		cmocka_unit_test(test_the_last_pod_of_a_suspended_job),
		cmocka_unit_test(test_nodes_of_a_suspended_gang),
		cmocka_unit_test(test_nodes_of_a_suspended_podgroup),
		cmocka_unit_test(test_a_kind_that_comes_later),
		cmocka_unit_test(test_what_is_lost_comes_back),
		cmocka_unit_test(test_a_lost_secret_is_back_when_a_pod_waits),
		cmocka_unit_test(test_a_lost_secret_is_back_in_time),
		cmocka_unit_test(test_a_changed_label_of_a_suspended_jobset_is_restored),
		cmocka_unit_test(test_a_status_that_somebody_changed_is_mended),
		cmocka_unit_test(test_progress_does_not_hold_up_the_end),
		cmocka_unit_test(test_the_first_status_keeps_that_of_another),
		cmocka_unit_test(test_a_new_one_of_the_name_does_not_end),
		cmocka_unit_test(test_a_refused_state),
		cmocka_unit_test(test_another_flavor),
		cmocka_unit_test(test_a_job_that_does_not_fit),
		cmocka_unit_test(test_a_snapshot_taken_again),
		cmocka_unit_test(test_what_is_not_ours),
		cmocka_unit_test(test_a_snapshot_that_is_there),
		cmocka_unit_test(test_a_snapshot_that_another_changed),
		cmocka_unit_test(test_a_snapshot_that_a_jobset_was_built_from),
		cmocka_unit_test(test_a_snapshot_of_a_job_that_a_queue_moved),
		cmocka_unit_test(test_a_snapshot_that_was_changed_unseen),
		cmocka_unit_test(test_a_lost_snapshot_of_a_running_job),
		cmocka_unit_test(test_a_job_of_a_runtime_that_is_gone),
		cmocka_unit_test(test_a_lost_snapshot_of_the_same_jobset),
		cmocka_unit_test(test_a_job_with_a_forged_snapshot_is_suspended),
		cmocka_unit_test(test_a_job_whose_objects_are_denied_is_suspended),
		cmocka_unit_test(test_a_job_that_is_gone_unseen),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_a_runtime_of_no_kind_of_ours),
		cmocka_unit_test(test_the_deadline),
		cmocka_unit_test(test_a_resume_that_fails_is_not_late),
		cmocka_unit_test(test_an_end_without_an_answer_stays),
		cmocka_unit_test(test_an_end_that_no_pass_has_seen),
		cmocka_unit_test(test_when_it_runs),
		cmocka_unit_test(test_the_time_to_live),
		cmocka_unit_test(test_a_time_to_live_that_is_edited),
		cmocka_unit_test(test_a_time_to_live_that_was_kept),
		cmocka_unit_test(test_a_time_to_live_that_is_read_late),
		cmocka_unit_test(test_the_time_to_live_of_a_managed_job),
		cmocka_unit_test(test_a_new_one_of_the_same_name),
		cmocka_unit_test(test_pods_of_another),
		cmocka_unit_test(test_a_watch_that_lags),
		cmocka_unit_test(test_watches_that_stay_behind),
		cmocka_unit_test(test_the_old_finalizer),
		cmocka_unit_test(test_counted),
	};

	const struct CMUnitTest of_upstream[] = {
		cmocka_unit_test(test_a_crd_without_state),
	};
	int failed = cmocka_run_group_tests_name("reconcile", tests, begin, end);

	return failed +
	       cmocka_run_group_tests_name("upstream's CRD", of_upstream, begin, end);
}
