/* work.c - the leader's queues and workers (manager/work.h). */
#include "manager/work.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "kube/workqueue.h"
#include "manager/domain.h"
#include "manager/job_memory.h"
#include "manager/names.h"
#include "manager/outage.h"
#include "manager/reconcile.h"
#include "manager/watch.h"
#include "trainer/api.h"
#include "trainer/podspec.h"

/* Names and buckets: controller-runtime's pkg/internal/controller/metrics. */
static const double seconds[] = { 0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2, 0.25,
				  0.3,   0.35, 0.4,   0.45, 0.5,  0.6,  0.7, 0.8,
				  0.9,   1.0,  1.25,  1.5,  1.75, 2.0,  2.5, 3.0,
				  3.5,   4.0,  4.5,   5,    6,    7,    8,   9,
				  10,    15,   20,    25,   30,   40,   50,  60 };
static const struct metric reconcile_total = {
	METRIC_COUNTER, "controller_runtime_reconcile_total",
	"Total number of reconciliations per controller",
	.labels = { "controller", "result" }
};
static const struct metric reconcile_errors = {
	METRIC_COUNTER, "controller_runtime_reconcile_errors_total",
	"Total number of reconciliation errors per controller", .labels = { "controller" }
};
static const struct metric reconcile_time = {
	METRIC_HISTOGRAM,
	"controller_runtime_reconcile_time_seconds",
	"Length of time per reconciliation per controller",
	.labels = { "controller" },
	.buckets = seconds,
	.n_buckets = N_ELEMENTS(seconds),
};
static const struct metric max_concurrent = {
	METRIC_GAUGE, "controller_runtime_max_concurrent_reconciles",
	"Maximum number of concurrent reconciles per controller",
	.labels = { "controller" }
};
static const struct metric active_workers = {
	METRIC_GAUGE, "controller_runtime_active_workers",
	"Number of currently used workers per controller", .labels = { "controller" }
};
const struct metric *const work_metrics[] = { &reconcile_total, &reconcile_errors,
					      &reconcile_time,  &max_concurrent,
					      &active_workers,  NULL };

enum { CONTROLLERS = 3 };

struct controller {
	const char *name; /* in metrics */
	const char *kind;
	struct workqueue *queue;
	struct work *work;
	int (*reconcile)(struct controller *c, const char *key, int64_t *ret_after_ms,
			 struct error *err);
	pthread_t *threads;
	int64_t n;
};

struct work {
	struct work_conf conf;
	struct job_memories memories;
	struct pod_facts *pods;
	_Atomic(struct informer *) trainjobs; /* NULL until the watches run */
	struct watches *watches;
	pthread_mutex_t creation; /* protects the creation of the reconciler */
	struct reconciler *reconciler;
	struct controller list[CONTROLLERS];
	atomic_bool ending;

	pthread_mutex_t lock;
	pthread_cond_t idle;
	int64_t running; /* number of workers, protected by lock */
};

/* ---- one key ---- */

static int on_trainjob(struct controller *c, const char *key, int64_t *ret_after_ms,
		       struct error *err)
{
	return reconcile_trainjob(c->work->reconciler, key, ret_after_ms, err);
}

static int on_runtime(struct controller *c, const char *key, int64_t *ret_after_ms,
		      struct error *err)
{
	const char *slash = strchr(key, '/');
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *runtime = NULL;
	const struct kube_ref ref = {
		.api_version = TRAINER_API_VERSION,
		.kind = c->kind,
		.ns = slash ? str_slice(&a, key, (size_t)(slash - key)) : NULL,
		.name = slash ? slash + 1 : key,
	};

	*ret_after_ms = 0;
	if (kube_find(c->work->conf.kube, &ref, &runtime, err))
		return -1;
	return runtime ? reconcile_runtime(c->work->reconciler, runtime, err) : 0;
}

/* The maximum of the back-off while the API server does not respond. */
enum { OUTAGE_RETRY_MS = 30 * 1000 };

/* Logs the failure, and queues the key again with back-off. */
static void retry(const struct controller *c, const char *key, const struct error *err)
{
	if (outage_logged(err)) {
		workqueue_retry_within(c->queue, key, OUTAGE_RETRY_MS);
		return;
	}
	/* Another writer's change: the next attempt reads it. */
	if (err->kind == ERR_CONFLICT)
		log_info("reconciling again", LOG_STR("controller", c->name),
			 LOG_STR("key", key), LOG_ERR(err));
	else if (err->kind != ERR_STOPPED)
		log_error("reconciling failed", LOG_STR("controller", c->name),
			  LOG_STR("key", key), LOG_ERR(err));
	workqueue_retry(c->queue, key);
}

