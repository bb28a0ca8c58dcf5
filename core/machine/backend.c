/* backend.c - decide which run to start, watch, end or drop (machine/backend.h). */
#include "machine/backend.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "kubelet/node.h"
#include "local/state_impl.h"
#include "machine/backend_impl.h"
#include "machine/mirror.h"
#include "trainer/api.h"
#include "trainer/podcause.h"

enum {
	POLL_MS = 100,  /* between checks whether a process has ended */
	BUSY_MS = 2000, /* between tries while another job has the name, or writes fail */
};

/* ---- runs ---------------------------------------------------------------------------- */

static void drop_run(struct backend *b, struct backend_run *r)
{
	cleanup_arena struct arena a = { 0 };

	published_unwatch(&r->run, b->inotify);
	map_del(&b->runs, arena_printf(&a, "%s/%s", r->run.ns, r->run.name));
	published_run_release(&r->run);
	free(r->ending_dir);
	free(r);
}

/* Record the API's pods and Jobs, so that those whose files are gone will be removed. */
static void list_copied(struct backend *b, struct backend_run *r)
{
	cleanup_arena struct arena a = { 0 };
	const cJSON *obj;

	for (int i = 0; i < 2; i++) {
		const struct published_type *p = &published_types[i];
		cleanup_json cJSON *list =
			apiserver_list(b->conf.api, p->api_version, p->kind, r->run.ns);

		json_each(obj, list)
			if (str_eq(meta_label(obj, POD_JOBSET_LABEL), r->run.name))
				map_put(&r->run.fingerprints,
					arena_printf(&a, "%s.%s.json", p->kind,
						     meta_name(obj)),
					xstrdup(""));
	}
}

static struct backend_run *get_run(struct backend *b, const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	const char *key = arena_printf(&a, "%s/%s", ns, name);
	struct backend_run *r = map_get(&b->runs, key);

	if (r)
		return r;
	r = xcalloc(1, sizeof(*r));
	published_run_init(&r->run, ns, name);
	map_put(&b->runs, key, r);
	list_copied(b, r);
	return r;
}

/* The process may have ended before the watch was set: check once more. */
static void watch(struct backend *b, struct backend_run *r, const struct state_owned *run)
{
	cleanup_arena struct arena a = { 0 };

	if (r->run.watches[0] >= 0 && str_eq(r->run.dir, run->dir))
		return;
	published_unwatch(&r->run, b->inotify);
	r->run.watches[0] = inotify_add_watch(
		b->inotify, path_join(&a, run->dir, STATE_API), IN_MOVED_TO | IN_DELETE);
	r->run.watches[1] =
		inotify_add_watch(b->inotify, path_dir(&a, run->dir), IN_CLOSE_WRITE);
	r->due_ms = clock_ms() + POLL_MS;
}

static void end_run(struct backend_run *r, const struct state_owned *run)
{
	r->due_ms = clock_ms() + POLL_MS;
	if (str_eq(r->ending_dir, run->dir))
		return;
	free(r->ending_dir);
	r->ending_dir = xstrdup(run->dir);
	state_owned_stop(run);
}

/* ---- one JobSet ---------------------------------------------------------------------- */

/* Runs of a deleted JobSet: end them, then remove their directories. */
static bool end_stale(struct backend *b, struct backend_run *r,
		      const struct state_owned *runs, const char *uid)
{
	bool left = false;

	for (; runs; runs = runs->next) {
		if (str_eq(runs->owner.uid, uid))
			continue;
		if (runs->running) {
			end_run(r, runs);
			left = true;
			continue;
		}
		backend_clear(b, runs->ns, runs->owner.uid, NULL);
		state_owned_remove(runs);
	}
	return left;
}

static void launch(struct backend *b, struct backend_run *r, const cJSON *jobset)
{
	struct error err = { 0 };
	int rc = backend_launch(b, jobset, &err);

	if (!rc) {
		r->due_ms = clock_ms();
		return;
	}
	log_warn("cannot run a JobSet", LOG_STR("namespace", r->run.ns),
		 LOG_STR("name", r->run.name), LOG_ERR(&err));
	if (rc == RUN_BUSY)
		r->due_ms = clock_ms() + BUSY_MS;
	else
		backend_fail(b, r->run.ns, r->run.name, "FailedToStart", err.msg);
}

