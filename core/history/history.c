/* history.c - fetch a run directory, and list several (history/history.h). */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "history/history_impl.h"
#include "net/uri.h"
#include "trainer/api.h"

#define REPORT "report.json"
enum { ALIVE_SECONDS = 300 };
enum { NUMBERED_MAX = 200 }; /* characters of a name to which a number is added */

/* A run, as a job of the state directory. */
struct job {
	const char *path; /* of the run, below the URI; "" is the URI's own */
	const char *ns, *name;
	int64_t nodes;
	cJSON *report;        /* until the job is made */
	struct state_run run; /* of one that goes on: holds its lock */
	char *logs;           /* where the job's logs are looked for */
	bool goes_on, shared, has_logs;
	struct error fault; /* of its logs */
};

struct history {
	struct arena arena;
	struct history_conf conf;
	char *dir; /* XDG_STATE_HOME; of this process alone */
	const char *option;
	struct job *jobs;
	char **names; /* of the jobs; ends with NULL */
	size_t n;
	int64_t pods_left, bytes_left; /* of all jobs */
	pthread_mutex_t lock;          /* of logs that are fetched */
};

/* The name of a part of the run. */
static const char *below(struct arena *a, const char *path, const char *name)
{
	return *path ? arena_printf(a, "%s/%s", path, name) : name;
}

/* ---- documents ------------------------------------------------------------------------ */

static int damaged(struct error *err, const char *name, const char *what)
{
	return error_set(err, ERR_FORMAT, "%s: %s", name, what);
}

static bool is_known_status(const char *status)
{
	static const char *const known[] = { "Running", "Succeeded", "Failed", "Stopped",
					     NULL };

	return status && str_in(status, known);
}

static int check_report(const cJSON *doc, struct error *err)
{
	const char *name = json_str(doc, "name"), *ns = json_str(doc, "namespace");
	int64_t nodes = json_int(doc, 0, "nodes");

	if (json_int(doc, 0, "layout") > RUNS_LAYOUT)
		return error_set(err, ERR_UNSUPPORTED,
				 "report.json: layout %lld is of a newer kftrainer, this "
				 "one reads %d",
				 (long long)json_int(doc, 0, "layout"), RUNS_LAYOUT);
	if (!is_known_status(json_str(doc, "status")))
		return damaged(err, "report.json",
			       "status: expected Running, Succeeded, Failed or Stopped");
	if (!name || name_subdomain_invalid(name) || (ns && name_label_invalid(ns)))
		return damaged(err, "report.json", "it has no name of a TrainJob");
	if (nodes < 1 || nodes > HISTORY_MAX_NODES)
		return damaged(err, "report.json", "nodes: expected 1 to 10000");
	return 0;
}

/*
 * When the report was written, and now: both by the place's clock, if it has one, else by
 * those of the writer and of this machine.
 */
static bool is_alive(const struct rundir *p, const cJSON *report)
{
	const char *text = json_str(report, "updated");
	int64_t now = p->now ? p->now : clock_now(), updated = p->now ? p->changed : 0;

	return str_eq(json_str(report, "status"), "Running") && text &&
	       (updated || !time_parse(&updated, text, IGNORED)) &&
	       llabs(now - updated) < ALIVE_SECONDS;
}

static int parse_report(cJSON **ret, const struct rundir *p, const struct buf *text,
			struct error *err)
{
	cleanup_json cJSON *doc = NULL;

	if (json_parse(&doc, text->data ? text->data : (void *)"", text->len, err))
		return error_wrap(err, REPORT);
	if (check_report(doc, err))
		return -1;
	json_put_bool(doc, is_alive(p, doc), "alive");
	*ret = STEAL(doc);
	return 0;
}

static int get_report(cJSON **ret, struct rundir *p, const char *name, struct error *err)
{
	cleanup_buf struct buf text = { .max = HISTORY_MAX_DOC };

	return rundir_get(p, name, &text, err) || parse_report(ret, p, &text, err) ? -1
										   : 0;
}

