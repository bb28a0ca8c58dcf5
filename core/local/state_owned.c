/* state_owned.c - find, publish and remove a server's runs (local/state_owned.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/state_impl.h"
#include "local/state_owned.h"

enum { APPEND_BYTES = 1024 * 1024 }; /* of each file; later lines are dropped */

/*
 * The directory of a server now: if it was the one in the state directory (as without
 * --data), and that was moved, the one in this state directory.
 */
static const char *server_now(struct arena *arena, const char *server)
{
	cleanup_free char *here = NULL;
	const char *jobs;

	if (file_exists(server) || !str_ends(server, "/kftrainer/server") ||
	    state_root(arena, &jobs, IGNORED))
		return server;
	here = realpath(path_join(arena, path_dir(arena, jobs), "server"), NULL);
	return arena_strdup(arena, here ? here : server);
}

static bool read_owner(struct arena *arena, const char *dir, struct state_owner *ret)
{
	cleanup_buf struct buf text = { .max = 65536 };
	cleanup_json cJSON *doc = NULL;

	if (file_read_regular(&text, path_join(arena, dir, STATE_OWNER), IGNORED) ||
	    json_parse(&doc, text.data, text.len, IGNORED) || !json_str(doc, "server") ||
	    !json_str(doc, "uid"))
		return false;
	*ret = (struct state_owner){
		.server = server_now(arena, arena_strdup(arena, json_str(doc, "server"))),
		.uid = arena_strdup(arena, json_str(doc, "uid")),
		.generation = json_int(doc, 0, "generation"),
	};
	return true;
}

/* Prepend the runs of a job to `list`. */
static struct state_owned *add_job(struct arena *arena, const char *server,
				   const char *ns, const char *name,
				   struct state_owned *list)
{
	const char *job_dir, *newest;
	bool running;

	if (state_dir(arena, &job_dir, ns, name, IGNORED))
		return list;
	newest = state_newest_run(arena, job_dir, &running);
	for (char **e = state_entries(arena, job_dir); *e; e++) {
		const char *dir = path_join(arena, job_dir, *e);
		struct state_owner owner;
		struct state_owned *run;

		if (**e < '0' || **e > '9' || !read_owner(arena, dir, &owner) ||
		    !str_eq(owner.server, server))
			continue;
		run = arena_alloc(arena, sizeof(*run));
		*run = (struct state_owned){
			.next = list,
			.ns = arena_strdup(arena, ns),
			.name = arena_strdup(arena, name),
			.dir = dir,
			.owner = owner,
			.running = running && str_eq(dir, newest),
			.suspended = file_exists(path_join(arena, dir, STATE_SUSPEND)),
		};
		list = run;
	}
	return list;
}

struct state_owned *state_owned(struct arena *arena, const char *server, const char *ns,
				const char *name)
{
	struct state_owned *list = NULL;
	const char *root;

	if (name)
		return add_job(arena, server, ns, name, NULL);
	if (state_root(arena, &root, IGNORED))
		return NULL;
	for (char **n = state_entries(arena, root); *n; n++)
		for (char **job = state_entries(arena, path_join(arena, root, *n)); *job;
		     job++)
			list = add_job(arena, server, *n, *job, list);
	return list;
}

int state_owned_check(const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct state_owner owner;
	const char *dir, *run;

	if (state_dir(&a, &dir, ns, name, err))
		return -1;
	run = state_newest(&a, dir);
	if (!run || !read_owner(&a, run, &owner) || !file_exists(owner.server))
		return 0;
	return error_set(err, ERR_EXISTS,
			 "job %s in namespace %s belongs to 'controller --local'; use "
			 "--kubeconfig %s/kubeconfig",
			 name, ns, owner.server);
}

bool state_owned_is_suspended(const char *run)
{
	cleanup_arena struct arena a = { 0 };
	struct state_owner owner;

	return state_suspended(run) && read_owner(&a, run, &owner) &&
	       file_exists(owner.server);
}

void state_owned_stop(const struct state_owned *run)
{
	struct error unused = { 0 };

	if (state_stop(run->ns, run->name, 0, &unused))
		error_clear_if(&unused, unused.kind);
}

