/* published.c - read and correct the published objects of runs (machine/published.h). */
#include "machine/published.h"

#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/node.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "machine/legacy.h"
#include "trainer/api.h"
#include "trainer/podcause.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

const struct published_type published_types[] = { { "Pod", "v1" },
						  { "Job", "batch/v1" },
						  { JOBSET_KIND, JOBSET_API_VERSION },
						  { "Event", "v1" },
						  { NULL, NULL } };

const struct published_type *published_kind(struct arena *a, const char *file,
					    const char **ret_name)
{
	const size_t others = strlen("..json"); /* than the kind and the name */

	for (const struct published_type *p = published_types; p->kind; p++) {
		const char *rest = str_after(file, p->kind);

		if (!rest || *rest != '.' || strlen(rest) <= others ||
		    !str_ends(rest, ".json"))
			continue;
		*ret_name = str_slice(a, rest + 1, strlen(rest) - others);
		return p;
	}
	return NULL;
}

cJSON *published_read(const char *path)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	cJSON *doc = NULL;

	if (file_read_regular(&text, path, IGNORED) ||
	    json_parse(&doc, text.data, text.len, IGNORED))
		return NULL;
	return doc;
}

/* ---- states that no run publishes ------------------------------------------------ */

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

static void put_condition(cJSON *status, const char *type, const cJSON *cause)
{
	static const char *const copied[] = { "reason", "message", "lastTransitionTime" };
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, "True", "status");
	for (size_t i = 0; i < N_ELEMENTS(copied); i++)
		json_put_str(c, json_str(cause, copied[i]), copied[i]);
	json_upsert(json_list(status, "conditions"), "type", c);
}

bool published_kill(cJSON *pod, const cJSON *cause)
{
	cJSON *status = json_obj(pod, "status"), *c;

	if (pod_has_ended(pod))
		return false;
	json_put_str(status, "Failed", "phase");
	put_condition(status, "DisruptionTarget", cause);
	json_each(c, json_get(status, "containerStatuses"))
		kill_container(c, json_str(cause, "lastTransitionTime"));
	c = json_find(json_get(status, "conditions"), "type", "Ready");
	if (c)
		json_put_str(c, "False", "status");
	return true;
}

bool published_end_job(cJSON *job, const char *type, const cJSON *cause)
{
	cJSON *status = json_obj(job, "status");
	const cJSON *all = json_get(status, "conditions");

	if (json_find_const(all, "type", COND_COMPLETE) ||
	    json_find_const(all, "type", COND_FAILED))
		return false;
	put_condition(status, type, cause);
	json_del(status, JSON_PATH("active"));
	json_put_int(status, 0, "ready");
	json_put_int(status, 0, "terminating");
	return true;
}

void published_fail(cJSON *status, const cJSON *cause)
{
	cJSON *rjob;

	put_condition(status, "Failed", cause);
	json_put_str(status, "Failed", "terminalState");
	json_each(rjob, json_get(status, "replicatedJobsStatus")) {
		json_put_int(rjob, 0, "ready");
		json_put_int(rjob, 0, "active");
	}
}

const cJSON *published_killed(const cJSON *trainjob)
{
	const cJSON *c = status_condition(tj_status(trainjob), COND_FAILED);

	return str_eq(json_str(c, "reason"), REASON_INTERRUPTED) ? c : NULL;
}

/* ---- the files of a run -------------------------------------------------------------- */

/* Where the logs are now: the directory of the run may have been moved or copied. */
static void put_logs(cJSON *pod, const char *run, const char *name)
{
	cleanup_arena struct arena a = { 0 };

	if (meta_annotation(pod, NODE_LOGS_ANNOTATION))
		meta_set_annotation(pod, NODE_LOGS_ANNOTATION,
				    arena_printf(&a, "%s/logs/%s", run, name));
}

/* End what a run that has ended left running, as its TrainJob ended. */
static void end_object(cJSON *obj, const char *kind, const cJSON *trainjob)
{
	const cJSON *c = status_condition(tj_status(trainjob), COND_FAILED);

	if (str_eq(kind, "Pod")) {
		json_del(obj, JSON_PATH("metadata", "deletionTimestamp"));
		c = published_killed(trainjob);
		if (c)
			(void)published_kill(obj, c);
	} else if (str_eq(kind, "Job")) {
		if (!c)
			c = status_condition(tj_status(trainjob), COND_COMPLETE);
		if (c)
			(void)published_end_job(obj, json_str(c, "type"), c);
	}
}

bool published_may_succeed(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_CONFLICT || err->code >= 500;
}

void published_run_init(struct published_run *r, const char *ns, const char *name)
{
	*r = (struct published_run){ .ns = xstrdup(ns),
				     .name = xstrdup(name),
				     .watches = { -1, -1 } };
}

void published_run_release(struct published_run *r)
{
	map_release(&r->fingerprints, free);
	free(r->ns);
	free(r->name);
	free(r->dir);
}

bool published_is_new(struct published_run *r, const char *path, bool ended)
{
	cleanup_arena struct arena a = { 0 };
	const char *fingerprint = arena_printf(&a, "%s%s", ended ? "ended " : "",
					       state_fingerprint(&a, path));
	const char *file = path_base(path);

	if (str_eq(map_get(&r->fingerprints, file), fingerprint))
		return false;
	free(map_put(&r->fingerprints, file, xstrdup(fingerprint)));
	return true;
}

void published_forget(struct published_run *r, const char *file)
{
	*(char *)map_get(&r->fingerprints, file) = 0;
}

static void drop_file(struct published_run *r, const char *file,
		      const struct published_sink *to)
{
	cleanup_arena struct arena a = { 0 };
	const char *name;
	const struct published_type *p = published_kind(&a, file, &name);

	if (p)
		to->drop(to->ctx, r, p->api_version, p->kind, name);
	free(map_del(&r->fingerprints, file));
}

void published_read_run(struct published_run *r, const cJSON *ended,
			const struct published_sink *to)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, r->dir, STATE_API), *name;

	if (!file_exists(dir)) {
		legacy_read_run(r, ended, to);
		return;
	}
	for (char **e = state_entries(&a, dir); *e; e++) {
		const struct published_type *p = published_kind(&a, *e, &name);
		const char *path = path_join(&a, dir, *e);
		cleanup_json cJSON *doc = NULL;

		if (!p || str_eq(p->kind, JOBSET_KIND) ||
		    !published_is_new(r, path, ended))
			continue;
		doc = published_read(path);
		if (!doc) {
			published_forget(r, *e);
			continue;
		}
		if (str_eq(p->kind, "Pod"))
			put_logs(doc, r->dir, name);
		if (ended)
			end_object(doc, p->kind, ended);
		if (!to->put(to->ctx, r, doc))
			published_forget(r, *e);
	}
	map_each(e, &r->fingerprints)
		if ((str_starts(e->key, "Pod.") || str_starts(e->key, "Job.")) &&
		    !file_exists(path_join(&a, dir, e->key)))
			drop_file(r, e->key, to);
}

void published_drop_run(struct published_run *r, const struct published_sink *to)
{
	map_each(e, &r->fingerprints)
		drop_file(r, e->key, to);
}

void published_unwatch(struct published_run *r, int inotify)
{
	for (int i = 0; i < 2; i++) {
		if (r->watches[i] >= 0)
			inotify_rm_watch(inotify, r->watches[i]);
		r->watches[i] = -1;
	}
}
