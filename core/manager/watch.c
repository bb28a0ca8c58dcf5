/* watch.c - the watches, and which TrainJobs an event queues (manager/watch.h). */
#include "manager/watch.h"

#include <stdatomic.h>

#include "api/last_applied.h"
#include "api/meta.h"
#include "api/proto.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/job_memory.h"
#include "manager/outage.h"
#include "manager/pods.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/runtime.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum watch_kind {
	WATCH_TRAINJOB,
	WATCH_JOBSET,
	WATCH_COSCHEDULING,
	WATCH_VOLCANO,
	WATCH_WORKLOAD,
	WATCH_PODGROUP,
	WATCH_CONFIG_MAP,
	WATCH_LIMIT_RANGE,
	WATCH_CLASS,
	WATCH_POD,
	N_WATCHES,
};

enum {
	CONTENDED_MS = 10 * 60 * 1000, /* between two lines about other writers */
	REPEAT_MS = 24 * 3600 * 1000,  /* between two lines about a failure that lasts */
	ASK_MS = 1000,  /* between two discoveries while TrainJobs wait for a kind */
	WAKE_MS = 5000, /* between two ends of the delays of all watches */
};

/* One watch: the context of its informer's callbacks. */
struct source {
	struct watches *w;
	enum watch_kind which;
	struct informer *informer;
	struct log_last complaint, contended;
	atomic_llong asked_ms; /* clock_ms() */
	atomic_bool failed;    /* since the last answer */
};

struct watches {
	struct watches_conf conf;
	struct source sources[N_WATCHES];
	pthread_mutex_t lock; /* guards the members below */
	bool run;             /* between start and stop: all informers are there */
	int64_t woken_ms;     /* clock_ms() of the last end of all delays */
};

/* ---- the stored fields of an object ---- */

static bool transform_trainjob(cJSON *obj)
{
	meta_drop_managed_fields(obj);
	json_del(obj, JSON_PATH("metadata", "annotations", LAST_APPLIED));
	return true;
}

static bool transform_jobset(cJSON *obj)
{
	jobset_digest(obj);
	return true;
}

static bool is_of_trainjob(const cJSON *obj)
{
	const cJSON *owner = meta_controller(obj);

	return meta_is(owner, TRAINER_GROUP, TRAINJOB_KIND);
}

static bool transform_owned(cJSON *obj)
{
	if (!is_of_trainjob(obj))
		return false;
	meta_digest(obj);
	return true;
}

/* Kubernetes' own Workload and PodGroup have no generation: their spec is compared. */
static bool transform_native(cJSON *obj)
{
	json_del(obj, JSON_PATH("status"));
	return transform_owned(obj);
}

static bool transform_name(cJSON *obj)
{
	meta_digest(obj);
	return true;
}

/* ---- the TrainJobs that an event queues ---- */

static void add_with(struct workqueue *q, const char *ns, const char *name,
		     enum workqueue_priority priority)
{
	cleanup_arena struct arena arena = { 0 };

	if (q && name)
		workqueue_add(q, informer_key(&arena, ns, name), priority);
}

static void add(struct workqueue *q, const char *ns, const char *name)
{
	add_with(q, ns, name, WORKQUEUE_NORMAL);
}

/* Queues a known TrainJob before new ones; during the first list, behind them. */
static void add_known(struct source *s, const char *ns, const char *name)
{
	bool synced = s->informer && informer_synced(s->informer);

	add_with(s->w->conf.trainjobs, ns, name,
		 synced ? WORKQUEUE_FIRST : WORKQUEUE_LATER);
}

/* True: the stored fields are equal, without the member `aside` (or NULL). */
static bool is_unchanged(const cJSON *old, const cJSON *current, const char *aside)
{
	return old && current && meta_is_same(old, current) &&
	       meta_has_members(old, current, aside);
}

