/*
 * logs.c - find a job's containers, decide which to read when, and when all is read
 * (client/logs_impl.h).
 */
#include "client/logs.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/jobs.h"
#include "client/logs_impl.h"
#include "client/queue.h"
#include "kube/named.h"
#include "kube/permission.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podcause.h"
#include "trainer/progress_line.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

enum {
	ROUND_MS = 1000,
	FIRST_NOTE_MS = 700, /* a reason is reported once it has lasted this long */
	NOTE_MS = 5000,      /* at most one reason in this time */
	SHOWN = 3,           /* containers that a message names */
	AGAIN_MS = 250,      /* between tries of the last list */
	GIVE_UP_MS = 15000,
};

void logs_note(const struct logs *l, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	l->out->on_note(l->out->ctx, text);
}

/* ---- containers -------------------------------------------------------------------- */

static void on_line(void *ctx, const char *line, size_t len)
{
	const struct log_source *s = ctx;
	struct logs *l = s->logs;
	const char *prefix = l->several ? s->origin.prefix : NULL;

	if (l->want->follow && prefix && alone_line(&l->watch.alone, prefix, line, len))
		l->out->on_alone(l->out->ctx, l->watch.alone.text);
	if (l->out->written_ms)
		*l->out->written_ms = s->lines.at.sec * 1000 + s->lines.at.nsec / 1000000;
	l->out->on_line(l->out->ctx, prefix, line, len);
}

static void on_state(void *ctx, const char *line, size_t len, bool bar)
{
	const struct log_source *s = ctx;

	s->logs->out->on_state(s->logs->out->ctx,
			       s->logs->several ? s->origin.prefix : NULL, line, len,
			       bar);
}

static void on_bytes(void *ctx, const char *data, size_t len)
{
	const struct log_source *s = ctx;

	s->logs->out->on_bytes(s->logs->out->ctx, data, len);
}

static int compare(const struct log_source *a, const struct log_source *b)
{
	const int64_t order[][2] = {
		{ (int64_t)a->origin.number, (int64_t)b->origin.number },
		{ a->origin.replica, b->origin.replica },
		{ a->origin.rank, b->origin.rank },
	};
	int names;

	for (size_t i = 0; i < N_ELEMENTS(order); i++)
		if (order[i][0] != order[i][1])
			return order[i][0] < order[i][1] ? -1 : 1;
	names = strcmp(a->created, b->created);
	if (!names)
		names = strcmp(a->pod, b->pod);
	return names ? names : a->number - b->number;
}

static void insert(struct logs *l, struct log_source *s)
{
	struct log_source **at = &l->sources;

	while (*at && compare(*at, s) < 0)
		at = &(*at)->next;
	s->next = *at;
	*at = s;
	l->n_sources++;
}

static struct log_source *log_source_new(struct logs *l, const cJSON *pod,
					 const char *container, int number)
{
	struct log_source *s = xcalloc(1, sizeof(*s));
	const char *created = meta_created(pod);

	s->logs = l;
	s->pod = xstrdup(meta_name(pod));
	s->uid = xstrdup(meta_uid(pod));
	s->container = xstrdup(container);
	s->number = number;
	s->origin = log_origin_of(&s->arena, l->jobset, pod, container);
	/* copies: the strings may be the pod's */
	s->origin.step = arena_strdup(&s->arena, s->origin.step);
	s->origin.prefix = arena_strdup(&s->arena, s->origin.prefix);
	s->created = arena_strdup(&s->arena, created ? created : "");
	s->from_start = l->watching && l->want->follow;
	s->lines = (struct log_lines){
		.on_line = on_line,
		.on_state = l->want->follow && l->out->on_state ? on_state : NULL,
		.on_bytes =
			l->want->raw && !l->several && l->out->on_bytes ? on_bytes : NULL,
		.ctx = s,
		.max = LOGS_MAX_LINE,
		.raw = l->want->raw,
		.timestamps = l->want->timestamps,
		.partial = !s->from_start && (l->want->tail >= 0 || l->want->since > 0),
	};
	return s;
}

