/* cache_start.c - get or create the objects, then watch them (client/cache_start.h). */
#include "client/cache_start.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/changes.h"
#include "client/deletion.h"
#include "kube/permission.h"
#include "trainer/api.h"
#include "trainer/podcause.h"

enum { AGAIN_MS = 100 };

struct starting {
	const struct cache_start *conf;
	struct arena arena;
	int64_t until; /* clock_ms() */
	const cJSON *trainjob;
};

static void report_step(struct starting *s, const cJSON *obj, const char *what)
{
	s->conf->say(s->conf->ctx,
		     arena_printf(&s->arena, "%s: %s", meta_title(&s->arena, obj), what));
}

/* ---- get or create ---- */

/*
 * Is the object being deleted, or owned by an earlier TrainJob of this name? The garbage
 * collector deletes the latter.
 */
static bool is_left_over(const struct starting *s, const cJSON *obj)
{
	const cJSON *owner = meta_controller(obj);

	return meta_is_deleted(obj) ||
	       (meta_is(owner, TRAINER_GROUP, TRAINJOB_KIND) &&
		str_eq(meta_owner_name(owner), meta_name(s->trainjob)));
}

/* 1: the object belongs to the TrainJob; 0: the object is gone, create it again. */
static int reuse_or_wait(struct starting *s, const cJSON *existing, struct error *err)
{
	const char *title = meta_title(&s->arena, existing);
	int rc;

	if (meta_is_controlled(existing, s->trainjob) && !meta_is_deleted(existing)) {
		report_step(s, existing, "unchanged");
		return 1;
	}
	if (!is_left_over(s, existing))
		return error_set(err, ERR_EXISTS,
				 "%s exists and is not controlled by TrainJob %s; delete "
				 "or rename one of them",
				 title, meta_name(s->trainjob));
	report_step(s, existing,
		    "waiting for the deletion of an earlier TrainJob's object");
	rc = deletion_wait(s->conf->kube, existing, s->until, err);
	if (rc < 0)
		return -1;
	return rc ? 0
		  : error_set(err, ERR_TIMEOUT,
			      "%s of an earlier TrainJob was not deleted in time", title);
}

static int explain(const cJSON *obj, struct error *err)
{
	if (err->kind == ERR_NOT_FOUND && str_eq(meta_kind(obj), LWS_KIND))
		return error_set(
			err, ERR_NOT_FOUND,
			"LeaderWorkerSet is not installed in the cluster; install "
			"it, or use the runtime torch-distributed-with-cache-jobs, "
			"which does not need it");
	return permission_explain(err);
}

/*
 * Create answered AlreadyExists, but get NotFound: the object was deleted in between, or
 * this user cannot see it. Wait before the next try.
 */
static int pause_between(struct starting *s, const cJSON *obj, struct error *err)
{
	if (clock_ms() >= s->until)
		return error_set(
			err, ERR_TIMEOUT,
			"%s: the API server says that it exists, and that it does not",
			meta_title(&s->arena, obj));
	return stop_wait(AGAIN_MS) ? error_set(err, ERR_STOPPED, "stopped") : 0;
}

