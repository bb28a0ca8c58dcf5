/* machine.c - fills an API with what run directories have (local/machine.h). */
#include "local/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "local/state_impl.h"
#include "trainer/api.h"
#include "trainer/trainjob_status.h"

/* A job, as the API has it. */
struct job {
	char *ns, *name;
	char *mark;    /* of its directory when it had ended; NULL: it has not */
	char *run;     /* the directory of the run that is stored */
	char *known;   /* the mark of its TrainJob */
	bool whole;    /* its JobSet is stored, too */
	unsigned seen; /* in which round */
};

struct machine {
	struct apiserver *api;
	pthread_mutex_t lock; /* of what follows */
	struct map jobs;      /* "NS/NAME" -> struct job */
	unsigned round;
};

static void job_free(void *p)
{
	struct job *j = p;

	free(j->ns);
	free(j->name);
	free(j->mark);
	free(j->run);
	free(j->known);
	free(j);
}

/* ---- one job ------------------------------------------------------------------------- */

static void store(struct machine *m, const cJSON *obj)
{
	struct error ignored = { 0 }; /* too large: it is not shown */

	if (apiserver_store(m->api, obj, &ignored) < 0)
		error_clear_if(&ignored, ignored.kind);
}

static void drop(struct machine *m, const struct job *j)
{
	apiserver_drop(m->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->ns, j->name, NULL);
	apiserver_drop(m->api, JOBSET_API_VERSION, JOBSET_KIND, j->ns, j->name, NULL);
}

/* Documents of old runs say neither their kind nor their namespace. */
static void put_identity(cJSON *doc, const char *api_version, const char *kind,
			 const struct job *j)
{
	json_put_str(doc, api_version, "apiVersion");
	json_put_str(doc, kind, "kind");
	json_put_str(doc, j->ns, "metadata", "namespace");
	json_put_str(doc, j->name, "metadata", "name");
}

/* How it ended is in the TrainJob; whether it has not, in `running`. */
static void store_trainjob(struct machine *m, struct job *j, bool running)
{
	cleanup_arena struct arena a = { 0 };
	const char *mark = state_mark(&a, path_join(&a, j->run, STATE_TRAINJOB));
	struct error unreadable = { 0 };
	cleanup_json cJSON *doc = NULL;

	mark = arena_printf(&a, "%s%s", running ? "" : "ended ", mark);
	if (str_eq(mark, j->known) || state_read_job(&doc, j->run, running, &unreadable))
		return;
	put_identity(doc, TRAINER_API_VERSION, TRAINJOB_KIND, j);
	store(m, doc);
	free(j->known);
	j->known = xstrdup(mark);
}

static void store_jobset(struct machine *m, struct job *j)
{
	cleanup_json cJSON *doc = NULL;
	cleanup_json cJSON *trainjob =
		apiserver_get(m->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->ns, j->name);
	struct error unreadable = { 0 };

	if (j->whole || !trainjob || state_read_jobset(&doc, j->run, &unreadable))
		return;
	put_identity(doc, JOBSET_API_VERSION, JOBSET_KIND, j);
	if (meta_created(trainjob))
		json_put_str(doc, meta_created(trainjob), "metadata",
			     "creationTimestamp");
	meta_set_owner(doc, trainjob);
	store(m, doc);
	j->whole = true;
}

static void load_job(struct machine *m, struct job *j, const char *dir, bool whole)
{
	cleanup_arena struct arena a = { 0 };
	const char *mark = state_mark(&a, dir);
	bool running = state_locked(dir); /* first: it may end at any time */
	const char *run = state_newest(&a, dir);

	if (!run)
		return;
	j->seen = m->round;
	if (!str_eq(j->run, run)) {
		free(j->run);
		free(j->known);
		j->run = xstrdup(run);
		j->known = NULL;
		j->whole = false;
	}
	store_trainjob(m, j, running);
	if (whole)
		store_jobset(m, j);
	free(j->mark);
	j->mark = running ? NULL : xstrdup(mark);
}

/* One that has ended changes with its directory only: with another run. */
static void refresh_job(struct machine *m, const char *ns, const char *name,
			const char *dir, bool whole)
{
	cleanup_arena struct arena a = { 0 };
	const char *key = arena_printf(&a, "%s/%s", ns, name);
	struct job *j = map_get(&m->jobs, key);

	if (j && j->mark && (j->whole || !whole) &&
	    str_eq(j->mark, state_mark(&a, dir))) {
		j->seen = m->round;
		return;
	}
	if (!j) {
		j = xcalloc(1, sizeof(*j));
		j->ns = xstrdup(ns);
		j->name = xstrdup(name);
		map_put(&m->jobs, key, j);
	}
	load_job(m, j, dir, whole);
}