static struct log_source *find(const struct logs *l, const char *uid,
			       const char *container)
{
	for (struct log_source *s = l->sources; s; s = s->next)
		if (str_eq(s->uid, uid) && str_eq(s->container, container))
			return s;
	return NULL;
}

static void add_container(struct logs *l, const cJSON *pod, const char *name, int number)
{
	struct log_source *s = find(l, meta_uid(pod), name);

	if (!s) {
		s = log_source_new(l, pod, name, number);
		if (!log_origin_wanted(l->want, &s->origin)) {
			log_source_free(s);
			return;
		}
		insert(l, s);
	}
	s->run = log_run_of(pod, name);
	s->final = log_pod_ended(pod);
	log_source_update_reason(s, pod);
	if (s->run.ended || s->run.number > s->requested_run)
		s->due_ms = s->failures ? s->due_ms : 0;
}

static bool passes(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT || err->kind == ERR_BUSY;
}

/*
 * Read the JobSet once: its steps and their pods decide whether lines have a prefix.
 * false: the API server does not answer at the moment.
 */
static bool read_jobset(struct logs *l)
{
	const struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, l->want->ns,
				      l->want->job };
	struct error err = { 0 };

	if (l->jobset)
		return true;
	l->why_missed = (struct error){ 0 };
	if (!kube_get(l->kube, &ref, &l->jobset, &err))
		l->several = log_count(l->want, l->jobset) != 1;
	else if (!l->want->follow || !passes(&err))
		l->several = true; /* denied, or deleted */
	else
		l->why_missed = err;
	return !l->why_missed.kind;
}

/* Pods of another attempt of the JobSet: what follows is the log of a new beginning. */
static void note_attempt(struct logs *l, const cJSON *pod)
{
	int64_t attempt = pod_attempt(pod);

	if (attempt <= l->attempt)
		return;
	l->attempt = attempt;
	logs_note(l, "execution attempt %lld: the pods were started again",
		  (long long)attempt);
}

static void add_pod(struct logs *l, const cJSON *pod)
{
	int number = 0;

	if (!meta_name(pod) || !meta_uid(pod) || foreign_is_former(pod, l->job) ||
	    !pod_is_of_jobset(pod, l->want->job))
		return;
	if (!read_jobset(l)) {
		l->stale = l->missed = l->dirty = true;
		return;
	}
	note_attempt(l, pod);
	for (int init = 1; init >= 0; init--) {
		const cJSON *c;

		json_each(c, log_containers(pod, init)) {
			const char *name = json_str(c, "name");

			number++;
			if (name && log_container_wanted(l->want, name, init))
				add_container(l, pod, name, number);
		}
	}
	l->dirty = true;
}

static void mark_pod_gone(struct logs *l, const cJSON *pod)
{
	for (struct log_source *s = l->sources; s; s = s->next)
		if (str_eq(s->uid, meta_uid(pod)))
			s->pod_gone = s->final = true;
	l->dirty = true;
}

static int on_pod(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *pod = take_obj;

	log_pod_slim(pod);
	add_pod(ctx, pod);
	return 0;
}

static const char *pods_of(struct arena *arena, const struct logs *l)
{
	return arena_printf(arena, POD_JOBSET_LABEL "=%s", l->want->job);
}

static int list_pods(struct logs *l, struct error *err)
{
	const struct kube_ref ref = { "v1", "Pod", l->want->ns, NULL };
	cleanup_arena struct arena arena = { 0 };
	const struct kube_select select = { .label_selector = pods_of(&arena, l) };
	const struct kube_sink sink = { .on_item = on_pod, .ctx = l };

	if (kube_list(l->kube, &ref, &select, &sink, NULL, err))
		return permission_explain(err);
	return 0;
}

/* Read only the newest of the pods that had the same rank, unless want->all. */
static void mark_replaced(struct logs *l)
{
	if (l->want->all)
		return;
	for (struct log_source *s = l->sources; s && s->next; s = s->next) {
		const struct log_source *newer = s->next;

		while (newer && str_eq(newer->uid, s->uid))
			newer = newer->next;
		s->replaced = newer && s->origin.rank >= 0 &&
			      newer->origin.number == s->origin.number &&
			      newer->origin.replica == s->origin.replica &&
			      newer->origin.rank == s->origin.rank;
	}
}

