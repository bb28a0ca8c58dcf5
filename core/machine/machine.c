/* machine.c - fill an API from the run directories of this machine (machine/machine.h). */
#include "machine/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "kubelet/node.h"
#include "kubelet/podlog.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "machine/machine_impl.h"
#include "machine/published.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum { STOP_MS = 60 * 1000 }; /* from SIGTERM to the end of a run that is deleted */

static void job_free(void *p)
{
	struct job *j = p;

	published_run_release(&j->run);
	free(j->fingerprint);
	free(j->trainjob_fingerprint);
	cJSON_Delete(j->runtime);
	free(j);
}

/* ---- one job ------------------------------------------------------------------------- */

static void store(struct machine *m, const cJSON *obj)
{
	struct error ignored = { 0 }; /* too large objects are omitted */

	if (apiserver_store(m->api, obj, &ignored) < 0)
		error_clear_if(&ignored, ignored.kind);
}

/* Store an object of the run. False: not now, or the server has another of that name. */
static bool put(void *ctx, const struct published_run *r, cJSON *obj)
{
	struct machine *m = ctx;
	struct error err = { 0 };

	if (!m->mirrors) {
		store(m, obj);
		return true;
	}
	meta_set_annotation(obj, LOCAL_RUN_ANNOTATION, r->dir);
	if (apiserver_mirror(m->api, obj, &err) >= 0)
		return true;
	m->unwritten |= published_may_succeed(&err);
	return !m->unwritten && err.kind != ERR_EXISTS;
}

static void drop(void *ctx, const struct published_run *r, const char *api_version,
		 const char *kind, const char *name)
{
	struct machine *m = ctx;

	if (!m->mirrors)
		apiserver_drop(m->api, api_version, kind, r->ns, name, NULL);
	else if (r->dir)
		apiserver_unmirror(m->api, api_version, kind, r->ns, name, r->dir);
}

/* Watch before reading, so that no change is missed. */
static int watch(const struct machine *m, const char *dir, uint32_t mask)
{
	return m->inotify < 0 ? -1 : inotify_add_watch(m->inotify, dir, mask);
}

static void watch_run(const struct machine *m, struct published_run *r)
{
	cleanup_arena struct arena a = { 0 };

	if (r->watches[0] >= 0)
		return;
	r->watches[0] = watch(m, r->dir, IN_MOVED_TO | IN_MODIFY);
	r->watches[1] =
		watch(m, path_join(&a, r->dir, STATE_API), IN_MOVED_TO | IN_DELETE);
}

/* Documents of older versions have neither kind nor namespace. */
static void put_identity(cJSON *doc, const char *api_version, const char *kind,
			 const struct job *j)
{
	json_put_str(doc, api_version, "apiVersion");
	json_put_str(doc, kind, "kind");
	json_put_str(doc, j->run.ns, "metadata", "namespace");
	json_put_str(doc, j->run.name, "metadata", "name");
}

/* Store the TrainJob. `running`: the run has not ended. False: the name is in use. */
static bool store_trainjob(struct machine *m, struct job *j, bool running)
{
	cleanup_arena struct arena a = { 0 };
	const char *fingerprint =
		state_fingerprint(&a, path_join(&a, j->run.dir, STATE_TRAINJOB));
	cleanup_json cJSON *doc = NULL;

	fingerprint =
		arena_printf(&a, "%s%s%s%s", running ? "" : "ended ", fingerprint,
			     state_suspended(j->run.dir) ? " suspended" : "",
			     running && state_stopped(j->run.dir) ? " stopped" : "");
	if (str_eq(fingerprint, j->trainjob_fingerprint) ||
	    state_read_job(&doc, j->run.dir, running, IGNORED))
		return true;
	put_identity(doc, TRAINER_API_VERSION, TRAINJOB_KIND, j);
	if (!put(m, &j->run, doc))
		return false;
	free(j->trainjob_fingerprint);
	j->trainjob_fingerprint = xstrdup(fingerprint);
	return true;
}

/* ---- JobSet, Jobs, pods and events of a run -------------------------------------- */