static void sync_running(struct backend *b, struct backend_run *r, const cJSON *jobset,
			 const struct state_owned *run)
{
	bool suspend = json_bool(jobset, false, "spec", "suspend");

	watch(b, r, run);
	(void)backend_copy(b, r, run, false);
	if (suspend && !run->suspended)
		state_owned_suspend(run);
	if (suspend || run->suspended)
		end_run(r, run);
}

/* Start, watch or end the run. `run`: the newest of this JobSet, or NULL. */
static void sync_run(struct backend *b, struct backend_run *r, const cJSON *jobset,
		     const struct state_owned *run)
{
	bool ended = json_str(jobset, "status", "terminalState") != NULL;

	if (run && run->running) {
		sync_running(b, r, jobset, run);
		return;
	}
	published_unwatch(&r->run, b->inotify);
	if (run)
		ended = backend_copy(b, r, run, ended || run->suspended) || ended;
	if (ended)
		return;
	if (run && !run->suspended) {
		backend_fail(b, r->run.ns, r->run.name, REASON_INTERRUPTED,
			     "the process that ran the job was killed");
		state_sweep();
	} else if (json_bool(jobset, false, "spec", "suspend")) {
		backend_write_suspended(b, jobset);
		state_claims_wait(b->server, jobset);
	} else {
		launch(b, r, jobset);
	}
}

static bool is_ours(const cJSON *jobset)
{
	const char *by = json_str(jobset, "spec", "managedBy");

	return !mirror_has(jobset) &&
	       (!by || str_eq(by, "jobset.sigs.k8s.io/jobset-controller"));
}

bool backend_runs(struct backend *b)
{
	cleanup_json cJSON *list =
		apiserver_list(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND, NULL);
	const cJSON *jobset;

	json_each(jobset, list)
		if (is_ours(jobset) && !json_str(jobset, "status", "terminalState") &&
		    !json_bool(jobset, false, "spec", "suspend"))
			return true;
	return false;
}

static void sync_jobset(struct backend *b, const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *jobset =
		apiserver_get(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND, ns, name);
	const struct state_owned *runs = state_owned(&a, b->server, ns, name), *run;
	struct backend_run *r = get_run(b, ns, name);
	bool gone = !jobset || meta_is_deleted(jobset);
	const char *uid = gone ? "" : meta_uid(jobset);

	r->due_ms = 0;
	if (gone) {
		state_claims_wait_end(b->server, ns, name);
		backend_sweep_archives(b);
	}
	if (end_stale(b, r, runs, uid))
		return;
	for (run = runs; run && !str_eq(run->owner.uid, uid);)
		run = run->next;
	if (!gone && is_ours(jobset))
		sync_run(b, r, jobset, run);
	if (b->unwritten && !r->due_ms)
		r->due_ms = clock_ms() + BUSY_MS;
	b->unwritten = false;
	if (r->run.watches[0] < 0 && !r->due_ms)
		drop_run(b, r);
}

/* ---- the loop ------------------------------------------------------------------------ */

static void mark_key(struct backend *b, const char *key)
{
	pthread_mutex_lock(&b->lock);
	map_put(&b->changed, key, b);
	pthread_mutex_unlock(&b->lock);
	(void)!eventfd_write(b->wake, 1);
}

static void mark_changed(struct backend *b, const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };

	mark_key(b, arena_printf(&a, "%s/%s", ns, name));
}

static void mark_all(struct backend *b)
{
	cleanup_json cJSON *list =
		apiserver_list(b->conf.api, JOBSET_API_VERSION, JOBSET_KIND, NULL);
	const cJSON *jobset;

	json_each(jobset, list)
		mark_changed(b, meta_namespace(jobset), meta_name(jobset));
}

static void mark_runs(struct backend *b)
{
	cleanup_arena struct arena a = { 0 };

	for (const struct state_owned *run = state_owned(&a, b->server, NULL, NULL); run;
	     run = run->next)
		mark_changed(b, run->ns, run->name);
}

/* Mark the runs to sync: files changed, process ended, or due. */
static void mark_watched(struct backend *b)
{
	char events[64 * 1024] __attribute__((aligned(8)));
	int64_t now = clock_ms();
	ssize_t n;

	while ((n = read(b->inotify, events, sizeof(events))) > 0)
		for (char *p = events; p < events + n;) {
			const struct inotify_event *e = (void *)p;

			p += sizeof(*e) + e->len;
			map_each(entry, &b->runs) {
				struct backend_run *r = entry->value;

				if (e->wd == r->run.watches[0] ||
				    e->wd == r->run.watches[1] || e->mask & IN_Q_OVERFLOW)
					r->due_ms = now;
			}
		}
	map_each(entry, &b->runs) {
		const struct backend_run *r = entry->value;

		if (r->due_ms && r->due_ms <= now)
			mark_changed(b, r->run.ns, r->run.name);
	}
}

