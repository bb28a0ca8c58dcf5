/* story.c - fetch a run directory, and list several (story/story.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "net/uri.h"
#include "story/story_impl.h"
#include "trainer/api.h"

enum { ALIVE_SECONDS = 300 };

struct story {
	struct arena arena;
	char *dir; /* XDG_STATE_HOME; of this process alone */
	const char *ns, *option;
	char *names[2];       /* the TrainJob's */
	struct state_run run; /* of one that goes on: holds its lock */
	bool goes_on;
};

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
	if (nodes < 1 || nodes > STORY_MAX_NODES)
		return damaged(err, "report.json", "nodes: expected 1 to 10000");
	return 0;
}

static int get_report(cJSON **ret, struct run_place *p, const char *name,
		      struct error *err)
{
	cleanup_buf struct buf text = { .max = STORY_MAX_DOC };
	cleanup_json cJSON *doc = NULL;

	if (place_get(p, name, &text, err))
		return -1;
	if (json_parse(&doc, text.data ? text.data : (void *)"", text.len, err))
		return error_wrap(err, "report.json");
	if (check_report(doc, err))
		return -1;
	*ret = STEAL(doc);
	return 0;
}

int story_report(cJSON **ret, struct run_place *p, struct error *err)
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

bool story_is_alive(const cJSON *report)
{
	const char *text = json_str(report, "updated");
	int64_t updated;

	return str_eq(json_str(report, "status"), "Running") && text &&
	       !time_parse(&updated, text, IGNORED) &&
	       updated + ALIVE_SECONDS > clock_now();
}

/* The TrainJob as defaulted: the last document of job.yaml. */
static int get_job(cJSON **ret, struct run_place *p, const cJSON *report,
		   struct error *err)
{
	cleanup_buf struct buf text = { .max = STORY_MAX_DOC };
	cleanup_json cJSON *docs = NULL;
	int n;

	if (place_get(p, "job.yaml", &text, err)) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		*ret = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, NULL,
				json_str(report, "name"));
		return 0;
	}
	if (yaml_parse(&docs, text.data ? text.data : (void *)"", text.len, err))
		return error_wrap(err, "job.yaml");
	n = cJSON_GetArraySize(docs);
	if (!n || !meta_is(cJSON_GetArrayItem(docs, n - 1), TRAINER_GROUP, TRAINJOB_KIND))
		return damaged(err, "job.yaml", "expected a TrainJob");
	*ret = cJSON_DetachItemFromArray(docs, n - 1);
	return 0;
}

/* ---- one run ---------------------------------------------------------------------------- */

static int make_dir(struct story *s, struct error *err)
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

/* Events, metrics and, if wanted, logs of all attempts. */
static int fetch_attempts(struct run_place *p, const char *to, bool logs,
			  struct error *err)
{
	static const char *const with[] = { "*/events*.jsonl", "*/metrics*.jsonl",
					    "*/logs/*.log.zst", NULL };
	static const char *const without[] = { "*/events*.jsonl", "*/metrics*.jsonl",
					       NULL };

	return place_fetch(p, "attempts", to, logs ? with : without, err)
		       ? error_clear_if(err, ERR_NOT_FOUND)
		       : 0;
}

static int last_report_in(cJSON **ret, const char *dir, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	size_t n;
	struct story_part *parts = story_parts(&a, dir, "metrics", &n);

	for (*ret = NULL; n && !*ret; n--) {
		cleanup_buf struct buf text = { .max = STORY_MAX_LINES };
		const char *path = path_join(&a, dir, parts[n - 1].path);

		if (file_read_regular(&text, path, err))
			return error_wrap(err, "attempts/%s", parts[n - 1].path);
		*ret = story_last_report(text.data ? (const char *)text.data : "",
					 text.len);
	}
	return 0;
}

static int fill(struct story *s, struct run_place *p, const struct story_conf *conf,
		struct error *err)
{
	cleanup_json cJSON *report = NULL, *submitted = NULL, *tj = NULL, *last = NULL;
	cleanup_json cJSON *objects = cJSON_CreateArray();
	const char *dir = path_join(&s->arena, s->dir, "attempts");

	if (story_report(&report, p, err) || get_job(&submitted, p, report, err) ||
	    fetch_attempts(p, dir, conf->logs, err) || last_report_in(&last, dir, err))
		return -1;
	s->option = arena_printf(&s->arena, " --from %s",
				 str_sh(&s->arena, uri_shown(&s->arena, conf->uri)));
	s->ns = arena_strdup(&s->arena, json_str(report, "namespace")
						? json_str(report, "namespace")
						: "default");
	s->names[0] = arena_strdup(&s->arena, json_str(report, "name"));
	tj = story_trainjob(submitted, report, last);
	meta_set_namespace(tj, s->ns);
	cJSON_AddItemToArray(objects, story_jobset(tj, report));
	if (state_begin(&s->run, s->ns, s->names[0], tj, objects, err))
		return -1;
	s->goes_on = true;
	if (story_write(&s->run, tj, report, dir, err) ||
	    (conf->logs &&
	     story_logs(&s->run, tj, json_int(report, 1, "nodes"), dir, err)) ||
	    dir_remove(dir, err))
		return -1;
	if (story_is_alive(report))
		return 0;
	state_end(&s->run);
	s->goes_on = false;
	return 0;
}