void state_owned_suspend(const struct state_owned *run)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = open(path_join(&a, run->dir, STATE_SUSPEND),
				 O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	(void)fd;
}

/* Remove the owner file last: after a kill, the sweep still finds the run. */
void state_owned_remove(const struct state_owned *run)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *jobset = NULL;
	struct state_run gone = { .lock = -1 };

	if (!state_read_jobset(&jobset, run->dir, IGNORED))
		state_claims_release(run->ns, jobset);
	for (char **e = state_entries(&a, run->dir); *e; e++) {
		const char *path = path_join(&a, run->dir, *e);

		if (!str_eq(*e, STATE_OWNER) && unlink(path))
			(void)!dir_remove(path, IGNORED);
	}
	gone.dir = xstrdup(run->dir);
	gone.job_dir = xstrdup(path_dir(&a, run->dir));
	gone.lock = state_try_lock(gone.job_dir); /* else another run is about to begin */
	state_cancel(&gone);
}

/* Finish removing a job that has no run, or an empty one. */
static void sweep_job(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run gone = { .lock = -1 };
	cleanup_fd int lock = state_try_lock(job_dir);
	bool left = false;

	if (lock < 0)
		return;
	for (char **e = state_entries(&a, job_dir); *e; e++)
		if (**e >= '0' && **e <= '9' && rmdir(path_join(&a, job_dir, *e)))
			left = true;
	if (left)
		return;
	gone.job_dir = xstrdup(job_dir);
	gone.lock = lock;
	lock = -1;
	state_cancel(&gone);
}

void state_owned_sweep(void)
{
	cleanup_arena struct arena a = { 0 };
	const char *root;

	if (state_root(&a, &root, IGNORED))
		return;
	for (char **ns = state_entries(&a, root); *ns; ns++) {
		const char *dir = path_join(&a, root, *ns);

		for (char **job = state_entries(&a, dir); *job; job++)
			sweep_job(path_join(&a, dir, *job));
	}
}

/* ---- for the process that runs it --------------------------------------------------- */

static int check_owner(const char *ns, const char *name, const struct state_owner *owner,
		       struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	for (const struct state_owned *o = state_owned(&a, owner->server, ns, name); o;
	     o = o->next)
		if (str_eq(o->owner.uid, owner->uid) &&
		    o->owner.generation >= owner->generation) {
			error_set(err, ERR_EXISTS,
				  "job %s in namespace %s has already run", name, ns);
			err->code = EALREADY;
			return -1;
		}
	return 0;
}

int state_own(const struct state_run *run, const char *ns, const char *name,
	      const struct state_owner *owner, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, owner->server, "server");
	json_put_str(doc, owner->uid, "uid");
	json_put_int(doc, owner->generation, "generation");
	if (check_owner(ns, name, owner, err))
		return -1;
	return state_write(run->dir, STATE_OWNER, doc, false, err);
}

/* Append a line to a file of the run. */
static void append(const struct state_run *run, const char *file, struct buf *line)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd =
		open(path_join(&a, run->dir, file),
		     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	buf_adds(line, "\n");
	if (fd >= 0 && !line->overflowed && !fstat(fd, &st) && st.st_size < APPEND_BYTES)
		(void)!file_write_fd(fd, line->data, line->len, file, IGNORED);
}

void state_record(const struct state_run *run, const cJSON *event)
{
	cleanup_buf struct buf line = { .max = 65536 };

	json_print(&line, event);
	append(run, STATE_EVENTS, &line);
}

void state_note(const struct state_run *run, const char *text)
{
	cleanup_buf struct buf line = { .max = 65536 };

	if (!run->dir)
		return;
	buf_adds(&line, text);
	append(run, STATE_NOTES, &line);
}

void state_publish(const struct state_run *run, const char *kind, const char *name,
		   const cJSON *obj)
{
	cleanup_arena struct arena a = { 0 };
	const char *file = arena_printf(&a, STATE_API "/%s.%s.json", kind, name);

	if (obj)
		(void)!state_write(run->dir, file, obj, false, IGNORED);
	else
		(void)unlink(path_join(&a, run->dir, file));
}
