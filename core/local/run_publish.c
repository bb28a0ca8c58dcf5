/*
 * run_publish.c - publish a run: its messages and phase, and its JobSet, Jobs
 * and pods as objects (local/run_impl.h).
 */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/events.h"
#include "kubelet/node.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/progress_line.h"
#include "trainer/trainjob.h"

void run_note(const struct run *r, const char *fmt, ...)
{
	const struct local_observer *o = &r->opts->observer;
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	state_note(&r->state, line);
	if (o->on_note)
		o->on_note(o->ctx, line);
	else if (o->on_progress)
		o->on_progress(o->ctx, line);
}

void run_detail(const struct run *r, const char *fmt, ...)
{
	const struct local_observer *o = &r->opts->observer;
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	state_note(&r->state, line);
	if (o->on_detail)
		o->on_detail(o->ctx, line);
}

void run_report_alone(struct run *r)
{
	run_note(r, "warning: %s", r->alone.text);
	run_record(r, true, ALONE_REASON, r->alone.text);
}

/* ---- the phase ------------------------------------------------------------------------ */

/* The pods of one replicatedJob. */
struct step {
	const char *name, *wait_reason;
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
		struct step *s = &steps[pod->podname.number];

		s->made++;
		s->running += pod->running && !pod->ended;
		s->ended += pod->ended;
		if (pod->wait_reason)
			s->wait_reason = pod->wait_reason;
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
	if (s->wait_reason)
		buf_printf(out, " (%s)", s->wait_reason);
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

/* ---- objects ----------------------------------------------------------------------- */

static void put_now(cJSON *doc, const char *key)
{
	char now[TIME_TEXT_SIZE];

	if (!json_get(doc, "metadata", key))
		json_put_str(doc, time_text(clock_now(), now), "metadata", key);
}

static cJSON *jobset_object(const struct run *r)
{
	cJSON *doc = meta_new(meta_api_version(r->jobset), meta_kind(r->jobset),
			      r->opts->ns, meta_name(r->jobset));

	meta_set_uid(doc, meta_uid(r->jobset));
	json_put(doc, json_dup(jobs_status(r->jobs)), "status");
	return doc;
}

static void append(void *ctx, const cJSON *event)
{
	const struct run *r = ctx;

	state_record(&r->state, event);
}

/* A server records the events of its runs itself. */
static void record(const struct run *r, const cJSON *old, const cJSON *now)
{
	if (!r->opts->owner)
		events_of(old, now, &(struct event_sink){ append, (void *)r });
}

/* Publish the JobSet last: readers must find the Jobs that led to its status. */
void run_publish(struct run *r)
{
	cleanup_json cJSON *list = NULL;
	const cJSON *doc;

	if (!r->changed)
		return;
	r->changed = false;
	list = jobs_objects(r->jobs);
	cJSON_AddItemToArray(list, jobset_object(r));
	json_each(doc, list) {
		const cJSON *old;

		json_each(old, r->published)
			if (str_eq(meta_kind(old), meta_kind(doc)) &&
			    str_eq(meta_name(old), meta_name(doc)))
				break;
		if (old && json_equal(old, doc))
			continue;
		state_publish(&r->state, meta_kind(doc), meta_name(doc), doc);
		record(r, old, doc);
	}
	cJSON_Delete(r->published);
	r->published = STEAL(list);
}

void run_record(struct run *r, bool warning, const char *reason, const char *message)
{
	if (!r->opts->owner)
		event_of_trainjob(r->trainjob, warning, reason, message,
				  &(struct event_sink){ append, r });
}

/* ---- pods --------------------------------------------------------------------------- */

static void notify_controller(const struct run *r, const cJSON *old, const cJSON *now)
{
	const struct local_controller *c = r->opts->controller;

	if (c)
		c->on_pod(c->ctx, old, now);
}

void run_publish_pod(struct run *r, struct run_pod *pod, const cJSON *status)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *old = pod->published ? json_dup(pod->doc) : NULL;

	pod->published = true;
	put_now(pod->doc, "creationTimestamp");
	if (pod->stopping)
		put_now(pod->doc, "deletionTimestamp");
	json_put_str(pod->doc, node_name(&a), "spec", "nodeName");
	meta_set_annotation(pod->doc, NODE_LOGS_ANNOTATION,
			    path_join(&a, r->state.logs, pod->name));
	if (status)
		json_put(pod->doc, json_dup(status), "status");
	if (old && json_equal(old, pod->doc))
		return;
	state_publish(&r->state, "Pod", pod->name, pod->doc);
	record(r, old, pod->doc);
	notify_controller(r, old, pod->doc);
}

static void unpublish(struct run *r, struct run_pod *take_pod)
{
	state_publish(&r->state, "Pod", take_pod->name, NULL);
	run_pod_free(take_pod);
}

void run_publish_gone(struct run *r, struct run_pod *take_pod)
{
	notify_controller(r, take_pod->doc, NULL);
	if (r->opts->owner || jobs_phase(r->jobs) == JOBS_SUSPENDED)
		unpublish(r, take_pod);
	else
		map_put(&r->deleted_pods, take_pod->name, take_pod);
}

void run_publish_replaced(struct run *r, const struct run_pod *by)
{
	map_each(e, &r->deleted_pods) {
		struct run_pod *pod = e->value;

		if (pod->podname.rjob != by->podname.rjob ||
		    pod->podname.replica != by->podname.replica ||
		    pod->podname.index != by->podname.index)
			continue;
		map_del(&r->deleted_pods, pod->name);
		unpublish(r, pod);
	}
}
