/* run_show.c - report the phase and progress of a local run (local/run_impl.h). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/progress.h"

void run_note(const struct run *r, const char *fmt, ...)
{
	const struct local_observer *o = &r->opts->observer;
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (o->on_note)
		o->on_note(o->ctx, line);
	else if (o->on_progress)
		o->on_progress(o->ctx, line);
}

/* ---- the phase ------------------------------------------------------------------------ */

/* The pods of one replicatedJob. */
struct step {
	const char *name, *waits;
	bool initializer;
	int all, made, running, ended;
};

static size_t count_steps(const struct run *r, struct step **ret)
{
	const cJSON *list = json_get((const cJSON *)r->jobset, "spec", "replicatedJobs");
	struct step *steps =
		xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*steps));
	const cJSON *rjob;
	size_t n = 0;

	json_each(rjob, list) {
		const char *ancestor = rjob_ancestor(rjob);

		steps[n++] = (struct step){
			.name = json_str(rjob, "name"),
			.initializer = str_eq(ancestor, DATASET_INITIALIZER) ||
				       str_eq(ancestor, MODEL_INITIALIZER),
			.all = (int)rjob_pods(rjob),
		};
	}
	map_each(e, &r->pods) {
		const struct run_pod *pod = e->value;
		struct step *s = &steps[pod->place.number];

		s->made++;
		s->running += pod->running && !pod->ended;
		s->ended += pod->ended;
		if (pod->waits)
			s->waits = pod->waits;
	}
	*ret = steps;
	return n;
}

/* "node 1/2", in steps of a tenth for many pods */
static void add_starting(struct buf *out, const struct step *s)
{
	int up = s->running + s->ended, tenth = s->all / 10;

	if (up > s->all)
		up = s->all;
	if (tenth > 1)
		up -= up % tenth;
	buf_printf(out, "%s%s %d/%d", out->len ? ", " : "pods starting: ", s->name, up,
		   s->all);
	if (s->waits)
		buf_printf(out, " (%s)", s->waits);
}

static void phase_of(const struct run *r, struct buf *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free struct step *steps = NULL;
	size_t n = count_steps(r, &steps);
	bool initializing = false, running = false;

	for (size_t i = 0; i < n; i++) {
		const struct step *s = &steps[i];

		if (s->made && s->running + s->ended < s->all && s->ended < s->made)
			add_starting(out, s);
		if (s->running)
			*(s->initializer ? &initializing : &running) = true;
	}
	if (out->len)
		return;
	if (running || initializing)
		buf_adds(out,
			 running ? progress_line(&arena, r->trainjob) : "initializers");
}

void run_show(struct run *r)
{
	const struct local_observer *o = &r->opts->observer;
	cleanup_buf struct buf b = { .max = sizeof(r->last_line) - 1 };

	if (r->end != RUN_ACTIVE)
		buf_adds(&b, "stopping");
	else if (jobs_phase(r->jobs) == JOBS_RUNNING)
		phase_of(r, &b);
	if (!b.len || str_eq(r->last_line, (const char *)b.data))
		return;
	snprintf(r->last_line, sizeof(r->last_line), "%s", (const char *)b.data);
	if (o->on_progress)
		o->on_progress(o->ctx, r->last_line);
}