int history_report(cJSON **ret, struct rundir *p, struct error *err)
{
	if (!get_report(ret, p, "report.json", err))
		return 0;
	if (err->kind == ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "%s is not a run directory: it has no report.json; list "
				 "those below it with 'kftrainer runs'",
				 uri_shown(&p->arena, p->uri));
	return error_wrap(err, "%s", uri_shown(&p->arena, p->uri));
}

bool history_is_alive(const cJSON *report)
{
	return json_bool(report, false, "alive");
}

int history_job(cJSON **ret, struct rundir *p, const char *name, bool first,
		struct error *err)
{
	cleanup_buf struct buf text = { .max = HISTORY_MAX_DOC };
	cleanup_json cJSON *docs = NULL;
	int at;

	if (rundir_get(p, name, &text, err))
		return -1;
	if (yaml_parse(&docs, text.data ? text.data : (void *)"", text.len, err))
		return error_wrap(err, "job.yaml");
	at = first ? 0 : cJSON_GetArraySize(docs) - 1;
	if (at < 0 ||
	    !meta_is(cJSON_GetArrayItem(docs, at), TRAINER_GROUP, TRAINJOB_KIND))
		return damaged(err, "job.yaml", "expected a TrainJob");
	*ret = cJSON_DetachItemFromArray(docs, at);
	return 0;
}

static int get_job(cJSON **ret, struct rundir *p, const struct job *j, struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	if (!history_job(ret, p, below(&a, j->path, "job.yaml"), false, err))
		return 0;
	*ret = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, NULL, j->name);
	return error_clear_if(err, ERR_NOT_FOUND);
}

/* ---- the jobs --------------------------------------------------------------------------- */

static int make_dir(struct history *s, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *path = arena_printf(&s->arena, "%s/kftrainer-from-XXXXXX",
				  tmp && *tmp == '/' ? tmp : "/tmp");

	if (!mkdtemp(path))
		return error_errno(err, errno, "%s", path);
	s->dir = path;
	if (setenv("XDG_STATE_HOME", path, 1))
		return error_errno(err, errno, "XDG_STATE_HOME");
	return 0;
}

static void report_fault(struct history *s, struct rundir *p, const char *path,
			 const struct error *why)
{
	cleanup_arena struct arena a = { 0 };

	if (s->conf.on_fault)
		s->conf.on_fault(uri_shown(&a, arena_printf(&a, "%s/%s", p->uri, path)),
				 why->msg);
}

/* Fetch matching files of all attempts, into a directory that the caller removes. */
static int fetch_attempts(struct rundir *p, const char *path, const char *to,
			  const char *const *what, int64_t *left, struct error *err)
{
	const struct rundir_files files = { .allow = what };
	cleanup_arena struct arena a = { 0 };

	return rundir_download(p, below(&a, path, "attempts"), to, &files, left, err)
		       ? error_clear_if(err, ERR_NOT_FOUND)
		       : 0;
}

static int last_report_in(cJSON **ret, const char *dir, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	size_t n;
	struct history_part *parts = history_parts(&a, dir, "metrics", &n);

	for (*ret = NULL; n && !*ret; n--) {
		cleanup_buf struct buf text = { .max = HISTORY_MAX_LINES };
		const char *path = path_join(&a, dir, parts[n - 1].path);

		if (file_read_regular(&text, path, err))
			return error_wrap(err, "attempts/%s", parts[n - 1].path);
		*ret = history_last_report(text.data ? (const char *)text.data : "",
					   text.len);
	}
	return 0;
}

