/* run_publish.c - a run's JobSet, Jobs and pods as objects (local/run_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "jobs/events.h"
#include "kubelet/node.h"
#include "local/run_impl.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"

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

		if (pod->place.rjob != by->place.rjob ||
		    pod->place.replica != by->place.replica ||
		    pod->place.index != by->place.index)
			continue;
		map_del(&r->deleted_pods, pod->name);
		unpublish(r, pod);
	}
}