static void store_jobset(struct machine *m, struct job *j, const cJSON *trainjob,
			 bool running)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/" STATE_API "/" JOBSET_KIND ".%s.json",
					j->run.dir, j->run.name);
	const cJSON *c = running ? NULL : published_killed(trainjob);
	cleanup_json cJSON *doc = NULL, *stored = NULL;

	if (!published_is_new(&j->run, path, !running) ||
	    state_read_jobset(&doc, j->run.dir, IGNORED))
		return;
	put_identity(doc, JOBSET_API_VERSION, JOBSET_KIND, j);
	if (meta_created(trainjob))
		json_put_str(doc, meta_created(trainjob), "metadata",
			     "creationTimestamp");
	meta_set_owner(doc, trainjob);
	if (tj_suspend(trainjob))
		json_put_bool(doc, true, "spec", "suspend");
	stored = published_read(path);
	if (stored) {
		meta_set_uid(doc, meta_uid(stored));
		json_put(doc, json_dup(json_get(stored, "status")), "status");
	} else { /* of 0.1.0: legacy.h */
		json_put(doc, json_dup(json_get(trainjob, "status", "jobsStatus")),
			 "status", "replicatedJobsStatus");
	}
	if (c && !json_str(doc, "status", "terminalState"))
		published_fail(json_obj(doc, "status"), c);
	if (!put(m, &j->run, doc))
		published_forget(&j->run, path_base(path));
}

/* Read the events that were appended since the last time: lines of JSON. */
static void store_events(struct machine *m, struct job *j)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	const char *path = path_join(&a, j->run.dir, STATE_EVENTS);
	const char *line, *end;

	if (!published_is_new(&j->run, path, false) ||
	    file_read_regular(&text, path, IGNORED) ||
	    text.len <= j->events) /* or the file was truncated */
		return;
	line = (const char *)text.data + j->events;
	for (; (end = strchr(line, '\n')); line = end + 1) {
		cleanup_json cJSON *doc = NULL;

		if (json_parse(&doc, line, (size_t)(end - line), IGNORED) ||
		    !meta_name(doc))
			continue;
		free(map_put(&j->run.fingerprints,
			     arena_printf(&a, "Event.%s.json", meta_name(doc)),
			     xstrdup("")));
		(void)put(m, &j->run, doc);
	}
	j->events = (size_t)(line - (const char *)text.data);
}

static void store_whole(struct machine *m, struct job *j, bool running)
{
	cleanup_json cJSON *trainjob = apiserver_get(
		m->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->run.ns, j->run.name);
	const struct published_sink to = { put, drop, m };

	if (!trainjob)
		return;
	store_events(m, j);
	published_read_run(&j->run, running ? NULL : trainjob, &to);
	store_jobset(m, j, trainjob, running);
	j->has_objects = true;
}

/*
 * For a server's API (mirror.h): store the runtime. Without a server, refresh_runtimes()
 * reads runtimes on request.
 */
static void mirror_runtime(struct machine *m, struct job *j)
{
	cleanup_json cJSON *doc = NULL;

	if (!m->mirrors || j->runtime || state_read_runtime(&doc, j->run.dir, IGNORED))
		return;
	if (str_eq(meta_kind(doc), RUNTIME_KIND))
		json_put_str(doc, j->run.ns, "metadata", "namespace");
	if (put(m, &j->run, doc) || !m->unwritten)
		j->runtime = STEAL(doc);
}

/* Drop the objects of the stored run; another run or none replaces it. */
static void drop_run(struct machine *m, struct job *j)
{
	const struct published_sink to = { put, drop, m };

	published_drop_run(&j->run, &to);
	if (m->mirrors)
		drop(m, &j->run, TRAINER_API_VERSION, TRAINJOB_KIND, j->run.name);
	if (j->runtime)
		drop(m, &j->run, TRAINER_API_VERSION, meta_kind(j->runtime),
		     meta_name(j->runtime));
	cJSON_Delete(j->runtime);
	j->runtime = NULL;
	published_unwatch(&j->run, m->inotify);
	free(j->run.dir);
	free(j->trainjob_fingerprint);
	j->run.dir = j->trainjob_fingerprint = NULL;
	j->has_objects = false;
	j->events = 0;
}

static bool is_of_server(struct arena *a, const char *run)
{
	return file_exists(path_join(a, run, STATE_OWNER));
}