static int fill(struct history *s, struct rundir *p, struct job *j, struct error *err)
{
	static const char *const lines[] = { "*/events*.jsonl", "*/metrics*.jsonl",
					     NULL };
	cleanup_json cJSON *submitted = NULL, *tj = NULL, *last = NULL;
	cleanup_json cJSON *objects = cJSON_CreateArray();
	const char *dir = path_join(&s->arena, s->dir, "attempts");

	if (j->nodes > s->pods_left)
		return error_set(err, ERR_LIMIT,
				 "the runs have more than %d nodes: name a part of them",
				 HISTORY_MAX_PODS);
	s->pods_left -= j->nodes;
	if (get_job(&submitted, p, j, err) ||
	    fetch_attempts(p, j->path, dir, lines, &s->bytes_left, err) ||
	    last_report_in(&last, dir, err))
		return -1;
	tj = history_trainjob(submitted, j->report, last);
	meta_set_namespace(tj, j->ns);
	cJSON_AddItemToArray(objects, history_jobset(tj, j->report));
	if (state_begin(&j->run, j->ns, j->name, tj, objects, err))
		return -1;
	j->logs = arena_strdup(&s->arena, j->run.logs);
	j->goes_on = true;
	if (history_write(&j->run, tj, j->report, dir, err))
		return -1;
	if (history_is_alive(j->report))
		return 0;
	state_end(&j->run);
	j->goes_on = false;
	return 0;
}

/* Make the jobs: all, or the one of conf->name. */
static int fill_all(struct history *s, struct rundir *p, struct error *err)
{
	const char *dir = path_join(&s->arena, s->dir, "attempts");
	size_t failed = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct job *j = &s->jobs[i];
		struct error why = { 0 };

		if (s->n > 1 && s->conf.name && !str_eq(j->name, s->conf.name))
			continue;
		if (!fill(s, p, j, &why) && !dir_remove(dir, &why))
			continue;
		if (s->n == 1 || s->conf.name || why.kind == ERR_STOPPED) {
			*err = why;
			return -1;
		}
		(void)!dir_remove(dir, IGNORED);
		report_fault(s, p, j->path, &why);
		*err = why;
		failed++;
	}
	if (failed == s->n)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_job(struct history *s, const char *path, cJSON *take_report)
{
	const char *ns = json_str(take_report, "namespace");

	ns = arena_strdup(&s->arena, ns ? ns : "default");
	s->jobs[s->n++] = (struct job){
		.path = path,
		.ns = ns,
		.name = json_str(take_report, "name"),
		.nodes = json_int(take_report, 1, "nodes"),
		.report = take_report,
	};
}

static int refuse_number(const struct rundir *p, struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	return error_set(err, ERR_LIMIT, "%s has more than %d runs: name a part of it",
			 uri_shown(&a, p->uri), HISTORY_MAX_RUNS);
}

static int list_reports(struct store_listing *ret, struct rundir *p, struct error *err)
{
	if (rundir_list(p, "", REPORT, ret, err))
		return -1;
	if (ret->n <= HISTORY_MAX_RUNS)
		return 0;
	store_listing_release(ret);
	return refuse_number(p, err);
}

/* The run at the URI, else those below it. */
static int find_jobs(struct history *s, struct rundir *p, struct error *err)
{
	struct store_listing list = { 0 };
	struct error none = { 0 }, why = { 0 };
	cJSON *report = NULL;

	s->jobs = arena_alloc(&s->arena, sizeof(*s->jobs));
	if (!history_report(&report, p, &none)) {
		add_job(s, "", report);
		return 0;
	}
	*err = none;
	if (none.kind != ERR_NOT_FOUND)
		return -1;
	if (list_reports(&list, p, &why) || !list.n) {
		*err = why.kind && why.kind != ERR_NOT_FOUND ? why : none;
		return -1;
	}
	s->jobs = arena_alloc(&s->arena, list.n * sizeof(*s->jobs));
	for (size_t i = 0; i < list.n; i++) {
		const char *path = list.objects[i].path;
		size_t len = strlen(path) - strlen(REPORT);

		path = str_slice(&s->arena, path, len ? len - 1 : 0);
		if (!get_report(&report, p, list.objects[i].path, &why))
			add_job(s, path, report);
		else
			report_fault(s, p, path, &why);
	}
	store_listing_release(&list);
	*err = s->n ? (struct error){ 0 } : why;
	return s->n ? 0 : -1;
}

