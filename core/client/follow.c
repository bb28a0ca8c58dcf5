/* follow.c - watch a TrainJob, its JobSet and pods until it ends (client/follow.h). */
#include "client/follow.h"

#include <pthread.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "client/alone.h"
#include "client/changes.h"
#include "client/jobs.h"
#include "client/logs.h"
#include "kube/named.h"
#include "kube/permission.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"
#include "why/phase.h"

enum {
	GATHER_MS = 50,       /* changes less than this apart are handled together */
	MOST_GATHER_MS = 500, /* in total */
	SAME_TROUBLE_MS = 60 * 1000, /* one cause is reported at most this often */
	LAST_LINES_MS = 10 * 1000,   /* after the job's end, for the rest of its output */
};

struct follow {
	struct kube *kube;
	const struct follow_opts *opts;
	const struct follow_out *out;
	struct view view;               /* the objects that the watches have delivered */
	char line[1000], trouble[1000]; /* the last ones reported */
	enum pod_cause cause;
	int64_t trouble_ms;
	int64_t until; /* clock_ms(); 0: no limit */
	bool ran;
	pthread_mutex_t lock; /* guards `out` and the members below */
	pthread_cond_t ended;
	pthread_t reader;
	bool reading, cancel, read_all;
	struct alone_watch watch;
};

/* ---- reports ----------------------------------------------------------------------- */

static void note(struct follow *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void note(struct follow *f, const char *fmt, ...)
{
	char line[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&f->lock);
	f->out->on_note(f->out->ctx, line);
	pthread_mutex_unlock(&f->lock);
}

/* Does the text differ from the last one? Then store it. */
static bool is_new(char *last, size_t size, const char *text)
{
	if (!strncmp(last, text, size - 1))
		return false;
	snprintf(last, size, "%s", text);
	return true;
}

/* A cause has many messages (retries, counts): report one of them in SAME_TROUBLE_MS. */
static void report_trouble(struct follow *f, const struct phase *phase)
{
	int64_t now = clock_ms();

	if (f->trouble[0] && phase->cause == f->cause &&
	    now - f->trouble_ms < SAME_TROUBLE_MS)
		return;
	f->cause = phase->cause;
	f->trouble_ms = now;
	if (is_new(f->trouble, sizeof(f->trouble), phase->trouble))
		note(f, "%s", phase->trouble);
}

static enum phase_kind report_phase(struct follow *f)
{
	cleanup_arena struct arena arena = { 0 };
	struct phase phase;

	f->view.now = clock_now();
	phase = phase_of(&arena, &f->view, f->ran);
	f->ran = phase.kind == PHASE_RUNNING;
	if (phase.kind >= PHASE_COMPLETE)
		return phase.kind;
	if (is_new(f->line, sizeof(f->line), phase.line)) {
		pthread_mutex_lock(&f->lock);
		f->out->on_progress(f->out->ctx, phase.line);
		pthread_mutex_unlock(&f->lock);
	}
	if (phase.trouble)
		report_trouble(f, &phase);
	return phase.kind;
}

/* ---- output ------------------------------------------------------------------------ */

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct follow *f = ctx;

	pthread_mutex_lock(&f->lock);
	f->out->on_line(f->out->ctx, prefix, line, len);
	pthread_mutex_unlock(&f->lock);
}

static void on_alone(void *ctx, const char *text)
{
	struct follow *f = ctx;

	alone_set(&f->watch.alone, text);
	note(f, "warning: %s", text);
}

static void on_state(void *ctx, const char *prefix, const char *line, size_t len,
		     bool bar)
{
	struct follow *f = ctx;

	pthread_mutex_lock(&f->lock);
	f->out->on_state(f->out->ctx, prefix, line, len, bar);
	pthread_mutex_unlock(&f->lock);
}

/* Ignored: on_progress() already reports what the job waits for. */
static void on_note(void *ctx, const char *text)
{
}

static int on_pause(void *ctx, struct error *err)
{
	struct follow *f = ctx;

	pthread_mutex_lock(&f->lock);
	f->out->on_pause(f->out->ctx);
	pthread_mutex_unlock(&f->lock);
	return 0;
}