/* Omit a job that belongs to a server: it is in that server's API. */
static void omit_job(struct machine *m, struct job *j, const char *fingerprint)
{
	drop_run(m, j);
	j->hidden = true;
	free(j->fingerprint);
	j->fingerprint = xstrdup(fingerprint);
}

/* Add the namespace, unless the API has it. */
static void add_namespace(struct machine *m, const char *ns)
{
	cleanup_json cJSON *doc = meta_new("v1", "Namespace", NULL, ns);
	cleanup_json cJSON *old = NULL;
	struct error ignored = { 0 };

	if (!m->mirrors) {
		store(m, doc);
		return;
	}
	old = apiserver_get(m->api, "v1", "Namespace", NULL, ns);
	if (!old &&
	    apiserver_write(m->api, "POST", "/api/v1/namespaces", doc, NULL, &ignored))
		error_clear_if(&ignored, ignored.kind);
}

static int64_t expires(const struct machine *m, const struct job *j)
{
	cleanup_json cJSON *trainjob = apiserver_get(
		m->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->run.ns, j->run.name);

	return status_expires(trainjob);
}

/* A job is gone if it has no run, or is another user's. Otherwise errno has another reason. */
static int not_loaded(const char *dir, struct error *err)
{
	return errno && errno != EACCES
		       ? error_errno(err, errno, "state of local jobs: %s", dir)
		       : 0;
}

static int load_job(struct machine *m, struct job *j, const char *dir, bool objects_too,
		    struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *fingerprint, *run;
	bool running;

	j->expires = -1;
	(void)watch(m, dir, IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE);
	fingerprint = state_fingerprint(&a, dir);
	run = state_newest_run(&a, dir, &running);
	if (!run)
		return not_loaded(dir, err);
	j->last_scan = m->scan;
	if (m->mirrors && is_of_server(&a, run)) {
		omit_job(m, j, fingerprint);
		return 0;
	}
	j->hidden = false;
	if (m->mirrors)
		add_namespace(m, j->run.ns);
	if (!str_eq(j->run.dir, run)) {
		drop_run(m, j);
		j->run.dir = xstrdup(run);
	}
	if (running)
		watch_run(m, &j->run);
	j->has_objects = false; /* stored objects may be outdated */
	m->unwritten = false;
	if (store_trainjob(m, j, running) && objects_too) {
		mirror_runtime(m, j);
		store_whole(m, j, running);
	}
	free(j->fingerprint);
	j->fingerprint =
		running || m->unwritten || (m->mirrors && !j->trainjob_fingerprint)
			? NULL
			: xstrdup(fingerprint);
	if (running)
		return 0;
	published_unwatch(&j->run, m->inotify);
	if (!is_of_server(&a, run))
		j->expires = expires(m, j);
	return 0;
}

/*
 * A run that has ended goes by its TrainJob's TTL: while a server mirrors it, or when a
 * command next reads it. Without the right to delete it, it stays.
 */
static bool expire(struct job *j, const char *dir)
{
	if (!j->run.dir || j->expires < 0 || clock_now() < j->expires ||
	    state_locked(dir))
		return false;
	return !state_expire(j->run.ns, j->run.name, j->run.dir, IGNORED);
}

/* An ended job changes only when its directory does: with another run. */
static int refresh_job(struct machine *m, const char *ns, const char *name,
		       const char *dir, bool objects_too, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *key = arena_printf(&a, "%s/%s", ns, name);
	struct job *j = map_get(&m->jobs, key);

	if (j && j->fingerprint && (j->has_objects || !objects_too || j->hidden) &&
	    str_eq(j->fingerprint, state_fingerprint(&a, dir))) {
		if (!expire(j, dir))
			j->last_scan = m->scan;
		return 0;
	}
	if (!j) {
		j = xcalloc(1, sizeof(*j));
		published_run_init(&j->run, ns, name);
		map_put(&m->jobs, key, j);
	}
	if (load_job(m, j, dir, objects_too, err))
		return -1;
	if (expire(j, dir))
		j->last_scan = m->scan - 1; /* drop_missing() */
	return 0;
}

/* ---- all of them --------------------------------------------------------------------- */