static int get_or_create(struct starting *s, const cJSON *obj, struct error *err)
{
	const struct kube_write how = { .manager = "kftrainer-initializer",
					.exists_ok = true };
	const struct kube_ref ref = kube_ref_of(obj);

	for (;;) {
		cleanup_json cJSON *existing = NULL;
		int rc;

		if (!kube_create(s->conf->kube, obj, &how, NULL, err)) {
			report_step(s, obj, "created");
			return 0;
		}
		if (err->kind != ERR_EXISTS)
			return explain(obj, err);
		*err = (struct error){ 0 };
		if (kube_find(s->conf->kube, &ref, &existing, err))
			return explain(obj, err);
		if (!existing && !pause_between(s, obj, err))
			continue;
		if (!existing)
			return -1;
		rc = reuse_or_wait(s, existing, err);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
}

/* ---- wait ---- */

struct pod_cause_search {
	struct starting *s;
	const char *cause; /* the cause of the first pod that has one */
};

static int find_cause(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *pod = take_obj;
	struct pod_cause_search *search = ctx;
	struct arena *arena = &search->s->arena;
	struct pod_fact_list facts;

	pod_facts_of(pod, &facts);
	if (!search->cause && facts.n && !pod_is_ready(pod))
		search->cause =
			pod_fact_words(arena, arena_printf(arena, "%s: ", meta_name(pod)),
				       pod, &facts.list[0]);
	return 0;
}

/* Why a pod of the set is not ready; "": no pod has a cause, or no right to list pods. */
static const char *pod_cause(struct starting *s, const cJSON *lws)
{
	const struct kube_ref pods = { "v1", "Pod", s->conf->ns, NULL };
	const struct kube_select select = {
		.label_selector =
			arena_printf(&s->arena, LWS_NAME_LABEL "=%s", meta_name(lws)),
	};
	struct pod_cause_search search = { .s = s };
	const struct kube_sink sink = { .on_item = find_cause, .ctx = &search };

	if (kube_list(s->conf->kube, &pods, &select, &sink, NULL, IGNORED) ||
	    !search.cause)
		return "";
	return search.cause;
}

/* The deadline has passed, but the watch may lag: read the object once more. */
static int check_once_more(struct starting *s, const cJSON *wanted, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(wanted);
	cleanup_json cJSON *lws = NULL;
	char limit[DURATION_TEXT_SIZE];
	const char *progress, *pods;

	if (kube_get(s->conf->kube, &ref, &lws, err))
		return permission_explain(err);
	if (cache_lws_available(lws))
		return 0;
	progress = cache_lws_progress(&s->arena, lws);
	pods = pod_cause(s, lws);
	return error_set(err, ERR_TIMEOUT,
			 "%s is not available after %s (CACHE_TIMEOUT)%s%s%s%s",
			 meta_title(&s->arena, lws),
			 duration_text(s->conf->settings->deadline_ms, limit),
			 *progress ? ": " : "", progress, *pods ? "; " : "", pods);
}

static int is_gone(struct starting *s, const cJSON *lws, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "%s was deleted before it was available",
			 meta_title(&s->arena, lws));
}

static int wait_for(struct starting *s, const cJSON *wanted, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(wanted);
	cleanup_changes struct changes *c = NULL;

	if (changes_new(&c, s->conf->kube, NULL, NULL, err) ||
	    changes_watch(c, &ref, NULL, NULL, err))
		return -1;
	for (;;) {
		cleanup_change struct change change = { 0 };
		int64_t left = s->until - clock_ms();
		int rc = left <= 0 ? 0 : changes_next(c, left, &change, err);

		if (rc < 0)
			return -1;
		if (!rc)
			return check_once_more(s, wanted, err);
		if (change.kind == CHANGE_DELETED)
			return is_gone(s, wanted, err);
		if (change.kind == CHANGE_LOST)
			s->conf->say(s->conf->ctx, change.err.msg);
		if (change.obj && cache_lws_available(change.obj))
			return 0;
	}
}

/* ---- all objects ---- */

static int start(struct starting *s, const cJSON *objects, struct error *err)
{
	const cJSON *obj, *lws = NULL;

	json_each(obj, objects) {
		if (get_or_create(s, obj, err))
			return -1;
		if (str_eq(meta_kind(obj), LWS_KIND))
			lws = obj;
	}
	if (wait_for(s, lws, err))
		return -1;
	report_step(s, lws, "available");
	return 0;
}

int cache_start(const struct cache_start *conf, struct error *err)
{
	struct starting s = { .conf = conf,
			      .until = clock_ms() + conf->settings->deadline_ms };
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, conf->ns,
				      conf->settings->job };
	cleanup_json cJSON *trainjob = NULL;
	cleanup_json cJSON *objects = NULL;
	int rc;

	if (kube_get(conf->kube, &ref, &trainjob, err))
		return permission_explain(err);
	s.trainjob = trainjob;
	objects = cache_objects(conf->settings, trainjob);
	rc = start(&s, objects, err);
	arena_clear(&s.arena);
	return rc;
}
