/* backend_copy.c - what a run publishes, into the API (local/backend_impl.h). */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/backend_impl.h"
#include "local/jobs.h"
#include "local/state_impl.h"
#include "trainer/api.h"
#include "trainer/podcause.h"

#define UID_LABEL "jobset.sigs.k8s.io/jobset-uid"

static const struct published {
	const char *kind, *api_version;
} published[] = { { "Pod", "v1" },
		  { "Job", "batch/v1" },
		  { JOBSET_KIND, JOBSET_API_VERSION } };

/* ---- single objects ------------------------------------------------------------------ */

void backend_clear(struct backend *b, const char *ns, const char *uid, const char *kind)
{
	for (size_t i = 0; i < 2; i++) {
		const struct published *p = &published[i];
		cleanup_json cJSON *list = NULL;
		const cJSON *obj;

		if (kind && !str_eq(kind, p->kind))
			continue;
		list = apiserver_list(b->conf.api, p->api_version, p->kind, ns);
		json_each(obj, list)
			if (str_eq(meta_label(obj, UID_LABEL), uid))
				apiserver_drop(b->conf.api, p->api_version, p->kind, ns,
					       meta_name(obj), meta_uid(obj));
	}
}

static void store(struct backend *b, const cJSON *obj)
{
	cleanup_json cJSON *old =
		apiserver_get(b->conf.api, meta_api_version(obj), meta_kind(obj),
			      meta_namespace(obj), meta_name(obj));
	struct error err = { 0 };

	if (old && !str_eq(meta_uid(old), meta_uid(obj))) {
		cJSON_Delete(old);
		old = NULL;
	}
	if (apiserver_store(b->conf.api, obj, &err) > 0)
		backend_events(b, old, obj);
}

void backend_put_status(struct backend *b, const cJSON *jobset, const cJSON *status)
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
		backend_events(b, old, now);
}

/* ---- the files of a run -------------------------------------------------------------- */

/* "Pod.two-node-0-0-abcde.json" */
static const struct published *kind_of(struct arena *a, const char *file,
				       const char **ret_name)
{
	size_t len = strlen(file);

	for (size_t i = 0; i < sizeof(published) / sizeof(*published); i++) {
		const char *rest = str_after(file, published[i].kind);

		if (!rest || *rest != '.' || len < 6 || !str_ends(file, ".json"))
			continue;
		*ret_name = str_slice(a, rest + 1, strlen(rest) - strlen(".json") - 1);
		return &published[i];
	}
	return NULL;
}

static cJSON *read_object(const char *path)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	struct error none = { 0 };
	cJSON *doc = NULL;

	if (file_read(&text, path, &none) || json_parse(&doc, text.data, text.len, &none))
		return NULL;
	return doc;
}

static void copy_file(struct backend *b, struct backend_run *r, const char *path)
{
	cleanup_arena struct arena a = { 0 };
	const char *file = path_base(path), *mark = state_mark(&a, path), *name;
	const struct published *p = kind_of(&a, file, &name);
	const char *old = map_get(&r->files, file);
	cleanup_json cJSON *doc = NULL;

	if (!p || (old && str_eq(old, mark)))
		return;
	doc = read_object(path);
	if (!doc)
		return;
	free(map_put(&r->files, file, xstrdup(mark)));
	if (str_eq(p->kind, JOBSET_KIND))
		backend_put_status(b, doc, json_get((const cJSON *)doc, "status"));
	else
		store(b, doc);
}

/* What it had before, and has no more. */
static void drop_missing(struct backend *b, struct backend_run *r, const char *dir)
{
	map_each(e, &r->files) {
		cleanup_arena struct arena a = { 0 };
		const struct published *p;
		const char *name;

		if (file_exists(path_join(&a, dir, e->key)))
			continue;
		p = kind_of(&a, e->key, &name);
		if (p && !str_eq(p->kind, JOBSET_KIND))
			apiserver_drop(b->conf.api, p->api_version, p->kind, r->ns, name,
				       NULL);
		free(map_del(&r->files, e->key));
	}
}

