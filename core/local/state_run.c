/* state_run.c - record a run: directories, lock, documents (local/state.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/procid.h"
#include "kubelet/shmdir.h"
#include "kubelet/undolog.h"
#include "local/state.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "trainer/trainjob.h"

/* With less free space a job could not even record why it stopped. */
enum { LEAST_FREE_BYTES = 1024 * 1024, RESERVE_BYTES = 64 * 1024 };
enum { LAST_RUN = 999 }; /* in one second */

/*
 * Create or check one directory: owned by us, closed to others. Only the topmost may be
 * a symbolic link, for example to a larger disk.
 */
static int own_dir(const char *dir, bool may_link, struct error *err)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return error_errno(err, errno, "cannot create %s", dir);
	if (may_link ? stat(dir, &st) : lstat(dir, &st))
		return error_errno(err, errno, "%s", dir);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is a symbolic link, not a directory of yours", dir);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a directory", dir);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_DENIED,
				 "%s belongs to another user (uid %u): set "
				 "XDG_STATE_HOME to a directory of yours",
				 dir, st.st_uid);
	if ((st.st_mode & 077) && chmod(dir, 0700))
		return error_errno(err, errno, "cannot restrict access to %s", dir);
	if (access(dir, W_OK | X_OK))
		return error_errno(err, errno, "%s is not writable", dir);
	return 0;
}

static int make_dirs(struct arena *a, const char *job_dir, struct error *err)
{
	const char *ns = path_dir(a, job_dir), *jobs = path_dir(a, ns);
	const char *root = path_dir(a, jobs);
	const char *const dirs[] = { root, jobs, ns, job_dir };

	if (dir_make(path_dir(a, root), 0700, err))
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(dirs); i++)
		if (own_dir(dirs[i], !i, err) ||
		    (!i && state_write_format(a, root, err))) /* before any job */
			return -1;
	return 0;
}

static int check_room(const char *dir, struct error *err)
{
	struct statvfs fs;

	if (statvfs(dir, &fs))
		return error_errno(err, errno, "%s", dir);
	if ((uint64_t)fs.f_bavail * fs.f_frsize < LEAST_FREE_BYTES ||
	    (fs.f_files && !fs.f_favail))
		return error_errno(err, ENOSPC, "%s", dir);
	return 0;
}

/* Is this open file still the one at `path`? Another process may have removed it. */
static bool is_at(int fd, const char *path)
{
	struct stat open_file, named;

	return !fstat(fd, &open_file) && !lstat(path, &named) &&
	       open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

static int already_runs(const char *ns, const char *name, struct error *err)
{
	return error_set(err, ERR_EXISTS,
			 "job %s in namespace %s is already running on this machine",
			 name, ns);
}

static int acquire_lock(int *ret, const char *job_dir, const char *ns, const char *name,
			struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, job_dir, STATE_LOCK);
	cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char mark[PROCID_SIZE];
	bool taken;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	taken = fcntl(fd, F_OFD_SETLK, &lock) != 0;
	if (taken && !state_lock_is_held(errno))
		return state_no_locks(path, err);
	if (taken || !is_at(fd, path))
		return already_runs(ns, name, err);
	/* Write our id for state_stop(). A full disk is reported later. */
	if (ftruncate(fd, 0) || dprintf(fd, "%s\n", procid_self(mark)) < 0)
		(void)!ftruncate(fd, 0);
	*ret = fd;
	fd = -1;
	return 0;
}

int state_try_lock(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, job_dir, STATE_LOCK);
	cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int ret = fd;

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) || !is_at(fd, path))
		return -1;
	fd = -1;
	return ret;
}

/* The last run's time and number; false: there is none. */
static bool last_run(struct arena *a, const char *job_dir, int64_t *ret_time,
		     int64_t *ret_n)
{
	const char *name = NULL, *time;

	for (char **e = state_entries(a, job_dir); *e; e++)
		if (**e >= '0' && **e <= '9' &&
		    strlen(*e) == strlen("20260131T235959Z-001"))
			name = *e;
	if (!name)
		return false;
	time = arena_printf(a, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", name, name + 4, name + 6,
			    name + 9, name + 11, name + 13);
	return !time_parse(ret_time, time, IGNORED) &&
	       !str_int(ret_n, name + 17, 1, LAST_RUN, IGNORED);
}

/*
 * "20260131T235959Z-001"; sorted by name is sorted by time, also after the clock was set
 * back: not before the last run.
 */
static int make_run(struct state_run *run, struct error *err)
{
	char text[TIME_TEXT_SIZE], stamp[TIME_TEXT_SIZE];
	int64_t now = clock_now(), then, before;
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	size_t len = 0;
	int64_t n = 1;

	if (last_run(&a, run->job_dir, &then, &before) && then >= now) {
		now = then + before / LAST_RUN;
		n = before % LAST_RUN + 1;
	}
	for (const char *p = time_text(now, text); *p; p++)
		if (*p != '-' && *p != ':')
			stamp[len++] = *p;
	dir = arena_printf(&a, "%s/%.*s-%03d", run->job_dir, (int)len, stamp, (int)n);
	if (mkdir(dir, 0700))
		return error_errno(err, errno, "%s", dir);
	run->dir = xstrdup(dir);
	run->logs = xstrdup(path_join(&a, dir, "logs"));
	return dir_make(run->logs, 0700, err) ||
	       dir_make(path_join(&a, run->dir, STATE_API), 0700, err);
}