/* ---- the job ------------------------------------------------------------------------- */

static bool is_over(const struct logs *l)
{
	return l->job_gone || status_finished(tj_status(l->job));
}

/* Not each report: some trainers report after every step. */
static void report_progress(struct logs *l)
{
	cleanup_arena struct arena arena = { 0 };
	const char *line;

	if (!l->want->follow || is_over(l))
		return;
	line = progress_line(&arena, l->job);
	if (str_starts(line, "running: ") && progress_is_due(&l->pace, line, clock_ms()))
		logs_note(l, "%s", line);
}

static void set_job(struct logs *l, cJSON *take_job)
{
	cJSON_Delete(l->job);
	l->job = take_job;
	report_progress(l);
	if (l->want->follow && alone_watch_job(&l->watch, l->kube, l->job))
		l->out->on_alone(l->out->ctx, l->watch.alone.text);
	if (!l->over_ms && is_over(l))
		l->over_ms = clock_ms();
	l->dirty = true;
}

static void apply_change(struct logs *l, struct change *change)
{
	bool job = change->obj && str_eq(meta_kind(change->obj), TRAINJOB_KIND);

	switch (change->kind) {
	case CHANGE_ADDED:
	case CHANGE_MODIFIED:
		if (job)
			set_job(l, STEAL(change->obj));
		else
			add_pod(l, change->obj);
		break;
	case CHANGE_DELETED:
		if (job && str_eq(meta_uid(change->obj), meta_uid(l->job))) {
			logs_note(l, "TrainJob %s has been deleted", l->want->job);
			l->job_gone = true;
			set_job(l, STEAL(change->obj));
		} else if (!job) {
			mark_pod_gone(l, change->obj);
		}
		break;
	case CHANGE_LOST:
		if (!l->lost)
			logs_note(l, "%s; trying again", change->err.msg);
		l->lost = true;
		break;
	case CHANGE_FOUND:
		if (l->lost)
			logs_note(l, "connected again");
		l->lost = false;
		break;
	case CHANGE_SYNCED:
		l->watching = true;
		break;
	}
}

static int apply_changes(struct logs *l, struct error *err)
{
	for (;;) {
		cleanup_change struct change change = { 0 };
		int rc = l->changes ? changes_next(l->changes, 0, &change, err) : 0;

		if (rc <= 0)
			return rc;
		apply_change(l, &change);
	}
}

static bool slim_job(cJSON *job)
{
	json_del(job, JSON_PATH("spec"));
	return true;
}

static bool slim(cJSON *obj)
{
	return str_eq(meta_kind(obj), TRAINJOB_KIND) ? slim_job(obj) : log_pod_slim(obj);
}

static void wake(void *ctx)
{
	kube_streams_wake(ctx);
}

static int watch(struct logs *l, struct error *err)
{
	const struct kube_ref pods = { "v1", "Pod", l->want->ns, NULL },
			      job = job_ref(l->want->ns, l->want->job);
	cleanup_arena struct arena arena = { 0 };

	return changes_new(&l->changes, l->kube, wake, l->streams, err) ||
			       changes_watch(l->changes, &pods, pods_of(&arena, l), slim,
					     err) ||
			       changes_watch(l->changes, &job, NULL, slim, err)
		       ? -1
		       : 0;
}

/* ---- reasons to wait --------------------------------------------------------------- */

static bool is_waiting(const struct log_source *s)
{
	return !s->run.started && !s->done && !s->replaced && !s->pod_gone;
}

static const char *no_pods_reason(struct arena *arena, const struct logs *l)
{
	const char *state = status_state(tj_status(l->job));
	const char *todo = " and has no pods yet";

	if (str_eq(state, "Suspended"))
		todo = arena_printf(arena,
				    " (start it with 'kftrainer resume%s %s -n %s')",
				    kube_named(l->kube), l->want->job, l->want->ns);
	return arena_printf(arena, "waiting for pods: TrainJob %s is %s%s", l->want->job,
			    state, todo);
}

