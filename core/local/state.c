/* state.c - read the jobs of this machine (local/state.h). */
#include "local/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "trainer/api.h"
#include "trainer/trainjob_status.h"

/* ---- directories ----------------------------------------------------------------- */

/* A directory without the file is of 0.1.0, and has format 1. */
static int check_format(struct arena *arena, const char *dir, struct error *err)
{
	const char *path = path_join(arena, dir, STATE_FORMAT);
	cleanup_buf struct buf data = { .max = 64 };
	const char *text;
	int64_t format;

	if (!file_exists(path))
		return 0;
	if (file_read_regular(&data, path, err))
		return -1;
	buf_adds(&data, "");
	text = str_trim(arena, (const char *)data.data);
	if (str_int(&format, text, 1, INT64_MAX, IGNORED))
		return error_set(err, ERR_IO, "%s: '%s' is not a format's number", path,
				 str_visible(arena, text, false));
	if (format > STATE_FORMAT_NOW)
		return error_set(
			err, ERR_IO,
			"%s: format %lld is of a newer kftrainer, this one reads "
			"%d: use the newer one, or set XDG_STATE_HOME to another "
			"directory",
			path, (long long)format, STATE_FORMAT_NOW);
	return 0;
}

int state_write_format(struct arena *arena, const char *dir, struct error *err)
{
	const char *path = path_join(arena, dir, STATE_FORMAT);
	const char *text = arena_printf(arena, "%d\n", STATE_FORMAT_NOW);

	return file_exists(path) ? 0 : file_write(path, text, strlen(text), 0600, err);
}

int state_root(struct arena *arena, const char **ret, struct error *err)
{
	const char *dir;

	if (path_of_state(arena, &dir, err))
		return -1;
	*ret = path_join(arena, dir, "jobs");
	return check_format(arena, dir, err);
}

/* A valid directory name: like a DNS name, so neither "..", "/" nor hidden. */
bool state_is_name(const char *s)
{
	size_t len = strlen(s);

	return len && len <= 253 && *s != '.' && *s != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == len;
}

int state_dir(struct arena *arena, const char **ret, const char *ns, const char *name,
	      struct error *err)
{
	const char *const parts[] = { ns, name, NULL };
	const char *dir;