int story_open(struct story **ret, const struct story_conf *conf, struct error *err)
{
	struct story *s = xcalloc(1, sizeof(*s));
	struct run_place p = { 0 };
	int rc = place_open(&p, conf->uri, conf->env, conf->ctx, err) ||
				 make_dir(s, err) || fill(s, &p, conf, err)
			 ? -1
			 : 0;

	place_close(&p);
	if (rc)
		story_close(s);
	else
		*ret = s;
	return rc;
}

const char *story_namespace(const struct story *s)
{
	return s->ns;
}

const char *story_option(const struct story *s)
{
	return s->option;
}

char **story_names(struct story *s)
{
	return s->names;
}

void story_close(struct story *s)
{
	if (!s)
		return;
	if (s->goes_on)
		state_end(&s->run);
	if (s->dir)
		(void)!dir_remove(s->dir, IGNORED);
	arena_clear(&s->arena);
	free(s);
}

/* ---- several ----------------------------------------------------------------------------- */

#define REPORT "report.json"

static void add_last_report(cJSON *run, struct run_place *p, const char *name,
			    int64_t attempt)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = arena_printf(&a, "%s%sattempts/%lld", name, *name ? "/" : "",
				       (long long)attempt);
	cleanup_buf struct buf text = { .max = STORY_MAX_LINES };
	cleanup_json cJSON *last = NULL;
	struct store_listing list = { 0 };
	const char *best = NULL;
	int64_t number, most = -1;

	if (place_list(p, dir, ".jsonl", &list, IGNORED))
		return;
	for (size_t i = 0; i < list.n; i++)
		if (story_number(list.objects[i].path, "metrics", ".jsonl", &number) &&
		    number > most) {
			most = number;
			best = arena_printf(&a, "%s/%s", dir, list.objects[i].path);
		}
	store_listing_release(&list);
	if (!best || place_get(p, best, &text, IGNORED) || !text.len)
		return;
	last = story_last_report((const char *)text.data, text.len);
	if (json_get(last, "progressPercentage"))
		json_put(run, json_dup(json_get(last, "progressPercentage")), "progress");
	json_put(run, json_dup(json_get(last, "metrics")), "metrics");
}

static cJSON *run_of(struct run_place *p, const char *path)
{
	cleanup_arena struct arena a = { 0 };
	size_t len = strlen(path) - strlen(REPORT);
	const char *name = str_slice(&a, path, len ? len - 1 : 0);
	const char *uri = len ? arena_printf(&a, "%s/%s", p->uri, name) : p->uri;
	struct error err = { 0 };
	cJSON *run = NULL;

	if (get_report(&run, p, path, &err)) {
		run = cJSON_CreateObject();
		json_put_str(run, err.msg, "fault");
	} else {
		add_last_report(run, p, name, json_int(run, 0, "attempt"));
		if (str_eq(json_str(run, "status"), "Running") && !story_is_alive(run))
			json_put_str(run, "Lost", "status");
	}
	json_put_str(run, uri_shown(&a, uri), "uri");
	return run;
}

static int newer_first(const void *a, const void *b)
{
	const char *x = json_str(*(cJSON *const *)a, "created");
	const char *y = json_str(*(cJSON *const *)b, "created");

	return strcmp(y ? y : "", x ? x : "");
}

static int list_runs(cJSON **ret, struct run_place *p, struct error *err)
{
	struct store_listing list = { 0 };
	cJSON **runs;

	if (place_list(p, "", REPORT, &list, err))
		return -1;
	if (list.n > STORY_MAX_RUNS) {
		store_listing_release(&list);
		return error_set(err, ERR_LIMIT,
				 "%s has more than %d runs: name a part of it",
				 uri_shown(&p->arena, p->uri), STORY_MAX_RUNS);
	}
	runs = xcalloc(list.n + 1, sizeof(runs[0]));
	for (size_t i = 0; i < list.n; i++)
		runs[i] = run_of(p, list.objects[i].path);
	qsort(runs, list.n, sizeof(runs[0]), newer_first);
	*ret = cJSON_CreateArray();
	for (size_t i = 0; i < list.n; i++)
		cJSON_AddItemToArray(*ret, runs[i]);
	free(runs);
	store_listing_release(&list);
	return 0;
}

int story_list(cJSON **ret, const struct story_conf *conf, struct error *err)
{
	struct run_place p = { 0 };
	int rc = place_open(&p, conf->uri, conf->env, conf->ctx, err) ||
				 list_runs(ret, &p, err)
			 ? -1
			 : 0;

	place_close(&p);
	return rc;
}