/* ".bert-run-2" of the path "bert/Run_2". */
static const char *suffix(struct arena *a, const char *path)
{
	char *text = arena_printf(a, ".%s", path);

	for (char *c = text + 1; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		else if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9'))
			*c = '-';
	return text;
}

/* No two jobs have one name: that of a TrainJob of several runs has their paths, too. */
static void name_jobs(struct history *s)
{
	cleanup_map struct map names = { 0 };
	int number = 2;

	for (size_t i = 0; i < s->n; i++) {
		struct job *j = &s->jobs[i], *first = map_get(&names, j->name);

		if (first)
			first->shared = j->shared = true;
		else
			map_put(&names, j->name, j);
	}
	for (size_t i = 0; i < s->n; i++) {
		struct job *j = &s->jobs[i];
		char *name = arena_printf(&s->arena, "%s%s", j->name,
					  j->shared ? suffix(&s->arena, j->path) : "");

		/* A long name has no room for a number. */
		while (j->shared &&
		       (name_subdomain_invalid(name) || map_get(&names, name)))
			name = arena_printf(&s->arena, "%s.%d",
					    strlen(j->name) > NUMBERED_MAX ? "run"
									   : j->name,
					    number++);
		map_put(&names, name, j);
		json_put_str(j->report, name, "name");
		j->name = s->names[i] = name;
	}
}

static int find(struct history *s, struct rundir *p, struct error *err)
{
	if (find_jobs(s, p, err))
		return -1;
	if (s->n > 1 && !s->conf.all && !s->conf.name)
		return error_set(err, ERR_USAGE,
				 "%s has %zu runs: specify a job, or list them with "
				 "'kftrainer runs'",
				 uri_shown(&p->arena, p->uri), s->n);
	s->names = arena_alloc(&s->arena, (s->n + 1) * sizeof(*s->names));
	name_jobs(s);
	s->option = arena_printf(&s->arena, " --from %s",
				 str_sh(&s->arena, uri_shown(&s->arena, s->conf.uri)));
	return 0;
}

int history_open(struct history **ret, const struct history_conf *conf, struct error *err)
{
	struct history *s = xcalloc(1, sizeof(*s));
	struct rundir p = { 0 };
	int rc;

	s->conf = *conf;
	s->pods_left = HISTORY_MAX_PODS;
	s->bytes_left = HISTORY_MAX_READ;
	pthread_mutex_init(&s->lock, NULL);
	rc = rundir_open(&p, conf->uri, conf->env, conf->ctx, err) || find(s, &p, err) ||
			     make_dir(s, err) || fill_all(s, &p, err)
		     ? -1
		     : 0;
	rundir_close(&p);
	for (size_t i = 0; i < s->n; i++)
		cJSON_Delete(STEAL(s->jobs[i].report));
	if (rc)
		history_close(s);
	else
		*ret = s;
	return rc;
}

static struct job *job_of(const struct history *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->jobs[i].name, name))
			return &s->jobs[i];
	return NULL;
}

const char *history_namespace(const struct history *s, const char *name)
{
	const struct job *j = job_of(s, name);

	return (j ? j : s->jobs)->ns;
}

const char *history_option(const struct history *s)
{
	return s->option;
}

char **history_names(const struct history *s)
{
	return s->names;
}

/* ---- logs ------------------------------------------------------------------------------- */

static int fetch_logs(struct history *s, struct job *j, struct error *err)
{
	static const char *const logs[] = { "*/logs/*.log.zst", NULL };
	const char *dir = path_join(&s->arena, s->dir, "attempts");
	int64_t left = HISTORY_MAX_LOGS;
	struct rundir p = { 0 };
	int rc = rundir_open(&p, s->conf.uri, s->conf.env, s->conf.ctx, err) ||
				 fetch_attempts(&p, j->path, dir, logs, &left, err) ||
				 history_decode(j->logs, j->name, j->nodes, dir, err)
			 ? -1
			 : 0;

	rundir_close(&p);
	(void)!dir_remove(dir, IGNORED);
	return rc;
}