static const char *waiting_text(struct arena *arena, const struct logs *l)
{
	const struct log_source *first = NULL;
	struct buf names = { .max = 1000 };
	const char *ret;
	size_t n = 0;

	if (!l->sources)
		return no_pods_reason(arena, l);
	for (const struct log_source *s = l->sources; s; s = s->next) {
		if (!is_waiting(s))
			continue;
		first = first ? first : s;
		if (n++ < SHOWN)
			buf_printf(&names, "%s%s", n > 1 ? ", " : "", s->origin.prefix);
	}
	if (!n)
		return NULL;
	if (n > SHOWN)
		buf_printf(&names, " and %zu more", n - SHOWN);
	ret = arena_printf(arena, "waiting for %s to start%s%s", (char *)names.data,
			   first->waiting_reason ? "; " : "",
			   first->waiting_reason ? first->waiting_reason : "");
	buf_release(&names);
	return ret;
}

/* Report a reason once it has lasted FIRST_NOTE_MS: a quick start is silent. */
static void report_waiting(struct logs *l, int64_t now)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = is_over(l) ? NULL : waiting_text(&arena, l);

	if (!str_eq(text, l->note)) {
		free(l->note);
		l->note = text ? xstrdup(text) : NULL;
		l->note_ms = now;
		return;
	}
	if (!text || l->note_ms < 0 || now - l->note_ms < FIRST_NOTE_MS ||
	    (l->noted_ms && now - l->noted_ms < NOTE_MS))
		return;
	logs_note(l, "%s", text);
	l->noted_ms = now;
	l->note_ms = -1;
}

/* ---- rounds -------------------------------------------------------------------------- */

/* List the pods. false: some may not be among the sources. */
static bool relist(struct logs *l, struct error *err)
{
	l->missed = false;
	if (list_pods(l, err))
		l->missed = true;
	else if (l->missed)
		*err = l->why_missed;
	return !l->missed;
}

/* List the pods after broken connections. false: it failed, thus make no requests now. */
static bool refresh(struct logs *l, int64_t now)
{
	struct error err = { 0 };

	l->stale = !relist(l, &err);
	if (changes_refused(&l->refused_ms, err.kind == ERR_DENIED))
		l->fatal = err;
	if (!l->stale)
		return true;
	if (!l->lost && err.kind != ERR_DENIED)
		logs_note(l, "%s; trying again", err.msg);
	l->lost |= err.kind != ERR_DENIED;
	l->next_ms = now + ROUND_MS;
	return false;
}

static bool any_due(const struct logs *l, int64_t now)
{
	for (const struct log_source *s = l->sources; s; s = s->next)
		if (log_source_readable(s) && !s->stream && s->due_ms <= now)
			return true;
	return false;
}

static void step_all(struct logs *l, int64_t now)
{
	if (!l->dirty && (l->next_ms < 0 || now < l->next_ms))
		return;
	if (l->stale && (l->missed || any_due(l, now)) && !refresh(l, now)) {
		l->dirty = false;
		return;
	}
	l->dirty = false;
	l->next_ms = -1;
	for (struct log_source *s = l->sources; s; s = s->next) {
		log_source_step(s, now);
		if (log_source_readable(s) && !s->stream && s->due_ms > now &&
		    (l->next_ms < 0 || s->due_ms < l->next_ms))
			l->next_ms = s->due_ms;
	}
}

static bool all_read(const struct logs *l)
{
	for (const struct log_source *s = l->sources; s; s = s->next)
		if (log_source_readable(s) &&
		    !(s->run_complete && s->run.number == s->requested_run && !s->stream))
			return false;
	return true;
}

/* After the job's end, list the pods once more: an unknown one may have a log, too. */
static void list_last(struct logs *l)
{
	struct error err = { 0 };
	int64_t now = clock_ms();

	l->over_listed = relist(l, &err);
	if (l->over_listed) {
		l->unlisted_ms = 0;
	} else if (!l->unlisted_ms) {
		l->unlisted_ms = now;
	} else if (now - l->unlisted_ms > GIVE_UP_MS) {
		l->over_listed = l->any_failed = true;
		logs_note(l, "%s; giving up", err.msg);
	}
}