/* Ignores trainerStatus, which the status server writes. */
static bool is_status_same(const cJSON *old, const cJSON *current)
{
	const cJSON *before = json_get(old, "status"), *now = json_get(current, "status");

	return meta_has_members(before, now, "trainerStatus") &&
	       meta_has_members(now, before, "trainerStatus");
}

/* True: the status has conditions, and Suspended equals spec.suspend. */
static bool status_is_current(const cJSON *tj)
{
	const cJSON *status = json_get(tj, "status");
	const cJSON *suspended = status_condition(status, COND_SUSPENDED);

	return json_get(status, "conditions") &&
	       str_eq(json_str(suspended, "status"), "True") == tj_suspend(tj);
}

static bool is_our_write(const struct source *s, const cJSON *tj)
{
	cleanup_arena struct arena arena = { 0 };

	return job_memory_is_own(s->w->conf.memories,
				 informer_key(&arena, meta_namespace(tj), meta_name(tj)),
				 meta_version_number(tj));
}

/* A new TrainJob of the name does not wait for as long as the one before, which failed. */
static void forget_failures(struct source *s, const cJSON *gone)
{
	cleanup_arena struct arena arena = { 0 };

	workqueue_forget(s->w->conf.trainjobs,
			 informer_key(&arena, meta_namespace(gone), meta_name(gone)));
}

/* A status that others changed is reconciled; our own write is not. */
static void on_trainjob(struct source *s, const cJSON *old, const cJSON *current)
{
	const cJSON *obj = current ? current : old;

	if (old && !str_eq(meta_uid(old), meta_uid(current)))
		forget_failures(s, old);
	if (is_unchanged(old, current, "status") &&
	    (is_status_same(old, current) || is_our_write(s, current)))
		return;
	if (old || status_is_current(obj))
		add_known(s, meta_namespace(obj), meta_name(obj));
	else
		add(s->w->conf.trainjobs, meta_namespace(obj), meta_name(obj));
}

static void wake_owner(struct source *s, const cJSON *obj)
{
	if (is_of_trainjob(obj))
		add_known(s, meta_namespace(obj), meta_owner_name(meta_controller(obj)));
}

/* Queues the TrainJob with the object's name, which another owner may have blocked. */
static void wake_namesake(struct source *s, const cJSON *obj)
{
	cleanup_json cJSON *tj = informer_get(s->w->sources[WATCH_TRAINJOB].informer,
					      meta_namespace(obj), meta_name(obj));

	if (tj)
		add(s->w->conf.trainjobs, meta_namespace(obj), meta_name(obj));
}

static void on_owned(struct source *s, const cJSON *old, const cJSON *current)
{
	const char *before = meta_owner_uid(meta_controller(old));

	if (current)
		wake_owner(s, current);
	if (!old || (current && str_eq(before, meta_owner_uid(meta_controller(current)))))
		return;
	wake_owner(s, old);
	wake_namesake(s, old);
}

/* A pass comes later: a JobSet that was deleted after its end must not be made again. */
static void remember_end(struct source *s, const cJSON *gone)
{
	const char *name = meta_owner_name(meta_controller(gone));
	cleanup_arena struct arena arena = { 0 };

	if (name)
		job_memory_jobset_gone(s->w->conf.memories,
				       informer_key(&arena, meta_namespace(gone), name),
				       jobset_finished(gone) ? gone : NULL);
}

/* A new JobSet without status is our own write. */
static void on_jobset(struct source *s, const cJSON *old, const cJSON *current)
{
	if (!current && is_of_trainjob(old))
		remember_end(s, old);
	if (is_unchanged(old, current, NULL) ||
	    (!old && current && !jobset_has_status(current)))
		return;
	on_owned(s, old, current);
}