/* ---- all of them --------------------------------------------------------------------- */

static int refresh_namespace(struct machine *m, const char *ns, const char *name,
			     bool whole, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc = meta_new("v1", "Namespace", NULL, ns);
	const char *dir;
	char **names;

	if (state_dir(&a, &dir, ns, NULL, err) || state_readable(dir, err))
		return -1;
	names = state_entries(&a, dir);
	if (*names)
		store(m, doc);
	for (; *names; names++)
		if (!*name || str_eq(*names, name))
			refresh_job(m, ns, *names, path_join(&a, dir, *names), whole);
	return 0;
}

/* Those that were there before, and are no more. */
static void drop_missing(struct machine *m, const char *ns, const char *name)
{
	struct job *gone;

	do {
		cleanup_arena struct arena a = { 0 };

		gone = NULL;
		map_each(e, &m->jobs) {
			struct job *j = e->value;

			if (j->seen != m->round && (!*ns || str_eq(j->ns, ns)) &&
			    (!*name || str_eq(j->name, name)))
				gone = j;
		}
		if (!gone)
			return;
		drop(m, gone);
		map_del(&m->jobs, arena_printf(&a, "%s/%s", gone->ns, gone->name));
		job_free(gone);
	} while (true);
}

static int refresh_jobs(struct machine *m, const char *ns, const char *name, bool whole,
			struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *root;

	m->round++;
	if (*ns) {
		if (refresh_namespace(m, ns, name, whole, err))
			return -1;
	} else {
		if (state_root(&a, &root, err) || state_readable(root, err))
			return -1;
		for (char **all = state_entries(&a, root); *all; all++)
			if (state_is_name(*all) &&
			    refresh_namespace(m, *all, name, whole, err))
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

/* Those of files stay with the runs that were made of them: of the jobs asked for so far. */
static int refresh_runtimes(struct machine *m, const struct wanted *which,
			    struct error *err)
{
	if (str_eq(which->kind, CLUSTER_RUNTIME_KIND) &&
	    load_builtin(m, which->name, err))
		return -1;
	map_each(e, &m->jobs) {
		const struct job *j = e->value;
		cleanup_json cJSON *doc = NULL;
		struct error none = { 0 };

		if (state_read_runtime(&doc, j->run, &none) ||
		    !str_eq(meta_kind(doc), which->kind))
			continue;
		if (str_eq(which->kind, RUNTIME_KIND))
			json_put_str(doc, j->ns, "metadata", "namespace");
		store(m, doc);
	}
	return 0;
}

/* For each kind of which there is anything: what has to be read. */
static int refresh(void *ctx, const struct wanted *which, struct error *err)
{
	static const char *const runtimes[] = { RUNTIME_KIND, CLUSTER_RUNTIME_KIND,
						NULL };
	struct machine *m = ctx;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (str_in(which->kind, runtimes))
		rc = refresh_runtimes(m, which, err);
	else if (str_eq(which->kind, TRAINJOB_KIND))
		rc = refresh_jobs(m, which->ns, which->name, false, err);
	else if (str_eq(which->kind, JOBSET_KIND))
		rc = refresh_jobs(m, which->ns, which->name, true, err);
	else if (str_eq(which->kind, "Namespace"))
		rc = refresh_jobs(m, "", "", false, err);
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

static void release(void *ctx)
{
	struct machine *m = ctx;

	apiserver_free(m->api);
	map_release(&m->jobs, job_free);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int machine_connect(struct kube **ret, const struct kube_opts *opts, struct error *err)
{
	struct machine *m = xcalloc(1, sizeof(*m));
	const struct apiserver_conf conf = { .refresh = refresh, .ctx = m };
	const struct kube_config config = { .ns = "default" };
	struct kube_opts how = *opts;

	pthread_mutex_init(&m->lock, NULL);
	how.inside =
		(struct inside_server){ .handle = handle, .release = release, .ctx = m };
	if (apiserver_new(&m->api, &conf, err) || kube_new(ret, &config, &how, err)) {
		release(m);
		return -1;
	}
	return 0;
}
