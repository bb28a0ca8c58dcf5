/* timeline.c - lists what happened to a TrainJob, in the order of time (why/timeline.h). */
#include "why/timeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/supervision.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

struct timeline {
	const struct view *v;
	cJSON *list;
	struct arena arena;
};

/* Without a time there is nothing to add. */
static void PRINTF_LIKE(4, 5)
	add(struct timeline *t, int64_t at, const char *what, const char *fmt, ...)
{
	cJSON *entry;
	va_list ap;
	cleanup_free char *text = NULL;

	if (at < 0)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	entry = cJSON_CreateObject();
	json_put_int(entry, at, "at");
	json_put_str(entry, what, "what");
	json_put_str(entry, str_visible(&t->arena, text, false), "text");
	cJSON_AddItemToArray(t->list, entry);
}

/* ---- the job ----------------------------------------------------------------------- */

static void add_begin(struct timeline *t)
{
	const cJSON *job = t->v->trainjob;
	const char *queue = meta_label(job, QUEUE_LABEL);

	add(t, foreign_time(meta_created(job)), "queued", "created%s%s",
	    queue ? ", in queue " : "", queue ? queue : "");
	add(t, foreign_time(meta_created(t->v->jobset)), "starting",
	    "its JobSet is made");
}

/* The job's own events have each time; its condition only the last one. */
static void add_suspensions(struct timeline *t)
{
	const cJSON *e, *status = tj_status(t->v->trainjob);
	const cJSON *condition = status_condition(status, COND_SUSPENDED);
	bool suspended = status_is_true(status, COND_SUSPENDED), found = false;

	json_each(e, t->v->events) {
		bool is_suspend = str_eq(event_reason(e), "Suspended");

		if (!str_eq(event_kind(e), TRAINJOB_KIND) ||
		    (!is_suspend && !str_eq(event_reason(e), "Resumed")))
			continue;
		found = found || is_suspend == suspended;
		add(t, event_last(e), is_suspend ? "suspended" : "resumed", "%s",
		    event_message(e));
	}
	if (condition && !found)
		add(t, condition_since(condition), suspended ? "suspended" : "resumed",
		    "%s", condition_message(condition));
}

static void add_restarts(struct timeline *t)
{
	const cJSON *e;

	json_each(e, t->v->events)
		if (str_eq(event_kind(e), JOBSET_KIND) &&
		    strstr(event_reason(e), "Restart"))
			add(t, event_last(e), "restarted", "%s", event_message(e));
}

/* In the words of the controller, and of a run directory (docs/runs.md). */
static const struct {
	const char *reason, *begin, *not, *what;
} supervised[] = {
	{ SUPERVISED_STALLED, "", "", "stalled" },
	{ SUPERVISED_RESTARTED, "", "", "restarted" },
	{ SUPERVISED_REJOINED, "", "", "restarted" },
	{ "Supervisor", "stalled: ", "", "stalled" },
	{ "Started", "attempt ", "attempt 1", "restarted" },
};

static void add_supervised(struct timeline *t)
{
	const cJSON *e;

	json_each(e, t->v->events)
		for (size_t i = 0; i < N_ELEMENTS(supervised); i++)
			if (str_eq(event_kind(e), TRAINJOB_KIND) &&
			    str_eq(event_reason(e), supervised[i].reason) &&
			    str_starts(event_message(e), supervised[i].begin) &&
			    !str_eq(event_message(e), supervised[i].not ))
				add(t, event_last(e), supervised[i].what, "%s",
				    event_message(e));
}

static void add_end(struct timeline *t)
{
	const cJSON *job = t->v->trainjob, *status = tj_status(job);
	bool failed = status_is_true(status, COND_FAILED);
	int64_t updated = foreign_time(progress_updated(job));

	if (status_finished(status))
		add(t, foreign_time(status_end_time(status)),
		    failed ? "failed" : "complete", "%s",
		    condition_message(status_condition(status, failed ? COND_FAILED
								      : COND_COMPLETE)));
	else if (updated >= 0 && t->v->now - updated >= VIEW_STALLED_SECONDS)
		add(t, updated, "stalled", "the last report of its progress");
}