	if (state_root(arena, &dir, err))
		return -1;
	for (size_t i = 0; parts[i]; i++) {
		if (!state_is_name(parts[i]))
			return error_set(err, ERR_INVALID,
					 "\"%s\" is not a valid %s name: use lowercase "
					 "letters, digits and '-'",
					 parts[i], i ? "job" : "namespace");
		dir = path_join(arena, dir, parts[i]);
	}
	*ret = dir;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int state_readable(const char *dir, struct error *err)
{
	DIR *d = opendir(dir);

	if (d)
		closedir(d);
	else if (errno != ENOENT)
		return error_errno(err, errno, "state of local jobs: %s", dir);
	return 0;
}

const char *state_fingerprint(struct arena *arena, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return "";
	return arena_printf(arena, "%llu %lld.%09ld", (unsigned long long)st.st_ino,
			    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

int state_no_watch(struct error *err)
{
	return error_set(err, ERR_IO,
			 "cannot watch directories: %s; check 'ulimit -n' and 'sysctl "
			 "fs.inotify.max_user_instances'",
			 strerror(errno));
}

/* Nothing is there, or what is none of ours. */
static bool is_missing(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

char **state_entries(struct arena *arena, const char *dir)
{
	DIR *d = opendir(dir);
	int why = d || is_missing(errno) ? 0 : errno;
	char **ret = arena_alloc(arena, sizeof(*ret)), **more;
	size_t n = 0, cap = 0;
	struct dirent *e;

	while (d && (e = dir_next(d))) {
		if (*e->d_name == '.')
			continue;
		if (n >= cap) {
			cap = cap ? 2 * cap : 32;
			more = arena_alloc(arena, (cap + 1) * sizeof(*ret));
			memcpy(more, ret, n * sizeof(*ret));
			ret = more;
		}
		ret[n++] = arena_strdup(arena, e->d_name);
	}
	if (d) {
		why = errno;
		closedir(d);
	}
	qsort(ret, n, sizeof(*ret), by_text);
	ret[n] = NULL;
	errno = why;
	return ret;
}

bool state_lock_is_held(int errnum)
{
	return errnum == EAGAIN || errnum == EACCES;
}

int state_no_locks(const char *path, struct error *err)
{
	return error_set(err, ERR_IO,
			 "%s cannot be locked (%s); set XDG_STATE_HOME to a directory on "
			 "a file system with locks, such as a local disk",
			 path, strerror(errno));
}

int state_ask_lock(bool *ret_held, const char *job_dir, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, job_dir, STATE_LOCK);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock))
		return state_no_locks(path, err);
	*ret_held = fd < 0 ? !is_missing(errno) : lock.l_type != F_UNLCK;
	return 0;
}

bool state_locked(const char *job_dir)
{
	bool held = false;

	return state_ask_lock(&held, job_dir, IGNORED) || held;
}

const char *state_newest(struct arena *arena, const char *job_dir)
{
	char **entries = state_entries(arena, job_dir);
	const char *last = NULL, *run;
	int why = errno;

	for (; *entries; entries++) {
		if (**entries < '0' || **entries > '9')
			continue;
		run = path_join(arena, job_dir, *entries);
		if (file_exists(path_join(arena, run, STATE_TRAINJOB)))
			last = run;
		else if (!is_missing(errno))
			why = errno;
	}
	errno = why;
	return why ? NULL : last;
}

/* The run may end, or another may begin, at any time. */
const char *state_newest_run(struct arena *arena, const char *job_dir, bool *ret_running)
{
	bool locked = state_locked(job_dir);
	const char *run = state_newest(arena, job_dir);
	int why = errno;

	*ret_running = locked || state_locked(job_dir);
	errno = why;
	return run;
}

/* ---- reading ----------------------------------------------------------------------- */

static int read_doc(cJSON **ret, const char *path, struct error *err)
{
	cleanup_buf struct buf b = { .max = JSON_MAX_BYTES };

	if (file_read_regular(&b, path, err))
		return -1;
	if (json_parse(ret, b.data, b.len, err))
		return error_wrap(err, "%s", path);
	return 0;
}

static int64_t later(int64_t time, const char *path)
{
	struct stat st;

	return !stat(path, &st) && (int64_t)st.st_mtime > time ? (int64_t)st.st_mtime
							       : time;
}

/* The time of the run's last write: its status, or a line of a pod. */
static int64_t last_sign(const char *run)
{
	cleanup_arena struct arena a = { 0 };
	const char *logs = path_join(&a, run, "logs");
	int64_t time = later(0, path_join(&a, run, STATE_TRAINJOB));

	for (char **pod = state_entries(&a, logs); *pod; pod++) {
		const char *dir = path_join(&a, logs, *pod);

		for (char **log = state_entries(&a, dir); *log; log++)
			time = later(time, path_join(&a, dir, *log));
	}
	return time;
}

/* Complete the status of a run that was killed before it could save the final one. */
static void mark_killed(cJSON *trainjob, const char *run)
{
	cJSON *status = json_obj(trainjob, "status");
	char now[TIME_TEXT_SIZE];

	status_fail(status, REASON_INTERRUPTED, "the process was killed",
		    time_text(last_sign(run), now));
	status_idle(status);
}

/* A server's run that has ended: its job waits to be resumed, unless it has finished. */
static void mark_suspended(cJSON *trainjob, const char *run)
{
	cJSON *status = json_obj(trainjob, "status");
	cJSON *list = json_get(status, "conditions");
	cJSON *failed = json_find(list, "type", COND_FAILED);
	char now[TIME_TEXT_SIZE];

	if (str_eq(json_str(failed, "reason"), REASON_INTERRUPTED))
		cJSON_Delete(cJSON_DetachItemViaPointer(list, failed));
	if (status_finished(status))
		return;
	status_suspend(status, trainjob, time_text(last_sign(run), now));
	status_idle(status);
}

static void mark_stopped(cJSON *trainjob, const char *run, bool running)
{
	cleanup_arena struct arena a = { 0 };
	int pid = running ? state_stopped(run) : 0;

	if (pid)
		meta_set_annotation(trainjob, STOPPED_ANNOTATION,
				    arena_printf(&a, "%d", pid));
	else
		json_del(trainjob,
			 JSON_PATH("metadata", "annotations", STOPPED_ANNOTATION));
}

static int read_job(cJSON **ret, const char *path, struct error *err)
{
	if (read_doc(ret, path, err))
		return -1;
	if (cJSON_IsObject(*ret))
		return 0;
	cJSON_Delete(*ret);
	*ret = NULL;
	return error_set(err, ERR_FORMAT, "%s: not an object", path);
}

/* In place of a TrainJob that a full disk or a crash has damaged: it is seen, and can be deleted. */
static cJSON *damaged_job(const char *run, const struct error *why)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *ret = cJSON_CreateObject();
	char text[TIME_TEXT_SIZE];
	int64_t begin = later(0, path_join(&a, run, STATE_OBJECTS));