static void mark_dirty(struct source *s, const char *ns, const char *name)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t wait_ms = 0;

	if (name)
		wait_ms = job_memory_changed(s->w->conf.memories,
					     informer_key(&arena, ns, name), clock_ms());
	if (!wait_ms) {
		add_known(s, ns, name);
		return;
	}
	if (log_is_news(&s->contended, "", CONTENDED_MS))
		log_warn("another writer changes objects of a TrainJob again and again",
			 LOG_STR("key", informer_key(&arena, ns, name)));
	workqueue_add_after(s->w->conf.trainjobs, informer_key(&arena, ns, name),
			    wait_ms);
}

/* A new object is our own write; one that is changed or deleted is written again. */
static void on_written(struct source *s, const cJSON *old, const cJSON *current)
{
	if (!old || is_unchanged(old, current, NULL))
		return;
	mark_dirty(s, meta_namespace(old), meta_owner_name(meta_controller(old)));
	if (!current)
		wake_namesake(s, old);
}

/* Any change counts: only metadata is stored, which does not show changes of the data. */
static void on_config_map(struct source *s, const cJSON *old, const cJSON *current)
{
	if (old)
		mark_dirty(s, meta_namespace(old), meta_owner_name(meta_controller(old)));
}

/* A pending pod may wait for a Secret, which is not watched. */
static void on_pod(struct source *s, const cJSON *old, const cJSON *current)
{
	const struct watches_conf *conf = &s->w->conf;
	const char *ns = meta_namespace(current);
	const char *name = meta_label(current, POD_JOBSET_LABEL);
	cleanup_arena struct arena arena = { 0 };

	pod_facts_event(conf->pods, old, current);
	if (name && str_eq(pod_phase(current), "Pending") &&
	    job_memory_pod_waits(conf->memories, informer_key(&arena, ns, name)))
		add_known(s, ns, name);
}

/* Queues each TrainJob that has not finished, after JobSet was installed. */
static bool wake_unfinished(void *ctx, const cJSON *tj)
{
	if (!status_finished(json_get(tj, "status")))
		add(ctx, meta_namespace(tj), meta_name(tj));
	return true;
}

static void on_served(void *ctx, bool current)
{
	const struct source *s = ctx;

	if (current)
		log_info("JobSet is available");
	else
		log_warn(JOBSET_MISSING);
	if (current)
		informer_each(s->w->sources[WATCH_TRAINJOB].informer, wake_unfinished,
			      s->w->conf.trainjobs);
}

struct suspended {
	struct source *s;
	const char *ns;    /* only TrainJobs of this namespace; NULL: all */
	const char *class; /* only if the runtime names this RuntimeClass; NULL: all */
};

/* True, too, if the watch has not delivered the runtime. */
static bool job_names_class(struct suspended *to, const cJSON *tj)
{
	struct runtime_ref want = tj_runtime_ref(tj);
	const char *ns = runtime_ref_is_cluster(&want) ? NULL : meta_namespace(tj);
	struct kube_ref ref = { TRAINER_API_VERSION, want.kind, ns, want.name };
	const struct watches_conf *conf = &to->s->w->conf;
	cleanup_json cJSON *runtime = NULL;
	struct error err = { 0 };

	return runtimes_get(conf->runtime_docs, NULL, &ref, &runtime, &err) ||
	       runtime_names_class(runtime, to->class);
}

static bool wake_suspended(void *ctx, const cJSON *tj)
{
	struct suspended *to = ctx;

	if (tj_suspend(tj) && (!to->ns || str_eq(meta_namespace(tj), to->ns)) &&
	    (!to->class || job_names_class(to, tj)))
		mark_dirty(to->s, meta_namespace(tj), meta_name(tj));
	return !stop_requested();
}

/* During the first list, do nothing: all TrainJobs are queued anyway. */
static void wake_all_suspended(struct suspended *to)
{
	struct informer *trainjobs = to->s->w->sources[WATCH_TRAINJOB].informer;

	if (informer_synced(trainjobs))
		informer_each(trainjobs, wake_suspended, to);
}

static void on_limit_range(struct source *s, const cJSON *old, const cJSON *current)
{
	wake_all_suspended(&(struct suspended){
		.s = s, .ns = meta_namespace(current ? current : old) });
}