/* ---- its pods ------------------------------------------------------------------------ */

/* When the first container of the pod began, in any of its runs; -1: not yet. */
static int64_t pod_began(const cJSON *pod)
{
	static const char *const states[][2] = { { "lastState", "terminated" },
						 { "state", "terminated" },
						 { "state", "running" } };
	const cJSON *c;
	int64_t first = -1;

	json_each(c, json_get(pod, "status", "containerStatuses"))
		for (size_t i = 0; i < N_ELEMENTS(states); i++) {
			int64_t at = foreign_time(
				json_str(c, states[i][0], states[i][1], "startedAt"));

			if (at >= 0 && (first < 0 || at < first))
				first = at;
		}
	return first;
}

/* The first pod of those that train, or fetch what it takes; `begun`: by its containers. */
static void add_first(struct timeline *t, const char *what, bool initializers, bool begun)
{
	const cJSON *pod, *first = NULL;
	int64_t at = -1;
	int n = 0, all = 0;

	json_each(pod, t->v->pods) {
		int64_t when = begun ? pod_began(pod) : foreign_time(meta_created(pod));

		if (initializers != view_is_initializer(pod_job(pod)))
			continue;
		all++;
		n += when >= 0;
		if (when >= 0 && (at < 0 || when < at)) {
			at = when;
			first = pod;
		}
	}
	if (first && begun)
		add(t, at, what, "%s runs%s", pod_step(&t->arena, first),
		    all == 1 ? ""
			     : arena_printf(&t->arena, ", first of %d pods, %s", all,
					    n == all ? "all of which have begun"
						     : "some of which have not begun"));
	else if (first)
		add(t, at, what, "%d pod%s", all, all == 1 ? " is made" : "s are made");
}

static const char *problem_state(const struct pod_fact *f)
{
	static const bool before_start[N_POD_CAUSES] = {
		[POD_UNSCHEDULABLE] = true,
		[POD_GATED] = true,
		[POD_IMAGE] = true,
		[POD_START] = true,
	};

	return before_start[f->cause] ? "waiting" : f->restarted ? "restarted" : "failed";
}

static void add_problems(struct timeline *t)
{
	const cJSON *pod;
	int64_t latest = -1;
	int n = 0;

	json_each(pod, t->v->pods) {
		struct pod_fact_list facts;

		pod_facts_of(pod, &facts);
		for (size_t i = 0; i < facts.n; i++) {
			const struct pod_fact *f = &facts.list[i];
			int64_t at = foreign_time(f->finished);

			if (at < 0 || f->waits)
				continue;
			latest = at > latest ? at : latest;
			if (n++ < TIMELINE_PROBLEMS)
				add(t, at, problem_state(f), "%s",
				    pod_fact_brief(&t->arena, pod, f));
		}
	}
	if (n > TIMELINE_PROBLEMS)
		add(t, latest, "failed", "%d more", n - TIMELINE_PROBLEMS);
}

/* ---- all of it ----------------------------------------------------------------------- */

struct numbered {
	cJSON *entry;
	int64_t at;
	size_t number; /* as it was added: entries of one second keep that order */
};

static int by_time(const void *x, const void *y)
{
	const struct numbered *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void sort(cJSON *list)
{
	size_t n = (size_t)cJSON_GetArraySize(list);
	cleanup_free struct numbered *all = xcalloc(n + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++) {
		cJSON *entry = cJSON_DetachItemViaPointer(list, list->child);

		all[i] = (struct numbered){ entry, json_int(entry, 0, "at"), i };
	}
	qsort(all, n, sizeof(*all), by_time);
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, all[i].entry);
}

cJSON *timeline_of(const struct view *v)
{
	struct timeline t = { .v = v, .list = cJSON_CreateArray() };

	add_begin(&t);
	add_first(&t, "starting", false, false);
	add_first(&t, "starting", true, true);
	add_first(&t, "training", false, true);
	add_problems(&t);
	add_restarts(&t);
	add_supervised(&t);
	add_suspensions(&t);
	add_end(&t);
	sort(t.list);
	arena_clear(&t.arena);
	return t.list;
}
