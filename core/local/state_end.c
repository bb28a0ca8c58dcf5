/*
 * state_end.c - end a job from outside, and forget one that has ended.
 */
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
#include "local/state.h"
#include "local/state_impl.h"

enum { LOOK_MS = 50, MAX_PID_TEXT = 32 };

/* The process that holds the lock has written its number into the file; -1. */
static int runner_of(const char *lock)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = MAX_PID_TEXT };
	struct error unused = { 0 };
	int64_t pid;

	if (file_read(&text, lock, &unused) || !text.len ||
	    str_int(&pid, str_trim(&arena, (char *)text.data), 2, INT32_MAX, &unused))
		return -1;
	return (int)pid;
}

int state_stop(const char *ns, const char *name, int64_t ms, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int process = -1;
	int64_t until = clock_ms() + ms;
	const char *dir;
	int pid;

	if (state_dir(&a, &dir, ns, name, err))
		return -1;
	pid = runner_of(path_join(&a, dir, STATE_LOCK));
	process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	/* The lock is held: the number is still that process's. */
	if (!state_locked(dir))
		return 0;
	if (process < 0)
		return error_set(
			err, ERR_IO,
			"job %s runs, and its process is not to be found: end it "
			"where it was started, with Ctrl-C",
			name);
	if (syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0))
		return error_errno(err, errno, "job %s cannot be ended (process %d)",
				   name, pid);
	while (state_locked(dir)) {
		if (clock_ms() >= until)
			return error_set(err, ERR_TIMEOUT,
					 "job %s has been told to end and still runs "
					 "(process %d)",
					 name, pid);
		if (stop_wait(LOOK_MS))
			return error_set(err, ERR_STOPPED, "stopped");
	}
	return 0;
}

int state_remove(const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	cleanup_json cJSON *job = NULL;
	cleanup_fd int fd = -1;
	const char *dir, *path;

	if (state_get(&job, ns, name, err) || state_dir(&a, &dir, ns, name, err))
		return -1;
	path = path_join(&a, dir, STATE_LOCK);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (fcntl(fd, F_OFD_SETLK, &lock))
		return error_set(err, ERR_EXISTS, "job %s runs", name);
	return dir_remove(dir, err);
}