static int refresh_namespace(struct machine *m, const char *ns, const char *name,
			     bool objects_too, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	char **names;

	if (state_dir(&a, &dir, ns, NULL, err) || state_readable(dir, err))
		return -1;
	(void)watch(m, dir, IN_CREATE | IN_DELETE | IN_MOVED_TO);
	names = state_entries(&a, dir);
	if (errno)
		return error_errno(err, errno, "state of local jobs: %s", dir);
	if (*names && !m->mirrors)
		add_namespace(m, ns);
	for (; *names; names++)
		if ((!*name || str_eq(*names, name)) &&
		    refresh_job(m, ns, *names, path_join(&a, dir, *names), objects_too,
				err))
			return -1;
	return 0;
}

/* Drop the jobs that no longer exist. */
static void drop_missing(struct machine *m, const char *ns, const char *name)
{
	map_each(e, &m->jobs) {
		struct job *j = e->value;

		if (j->last_scan == m->scan || (*ns && !str_eq(j->run.ns, ns)) ||
		    (*name && !str_eq(j->run.name, name)))
			continue;
		drop(m, &j->run, TRAINER_API_VERSION, TRAINJOB_KIND, j->run.name);
		drop_run(m, j);
		(void)map_del(&m->jobs, e->key);
		job_free(j);
	}
}

static int refresh_jobs(struct machine *m, const char *ns, const char *name,
			bool objects_too, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *root;
	char **all;

	m->scan++;
	if (*ns) {
		if (refresh_namespace(m, ns, name, objects_too, err))
			return -1;
	} else {
		if (state_root(&a, &root, err) || state_readable(root, err))
			return -1;
		(void)watch(m, root, IN_CREATE | IN_DELETE | IN_MOVED_TO);
		all = state_entries(&a, root);
		if (errno)
			return error_errno(err, errno, "state of local jobs: %s", root);
		for (; *all; all++)
			if (state_is_name(*all) &&
			    refresh_namespace(m, *all, name, objects_too, err))
				return -1;
	}
	drop_missing(m, ns, name);
	return 0;
}

/* ---- runtimes ------------------------------------------------------------------------ */

static int load_builtin(struct machine *m, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *file = arena_printf(&arena, "runtimes/%s.yaml", name);

	for (const struct asset *a = assets; a->name; a++) {
		cleanup_json cJSON *docs = NULL;
		const cJSON *doc;

		if (*name ? !str_eq(a->name, file) : !str_starts(a->name, "runtimes/"))
			continue;
		if (yaml_parse(&docs, a->data, a->len, err))
			return error_wrap(err, "%s", a->name);
		json_each(doc, docs)
			store(m, doc);
	}
	return 0;
}

/* Runtimes from files are stored with their runs: add those of the jobs read so far. */
static int refresh_runtimes(struct machine *m, const struct object_scope *which,
			    struct error *err)
{
	if (str_eq(which->kind, CLUSTER_RUNTIME_KIND) &&
	    load_builtin(m, which->name, err))
		return -1;
	map_each(e, &m->jobs) {
		const struct job *j = e->value;
		cleanup_json cJSON *doc = NULL;

		if (!j->run.dir || state_read_runtime(&doc, j->run.dir, IGNORED) ||
		    !str_eq(meta_kind(doc), which->kind))
			continue;
		if (str_eq(which->kind, RUNTIME_KIND))
			json_put_str(doc, j->run.ns, "metadata", "namespace");
		store(m, doc);
	}
	return 0;
}

static void store_node(struct machine *m)
{
	cleanup_json cJSON *node = node_object(APISERVER_KUBERNETES);

	store(m, node);
}

/* apiserver_conf.refresh: read the directories that the requested kind comes from. */
static int refresh(void *ctx, const struct object_scope *which, struct error *err)
{
	static const char *const runtimes[] = { RUNTIME_KIND, CLUSTER_RUNTIME_KIND,
						NULL };
	static const char *const parts[] = { "Pod", "Job", "Event", NULL };
	struct machine *m = ctx;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (str_in(which->kind, runtimes))
		rc = refresh_runtimes(m, which, err);
	else if (str_eq(which->kind, TRAINJOB_KIND))
		rc = refresh_jobs(m, which->ns, which->name, false, err);
	else if (str_eq(which->kind, JOBSET_KIND))
		rc = refresh_jobs(m, which->ns, which->name, true, err);
	else if (str_in(which->kind, parts))
		rc = refresh_jobs(m, which->ns, "", true, err);
	else if (str_eq(which->kind, "Namespace"))
		rc = refresh_jobs(m, "", "", false, err);
	else if (str_eq(which->kind, "Node"))
		store_node(m);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

/* ---- start and end ------------------------------------------------------------------- */

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct machine *m = ctx;

	apiserver_handle(m->api, req, resp);
}