/* Like file_write(), without fsync(): a power failure may restore an older state. */
static int write_quick(const char *path, const void *data, size_t len, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *tmp = arena_printf(&a, "%s.new", path);
	cleanup_fd int fd =
		open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return error_errno(err, errno, "%s", tmp);
	if (file_write_fd(fd, data, len, path, err) ||
	    file_close_written(&fd, path, err)) {
		unlink(tmp);
		return -1;
	}
	if (rename(tmp, path))
		return error_errno(err, errno, "%s", path);
	return 0;
}

/* NFS before 4.2, FUSE and others cannot allocate: there the bytes are written. */
static int allocate(int *fd, size_t len, const char *path)
{
	int why = posix_fallocate(*fd, 0, (off_t)len);
	cleanup_free char *zeros = NULL;

	if (why != EOPNOTSUPP && why != ENOSYS && why != EINVAL)
		return why;
	zeros = xcalloc(1, len);
	return file_write_fd(*fd, zeros, len, path, IGNORED) ||
	       file_close_written(fd, path, IGNORED);
}

/*
 * Reserve space for the final status, so that a job that completes on a full disk is not
 * reported as killed. If that fails, the status is written like any other file.
 */
static void reserve(const char *dir, const cJSON *trainjob)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_free char *text = json_text(trainjob);
	const char *path = path_join(&a, dir, STATE_RESERVE);
	cleanup_fd int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && allocate(&fd, 2 * strlen(text) + RESERVE_BYTES, path))
		(void)unlink(path);
}

/* Write into the reserved space, if it suffices. */
static int write_reserved(const char *dir, const void *data, size_t len)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, dir, STATE_RESERVE);
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < len ||
	    file_write_fd(fd, data, len, path, IGNORED) || ftruncate(fd, (off_t)len) ||
	    fsync(fd))
		return -1;
	return rename(path, path_join(&a, dir, STATE_TRAINJOB));
}

int state_write(const char *dir, const char *name, const cJSON *doc, bool safe,
		struct error *err)
{
	cleanup_buf struct buf b = { .max = JSON_MAX_BYTES };
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, dir, name);

	json_print_pretty(&b, doc);
	if (buf_check(&b, path, err))
		return -1;
	if (safe && !write_reserved(dir, b.data, b.len))
		return 0;
	return safe ? file_write(path, b.data, b.len, 0600, err)
		    : write_quick(path, b.data, b.len, err);
}

/* A copy without the values of Secrets, which must not reach the disk. */
static cJSON *without_secrets(const cJSON *objects)
{
	static const char *const maps[] = { "data", "stringData" };
	cJSON *copy = json_dup(objects), *o, *value;

	json_each(o, copy)
		for (size_t i = 0; i < 2 && str_eq(meta_kind(o), "Secret"); i++)
			json_each(value, json_get(o, maps[i]))
				if (cJSON_IsString(value))
					cJSON_SetValuestring(value, "");
	return copy;
}

static int link_latest(const struct state_run *run, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, run->job_dir, STATE_LATEST);
	const char *tmp = arena_printf(&a, "%s.new", path);

	(void)unlink(tmp);
	if (symlink(path_base(run->dir), tmp) || rename(tmp, path))
		return error_errno(err, errno, "%s", path);
	return 0;
}

static void release(struct state_run *run)
{
	if (run->lock >= 0)
		close(run->lock);
	free(run->dir);
	free(run->logs);
	free(run->job_dir);
	*run = (struct state_run){ .lock = -1 };
}

/* Remove the leftovers of killed runs: the directories of their pods, their undo logs. */
static void sweep(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	char **entries = state_entries(&a, job_dir);

	for (; *entries; entries++) {
		const char *run = path_join(&a, job_dir, *entries);

		if (**entries < '0' || **entries > '9')
			continue;
		undolog_run(run);
		(void)unlink(path_join(&a, run, STATE_RESERVE));
		(void)!dir_remove(path_join(&a, run, "pods"), IGNORED);
	}
}

static bool has_leftovers(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	char **entries = state_entries(&a, job_dir);

	for (; *entries; entries++) {
		const char *run = path_join(&a, job_dir, *entries);

		if (**entries >= '0' && **entries <= '9' &&
		    (undolog_exists(run) || file_exists(path_join(&a, run, "pods"))))
			return true;
	}
	return false;
}

/* Sweep a job whose process has ended, unless it ran on another host. */
static void sweep_job(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf mark = { .max = PROCID_SIZE };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const char *path = path_join(&a, job_dir, STATE_LOCK);
	char host[PROCID_HOST_SIZE] = "";
	cleanup_fd int fd = -1;
	int pid;

	if (!has_leftovers(job_dir) || file_read_regular(&mark, path, IGNORED) ||
	    !mark.data ||
	    procid_find((const char *)mark.data, &pid, host) == PROCID_OTHER_HOST)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !fcntl(fd, F_OFD_SETLK, &lock))
		sweep(job_dir);
}