static void on_class(struct source *s, const cJSON *old, const cJSON *current)
{
	wake_all_suspended(&(struct suspended){
		.s = s, .class = meta_name(current ? current : old) });
}

/* ---- runtimes ---- */

static void on_runtime(void *ctx, const cJSON *runtime)
{
	const struct watches_conf *conf = ctx;
	bool cluster = str_eq(meta_kind(runtime), CLUSTER_RUNTIME_KIND);

	if (runtime_has_old_finalizer(runtime))
		add(cluster ? conf->cluster_runtimes : conf->runtimes,
		    meta_namespace(runtime), meta_name(runtime));
}

/* ---- the table ---- */

/* TrainJobs come first: the handlers of other kinds read them. */
static const struct watch_row {
	const char *api_version, *kind;
	struct kube_select select;
	bool (*transform)(cJSON *obj);
	void (*on)(struct source *s, const cJSON *old, const cJSON *current);
} rows[N_WATCHES] = {
	[WATCH_TRAINJOB] = { TRAINER_API_VERSION, TRAINJOB_KIND,
			     .transform = transform_trainjob, .on = on_trainjob },
	[WATCH_JOBSET] = { JOBSET_API_VERSION,
			   JOBSET_KIND,
			   { .without = "replicatedJobs" },
			   transform_jobset,
			   on_jobset },
	[WATCH_COSCHEDULING] = { "scheduling.x-k8s.io/v1alpha1",
				 "PodGroup",
				 { .meta_only = true },
				 transform_owned,
				 on_written },
	[WATCH_VOLCANO] = { "scheduling.volcano.sh/v1beta1",
			    "PodGroup",
			    { .meta_only = true },
			    transform_owned,
			    on_written },
	[WATCH_WORKLOAD] = { SCHEDULING_API_VERSION,
			     "Workload",
			     { 0 },
			     transform_native,
			     on_written },
	[WATCH_PODGROUP] = { SCHEDULING_API_VERSION,
			     "PodGroup",
			     { 0 },
			     transform_native,
			     on_written },
	[WATCH_CONFIG_MAP] = { "v1",
			       "ConfigMap",
			       { .meta_only = true },
			       transform_owned,
			       on_config_map },
	[WATCH_LIMIT_RANGE] = { "v1",
				"LimitRange",
				{ .meta_only = true },
				transform_name,
				on_limit_range },
	[WATCH_CLASS] = { "node.k8s.io/v1",
			  "RuntimeClass",
			  { .meta_only = true },
			  transform_name,
			  on_class },
	[WATCH_POD] = { "v1",
			"Pod",
			{ .label_selector = POD_JOBSET_LABEL,
			  .field_selector = "status.phase!=Succeeded",
			  .without = "containers",
			  .fields = proto_pod },
			pod_facts_keep,
			on_pod },
};

static void on_event(void *ctx, const cJSON *old, const cJSON *current)
{
	struct source *s = ctx;

	rows[s->which].on(s, old, current);
}

static void on_error(void *ctx, const struct error *err)
{
	struct source *s = ctx;

	atomic_store(&s->failed, true);
	if (outage_logged(err) || !log_is_news(&s->complaint, err->msg, REPEAT_MS))
		return;
	if (s->which == WATCH_POD && err->kind == ERR_DENIED)
		log_warn("not allowed to read pods: TrainJobs get no events about them",
			 LOG_ERR(err));
	else
		log_warn("cannot watch", LOG_STR("kind", rows[s->which].kind),
			 LOG_ERR(err));
}

/*
 * The first watch that gets an answer after a failure ends the delays of the others: now and
 * then only, for connections that break again and again must not be opened without a delay.
 */
