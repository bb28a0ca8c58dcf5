/* columns.c - the columns of lists of TrainJobs */
#include "client/columns.h"

#include <inttypes.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/jobs.h"
#include "client/queue.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/progress_line.h"
#include "trainer/supervision.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

/* RFC 3339 as seconds since 1970; -1: NULL or invalid. */
static int64_t seconds(const char *text)
{
	int64_t t;

	return text && !time_parse(&t, text, IGNORED) ? t : -1;
}

static const char *nodes(struct arena *arena, struct columns *g, const cJSON *job)
{
	int64_t n = job_nodes(g->kube, &g->runtimes, job);

	return n >= 0 ? arena_printf(arena, "%" PRId64, n) : "";
}

static const char *ns_of(struct arena *arena, struct columns *g, const cJSON *job)
{
	return meta_namespace(job);
}

static const char *name(struct arena *arena, struct columns *g, const cJSON *job)
{
	return meta_name(job);
}

static const char *state(struct arena *arena, struct columns *g, const cJSON *job)
{
	return meta_is_deleted(job) ? "Terminating" : status_state(tj_status(job));
}

static const char *runtime(struct arena *arena, struct columns *g, const cJSON *job)
{
	return tj_runtime_ref(job).name;
}

static const char *span(struct arena *arena, int64_t from, int64_t to)
{
	char text[DURATION_TEXT_SIZE];

	return from < 0 ? "" : arena_strdup(arena, duration_age(to - from, text));
}

static const char *age(struct arena *arena, struct columns *g, const cJSON *job)
{
	return span(arena, seconds(meta_created(job)), clock_now());
}

static const char *duration(struct arena *arena, struct columns *g, const cJSON *job)
{
	int64_t took = status_duration(job, clock_now());

	return took < 0 ? "" : span(arena, 0, took);
}

static const char *progress(struct arena *arena, struct columns *g, const cJSON *job)
{
	int64_t percent = progress_percentage(job);

	return percent >= 0 ? arena_printf(arena, "%" PRId64 "%%", percent) : "";
}

/* The time left of a job that has not ended. */
static const char *left(struct arena *arena, struct columns *g, const cJSON *job)
{
	int64_t rest = progress_remaining(job);

	return rest < 0 || status_finished(tj_status(job)) ? "" : span(arena, 0, rest);
}

static const char *metrics(struct arena *arena, struct columns *g, const cJSON *job)
{
	return progress_metrics(arena, job);
}

static const char *queue(struct arena *arena, struct columns *g, const cJSON *job)
{
	return queue_name(job);
}

/* The restarts of a supervised job: in place, after failures, stalls and lost pods. */
static const char *restarts(struct arena *arena, struct columns *g, const cJSON *job)
{
	struct supervision s;

	return supervision_of(&s, job)
		       ? arena_printf(arena, "%" PRId64, s.restarts + s.lost)
		       : "";
}

static const char *stalls(struct arena *arena, struct columns *g, const cJSON *job)
{
	struct supervision s;

	return supervision_of(&s, job) ? arena_printf(arena, "%" PRId64, s.stalls) : "";
}

static const char *goodput(struct arena *arena, struct columns *g, const cJSON *job)
{
	struct supervision s;

	return supervision_of(&s, job) && supervision_goodput(&s) >= 0
		       ? arena_printf(arena, "%d%%", supervision_goodput(&s))
		       : "";
}

/* The reason of Failed, Complete or Suspended, the first that is True; "": none is. */
static const char *reason(struct arena *arena, struct columns *g, const cJSON *job)
{
	const cJSON *status = tj_status(job);
	const char *const types[] = { COND_FAILED, COND_COMPLETE, COND_SUSPENDED };

	for (size_t i = 0; i < N_ELEMENTS(types); i++)
		if (status_is_true(status, types[i]))
			return json_str(status_condition(status, types[i]), "reason");
	return "";
}

const struct column columns[] = {
	{ "NAMESPACE", ns_of, COLUMN_OF_ALL },   { "NAME", name, COLUMN_ALWAYS },
	{ "STATE", state, COLUMN_ALWAYS },       { "RUNTIME", runtime, COLUMN_ALWAYS },
	{ "NODES", nodes, COLUMN_ALWAYS },       { "AGE", age, COLUMN_ALWAYS },
	{ "DURATION", duration, COLUMN_ALWAYS }, { "PROGRESS", progress, COLUMN_WIDE },
	{ "LEFT", left, COLUMN_WIDE },           { "METRICS", metrics, COLUMN_WIDE },
	{ "RESTARTS", restarts, COLUMN_WIDE },   { "STALLS", stalls, COLUMN_WIDE },
	{ "GOODPUT", goodput, COLUMN_WIDE },     { "QUEUE", queue, COLUMN_WIDE },
	{ "REASON", reason, COLUMN_WIDE },
};

const char *column_text(struct arena *arena, struct columns *c, size_t i,
			const cJSON *job)
{
	const char *text = columns[i].cell(arena, c, job);

	return text ? text : "";
}
