/* state.c - read the jobs of this machine (local/state.h). */
#include "local/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/state_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/places.h"
#include "trainer/trainjob_status.h"

/* ---- where things are ------------------------------------------------------------ */

/* From the passwd entry, if HOME is unset (cron, systemd); or NULL. */
static const char *home_of_user(void)
{
	const struct passwd *user = getpwuid(geteuid());

	return user ? user->pw_dir : NULL;
}

int state_root(struct arena *arena, const char **ret, struct error *err)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg) {
		if (*xdg != '/')
			return error_set(
				err, ERR_INVALID,
				"XDG_STATE_HOME is \"%s\": want an absolute path", xdg);
		*ret = arena_printf(arena, "%s/kftrainer/jobs", xdg);
		return 0;
	}
	if (!home)
		home = home_of_user();
	if (!home || *home != '/')
		return error_set(err, ERR_INVALID,
				 "cannot store local jobs: HOME is %s%s%s; set HOME or "
				 "XDG_STATE_HOME to an absolute path",
				 home ? "\"" : "", home ? home : "not set",
				 home ? "\"" : "");
	*ret = arena_printf(arena, "%s/.local/state/kftrainer/jobs", home);
	return 0;
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

const char *state_mark(struct arena *arena, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return "";
	return arena_printf(arena, "%llu %lld.%09ld", (unsigned long long)st.st_ino,
			    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

char **state_entries(struct arena *arena, const char *dir)
{
	DIR *d = opendir(dir);
	char **ret = arena_alloc(arena, sizeof(*ret)), **more;
	size_t n = 0, cap = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
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
	if (d)
		closedir(d);
	qsort(ret, n, sizeof(*ret), by_text);
	ret[n] = NULL;
	return ret;
}

bool state_locked(const char *job_dir)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd =
		open(path_join(&a, job_dir, STATE_LOCK), O_RDONLY | O_CLOEXEC);
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

const char *state_newest(struct arena *arena, const char *job_dir)
{
	char **entries = state_entries(arena, job_dir);
	const char *last = NULL;

	for (; *entries; entries++)
		if (**entries >= '0' && **entries <= '9' &&
		    file_exists(path_join(arena, path_join(arena, job_dir, *entries),
					  STATE_TRAINJOB)))
			last = *entries;
	return last ? path_join(arena, job_dir, last) : NULL;
}

/* ---- reading ----------------------------------------------------------------------- */

static int read_doc(cJSON **ret, const char *path, struct error *err)
{
	cleanup_buf struct buf b = { .max = JSON_MAX_BYTES };

	if (file_read(&b, path, err))
		return -1;
	if (json_parse(ret, b.data, b.len, err))
		return error_wrap(err, "%s", path);
	return 0;
}

/* It was killed before it could save its final status. */
static void mark_killed(cJSON *trainjob, const char *path)
{
	cJSON *status = json_obj(trainjob, "status");
	char now[TIME_TEXT_SIZE];
	struct stat st = { 0 };

	(void)!stat(path, &st);
	status_fail(status, REASON_INTERRUPTED, "the process was killed",
		    time_text((int64_t)st.st_mtime, now));
	status_idle(status);
}

int state_read_job(cJSON **ret, const char *run, bool running, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, run, STATE_TRAINJOB);

	if (read_doc(ret, path, err))
		return -1;
	if (!running && !status_finished(json_get((const cJSON *)*ret, "status")))
		mark_killed(*ret, path);
	return 0;
}

static int read_job(cJSON **ret, const char *job_dir, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	bool running = state_locked(job_dir); /* first: it may end at any time */
	const char *run = state_newest(&a, job_dir);

	if (!run)
		return error_set(err, ERR_NOT_FOUND, "%s: no run left", job_dir);
	return state_read_job(ret, run, running, err);
}

/* Another namespace with a job of this name, or NULL. */
static const char *elsewhere(struct arena *a, const char *name)
{
	struct error unused = { 0 };
	const char *root;
	char **ns;

	if (state_root(a, &root, &unused))
		return NULL;
	for (ns = state_entries(a, root); *ns; ns++)
		if (state_newest(a, path_join(a, path_join(a, root, *ns), name)))
			return *ns;
	return NULL;
}

/* The jobs in the directory of a namespace. */
static char **jobs_in(struct arena *a, const char *dir)
{
	char **names = state_entries(a, dir);
	size_t n = 0;

	for (char **p = names; *p; p++)
		if (state_newest(a, path_join(a, dir, *p)))
			names[n++] = *p;
	names[n] = NULL;
	return names;
}

static int not_found(struct arena *a, const char *ns, const char *name, struct error *err)
{
	const char *dir, *hint, *other = elsewhere(a, name);
	char **names;

	if (state_dir(a, &dir, ns, NULL, err))
		return -1;
	if (other)
		return error_set(
			err, ERR_NOT_FOUND,
			"no job %s in namespace %s on this machine; namespace %s has one",
			name, ns, other);
	names = jobs_in(a, dir);
	hint = nearest_hint(a, name, (const char *const *)names);
	if (!*hint)
		hint = arena_printf(a, "%s%s", *names ? "; jobs: " : "; it has none",
				    str_join(a, (const char *const *)names, ", "));
	return error_set(err, ERR_NOT_FOUND,
			 "no job %s in namespace %s on this machine%s", name, ns, hint);
}

/* The directory of a job that has a run. */
static int find_job(struct arena *a, const char **ret, const char *ns, const char *name,
		    struct error *err)
{
	const char *dir;

	if (state_dir(a, &dir, ns, name, err))
		return -1;
	if (!state_newest(a, dir))
		return not_found(a, ns, name, err);
	*ret = dir;
	return 0;
}

int state_get(cJSON **ret_trainjob, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *job = NULL;
	const char *dir;

	if (find_job(&a, &dir, ns, name, err) || read_job(&job, dir, err))
		return -1;
	*ret_trainjob = STEAL(job);
	return 0;
}

bool state_is_running(const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	struct error unused = { 0 };
	const char *dir;

	return !state_dir(&a, &dir, ns, name, &unused) && state_locked(dir);
}

/*
 * ---- logs
 * ----------------------------------------------------------------------------
 */

struct log_file {
	struct place place;
	const char *pod, *container, *path;
	int number; /* of the container */
	struct timespec start;
};

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *x, const void *y)
{
	const struct log_file *a = x, *b = y;
	const int order[] = {
		compare((int64_t)a->place.number, (int64_t)b->place.number),
		compare(a->place.rank, b->place.rank),
		compare(a->start.tv_sec, b->start.tv_sec),
		compare(a->start.tv_nsec, b->start.tv_nsec),
		strcmp(a->pod, b->pod),
		compare(a->number, b->number),
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (order[i])
			return order[i];
	return strcmp(a->container, b->container);
}

struct log_files {
	struct arena arena;
	struct log_file *list;
	size_t n, cap;
};

/* <dir>/<container>.log, for each */
static void find_containers(struct log_files *files, const struct log_file *pod,
			    const char *dir)
{
	char **names = state_entries(&files->arena, dir);

	for (; *names; names++) {
		struct log_file f = *pod;

		if (!str_ends(*names, ".log"))
			continue;
		f.path = path_join(&files->arena, dir, *names);
		f.container = str_slice(&files->arena, *names, strlen(*names) - 4);
		f.number = place_container(&f.place, f.container);
		if (files->n == files->cap) {
			files->cap = files->cap ? 2 * files->cap : 16;
			files->list = xreallocarray(files->list, files->cap,
						    sizeof(*files->list));
		}
		files->list[files->n++] = f;
	}
}

static void find_pods(struct log_files *files, const cJSON *jobset, const char *logs)
{
	char **pods = state_entries(&files->arena, logs);

	for (; *pods; pods++) {
		const char *dir = path_join(&files->arena, logs, *pods);
		struct log_file f = { .pod = *pods };
		struct stat st;

		if (stat(dir, &st) || !place_of(&f.place, jobset, *pods))
			continue;
		f.start = st.st_mtim;
		find_containers(files, &f, dir);
	}
	if (files->n)
		qsort(files->list, files->n, sizeof(*files->list), by_place);
}

static cJSON *log_doc(struct arena *arena, const struct log_file *f)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, f->pod, "pod");
	json_put_str(doc, f->container, "container");
	json_put_str(doc, f->place.step, "step");
	json_put_int(doc, f->place.rank, "rank");
	json_put_str(doc, place_prefix(arena, &f->place, f->container), "prefix");
	json_put_str(doc, f->path, "path");
	return doc;
}

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