bool backend_copy(struct backend *b, struct backend_run *r, const struct state_owned *run,
		  bool ended)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, run->dir, STATE_API);
	const char *jobset = arena_printf(&a, "%s/%s.%s.json", dir, JOBSET_KIND, r->name);
	cleanup_json cJSON *last = NULL;

	if (!str_eq(r->dir, run->dir)) {
		map_each(e, &r->files)
			*(char *)e->value = 0;
		free(r->dir);
		r->dir = xstrdup(run->dir);
	}
	/* First, for it is published last: what led to it is copied before it. */
	last = read_object(jobset);
	if (ended && !json_str(last, "status", "terminalState"))
		return true; /* what backend_fail() wrote stays */
	for (char **e = state_entries(&a, dir); *e; e++)
		if (!str_starts(*e, JOBSET_KIND "."))
			copy_file(b, r, path_join(&a, dir, *e));
	drop_missing(b, r, dir);
	if (last)
		backend_put_status(b, last, json_get((const cJSON *)last, "status"));
	return last && json_str(last, "status", "terminalState");
}

/* ---- what a run does not say --------------------------------------------------------- */

static void kill_container(cJSON *status, const char *now)
{
	cJSON *state = json_get(status, "state"), *ended;
	const char *started = json_str(state, "running", "startedAt");

	if (json_get(state, "terminated"))
		return;
	ended = cJSON_CreateObject();
	json_put_int(ended, 128 + 9, "exitCode");
	json_put_str(ended, "Error", "reason");
	json_put_str(ended, started ? started : now, "startedAt");
	json_put_str(ended, now, "finishedAt");
	json_del(state, JSON_PATH("running"));
	json_del(state, JSON_PATH("waiting"));
	json_put(state, ended, "terminated");
	json_put_bool(status, false, "ready");
	json_put_bool(status, false, "started");
}

static void kill_pod(struct backend *b, cJSON *pod, const char *reason,
		     const char *message, const char *now)
{
	cJSON *status = json_obj(pod, "status"), *c;
	const char *phase = json_str(status, "phase");

	if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
		return;
	json_del(pod, JSON_PATH("metadata", "resourceVersion"));
	json_put_str(status, "Failed", "phase");
	json_put_str(status, reason, "reason");
	json_put_str(status, message, "message");
	json_each(c, json_get(status, "containerStatuses"))
		kill_container(c, now);
	c = json_find(json_get(status, "conditions"), "type", "Ready");
	if (c)
		json_put_str(c, "False", "status");
	store(b, pod);
}

void backend_fail(struct backend *b, const char *ns, const char *name, const char *reason,
		  const char *message)
{
	cleanup_json cJSON *jobset =
		apiserver_get(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND, ns, name);
	cleanup_json cJSON *pods = apiserver_list(b->conf.api, "v1", "Pod", ns);
	cJSON *status, *failed, *pod, *rjob;
	char now[TIME_TEXT_SIZE];

	if (!jobset)
		return;
	time_text(clock_now(), now);
	json_each(pod, pods)
		if (str_eq(meta_label(pod, UID_LABEL), meta_uid(jobset)))
			kill_pod(b, pod, reason, message, now);
	status = json_obj(jobset, "status");
	failed = cJSON_CreateObject();
	json_put_str(failed, "Failed", "type");
	json_put_str(failed, "True", "status");
	json_put_str(failed, reason, "reason");
	json_put_str(failed, message, "message");
	json_put_str(failed, now, "lastTransitionTime");
	json_upsert(json_list(status, "conditions"), "type", failed);
	json_put_str(status, "Failed", "terminalState");
	json_each(rjob, json_get(status, "replicatedJobsStatus")) {
		json_put_int(rjob, 0, "ready");
		json_put_int(rjob, 0, "active");
	}
	failed = json_dup(status);
	backend_put_status(b, jobset, failed);
	cJSON_Delete(failed);
}

void backend_park(struct backend *b, const cJSON *jobset)
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
	backend_put_status(b, jobset, jobs_status(jobs));
	jobs_free(jobs);
}
