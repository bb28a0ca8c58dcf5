/* reconcile.c - the order of a pass, and when to repeat it (manager/reconcile.h). */
#include "manager/reconcile.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/reconcile_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

#define REASON_NOT_SUPPORTED   "TrainingRuntimeNotSupported"
#define REASON_CREATION_FAILED "TrainJobResourcesCreationFailed"
#define CREATION_FAILED_BYTES  950

enum {
	BACKOFF_MS = 200,          /* the first retry after a stale read or a conflict */
	BACKOFF_MAX_DOUBLINGS = 6, /* 200 ms to 12.8 s */
	WATCH_LAG_MS = 1000,       /* after which an absent JobSet is read, not awaited */
	NAMESPACE_TERMINATING_RETRY_MS = 60000,
	MISSING_KIND_MS = 1000, /* between two checks while PodGroup is not installed */
	LATE_MS = 5000,         /* between two attempts to end a job in time */
	UNSEEN_MS = 20000,      /* a JobSet that went before its watch lists anew */
};

struct reconciler *reconciler_new(const struct reconciler_conf *conf)
{
	struct reconciler *r = xcalloc(1, sizeof(*r));

	r->conf = *conf;
	r->conf.status_server_url = arena_strdup(&r->arena, conf->status_server_url);
	r->conf.status_server_ca = arena_strdup(&r->arena, conf->status_server_ca);
	r->conf.image = arena_strdup(&r->arena, conf->image);
	r->conf.cluster_domain = arena_strdup(&r->arena, conf->cluster_domain);
	snapshots_init(&r->snapshots);
	pthread_mutex_init(&r->counts.lock, NULL);
	return r;
}

void reconciler_free(struct reconciler *r)
{
	if (!r)
		return;
	snapshots_release(&r->snapshots);
	pthread_mutex_destroy(&r->counts.lock);
	arena_clear(&r->arena);
	free(r);
}

/* ---- one pass ---- */

void pass_requeue_after(struct pass *p, int64_t ms)
{
	if (!p->requeue_ms || ms < p->requeue_ms)
		p->requeue_ms = ms;
}

void pass_event(struct pass *p, bool warning, const char *reason, const char *message)
{
	const struct event e = {
		.warning = warning,
		.reason = reason,
		.action = "Reconciling",
		.message = message,
		.series = str_eq(reason, REASON_CREATION_FAILED) ? reason : NULL,
	};

	if (p->r->conf.events)
		event_record(p->r->conf.events, p->tj, &e);
}

static void pass_release(struct pass *p)
{
	cJSON_Delete(p->tj);
	cJSON_Delete(p->status.before);
	cJSON_Delete(p->jobset.own);
	cJSON_Delete(p->objects.cache);
	cJSON_Delete(p->objects.lost_snapshot);
	free(p->status.first_failure);
	arena_clear(&p->arena);
}
#define cleanup_pass __attribute__((cleanup(pass_release)))

static void forget_trainjob(struct pass *p)
{
	struct job_memory *n = job_memory_of(p->r->conf.memories, p->key);

	reconciler_uncount_state(p->r, n);
	job_memory_drop(p->r->conf.memories, p->key);
	if (p->r->conf.pods)
		pod_facts_forget(p->r->conf.pods, p->ns, p->name);
}

/* A watch that has not delivered our own write for 25 s hangs: the object is read. */
static bool is_stale_for_long(const struct pass *p)
{
	return p->memory->stale_passes == BACKOFF_MAX_DOUBLINGS;
}

/*
 * Runs the next pass after 200 ms, doubled for each stale pass in a row up to 12.8 s, or
 * soon if that one reads the TrainJob.
 */
static void requeue_backoff(struct pass *p)
{
	int shift = BACKOFF_MAX_DOUBLINGS;

	if (p->memory->written.status_unsure)
		shift = 0;
	else if (!is_stale_for_long(p))
		shift = p->memory->stale_passes++;
	pass_requeue_after(p, (int64_t)BACKOFF_MS << shift);
}

/* Takes ownership of the JobSet with the TrainJob's name, or records another owner. */
static void adopt_jobset(struct pass *p, cJSON *take)
{
	struct error not_ours = { 0 };

	if (take && pass_check_owner(take, p->tj, &not_ours)) {
		p->jobset.of_predecessor = not_ours.kind == ERR_CONFLICT;
		p->jobset.name_taken = !p->jobset.of_predecessor;
		cJSON_Delete(take);
		take = NULL;
	}
	p->jobset.own = take;
}

static int read_jobset(struct pass *p, cJSON **ret, struct error *err)
{
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, p->ns, p->name };

	if (kube_find(p->r->conf.kube, &ref, ret, err))
		return -1;
	if (*ret)
		jobset_digest(*ret);
	return 0;
}

