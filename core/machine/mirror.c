/* mirror.c - copy the objects of run directories into an API (machine/mirror.h). */
#include "machine/mirror.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "local/state.h"
#include "local/state_impl.h"
#include "machine/machine_impl.h"
#include "machine/published.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

enum {
	RESCAN_MS = 5000, /* poll for changes by other hosts */
	PAUSE_MS = 10,    /* between two reads: changes come in groups */
};

struct mirror {
	struct machine machine;
	pthread_mutex_t lock; /* held while the directories are read */
	pthread_t thread;
	bool has_thread;
	int inotify, stop;
};

/* ---- reading ------------------------------------------------------------------------ */

static bool has_changed(struct mirror *m)
{
	char events[16 * 1024];
	bool changed = false;

	while (read(m->inotify, events, sizeof(events)) > 0)
		changed = true;
	return changed;
}

static void read_changes(struct mirror *m, bool always)
{
	struct error err = { 0 };

	pthread_mutex_lock(&m->lock);
	if ((has_changed(m) || always) && machine_read_all(&m->machine, &err))
		log_debug("cannot read local runs", LOG_ERR(&err));
	pthread_mutex_unlock(&m->lock);
}

void mirror_sync(struct mirror *m)
{
	if (m)
		read_changes(m, false);
}

static void *watch(void *ctx)
{
	struct mirror *m = ctx;
	struct pollfd fds[] = { { .fd = m->stop, .events = POLLIN },
				{ .fd = m->inotify, .events = POLLIN } };
	int n;

	do {
		n = poll(fds, 2, RESCAN_MS);
		if (n >= 0 && !fds[0].revents)
			read_changes(m, !n);
	} while (poll(fds, 1, PAUSE_MS) <= 0);
	return NULL;
}

/* ---- what an earlier server stored ---------------------------------------------------- */

static const struct job *job_of(const struct mirror *m, const char *run)
{
	map_each(e, &m->machine.jobs) {
		const struct job *j = e->value;

		if (str_eq(j->run.dir, run))
			return j;
	}
	return NULL;
}

static bool is_there(const struct mirror *m, const cJSON *obj)
{
	const struct job *j = job_of(m, meta_annotation(obj, LOCAL_RUN_ANNOTATION));
	cleanup_arena struct arena a = { 0 };
	const char *name;
	const char *file = arena_printf(&a, "%s.%s.json", meta_kind(obj), meta_name(obj));

	return j &&
	       (!published_kind(&a, file, &name) || map_get(&j->run.fingerprints, file));
}

static void drop_unowned(struct mirror *m)
{
	static const char *const kinds[][2] = {
		{ TRAINER_API_VERSION, TRAINJOB_KIND },
		{ TRAINER_API_VERSION, RUNTIME_KIND },
		{ TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND },
		{ JOBSET_API_VERSION, JOBSET_KIND },
		{ "batch/v1", "Job" },
		{ "v1", "Pod" },
		{ "v1", "Event" },
	};
	const cJSON *obj;

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		cleanup_json cJSON *list =
			apiserver_list(m->machine.api, kinds[i][0], kinds[i][1], NULL);

		json_each(obj, list)
			if (mirror_has(obj) && !is_there(m, obj))
				apiserver_drop(m->machine.api, kinds[i][0], kinds[i][1],
					       meta_namespace(obj), meta_name(obj),
					       meta_uid(obj));
	}
}

/* ---- writes ---------------------------------------------------------------------------- */

bool mirror_has(const cJSON *obj)
{
	return meta_annotation(obj, LOCAL_RUN_ANNOTATION);
}

int mirror_check(const cJSON *old, const cJSON *obj, struct error *err)
{
	if (!machine_check_write(old, obj, err))
		return 0;
	err->code = 403;
	return error_wrap(err, "%s %s belongs to a run of 'submit --local'",
			  meta_kind(old), meta_name(old));
}

int mirror_write(const cJSON *old, const cJSON *obj, struct error *err)
{
	if (!old || !mirror_has(old) || tj_suspend(old) == tj_suspend(obj))
		return 0;
	return state_suspend(meta_namespace(obj), meta_name(obj), tj_suspend(obj), err);
}

/* Objects of a job are deleted with it, not alone. */
int mirror_remove(const cJSON *obj, struct error *err)
{
	const char *run = meta_annotation(obj, LOCAL_RUN_ANNOTATION);

	if (!run || !file_exists(run))
		return 0;
	if (str_eq(meta_kind(obj), TRAINJOB_KIND))
		return machine_delete(meta_namespace(obj), meta_name(obj), err);
	return error_set(err, ERR_UNSUPPORTED,
			 "%s %s belongs to a run of 'submit --local'; only its TrainJob "
			 "can be deleted",
			 meta_kind(obj), meta_name(obj));
}

/* ---- start and end ----------------------------------------------------------------------- */

/* Create the directory so that it can be watched; otherwise it is polled. */
static void make_root(void)
{
	cleanup_arena struct arena a = { 0 };
	struct error ignored = { 0 };
	const char *root;

	if (state_root(&a, &root, &ignored) || dir_make(root, 0700, &ignored))
		log_warn("cannot watch local runs", LOG_ERR(&ignored));
}

int mirror_start(struct mirror **ret, struct apiserver *api, struct error *err)
{
	struct mirror *m = xcalloc(1, sizeof(*m));

	pthread_mutex_init(&m->lock, NULL);
	m->stop = eventfd(0, EFD_CLOEXEC);
	m->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	machine_init(&m->machine, api, m->inotify, true);
	if (m->stop < 0 || m->inotify < 0) {
		(void)state_no_watch(err);
		mirror_stop(m);
		return -1;
	}
	make_root();
	read_changes(m, true);
	drop_unowned(m);
	if (thread_start(&m->thread, watch, m, err)) {
		mirror_stop(m);
		return -1;
	}
	m->has_thread = true;
	*ret = m;
	return 0;
}

void mirror_stop(struct mirror *m)
{
	if (!m)
		return;
	if (m->has_thread) {
		(void)!eventfd_write(m->stop, 1);
		pthread_join(m->thread, NULL);
	}
	machine_release(&m->machine);
	pthread_mutex_destroy(&m->lock);
	if (m->stop >= 0)
		close(m->stop);
	if (m->inotify >= 0)
		close(m->inotify);
	free(m);
}