/* Has the job ended, are all its pods known, and are their logs read? */
static bool logs_complete(struct logs *l)
{
	if (!l->over_ms || l->dirty || !all_read(l))
		return false;
	if (!l->over_listed) {
		list_last(l);
		step_all(l, clock_ms());
	}
	return l->over_listed && all_read(l);
}

/* How long to wait for data until the next round has something to do. */
static int64_t idle_ms(const struct logs *l, int64_t now)
{
	int64_t wait = ROUND_MS;

	if (l->dirty || (l->over_ms && all_read(l)))
		return l->unlisted_ms ? AGAIN_MS : 0;
	if (l->next_ms >= 0 && l->next_ms - now < wait)
		wait = l->next_ms > now ? l->next_ms - now : 0;
	if (l->note && l->note_ms >= 0 && wait > FIRST_NOTE_MS)
		wait = FIRST_NOTE_MS;
	return wait;
}

static int check_cancel(const struct logs *l, struct error *err)
{
	return l->want->cancel && __atomic_load_n(l->want->cancel, __ATOMIC_ACQUIRE)
		       ? error_set(err, ERR_STOPPED, "stopped")
		       : 0;
}

static int one_round(struct logs *l, struct error *err)
{
	int64_t now = clock_ms();

	if (check_cancel(l, err))
		return -1;
	step_all(l, now);
	report_waiting(l, now);
	if (l->out->on_pause(l->out->ctx, err) ||
	    kube_streams_run(l->streams, idle_ms(l, now), err) || apply_changes(l, err))
		return -1;
	if (!l->fatal.kind)
		return 0;
	*err = l->fatal;
	return -1;
}

/* Has neither the JobSet nor any existing pod a container that matches? */
static bool is_hopeless(const struct logs *l)
{
	return !l->sources && l->jobset && !log_count(l->want, l->jobset);
}

static int no_logs(const struct logs *l, struct error *err)
{
	const struct logs_want *want = l->want;
	const char *state = status_state(tj_status(l->job));
	bool had = is_over(l) && l->jobset && log_count(want, l->jobset);

	if (want->rank >= 0 || want->step || want->container)
		return error_set(err, ERR_NOT_FOUND,
				 "TrainJob %s has no matching logs%s; omit --step, "
				 "--rank and --container to show all",
				 want->job, had ? " any more" : "");
	return error_set(err, ERR_NOT_FOUND,
			 "TrainJob %s is %s and has no pods with logs%s", want->job,
			 state, is_over(l) ? "; they may have been deleted" : "");
}

static int follow(struct logs *l, struct error *err)
{
	int64_t opened = clock_ms();

	if (watch(l, err))
		return -1;
	/* Wait for the first lists: pods that appear later are read from their start. */
	while (!l->watching) {
		if (check_cancel(l, err) || apply_changes(l, err) ||
		    kube_streams_run(l->streams, 20, err))
			return -1;
		if (l->lost && clock_ms() - opened > ROUND_MS)
			report_waiting(l, clock_ms());
	}
	mark_replaced(l);
	while (!logs_complete(l))
		if (is_hopeless(l) ? no_logs(l, err) : one_round(l, err))
			return -1;
	return 0;
}

/* ---- without --follow ---------------------------------------------------------------- */

static bool any_readable(const struct logs *l)
{
	for (const struct log_source *s = l->sources; s; s = s->next)
		if (log_source_readable(s))
			return true;
	return false;
}

/* If no container has started yet, but one may, wait for the first. */
static int wait_for_first(struct logs *l, struct error *err)
{
	if (any_readable(l) || is_over(l) || tj_suspend(l->job) || is_hopeless(l))
		return 0;
	if (watch(l, err))
		return -1;
	while (!any_readable(l) && !is_over(l) && !is_hopeless(l)) {
		int64_t now = clock_ms();

		report_waiting(l, now);
		if (kube_streams_run(l->streams, FIRST_NOTE_MS / 2, err) ||
		    apply_changes(l, err))
			return -1;
	}
	return 0;
}