int history_logs(struct history *s, const char *name, struct error *err)
{
	struct job *j = job_of(s, name);
	struct error why = { 0 };

	if (!j || !j->logs)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (!j->has_logs) {
		(void)!fetch_logs(s, j, &why);
		j->has_logs =
			!why.kind || why.kind == ERR_FORMAT || why.kind == ERR_LIMIT;
		if (j->has_logs)
			j->fault = why;
		else
			(void)!dir_remove(j->logs, IGNORED);
	} else {
		why = j->fault;
	}
	pthread_mutex_unlock(&s->lock);
	if (why.kind)
		*err = why;
	return why.kind ? -1 : 0;
}

void history_close(struct history *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->jobs[i].goes_on)
			state_end(&s->jobs[i].run);
	if (s->dir)
		(void)!dir_remove(s->dir, IGNORED);
	pthread_mutex_destroy(&s->lock);
	arena_clear(&s->arena);
	free(s);
}

/* ---- several ----------------------------------------------------------------------------- */

/* Put the last report where `runs` has it. */
static void put_progress(cJSON *run)
{
	cleanup_json cJSON *last = cJSON_DetachItemFromObject(run, "progress");

	if (json_get(last, "progressPercentage"))
		json_put(run, json_dup(json_get(last, "progressPercentage")), "progress");
	json_put(run, json_dup(json_get(last, "metrics")), "metrics");
}

struct found {
	struct rundir *p;
	cJSON *list[HISTORY_MAX_RUNS];
	size_t n;
};

static int add_run(void *ctx, const char *path, const struct buf *text, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct found *f = ctx;
	size_t len = strlen(path) - strlen(REPORT);
	const char *uri = f->p->uri;
	cJSON *run = NULL;

	if (len && path[len - 1] != '/')
		return 0;
	if (f->n == HISTORY_MAX_RUNS)
		return refuse_number(f->p, err);
	if (err->kind || parse_report(&run, f->p, text, err)) {
		run = cJSON_CreateObject();
		json_put_str(run, err->msg, "fault");
	} else {
		json_del(run, JSON_PATH("fault"));
		put_progress(run);
		if (str_eq(json_str(run, "status"), "Running") && !history_is_alive(run))
			json_put_str(run, "Lost", "status");
		json_del(run, JSON_PATH("alive"));
	}
	if (len)
		uri = arena_printf(&a, "%s/%s", uri, str_slice(&a, path, len - 1));
	json_put_str(run, uri_shown(&a, uri), "uri");
	f->list[f->n++] = run;
	return 0;
}

static int newer_first(const void *a, const void *b)
{
	const char *x = json_str(*(cJSON *const *)a, "created");
	const char *y = json_str(*(cJSON *const *)b, "created");

	return strcmp(y ? y : "", x ? x : "");
}

static int list_runs(cJSON **ret, struct rundir *p, struct error *err)
{
	const struct rundir_pattern reports = { NULL, REPORT, HISTORY_MAX_DOC };
	struct found *f = xcalloc(1, sizeof(*f));
	cJSON *runs = cJSON_CreateArray();
	int rc;

	f->p = p;
	rc = rundir_read_each(p, "", &reports, add_run, f, err);
	qsort(f->list, f->n, sizeof(f->list[0]), newer_first);
	for (size_t i = 0; i < f->n; i++)
		cJSON_AddItemToArray(runs, f->list[i]);
	free(f);
	if (rc)
		cJSON_Delete(runs);
	else
		*ret = runs;
	return rc;
}

int history_list(cJSON **ret, const struct history_conf *conf, struct error *err)
{
	struct rundir p = { 0 };
	int rc = rundir_open(&p, conf->uri, conf->env, conf->ctx, err) ||
				 list_runs(ret, &p, err)
			 ? -1
			 : 0;

	rundir_close(&p);
	return rc;
}