static int read_log(void *ctx, const cJSON *pod, const struct log_options *o,
		    struct httpd_response *resp, struct error *err)
{
	struct machine *m = ctx;

	return podlog_open(m->api, pod, o, resp, err);
}

int machine_delete(const char *ns, const char *name, struct error *err)
{
	if (state_stop(ns, name, STOP_MS, err))
		return -1;
	return state_remove(ns, name, err) ? error_clear_if(err, ERR_NOT_FOUND) : 0;
}

/* Are both equal but for spec.suspend and the fields that the server sets? */
static bool is_same_but_suspend(const cJSON *old, const cJSON *obj)
{
	cleanup_json cJSON *a = json_dup(old), *b = json_dup(obj);
	cJSON *const both[] = { a, b };

	for (size_t i = 0; i < 2; i++) {
		json_del(both[i], JSON_PATH("metadata", "generation"));
		json_del(both[i], JSON_PATH("metadata", "resourceVersion"));
		json_del(both[i], JSON_PATH("metadata", "managedFields"));
		tj_set_suspend(both[i], false);
	}
	return json_equal(a, b);
}

int machine_check_write(const cJSON *old, const cJSON *obj, struct error *err)
{
	if (old && str_eq(meta_kind(obj), TRAINJOB_KIND) && is_same_but_suspend(old, obj))
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "only spec.suspend of a local job's TrainJob can be changed");
}

static int write_object(void *ctx, const cJSON *old, const cJSON *obj, struct error *err)
{
	if (!machine_check_write(old, obj, err))
		return state_suspend(meta_namespace(obj), meta_name(obj), tj_suspend(obj),
				     err);
	err->code = 422;
	return -1;
}

/*
 * Deleting a TrainJob deletes its run and logs. Its other objects cannot be deleted
 * alone.
 */
static int remove_job(void *ctx, const cJSON *obj, struct error *err)
{
	if (!str_eq(meta_kind(obj), TRAINJOB_KIND))
		return error_set(err, ERR_UNSUPPORTED,
				 "only the TrainJob of a local job can be deleted");
	if (state_owned_check(meta_namespace(obj), meta_name(obj), err))
		return -1;
	return machine_delete(meta_namespace(obj), meta_name(obj), err);
}

void machine_init(struct machine *m, struct apiserver *api, int inotify, bool mirrors)
{
	*m = (struct machine){ .api = api, .inotify = inotify, .mirrors = mirrors };
	pthread_mutex_init(&m->lock, NULL);
}

void machine_release(struct machine *m)
{
	map_release(&m->jobs, job_free);
	pthread_mutex_destroy(&m->lock);
}

int machine_read_all(struct machine *m, struct error *err)
{
	int rc;

	pthread_mutex_lock(&m->lock);
	rc = refresh_jobs(m, "", "", true, err);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static void release(void *ctx)
{
	struct machine *m = ctx;

	apiserver_free(m->api);
	machine_release(m);
	free(m);
}

int machine_connect(struct kube **ret, const struct kube_opts *opts, struct error *err)
{
	struct machine *m = xcalloc(1, sizeof(*m));
	const struct apiserver_conf conf = {
		.log = read_log,
		.refresh = refresh,
		.write = write_object,
		.remove = remove_job,
		.ctx = m,
	};
	const struct kube_config config = { .ns = "default" };
	struct kube_opts how = *opts;

	machine_init(m, NULL, -1, false);
	how.inside =
		(struct inside_server){ .handle = handle, .release = release, .ctx = m };
	if (apiserver_new(&m->api, &conf, err) || kube_new(ret, &config, &how, err)) {
		release(m);
		return -1;
	}
	return 0;
}