static const char *finish_key(struct controller *c, const char *key, int failed,
			      int64_t after_ms, const struct error *err)
{
	if (failed) {
		metrics_add(c->work->conf.metrics, &reconcile_errors, 1, c->name);
		retry(c, key, err);
	} else {
		workqueue_forget(c->queue, key);
	}
	if (after_ms > 0) /* a deadline is kept, too, by a pass that fails for long */
		workqueue_add_after(c->queue, key, after_ms);
	return failed ? "error" : after_ms > 0 ? "requeue_after" : "success";
}

static void reconcile_key(struct controller *c, const char *key)
{
	struct metrics *m = c->work->conf.metrics;
	double start = clock_seconds(), took;
	int64_t after_ms = 0;
	struct error err = { 0 };
	const char *result;
	int failed;

	metrics_add(m, &active_workers, 1, c->name);
	failed = c->reconcile(c, key, &after_ms, &err);
	result = finish_key(c, key, failed, after_ms, &err);
	took = clock_seconds() - start;
	metrics_add(m, &reconcile_total, 1, c->name, result);
	metrics_observe(m, &reconcile_time, took, c->name);
	metrics_add(m, &active_workers, -1, c->name);
	log_debug("reconciled", LOG_STR("controller", c->name), LOG_STR("key", key),
		  LOG_STR("result", result), LOG_INT("us", (int64_t)(took * 1e6)));
}

/* ---- this program's image, for init containers in the jobs' pods ---- */

#define CONTAINER "manager" /* as in upstream's Deployment */

enum { POD_TRIES = 3, POD_PAUSE_MS = 300 };

static int keep_trying(struct kube *kube, const struct kube_ref *ref, cJSON **ret,
		       struct error *err)
{
	for (int left = POD_TRIES; kube_get(kube, ref, ret, err);
	     *err = (struct error){ 0 }) {
		if (err->kind == ERR_NOT_FOUND || !--left)
			return -1;
		clock_sleep_ms(POD_PAUSE_MS);
	}
	return 0;
}

/* Reads this process's pod, which is named as the host. */
static int read_pod(struct kube *kube, const char *ns, cJSON **ret, struct error *err)
{
	char host[256] = "";
	const struct kube_ref ref = { "v1", "Pod", ns, host };

	(void)!gethostname(host, sizeof(host) - 1);
	return keep_trying(kube, &ref, ret, err);
}

/* NULL: the pod cannot be read, which is logged as a warning. */
static const char *own_image(struct arena *arena, struct kube *kube, const char *ns)
{
	cleanup_json cJSON *pod = NULL;
	struct error err = { 0 };
	const cJSON *list, *c;

	if (read_pod(kube, ns, &pod, &err)) {
		log_warn("cannot determine this pod's image; set --image", LOG_ERR(&err));
		return NULL;
	}
	list = pod_containers_const(json_get(pod, "spec"));
	c = json_find_const(list, "name", CONTAINER);
	return arena_strdup(arena, container_image(c ? c : list ? list->child : NULL));
}

/* ---- from start to end ---- */

/* pod_facts_new().trainjob; pods may be listed before the TrainJobs are. */
static cJSON *find_trainjob(void *ctx, const char *ns, const char *name)
{
	struct work *w = ctx;
	struct informer *store = w->trainjobs;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, ns, name };
	cJSON *ret = NULL;

	if (store && informer_synced(store))
		return informer_get(store, ns, name);
	return keep_trying(w->conf.watch, &ref, &ret, IGNORED) ? NULL : ret;
}

static void set_controllers(struct work *w)
{
	const struct controller list[CONTROLLERS] = {
		{ .name = MANAGER_CONTROLLER, .reconcile = on_trainjob },
		{ .name = "trainingruntime_controller",
		  .kind = RUNTIME_KIND,
		  .reconcile = on_runtime },
		{ .name = "clustertrainingruntime_controller",
		  .kind = CLUSTER_RUNTIME_KIND,
		  .reconcile = on_runtime },
	};

	for (int i = 0; i < CONTROLLERS; i++) {
		w->list[i] = list[i];
		w->list[i].work = w;
		w->list[i].queue = workqueue_new(list[i].name, w->conf.metrics);
	}
}

static int start_watches(struct work *w, struct error *err)
{
	const struct watches_conf conf = {
		.kube = w->conf.watch,
		.trainjobs = w->list[0].queue,
		.runtimes = w->list[1].queue,
		.cluster_runtimes = w->list[2].queue,
		.runtime_docs = w->conf.runtimes,
		.pods = w->pods,
		.memories = &w->memories,
		.scheduling = w->conf.config->gate_scheduling,
	};

	if (watches_start(&w->watches, &conf, err))
		return -1;
	w->trainjobs = watches_trainjobs(w->watches);
	return 0;
}