/* The watch's; if that is gone, the one that had ended before. */
static cJSON *watched_jobset(struct pass *p)
{
	cJSON *ret = informer_get(p->r->conf.jobsets, p->ns, p->name);

	if (ret || status_finished(tj_status(p->tj)))
		return ret;
	ret = job_memory_ended(p->r->conf.memories, p->memory, p->tj);
	p->jobset.gone = ret;
	return ret;
}

/* The watch has an older JobSet than we wrote: it is awaited, then read. */
static int reread_jobset(struct pass *p, cJSON **jobset, bool *ret_early,
			 struct error *err)
{
	cJSON_Delete(*jobset);
	*jobset = NULL;
	*ret_early = !is_stale_for_long(p);
	if (*ret_early)
		return 0;
	if (read_jobset(p, jobset, err))
		return -1;
	p->memory->written.jobset_version = *jobset ? meta_version_number(*jobset) : 0;
	return 0;
}

/*
 * The JobSet that we wrote was deleted, or the watch has not delivered it yet. Once it is
 * gone, the watch is awaited: it may have ended before.
 */
static int read_absent(struct pass *p, cJSON **ret, bool *ret_early, struct error *err)
{
	struct job_memory *n = p->memory;

	*ret_early = clock_ms() - n->written.jobset_ms < WATCH_LAG_MS;
	if (*ret_early)
		return 0;
	if (read_jobset(p, ret, err))
		return -1;
	if (*ret)
		pass_requeue_after(p, UNSEEN_MS);
	*ret_early = !*ret && !n->jobset_gone && !is_stale_for_long(p);
	if (!*ret && !*ret_early)
		n->written.jobset_version = 0;
	return 0;
}

/* *ret_early: the watch lags behind our own write: the pass must be repeated later. */
static int find_jobset(struct pass *p, bool *ret_early, struct error *err)
{
	struct informer *known = p->r->conf.jobsets;
	const struct job_writes *written = &p->memory->written;
	cJSON *jobset = NULL;

	*ret_early = false;
	if (known)
		jobset = watched_jobset(p);
	else if (read_jobset(p, &jobset, err))
		return -1;
	if (jobset && !p->jobset.gone &&
	    meta_version_number(jobset) < written->jobset_version &&
	    reread_jobset(p, &jobset, ret_early, err))
		return -1;
	if (!jobset && !*ret_early && known && written->jobset_version &&
	    !status_finished(tj_status(p->tj)) && read_absent(p, &jobset, ret_early, err))
		return -1;
	adopt_jobset(p, jobset);
	return 0;
}

static void report_creation_failed(struct pass *p, const struct error *err)
{
	pass_event(p, true, REASON_CREATION_FAILED,
		   arena_printf(&p->arena,
				"TrainJob resources reconciliation failed: %.*s%s",
				CREATION_FAILED_BYTES, err->msg,
				strlen(err->msg) > CREATION_FAILED_BYTES ? " ..." : ""));
}

/* True: PodGroup is not installed; the pass is repeated each second, without calls. */
static bool is_kind_missing(struct pass *p)
{
	if (p->memory->missing_group)
		p->memory->missing_group =
			watches_lack_groups(p->r->conf.watches, p->memory->missing_group);
	if (p->memory->missing_group)
		pass_requeue_after(p, MISSING_KIND_MS);
	return p->memory->missing_group;
}

/* 0 with *ret_built false: a later pass writes the objects. -1: retry with back-off. */
static int make_objects(struct pass *p, bool *ret_built, struct error *err)
{
	struct error why = { 0 };

	*ret_built = false;
	if (p->r->conf.jobsets && !informer_served(p->r->conf.jobsets)) {
		error_set(&why, ERR_UNSUPPORTED, "%s", JOBSET_MISSING);
		report_creation_failed(p, &why);
		return 0;
	}
	if (is_kind_missing(p))
		return 0;
	if (objects_reconcile(p, &why) == 0) {
		p->memory->stale_passes = 0;
		if (p->jobset.made)
			pass_requeue_after(p, UNSEEN_MS);
		*ret_built = true;
		return 0;
	}
	if (p->memory->missing_group) {
		pass_requeue_after(p, MISSING_KIND_MS);
		report_creation_failed(p, &why);
		return 0;
	}
	if (why.kind == ERR_CONFLICT) {
		requeue_backoff(p);
		if (p->memory->stale_passes ==
		    BACKOFF_MAX_DOUBLINGS) /* the conflict lasts: report it */
			report_creation_failed(p, &why);
		return 0;
	}
	if (pass_namespace_dying(&why)) {
		pass_requeue_after(p, NAMESPACE_TERMINATING_RETRY_MS);
		return 0;
	}
	if (why.kind != ERR_STOPPED)
		report_creation_failed(p, &why);
	*err = why;
	return -1;
}

/* The end of the run is in the status. */
static void forget_run(struct pass *p)
{
	job_memory_forget_end(p->r->conf.memories, p->memory);
	if (p->r->conf.pods)
		pod_facts_forget(p->r->conf.pods, p->ns, p->name);
}