static void on_answer(void *ctx)
{
	struct source *s = ctx;
	struct watches *w = s->w;
	bool due;

	if (!atomic_exchange(&s->failed, false))
		return;
	pthread_mutex_lock(&w->lock);
	due = w->run && clock_ms() - w->woken_ms >= WAKE_MS;
	if (due)
		w->woken_ms = clock_ms();
	for (int i = 0; due && i < N_WATCHES; i++)
		if (atomic_load(&w->sources[i].failed))
			informer_retry_now(w->sources[i].informer);
	pthread_mutex_unlock(&w->lock);
}

static void set_run(struct watches *w, bool run)
{
	pthread_mutex_lock(&w->lock);
	w->run = run;
	pthread_mutex_unlock(&w->lock);
}

static int start(struct source *s, struct error *err)
{
	const struct watch_row *row = &rows[s->which];
	const struct informer_conf conf = {
		.kube = s->w->conf.kube,
		.api_version = row->api_version,
		.kind = row->kind,
		.select = row->select,
		.transform = row->transform,
		.on_event = on_event,
		.ctx = s,
		.optional = s->which != WATCH_TRAINJOB,
		.ask_ms = s->which == WATCH_JOBSET ? ASK_MS : 0,
		.on_served = s->which == WATCH_JOBSET ? on_served : NULL,
		.on_error = on_error,
		.on_answer = on_answer,
	};

	return informer_start(&s->informer, &conf, err);
}

/* True: a kind of Kubernetes' own gangs. */
static bool is_native(int which)
{
	return which == WATCH_WORKLOAD || which == WATCH_PODGROUP;
}

int watches_start(struct watches **ret, const struct watches_conf *conf,
		  struct error *err)
{
	struct watches *w = xcalloc(1, sizeof(*w));

	w->conf = *conf;
	pthread_mutex_init(&w->lock, NULL);
	for (int i = 0; i < N_WATCHES; i++) {
		w->sources[i].w = w;
		w->sources[i].which = (enum watch_kind)i;
		if ((i == WATCH_POD && !conf->pods) ||
		    (is_native(i) && !conf->scheduling))
			continue;
		if (start(&w->sources[i], err)) {
			watches_stop(w);
			return error_wrap(err, "watch %s", rows[i].kind);
		}
	}
	runtimes_subscribe(conf->runtime_docs, on_runtime, &w->conf);
	set_run(w, true);
	*ret = w;
	return 0;
}

int watches_wait(struct watches *w, struct error *err)
{
	static const enum watch_kind needed[] = { WATCH_TRAINJOB, WATCH_JOBSET };

	for (size_t i = 0; i < N_ELEMENTS(needed); i++)
		if (informer_wait(w->sources[needed[i]].informer, INT32_MAX, err))
			return -1;
	return 0;
}

void watches_stop(struct watches *w)
{
	if (!w)
		return;
	set_run(w, false);
	runtimes_subscribe(w->conf.runtime_docs, NULL, NULL);
	/* Stop the watch of TrainJobs last: the handlers of other kinds read it. */
	for (int i = N_WATCHES - 1; i >= 0; i--)
		if (w->sources[i].informer)
			informer_stop(w->sources[i].informer);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

const char *watches_lack_groups(struct watches *w, const char *api_version)
{
	static const enum watch_kind groups[] = { WATCH_COSCHEDULING, WATCH_VOLCANO,
						  WATCH_PODGROUP };

	for (size_t i = 0; i < N_ELEMENTS(groups); i++) {
		struct source *s = &w->sources[groups[i]];
		int64_t now = clock_ms();

		if (!s->informer || !str_eq(rows[s->which].api_version, api_version) ||
		    informer_served(s->informer))
			continue;
		if (now - atomic_load(&s->asked_ms) >= ASK_MS) {
			atomic_store(&s->asked_ms, now);
			informer_retry_now(s->informer);
		}
		return rows[s->which].api_version;
	}
	return NULL;
}

struct informer *watches_trainjobs(struct watches *w)
{
	return w->sources[WATCH_TRAINJOB].informer;
}

struct informer *watches_jobsets(struct watches *w)
{
	return w->sources[WATCH_JOBSET].informer;
}