/* The newest run's directory and its objects. */
static int read_objects(struct arena *a, cJSON **ret, const char **ret_run,
			const char *ns, const char *name, struct error *err)
{
	const char *dir;

	if (find_job(a, &dir, ns, name, err))
		return -1;
	*ret_run = state_newest(a, dir);
	if (!*ret_run) /* removed since */
		return not_found(a, ns, name, err);
	return read_doc(ret, path_join(a, *ret_run, STATE_OBJECTS), err);
}

int state_jobset(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir, *run;

	if (find_job(&a, &dir, ns, name, err))
		return -1;
	run = state_newest(&a, dir);
	if (!run) /* removed since */
		return not_found(&a, ns, name, err);
	return state_read_jobset(ret, run, err);
}

static void add_names(cJSON *to, const cJSON *elements)
{
	const cJSON *e;

	json_each(e, elements)
		if (json_str(e, "name"))
			cJSON_AddItemToArray(to, cJSON_CreateString(json_str(e, "name")));
}

static cJSON *step_doc(const cJSON *rjob)
{
	cJSON *doc = cJSON_CreateObject(), *containers;
	const cJSON *pod = rjob_pod_spec_const(rjob);

	json_put_str(doc, json_str(rjob, "name"), "step");
	json_put_bool(doc, str_eq(rjob_ancestor(rjob), ANCESTOR_TRAINER), "trains");
	json_put_int(doc, rjob_pods(rjob), "pods");
	containers = json_list(doc, "containers");
	add_names(containers, json_get(pod, "initContainers"));
	add_names(containers, json_get(pod, "containers"));
	return doc;
}

int state_steps(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *objects = NULL;
	const cJSON *rjob;
	const char *run;

	if (read_objects(&a, &objects, &run, ns, name, err))
		return -1;
	*ret = cJSON_CreateArray();
	json_each(rjob, json_get(jobset_of(objects), "spec", "replicatedJobs"))
		cJSON_AddItemToArray(*ret, step_doc(rjob));
	return 0;
}

int state_logs(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	struct log_files files = { 0 };
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *objects = NULL, *list = cJSON_CreateArray();
	const char *run;

	if (read_objects(&a, &objects, &run, ns, name, err))
		return -1;
	find_pods(&files, jobset_of(objects), path_join(&a, run, "logs"));
	for (size_t i = 0; i < files.n; i++)
		cJSON_AddItemToArray(list, log_doc(&files.arena, &files.list[i]));
	free(files.list);
	arena_clear(&files.arena);
	*ret = STEAL(list);
	return 0;
}
