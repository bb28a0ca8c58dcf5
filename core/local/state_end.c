/* state_end.c - stop, suspend or delete a job from outside (local/state.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "kubelet/procid.h"
#include "local/state.h"
#include "local/state_impl.h"
#include "local/state_owned.h"

enum { LOOK_MS = 50, REMOVAL_MS = 5000 };

/* Find the lock's holder, which has written its process id into the file (not 0.1.0). */
static enum procid_state runner_of(const char *lock, int *ret_pid,
				   char ret_host[PROCID_HOST_SIZE])
{
	cleanup_buf struct buf text = { .max = PROCID_SIZE };

	if (file_read_regular(&text, lock, IGNORED))
		return PROCID_UNREADABLE;
	if (!text.len) {
		*ret_pid = procid_holder(lock);
		return *ret_pid ? PROCID_RUNNING : PROCID_UNREADABLE;
	}
	return procid_find((const char *)text.data, ret_pid, ret_host);
}

int state_stopped(const char *run)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_dir(&a, run);
	char host[PROCID_HOST_SIZE];
	int pid = 0;

	if (runner_of(path_join(&a, dir, STATE_LOCK), &pid, host) != PROCID_RUNNING ||
	    !procid_is_stopped(pid) || !state_locked(dir))
		return 0;
	return pid;
}

static int cannot_reach(const char *name, enum procid_state place, const char *host,
			struct error *err)
{
	if (place == PROCID_OTHER_HOST)
		return error_set(err, ERR_UNSUPPORTED,
				 "job %s runs on host %s; stop it there", name, host);
	if (place == PROCID_OTHER_NAMESPACE)
		return error_set(
			err, ERR_UNSUPPORTED,
			"job %s runs in another container of this machine; stop it there",
			name);
	return error_set(err, ERR_IO,
			 "job %s is running, but its process was not found; press Ctrl-C "
			 "where it was started",
			 name);
}

/* The lock of an ended process is held by a command that removes the job: wait for that. */
static void wait_for_removal(const char *dir, const char *lock)
{
	int64_t until = clock_ms() + REMOVAL_MS;
	char host[PROCID_HOST_SIZE];
	int pid;

	while (state_locked(dir) && runner_of(lock, &pid, host) == PROCID_ENDED &&
	       clock_ms() < until && !stop_wait(LOOK_MS))
		;
}

/* *ret: a pidfd of the process that runs the job; -1: the job does not run. */
static int open_runner(int *ret, const char *dir, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *lock = path_join(&a, dir, STATE_LOCK);
	char host[PROCID_HOST_SIZE] = "";
	cleanup_fd int process = -1;
	enum procid_state place;
	bool held;
	int pid = 0;

	*ret = -1;
	place = runner_of(lock, &pid, host);
	process = place == PROCID_RUNNING ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (state_ask_lock(&held, dir, err))
		return -1;
	if (!held)
		return 0;
	/* Check again: the number may have been reused before pidfd_open(). */
	if (process < 0 || runner_of(lock, &pid, host) != PROCID_RUNNING)
		return cannot_reach(name, place, host, err);
	*ret = process;
	process = -1;
	return 0;
}

static int signal_runner(int process, int signal, const char *name, struct error *err)
{
	if (syscall(SYS_pidfd_send_signal, process, signal, NULL, 0))
		return error_errno(err, errno, "cannot send a signal to job %s", name);
	return 0;
}

int state_stop(const char *ns, const char *name, int64_t ms, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int process = -1;
	int64_t until = clock_ms() + ms;
	const char *dir;

	if (state_dir(&a, &dir, ns, name, err))
		return -1;
	if (ms > 0)
		wait_for_removal(dir, path_join(&a, dir, STATE_LOCK));
	if (open_runner(&process, dir, name, err))
		return -1;
	if (process < 0)
		return 0;
	if (signal_runner(process, SIGTERM, name, err))
		return -1;
	(void)!signal_runner(process, SIGCONT, name, IGNORED); /* after Ctrl-Z */
	while (state_locked(dir)) {
		if (clock_ms() >= until)
			return error_set(err, ERR_TIMEOUT,
					 "job %s is still running after SIGTERM", name);
		if (stop_wait(LOOK_MS))
			return error_set(err, ERR_STOPPED, "stopped");
	}
	return 0;
}

/* ---- suspend ------------------------------------------------------------------------- */

bool state_suspended(const char *run)
{
	cleanup_arena struct arena a = { 0 };

	return file_exists(path_join(&a, run, STATE_SUSPEND));
}

int state_mark_suspended(const char *run, bool suspend, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, run, STATE_SUSPEND);

	if (suspend)
		return file_write(path, "", 0, 0600, err);
	return unlink(path) && errno != ENOENT ? error_errno(err, errno, "%s", path) : 0;
}

int state_suspend(const char *ns, const char *name, bool suspend, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int process = -1;
	const char *dir, *run;

	if (state_owned_check(ns, name, err) || state_dir(&a, &dir, ns, name, err) ||
	    open_runner(&process, dir, name, err))
		return -1;
	run = state_newest(&a, dir);
	if (process < 0 || !run)
		return error_set(err, ERR_CONFLICT, "job %s is not running", name);
	if (!*file_first_line(&a, path_join(&a, dir, STATE_LOCK)))
		return error_set(err, ERR_UNSUPPORTED,
				 "job %s was started by kftrainer 0.1.0, which cannot "
				 "suspend it: let it end, or delete it",
				 name);
	if (state_mark_suspended(run, suspend, err))
		return -1;
	return signal_runner(process, STATE_SIGNAL, name, err);
}

void state_remove_lock(const char *job_dir, int *fd)
{
	cleanup_arena struct arena a = { 0 };

	(void)unlink(path_join(&a, job_dir, STATE_LOCK));
	close(*fd);
	*fd = -1;
	(void)rmdir(job_dir);
}

/* run: only if the job has no newer one; or NULL. */
static int remove_job(const char *ns, const char *name, const char *run,
		      struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	cleanup_json cJSON *job = NULL, *jobset = NULL;
	cleanup_fd int fd = -1;
	const char *dir, *path;
	char **entries;

	if (state_get(&job, ns, name, err) || state_dir(&a, &dir, ns, name, err))
		return -1;
	path = path_join(&a, dir, STATE_LOCK);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (!run)
		wait_for_removal(dir, path);
	if (fcntl(fd, F_OFD_SETLK, &lock))
		return state_lock_is_held(errno)
			       ? error_set(err, ERR_EXISTS, "job %s is running", name)
			       : state_no_locks(path, err);
	if (!file_exists(path))
		return error_set(err, ERR_NOT_FOUND, "job %s has been removed", name);
	if (run && !str_eq(run, state_newest(&a, dir)))
		return error_set(err, ERR_CONFLICT, "job %s has run again", name);
	if (!state_jobset(&jobset, ns, name, IGNORED))
		state_claims_release(ns, jobset);
	entries = state_entries(&a, dir);
	if (errno)
		return error_errno(err, errno, "%s", dir);
	for (; *entries; entries++)
		if (!str_eq(*entries, STATE_LOCK) &&
		    dir_remove(path_join(&a, dir, *entries), err))
			return -1;
	state_remove_lock(dir, &fd);
	return 0;
}

int state_remove(const char *ns, const char *name, struct error *err)
{
	return remove_job(ns, name, NULL, err);
}

int state_expire(const char *ns, const char *name, const char *run, struct error *err)
{
	return remove_job(ns, name, run, err);
}