static void new_reconciler(struct work *w)
{
	cleanup_arena struct arena arena = { 0 };
	struct reconciler_conf conf = {
		.kube = w->conf.kube,
		.trainjobs = watches_trainjobs(w->watches),
		.jobsets = watches_jobsets(w->watches),
		.watches = w->watches,
		.memories = &w->memories,
		.runtimes = w->conf.runtimes,
		.events = w->conf.events,
		.pods = w->pods,
		.metrics = w->conf.metrics,
		.status_server = w->conf.config->gate_trainjob_status,
		.claims_off = !w->conf.config->gate_resource_claims,
		.scheduling_off = !w->conf.config->gate_scheduling,
		.local = w->conf.config->local,
		.strict = w->conf.config->strict,
		.status_server_url = w->conf.status_server_url,
		.image = w->conf.config->image,
		.cluster_domain = domain_in(&arena, RESOLV_CONF),
		.certs = w->conf.certs,
		.status_server_ca = w->conf.config->local_ca,
	};

	if (!conf.image && w->conf.pod_ns)
		conf.image = own_image(&arena, w->conf.watch, w->conf.pod_ns);
	w->reconciler = reconciler_new(&conf);
	log_info("reconciling", LOG_INT("workers", w->conf.config->trainjob_workers),
		 LOG_INT("msFromStart", clock_ms() - w->conf.started));
}

/* All workers wait for the first lists; one of them creates the reconciler. */
static bool wait_for_lists(struct work *w)
{
	if (watches_wait(w->watches, IGNORED))
		return false;
	pthread_mutex_lock(&w->creation);
	if (!w->reconciler)
		new_reconciler(w);
	pthread_mutex_unlock(&w->creation);
	return true;
}

static void *run_worker(void *arg)
{
	struct controller *c = arg;
	struct work *w = c->work;
	const char *key;

	while (wait_for_lists(w) && (key = workqueue_get(c->queue))) {
		if (!w->ending)
			reconcile_key(c, key);
		workqueue_done(c->queue, key);
	}
	pthread_mutex_lock(&w->lock);
	if (!--w->running)
		pthread_cond_signal(&w->idle);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int start_workers(struct controller *c, int64_t n, struct error *err)
{
	static const char *const results[] = { "success", "error", "requeue",
					       "requeue_after", NULL };
	struct metrics *m = c->work->conf.metrics;

	for (int i = 0; results[i]; i++)
		metrics_add(m, &reconcile_total, 0, c->name, results[i]);
	metrics_add(m, &reconcile_errors, 0, c->name);
	metrics_set(m, &max_concurrent, (double)n, c->name);
	metrics_set(m, &active_workers, 0, c->name);
	c->threads = xcalloc((size_t)n, sizeof(*c->threads));
	for (; c->n < n; c->n++) {
		pthread_mutex_lock(&c->work->lock);
		c->work->running++;
		pthread_mutex_unlock(&c->work->lock);
		if (thread_start(&c->threads[c->n], run_worker, c, err)) {
			c->work->running--;
			return -1;
		}
	}
	return 0;
}

int work_start(struct work **ret, const struct work_conf *conf, struct error *err)
{
	const struct manager_config *c = conf->config;
	const int64_t workers[CONTROLLERS] = { c->trainjob_workers, c->runtime_workers,
					       c->cluster_runtime_workers };
	struct work *w = xcalloc(1, sizeof(*w));

	w->conf = *conf;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->creation, NULL);
	job_memories_init(&w->memories);
	cond_init(&w->idle);
	w->pods = pod_facts_new(conf->events, find_trainjob, w);
	set_controllers(w);
	if (start_watches(w, err))
		return -1;
	for (int i = 0; i < CONTROLLERS; i++)
		if (start_workers(&w->list[i], workers[i], err))
			return -1;
	*ret = w;
	return 0;
}

bool work_serves_jobset(struct work *w)
{
	return informer_served(watches_jobsets(w->watches));
}

void work_measure(struct work *w)
{
	for (int i = 0; i < CONTROLLERS; i++)
		workqueue_measure(w->list[i].queue);
}

bool work_end(struct work *w, int64_t grace_ms)
{
	int64_t until = clock_ms() + grace_ms;
	bool idle;

	w->ending = true;
	for (int i = 0; i < CONTROLLERS; i++)
		workqueue_shut_down(w->list[i].queue);
	pthread_mutex_lock(&w->lock);
	while (w->running && cond_wait_until(&w->idle, &w->lock, until))
		continue;
	idle = !w->running;
	pthread_mutex_unlock(&w->lock);
	return idle;
}

void work_free(struct work *w)
{
	for (int i = 0; i < CONTROLLERS; i++) {
		for (int64_t t = 0; t < w->list[i].n; t++)
			pthread_join(w->list[i].threads[t], NULL);
		free(w->list[i].threads);
	}
	watches_stop(w->watches);
	reconciler_free(w->reconciler);
	job_memories_release(&w->memories);
	pod_facts_free(w->pods);
	for (int i = 0; i < CONTROLLERS; i++)
		workqueue_free(w->list[i].queue);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->creation);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