static bool next_changes(struct backend *b, struct map *ret)
{
	bool stopping;

	pthread_mutex_lock(&b->lock);
	*ret = b->changed;
	b->changed = (struct map){ 0 };
	stopping = b->stopping;
	pthread_mutex_unlock(&b->lock);
	return !stopping;
}

static int timeout_ms(const struct backend *b)
{
	int64_t now = clock_ms(), first = -1;

	map_each(entry, &b->runs) {
		const struct backend_run *r = entry->value;

		if (r->due_ms && (first < 0 || r->due_ms < first))
			first = r->due_ms;
	}
	if (first < 0)
		return -1;
	return first > now ? (int)(first - now) : 0;
}

static void wait_for_changes(struct backend *b)
{
	struct pollfd fds[] = { { .fd = b->wake, .events = POLLIN },
				{ .fd = b->inotify, .events = POLLIN } };
	eventfd_t n;

	(void)!poll(fds, 2, timeout_ms(b));
	(void)!eventfd_read(b->wake, &n);
	mark_watched(b);
}

static void store_node(struct backend *b)
{
	cleanup_json cJSON *node = node_object(b->conf.version);
	cleanup_json cJSON *old =
		apiserver_get(b->conf.api, "v1", "Node", NULL, meta_name(node));
	char now[TIME_TEXT_SIZE];
	struct error err = { 0 };

	json_put_str(node, old ? meta_created(old) : time_text(clock_now(), now),
		     "metadata", "creationTimestamp");
	if (apiserver_store(b->conf.api, node, &err) < 0)
		log_warn("cannot store the node", LOG_ERR(&err));
}

static void *work(void *ctx)
{
	struct backend *b = ctx;
	struct map changed;

	store_node(b);
	state_sweep();
	state_owned_sweep();
	backend_sweep_archives(b);
	mark_runs(b);
	while (next_changes(b, &changed)) {
		map_each(e, &changed) {
			char **parts;
			cleanup_arena struct arena a = { 0 };

			parts = str_split(&a, e->key, '/', NULL);
			sync_jobset(b, parts[0], parts[1]);
		}
		map_release(&changed, NULL);
		wait_for_changes(b);
	}
	map_release(&changed, NULL);
	return NULL;
}

static void *watch_jobsets(void *ctx)
{
	struct backend *b = ctx;
	int64_t version = 0;

	for (bool all = true;;) {
		cleanup_free char *key = NULL;
		struct error err = { 0 };
		int rc = apiserver_next(b->conf.api, JOBSET_KIND, &version,
					all ? clock_ms() : -1, &key, &err);

		if (rc < 0 && err.kind != ERR_EXPIRED)
			return NULL;
		if (rc > 0)
			mark_key(b, key);
		if (rc < 0) /* JobSets may have been deleted meanwhile */
			mark_runs(b);
		if (rc < 0 || all)
			mark_all(b);
		all = false;
	}
}

/* ---- start and end ------------------------------------------------------------------- */

int backend_start(struct backend **ret, const struct backend_conf *conf,
		  struct error *err)
{
	struct backend *b = xcalloc(1, sizeof(*b));

	b->conf = *conf;
	b->server = xstrdup(conf->server);
	pthread_mutex_init(&b->lock, NULL);
	b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (b->wake < 0 || b->inotify < 0) {
		(void)state_no_watch(err);
		backend_stop(b);
		return -1;
	}
	if (!thread_start(&b->threads[0], work, b, err)) {
		b->n_threads = 1;
		if (!thread_start(&b->threads[1], watch_jobsets, b, err)) {
			b->n_threads = 2;
			*ret = b;
			return 0;
		}
	}
	backend_stop(b);
	return -1;
}

void backend_stop(struct backend *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	pthread_mutex_unlock(&b->lock);
	(void)!eventfd_write(b->wake, 1);
	for (int i = 0; i < b->n_threads; i++)
		pthread_join(b->threads[i], NULL);
	map_each(e, &b->runs)
		drop_run(b, e->value);
	map_release(&b->runs, NULL);
	map_release(&b->changed, NULL);
	if (b->wake >= 0)
		close(b->wake);
	if (b->inotify >= 0)
		close(b->inotify);
	pthread_mutex_destroy(&b->lock);
	free(b->server);
	free(b);
}