static bool any_previous(const struct logs *l)
{
	for (const struct log_source *s = l->sources; s; s = s->next)
		if (!s->replaced && s->run.number > 0)
			return true;
	return false;
}

/* Read one container after another, so that the order is always the same. */
static int read_once(struct logs *l, struct error *err)
{
	for (struct log_source *s = l->sources; s; s = s->next) {
		while (log_source_readable(s)) {
			int64_t now = clock_ms();

			log_source_step(s, now);
			if (s->done)
				break;
			if (l->out->on_pause(l->out->ctx, err) ||
			    kube_streams_run(l->streams,
					     s->stream ? ROUND_MS : s->due_ms - now, err))
				return -1;
			if (l->fatal.kind) {
				*err = l->fatal;
				return -1;
			}
		}
	}
	return l->out->on_pause(l->out->ctx, err);
}

/* --previous: leave only restarted containers of pods that were not replaced. */
static void choose_previous(struct logs *l)
{
	for (struct log_source *s = l->sources; s; s = s->next) {
		bool newest = !s->replaced;

		if (newest && s->run.number > 0)
			continue;
		s->replaced = true;
	}
}

static int show(struct logs *l, struct error *err)
{
	if (list_pods(l, err) || wait_for_first(l, err))
		return -1;
	mark_replaced(l);
	if (!any_readable(l))
		return no_logs(l, err);
	if (l->want->previous) {
		if (!any_previous(l))
			return error_set(err, ERR_NOT_FOUND,
					 "TrainJob %s: no container was restarted; use "
					 "--all to show replaced pods",
					 l->want->job);
		choose_previous(l);
	}
	if (read_once(l, err))
		return -1;
	for (const struct log_source *s = l->sources; s; s = s->next)
		if (is_waiting(s) && !is_over(l))
			log_source_note(s, "has not started%s%s",
					s->waiting_reason ? ": " : "",
					s->waiting_reason ? s->waiting_reason : "");
	return 0;
}

static void release(struct logs *l)
{
	for (struct log_source *s = l->sources, *next; s; s = next) {
		next = s->next;
		log_source_free(s);
	}
	changes_free(l->changes);
	kube_streams_free(l->streams);
	cJSON_Delete(l->job);
	cJSON_Delete(l->jobset);
	free(l->note);
}

/* ERR_NOT_FOUND for a job of another controller: its pods are not in this cluster. */
static int check_is_ours(const struct logs *l, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *cluster;

	if (tj_is_ours(l->job))
		return 0;
	if (queue_worker(l->kube, l->job, &arena, &cluster, err))
		return -1;
	if (!cluster)
		return error_set(err, ERR_NOT_FOUND,
				 "TrainJob %s is managed by another controller "
				 "(spec.managedBy), and no worker cluster runs it yet",
				 l->want->job);
	if (is_over(l))
		return error_set(err, ERR_NOT_FOUND,
				 "TrainJob %s ran in cluster %s, which MultiKueue chose; "
				 "when a job ends, Kueue deletes it there, and its logs",
				 l->want->job, cluster);
	return error_set(err, ERR_NOT_FOUND,
			 "TrainJob %s runs in cluster %s, which MultiKueue chose; use "
			 "that cluster's kubeconfig",
			 l->want->job, cluster);
}

int logs_run(struct kube *k, const struct logs_want *want, const struct logs_out *out,
	     struct error *err)
{
	struct logs l = { .kube = k, .want = want, .out = out, .next_ms = -1 };
	int rc;

	if (kube_streams_new(&l.streams, k, err))
		return -1;
	rc = job_get(k, want->ns, want->job, &l.job, err);
	if (!rc && is_over(&l))
		l.over_ms = clock_ms();
	if (!rc)
		rc = check_is_ours(&l, err);
	if (!rc)
		rc = want->follow ? follow(&l, err) : show(&l, err);
	if (!rc && l.any_failed)
		rc = error_set(err, ERR_IO, "cannot read all logs");
	release(&l);
	return rc;
}
