/* backend_copy.c - copy what a run publishes into the API (machine/backend_impl.h). */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/events.h"
#include "jobs/jobs.h"
#include "local/state_impl.h"
#include "machine/backend_impl.h"
#include "machine/published.h"
#include "trainer/api.h"
#include "trainer/podcause.h"

static void put_event(void *ctx, const cJSON *event)
{
	struct backend *b = ctx;
	cleanup_arena struct arena a = { 0 };
	struct error ignored = { 0 };

	if (apiserver_write(b->conf.api, "POST",
			    arena_printf(&a, "/api/v1/namespaces/%s/events",
					 meta_namespace(event)),
			    event, NULL, &ignored))
		error_clear_if(&ignored, ignored.kind);
}

static void put_events(struct backend *b, const cJSON *old, const cJSON *now)
{
	events_of(old, now, &(struct event_sink){ put_event, b });
}

/* ---- single objects ------------------------------------------------------------------ */

void backend_clear(struct backend *b, const char *ns, const char *uid, const char *kind)
{
	for (size_t i = 0; i < 2; i++) {
		const struct published_type *p = &published_types[i];
		cleanup_json cJSON *list = NULL;
		const cJSON *obj;

		if (kind && !str_eq(kind, p->kind))
			continue;
		list = apiserver_list(b->conf.api, p->api_version, p->kind, ns);
		json_each(obj, list)
			if (str_eq(meta_label(obj, JOBSET_UID_LABEL), uid))
				apiserver_drop(b->conf.api, p->api_version, p->kind, ns,
					       meta_name(obj), meta_uid(obj));
	}
}

/* False: it is to be stored again. */
static bool store(struct backend *b, const cJSON *obj)
{
	cleanup_json cJSON *old =
		apiserver_get(b->conf.api, meta_api_version(obj), meta_kind(obj),
			      meta_namespace(obj), meta_name(obj));
	struct error err = { 0 };
	int rc;

	if (old && !str_eq(meta_uid(old), meta_uid(obj))) {
		cJSON_Delete(old);
		old = NULL;
	}
	rc = apiserver_store(b->conf.api, obj, &err);
	if (rc > 0)
		put_events(b, old, obj);
	if (rc >= 0 || !published_may_succeed(&err))
		return true;
	b->unwritten = true;
	return false;
}

static void put_status(struct backend *b, const cJSON *jobset, const cJSON *status)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *old =
		apiserver_get(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND,
			      meta_namespace(jobset), meta_name(jobset));
	cleanup_json cJSON *patch = cJSON_CreateObject();
	cleanup_json cJSON *now = NULL;
	struct error err = { 0 };

	if (!old || !str_eq(meta_uid(old), meta_uid(jobset)) ||
	    json_equal(json_get((const cJSON *)old, "status"), status))
		return;
	json_put_str(patch, meta_uid(jobset), "metadata", "uid");
	json_put(patch, json_dup(status), "status");
	if (!apiserver_write(b->conf.api, "PATCH",
			     arena_printf(&a, JOBSET_PATH, meta_namespace(jobset),
					  meta_name(jobset)),
			     patch, &now, &err))
		put_events(b, old, now);
	else if (published_may_succeed(&err))
		b->unwritten = true;
}

/* ---- the files of a run -------------------------------------------------------------- */

static bool put(void *ctx, const struct published_run *r, cJSON *obj)
{
	return store(ctx, obj);
}

static void drop(void *ctx, const struct published_run *r, const char *api_version,
		 const char *kind, const char *name)
{
	const struct backend *b = ctx;

	apiserver_drop(b->conf.api, api_version, kind, r->ns, name, NULL);
}

bool backend_copy(struct backend *b, struct backend_run *r, const struct state_owned *run,
		  bool over)
{
	const struct published_sink to = { put, drop, b };
	cleanup_arena struct arena a = { 0 };
	const char *jobset = arena_printf(&a, "%s/" STATE_API "/" JOBSET_KIND ".%s.json",
					  run->dir, run->name);
	cleanup_json cJSON *last = NULL;

	if (!str_eq(r->run.dir, run->dir)) {
		map_each(e, &r->run.fingerprints)
			*(char *)e->value = 0;
		free(r->run.dir);
		r->run.dir = xstrdup(run->dir);
	}
	/*
	 * Read the JobSet first: it is published last, so the pods and Jobs that led to
	 * its status are copied before it.
	 */
	last = published_read(jobset);
	/* The status that backend_fail() or backend_write_suspended() wrote remains. */
	if (over && !json_str(last, "status", "terminalState"))
		return false;
	published_read_run(&r->run, NULL, &to);
	if (last)
		put_status(b, last, json_get((const cJSON *)last, "status"));
	return last && json_str(last, "status", "terminalState");
}

/* ---- states that no run publishes ------------------------------------------------ */

static bool is_of(const cJSON *obj, const cJSON *jobset)
{
	return str_eq(meta_label(obj, JOBSET_UID_LABEL), meta_uid(jobset));
}

static void store_changed(struct backend *b, cJSON *obj)
{
	json_del(obj, JSON_PATH("metadata", "resourceVersion"));
	store(b, obj);
}

void backend_fail(struct backend *b, const char *ns, const char *name, const char *reason,
		  const char *message)
{
	cleanup_json cJSON *jobset =
		apiserver_get(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND, ns, name);
	cleanup_json cJSON *pods = apiserver_list(b->conf.api, "v1", "Pod", ns);
	cleanup_json cJSON *jobs = apiserver_list(b->conf.api, "batch/v1", "Job", ns);
	cleanup_json cJSON *status = NULL, *cause = cJSON_CreateObject();
	char now[TIME_TEXT_SIZE];
	cJSON *obj;

	if (!jobset)
		return;
	json_put_str(cause, reason, "reason");
	json_put_str(cause, message, "message");
	json_put_str(cause, time_text(clock_now(), now), "lastTransitionTime");
	json_each(obj, pods)
		if (is_of(obj, jobset) && published_kill(obj, cause))
			store_changed(b, obj);
	json_each(obj, jobs)
		if (is_of(obj, jobset) && published_end_job(obj, COND_FAILED, cause))
			store_changed(b, obj);
	status = json_dup(json_get(jobset, "status"));
	status = status ? status : cJSON_CreateObject();
	published_fail(status, cause);
	put_status(b, jobset, status);
}

void backend_write_suspended(struct backend *b, const cJSON *jobset)
{
	const cJSON *suspended = json_find_const(json_get(jobset, "status", "conditions"),
						 "type", "Suspended");
	const struct jobs_action *actions;
	cleanup_json cJSON *list = NULL;
	struct jobs *jobs = NULL;
	struct error err = { 0 };
	const cJSON *job;
	int64_t wake;

	backend_clear(b, meta_namespace(jobset), meta_uid(jobset), "Pod");
	if (str_eq(json_str(suspended, "status"), "True") ||
	    jobs_new(&jobs, jobset, &err))
		return;
	(void)jobs_step(jobs, clock_now() * 1000, &actions, &wake);
	list = jobs_objects(jobs);
	json_each(job, list)
		store(b, job);
	put_status(b, jobset, jobs_status(jobs));
	jobs_free(jobs);
}