	json_put_str(ret, time_text(begin ? begin : last_sign(run), text), "metadata",
		     "creationTimestamp");
	json_obj(ret, "spec");
	status_fail(json_obj(ret, "status"), "RecordDamaged", why->msg,
		    time_text(last_sign(run), text));
	return ret;
}

int state_read_job(cJSON **ret, const char *run, bool running, struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	if (read_job(ret, path_join(&a, run, STATE_TRAINJOB), err)) {
		if (running || err->kind != ERR_FORMAT)
			return -1;
		*ret = damaged_job(run, err);
		*err = (struct error){ 0 };
	}
	/* The last request to suspend or resume: the run may not have applied it yet. */
	if (state_suspended(run) != json_bool(*ret, false, "spec", "suspend"))
		json_put_bool(*ret, state_suspended(run), "spec", "suspend");
	mark_stopped(*ret, run, running);
	if (!running && state_owned_is_suspended(run))
		mark_suspended(*ret, run);
	else if (!running && !status_finished(json_get((const cJSON *)*ret, "status")))
		mark_killed(*ret, run);
	status_set_state(json_obj(*ret, "status")); /* absent in runs of old versions */
	return 0;
}

/* The directory of the newest run; *ret_running: the run has not ended. */
static int find_run(struct arena *a, const char **ret, bool *ret_running, const char *ns,
		    const char *name, struct error *err)
{
	const char *dir;

	if (state_dir(a, &dir, ns, name, err))
		return -1;
	*ret = state_newest_run(a, dir, ret_running);
	if (*ret)
		return 0;
	return errno ? error_errno(err, errno, "%s", dir)
		     : error_set(err, ERR_NOT_FOUND,
				 "no job %s in namespace %s on this machine", name, ns);
}

int state_get(cJSON **ret_trainjob, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *run;
	bool running;

	if (find_run(&a, &run, &running, ns, name, err))
		return -1;
	return state_read_job(ret_trainjob, run, running, err);
}

/* ---- documents of runs ---------------------------------------------------------------- */

static const cJSON *jobset_of(const cJSON *objects)
{
	const cJSON *o;

	json_each(o, objects)
		if (str_eq(meta_kind(o), JOBSET_KIND))
			return o;
	return NULL;
}

int state_read_jobset(cJSON **ret, const char *run, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *objects = NULL;

	if (read_doc(&objects, path_join(&a, run, STATE_OBJECTS), err))
		return -1;
	if (!jobset_of(objects))
		return error_set(err, ERR_NOT_FOUND, "%s contains no JobSet", run);
	*ret = json_dup(jobset_of(objects));
	return 0;
}

int state_read_runtime(cJSON **ret, const char *run, struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	return read_doc(ret, path_join(&a, run, STATE_RUNTIME), err);
}

int state_jobset(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *run;

	if (find_run(&a, &run, &(bool){ false }, ns, name, err))
		return -1;
	return state_read_jobset(ret, run, err);
}