static void *read_logs(void *ctx)
{
	struct follow *f = ctx;
	const struct logs_want want = { .ns = f->opts->ns,
					.job = f->opts->name,
					.rank = -1,
					.tail = -1,
					.follow = true,
					.cancel = &f->cancel };
	const struct logs_out out = { .on_line = on_line,
				      .on_state = on_state,
				      .on_note = on_note,
				      .on_alone = on_alone,
				      .on_pause = on_pause,
				      .ctx = f };
	struct error err = { 0 };

	if (logs_run(f->kube, &want, &out, &err) && err.kind == ERR_DENIED)
		note(f, "cannot show its output: %s", err.msg);
	pthread_mutex_lock(&f->lock);
	f->read_all = true;
	pthread_cond_broadcast(&f->ended);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static int begin_reading(struct follow *f, struct error *err)
{
	if (!f->opts->logs || thread_start(&f->reader, read_logs, f, err))
		return f->opts->logs ? -1 : 0;
	f->reading = true;
	return 0;
}

static void end_reading(struct follow *f, int64_t ms)
{
	int64_t until = clock_ms() + ms;

	if (!f->reading)
		return;
	pthread_mutex_lock(&f->lock);
	while (!f->read_all && clock_ms() < until)
		cond_wait_until(&f->ended, &f->lock, until);
	__atomic_store_n(&f->cancel, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->reader, NULL);
	f->reading = false;
}

/* ---- watches ----------------------------------------------------------------------- */

static bool slim_pod(cJSON *pod)
{
	pod_slim(pod);
	return true;
}

static int count(void *ctx, cJSON *take_obj, struct error *err)
{
	cJSON_Delete(take_obj);
	return 0;
}

/* May this user read the kind, and is it served? If not, report that it is skipped. */
static bool may_watch(struct follow *f, const struct kube_ref *ref, const char *labels)
{
	const struct kube_select select = { .label_selector = labels, .meta_only = true };
	const struct kube_sink sink = { .on_item = count };
	struct kube_ref all = *ref;
	struct error why = { 0 };

	all.name = NULL;
	if (!kube_list(f->kube, &all, &select, &sink, NULL, &why) ||
	    (why.kind != ERR_DENIED && why.kind != ERR_NOT_FOUND))
		return true;
	permission_explain(&why);
	note(f, "cannot watch %ss: %s", ref->kind, why.msg);
	return false;
}

static int watch_all(struct follow *f, struct changes *c, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = f->opts->ns, *name = f->opts->name;
	const char *labels = arena_printf(&arena, POD_JOBSET_LABEL "=%s", name);
	const struct kube_ref tj = job_ref(ns, name);
	const struct kube_ref jobset = { JOBSET_API_VERSION, JOBSET_KIND, ns, name };
	const struct kube_ref pods = { .api_version = "v1", .kind = "Pod", .ns = ns };

	if (changes_watch(c, &tj, NULL, NULL, err))
		return -1;
	if (may_watch(f, &jobset, NULL) && changes_watch(c, &jobset, NULL, NULL, err))
		return -1;
	return may_watch(f, &pods, labels)
		       ? changes_watch(c, &pods, labels, slim_pod, err)
		       : 0;
}

/* ---- changes ----------------------------------------------------------------------- */

static void drop_pod(struct view *v, const char *name)
{
	cJSON *pod;

	json_each(pod, v->pods) {
		if (!str_eq(meta_name(pod), name))
			continue;
		cJSON_Delete(cJSON_DetachItemViaPointer(v->pods, pod));
		return;
	}
}

/* The TrainJob was deleted. True: it had ended before, as with a short TTL. */
static bool take_last(struct follow *f, struct change *change)
{
	if (status_finished(tj_status(change->obj))) {
		view_add(&f->view, change->obj);
		change->obj = NULL;
	}
	return status_finished(tj_status(f->view.trainjob));
}

/* false: the TrainJob was deleted before its end. */
static bool apply(struct follow *f, struct change *change)
{
	bool deleted = change->kind == CHANGE_DELETED;

	if (str_eq(meta_kind(change->obj), TRAINJOB_KIND) && deleted)
		return take_last(f, change);
	if (str_eq(meta_kind(change->obj), "Pod"))
		drop_pod(&f->view, meta_name(change->obj));
	if (!deleted) {
		view_add(&f->view, change->obj);
		change->obj = NULL;
	} else if (str_eq(meta_kind(change->obj), JOBSET_KIND)) {
		cJSON_Delete(f->view.jobset);
		f->view.jobset = NULL;
	}
	return true;
}

static int on_change(struct follow *f, struct change *change, struct error *err)
{
	bool gone = false;

	switch (change->kind) {
	case CHANGE_ADDED:
	case CHANGE_MODIFIED:
	case CHANGE_DELETED:
		gone = !apply(f, change);
		break;
	case CHANGE_SYNCED:
		gone = !f->view.trainjob;
		break;
	case CHANGE_LOST:
		note(f, "the API server does not answer, retrying: %s", change->err.msg);
		break;
	case CHANGE_FOUND:
		note(f, "the API server answers again");
		break;
	}
	if (!gone)
		return 0;
	return error_set(err, ERR_NOT_FOUND, "TrainJob %s has been deleted",
			 f->opts->name);
}

/* Milliseconds to wait for the next change; 0: the time is up; -1: no limit. */
static int64_t time_left(const struct follow *f)
{
	int64_t left = f->until ? f->until - clock_ms() : -1;

	return f->until && left < 0 ? 0 : left;
}

/* Apply the next changes. 1: at least one; 0: none came in time. */
static int apply_next(struct follow *f, struct changes *c, struct error *err)
{
	int64_t ms = time_left(f), end = 0;
	int rc, n = 0;

	do {
		cleanup_change struct change change = { 0 };

		rc = changes_next(c, ms, &change, err);
		if (rc < 0 || (rc && on_change(f, &change, err)))
			return -1;
		n += rc;
		ms = GATHER_MS;
		if (!end)
			end = clock_ms() + MOST_GATHER_MS;
	} while (rc && clock_ms() < end);
	return n ? 1 : 0;
}

/* 0: the job has ended. */
static int watch(struct follow *f, struct changes *c, struct error *err)
{
	for (;;) {
		int rc = apply_next(f, c, err);

		if (rc < 0)
			return -1;
		view_drop_others(&f->view);
		if (rc && f->view.trainjob && report_phase(f) >= PHASE_COMPLETE)
			return 0;
		if (!time_left(f))
			return error_set(err, ERR_TIMEOUT,
					 "TrainJob %s did not finish in time",
					 f->opts->name);
	}
}

/* A job that ends complete, but whose processes trained alone: repeat it at the end. */
static void warn_of_alone(struct follow *f)
{
	(void)alone_watch_job(&f->watch, f->kube, f->view.trainjob);
	if (f->watch.alone.text[0])
		note(f, "warning: it completed, but %s", f->watch.alone.text);
}

/* ---- the end ----------------------------------------------------------------------- */

static void explain(struct follow *f, struct follow_end *ret)
{
	cleanup_arena struct arena arena = { 0 };
	struct phase phase = phase_of(&arena, &f->view, f->ran);
	struct failure first;

	*ret = (struct follow_end){ .complete = phase.kind == PHASE_COMPLETE };
	if (ret->complete)
		return;
	ret->exit_code = view_exit_code(&f->view);
	snprintf(ret->why, sizeof(ret->why), "%s", phase.line + strlen("failed: "));
	if (view_failures(&f->view, &first, 1))
		snprintf(ret->why, sizeof(ret->why), "%s",
			 pod_fact_words(&arena, "", first.pod, &first.fact));
}

int follow_job(struct kube *k, const struct follow_opts *opts,
	       const struct follow_out *out, struct follow_end *ret, struct error *err)
{
	cleanup_changes struct changes *c = NULL;
	struct follow f = { .kube = k, .opts = opts, .out = out };
	int rc;

	pthread_mutex_init(&f.lock, NULL);
	cond_init(&f.ended);
	view_init(&f.view, opts->ns, opts->name);
	f.view.named = kube_named(k);
	f.until = opts->timeout_ms ? clock_ms() + opts->timeout_ms : 0;
	rc = changes_new(&c, k, NULL, NULL, err);
	if (!rc)
		rc = watch_all(&f, c, err) || begin_reading(&f, err) ? -1
								     : watch(&f, c, err);
	end_reading(&f, rc ? 0 : LAST_LINES_MS);
	if (!rc)
		explain(&f, ret);
	if (!rc && ret->complete)
		warn_of_alone(&f);
	view_release(&f.view);
	pthread_mutex_destroy(&f.lock);
	pthread_cond_destroy(&f.ended);
	return rc;
}