static int make_and_report(struct pass *p, struct error *err)
{
	cJSON *status = json_obj(p->tj, "status");
	struct error failed = { 0 }, why = { 0 };
	bool built = true;

	/* A job whose JobSet is lost is not begun again after its deadline. */
	if (p->status.before && !p->jobset.own && end_check_deadline(p, status, err))
		return -1;
	if (status_finished(status)) {
		p->memory->stale_passes = 0; /* nothing is built any more */
	} else if (tj_check_runtime_ref(p->tj, &why)) {
		status_fail(status, REASON_NOT_SUPPORTED, why.msg, p->status.now);
	} else if (!p->jobset.gone && make_objects(p, &built, &failed)) {
		*err = failed;
	}
	why = (struct error){ 0 };
	if (status_reconcile(p, built, &why)) {
		if (why.kind == ERR_CONFLICT) {
			pass_requeue_after(p, BACKOFF_MS);
		} else if (failed.kind) {
			error_set(err, failed.kind, "%s; %s", failed.msg, why.msg);
		} else {
			*err = failed = why;
		}
	}
	if (!why.kind && status_finished(tj_status(p->tj)))
		forget_run(p);
	return failed.kind ? -1 : 0;
}

/* False: not ours to reconcile, or the watch lags behind our own write. */
static bool pass_begin(struct pass *p)
{
	bool elsewhere = !tj_is_ours(p->tj) && !status_finished(tj_status(p->tj));

	if (meta_is_deleted(p->tj) || elsewhere ||
	    meta_annotation(p->tj, LOCAL_RUN_ANNOTATION)) {
		forget_trainjob(p);
		return false;
	}
	p->memory = job_memory_of(p->r->conf.memories, p->key);
	if (!str_eq(p->memory->uid, meta_uid(p->tj))) {
		if (p->memory->uid && p->r->conf.pods) /* the pods of a deleted one */
			pod_facts_forget(p->r->conf.pods, p->ns, p->name);
		reconciler_uncount_state(p->r, p->memory);
		job_memory_reset(p->r->conf.memories, p->memory, meta_uid(p->tj));
	}
	if (p->memory->written.status_unsure) /* the TrainJob is live */
		p->memory->written.trainjob_version = meta_version_number(p->tj);
	p->memory->written.status_unsure = false;
	if (meta_version_number(p->tj) < p->memory->written.trainjob_version) {
		p->memory->written.status_unsure = is_stale_for_long(p);
		requeue_backoff(p);
		return false;
	}
	p->objects.foreign_changes = p->memory->foreign_changes;
	p->status.before = json_dup(tj_status(p->tj));
	p->objects.cache = cJSON_CreateArray();
	time_text(clock_now(), p->status.now);
	return true;
}

static int work(struct pass *p, struct error *err)
{
	bool early;

	if (!pass_begin(p))
		return 0;
	if (!tj_is_ours(p->tj))
		return end_expire_managed(p, err);
	if (find_jobset(p, &early, err))
		return -1;
	if (early) {
		requeue_backoff(p);
		return 0;
	}
	if (!make_and_report(p, err))
		return 0;
	/* Passes that failed before, which back-off counts, do not make its end later. */
	if (status_is_exceeded(tj_status(p->tj)))
		pass_requeue_after(p, LATE_MS);
	return -1;
}

static int read_trainjob(struct pass *p, struct error *err)
{
	const struct reconciler_conf *conf = &p->r->conf;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, p->ns,
				      p->name };

	if (!conf->trainjobs ||
	    job_memory_of(conf->memories, p->key)->written.status_unsure)
		return kube_find(conf->kube, &ref, &p->tj, err);
	p->tj = informer_get(conf->trainjobs, p->ns, p->name);
	return 0;
}

int reconcile_trainjob(struct reconciler *r, const char *key, int64_t *ret_after_ms,
		       struct error *err)
{
	cleanup_pass struct pass p = { .r = r, .key = key };
	const char *slash = strchr(key, '/');
	int rc;

	*ret_after_ms = 0;
	if (!slash)
		return 0;
	p.ns = str_slice(&p.arena, key, (size_t)(slash - key));
	p.name = slash + 1;
	if (read_trainjob(&p, err))
		return -1;
	if (!p.tj) {
		forget_trainjob(&p);
		return 0;
	}
	rc = work(&p, err);
	*ret_after_ms = p.requeue_ms;
	return rc ? error_wrap(err, "TrainJob %s", key) : 0;
}

/* ---- the runtimes' old finalizer ---- */

int reconcile_runtime(struct reconciler *r, const cJSON *runtime, struct error *err)
{
	struct kube_ref ref = kube_ref_of(runtime);
	cleanup_json cJSON *patch = runtime_finalizer_patch(runtime);

	if (!runtime_has_old_finalizer(runtime) ||
	    !kube_merge_patch(r->conf.kube, &ref, patch, &kube_plain, NULL, err))
		return 0;
	return error_clear_if(err, ERR_NOT_FOUND);
}