void state_sweep(void)
{
	cleanup_arena struct arena a = { 0 };
	const char *tmp = getenv("TMPDIR"), *root;

	tempdir_sweep("/dev/shm");
	tempdir_sweep("/tmp");
	if (tmp && *tmp == '/' && !str_eq(tmp, "/tmp"))
		tempdir_sweep(tmp);
	if (state_root(&a, &root, IGNORED))
		return;
	for (char **ns = state_entries(&a, root); *ns; ns++) {
		const char *dir = path_join(&a, root, *ns);

		for (char **job = state_entries(&a, dir); *job; job++)
			sweep_job(path_join(&a, dir, *job));
	}
}

int state_begin(struct state_run *ret, const char *ns, const char *name,
		const cJSON *trainjob, const cJSON *objects, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run = { .lock = -1 };
	cleanup_json cJSON *kept = without_secrets(objects);
	cleanup_fd int claims = -1; /* until the JobSet is stored: it mounts claims */
	const char *job_dir;

	if (state_dir(&a, &job_dir, ns, name, err))
		return -1;
	if (make_dirs(&a, job_dir, err))
		return error_wrap(err, "cannot store local jobs; set XDG_STATE_HOME to a "
				       "directory that you can write");
	run.job_dir = xstrdup(job_dir);
	claims = state_claims_lock(ns, LOCK_SH);
	if (acquire_lock(&run.lock, job_dir, ns, name, err)) {
		release(&run);
		return -1;
	}
	sweep(job_dir);
	if (check_room(job_dir, err) || make_run(&run, err) ||
	    state_write(run.dir, STATE_OBJECTS, kept, false, err) ||
	    state_write(run.dir, STATE_TRAINJOB, trainjob, false, err) ||
	    (tj_suspend(trainjob) && state_mark_suspended(run.dir, true, err)) ||
	    link_latest(&run, err)) {
		state_cancel(&run);
		return error_wrap(err, "state of local jobs");
	}
	reserve(run.dir, trainjob);
	*ret = run;
	return 0;
}

int state_probe(struct state_run *ret, const char *ns, const char *name,
		struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *tmp = getenv("TMPDIR"), *job_dir;
	char *dir = arena_printf(&a, "%s/kftrainer-dry-run-XXXXXX",
				 tmp && *tmp == '/' ? tmp : "/tmp");

	if (state_dir(&a, &job_dir, ns, name, err))
		return -1;
	if (state_locked(job_dir))
		return already_runs(ns, name, err);
	if (!mkdtemp(dir))
		return error_errno(err, errno, "%s", dir);
	*ret = (struct state_run){ .dir = xstrdup(dir),
				   .logs = xstrdup(path_join(&a, dir, "logs")),
				   .lock = -1 };
	return dir_make(ret->logs, 0700, err);
}

int state_save(const struct state_run *run, const cJSON *trainjob, bool last,
	       struct error *err)
{
	return state_write(run->dir, STATE_TRAINJOB, trainjob, last, err);
}

void state_save_runtime(const struct state_run *run, const cJSON *runtime)
{
	(void)!state_write(run->dir, STATE_RUNTIME, runtime, false, IGNORED);
}

void state_save_report(const struct state_run *run, const char *report)
{
	cleanup_arena struct arena a = { 0 };
	struct error unused = { 0 }; /* already reported */

	(void)!file_write(path_join(&a, run->dir, STATE_REPORT), report, strlen(report),
			  0600, &unused);
}

/* Delete all but the newest STATE_KEEP_RUNS runs. */
static void prune(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	char **entries = state_entries(&a, job_dir);
	size_t n = 0;

	for (char **e = entries; *e; e++)
		n += **e >= '0' && **e <= '9';
	for (; *entries && n > STATE_KEEP_RUNS; entries++)
		if (**entries >= '0' && **entries <= '9') {
			(void)!dir_remove(path_join(&a, job_dir, *entries), IGNORED);
			n--;
		}
}

void state_end(struct state_run *run)
{
	if (run->job_dir)
		prune(run->job_dir);
	release(run);
}

/* Also restore the link to the previous run; without one, remove the job's directory. */
void state_cancel(struct state_run *run)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run before = { .lock = -1 };
	char **entries;

	if (run->dir)
		(void)!dir_remove(run->dir, IGNORED);
	if (run->job_dir) {
		before.job_dir = run->job_dir;
		(void)unlink(path_join(&a, run->job_dir, STATE_LATEST));
		for (entries = state_entries(&a, run->job_dir); *entries; entries++)
			if (**entries >= '0' && **entries <= '9')
				before.dir = *entries;
		if (before.dir) {
			(void)!link_latest(&before, IGNORED);
		} else if (run->lock >= 0) {
			state_remove_lock(run->job_dir, &run->lock);
		}
	}
	release(run);
}
