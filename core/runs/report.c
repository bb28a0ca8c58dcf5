/* report.c - owner.json, job.yaml, code.tar.zst, report.json (runs/runs_impl.h). */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "pack/pack.h"
#include "runs/runs_impl.h"

#define SUBMITTED "submitted" /* a member of the TrainJob (trainer/run_spec.h) */

enum { MAX_JSON = 1024 * 1024, PAUSE_MS = 5000, MAX_CODE = 64 * 1024 * 1024 };

int runs_put_json(struct rundir *p, const char *name, const cJSON *doc, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_JSON };

	json_print(&text, doc);
	buf_adds(&text, "\n");
	return buf_check(&text, name, err) ||
			       rundir_put(p, name, text.data, text.len, err)
		       ? -1
		       : 0;
}

static int get_json(cJSON **ret, struct rundir *p, const char *name, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_JSON };

	if (rundir_get(p, name, &text, err))
		return error_clear_if(err, ERR_NOT_FOUND);
	return json_parse(ret, text.data ? (const char *)text.data : "", text.len, err)
		       ? error_wrap(err, "%s", name)
		       : 0;
}

static void put_names(cJSON *doc, const cJSON *job)
{
	static const char *const names[] = { "namespace", "name", "uid" };

	json_put_int(doc, RUNS_LAYOUT, "layout");
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const char *value = json_str(job, "metadata", names[i]);

		json_put(doc, value ? cJSON_CreateString(value) : cJSON_CreateNull(),
			 names[i]);
	}
}

static void put_time(cJSON *doc, const char *name, int64_t time)
{
	char text[TIME_TEXT_SIZE];

	json_put(doc,
		 time ? cJSON_CreateString(time_text(time, text)) : cJSON_CreateNull(),
		 name);
}

/* ---- the owner ---- */

/* A job that has no uid is known by its name. */
static bool is_same_job(const cJSON *owner, const cJSON *job)
{
	const char *uid = json_str(job, "metadata", "uid");

	if (uid || json_str(owner, "uid"))
		return str_eq(json_str(owner, "uid"), uid);
	return str_eq(json_str(owner, "name"), json_str(job, "metadata", "name"));
}

bool runs_has_succeeded(struct rundir *p, const cJSON *job)
{
	cleanup_json cJSON *last = NULL;

	return !get_json(&last, p, "report.json", IGNORED) &&
	       str_eq(json_str(last, "status"), "Succeeded") && is_same_job(last, job);
}

int runs_check_owner(struct rundir *p, const cJSON *job, struct error *err)
{
	cleanup_json cJSON *owner = NULL;

	if (get_json(&owner, p, "owner.json", err))
		return -1;
	return !owner || is_same_job(owner, job)
		       ? 0
		       : error_set(err, ERR_CONFLICT, "job %.100s has taken it over",
				   json_str(owner, "name") ? json_str(owner, "name")
							   : "?");
}

/* *is_new stays true over several tries: not all that a new owner writes may be there. */
static int claim_owner(struct runs *r, bool *is_new, struct error *err)
{
	cleanup_json cJSON *owner = NULL, *mine = cJSON_CreateObject();
	const cJSON *job = r->conf->job;
	bool is_ours;

	if (get_json(&owner, &r->rundir, "owner.json", err))
		return -1;
	is_ours = owner && is_same_job(owner, job);
	if (owner && !is_ours && (*is_new || !r->conf->resume))
		return error_set(err, ERR_EXISTS,
				 "it belongs to job %.100s of %.40s; use another one, or "
				 "continue it with 'kftrainer submit --resume' "
				 "(kftrainer.io/resume: \"true\")",
				 json_str(owner, "name") ? json_str(owner, "name") : "?",
				 json_str(owner, "time") ? json_str(owner, "time") : "?");
	if (is_ours)
		return 0;
	*is_new = true;
	put_names(mine, job);
	put_time(mine, "time", clock_now());
	return runs_put_json(&r->rundir, "owner.json", mine, err);
}

static int put_job(struct runs *r, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_JSON };

	cleanup_json cJSON *stored = r->conf->job ? json_dup(r->conf->job) : NULL;

	if (!stored)
		return 0;
	if (json_get(r->conf->job, SUBMITTED)) {
		yaml_print(&text, json_get(r->conf->job, SUBMITTED));
		buf_adds(&text, "---\n");
		json_del(stored, JSON_PATH(SUBMITTED));
	}
	yaml_print(&text, stored);
	return buf_check(&text, "job.yaml", err) || rundir_put(&r->rundir, "job.yaml",
							       text.data, text.len, err)
		       ? -1
		       : 0;
}

/* A directory that cannot be packed is no reason not to train. */
static int put_code(struct runs *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = memfd_create("code", MFD_CLOEXEC);
	const struct pack_opts opts = { .limits = { 10000, MAX_CODE } };
	struct pack_summary done;
	struct error why = { 0 };
	if (!r->conf->code)
		return 0;
	if (fd < 0 || pack_folder(r->conf->code, fd, &opts, &arena, &done, &why)) {
		runs_say(r, "run directory: without the code: %.300s", why.msg);
		return 0;
	}
	return rundir_put_fd(&r->rundir, "code.tar.zst", fd, err);
}

/* ---- what was before ---- */

static int find_last_attempt(struct runs *r, struct error *err)
{
	struct store_listing list;
	int64_t n;

	if (rundir_list(&r->rundir, "attempts", "/attempt.json", &list, err))
		return -1;
	r->next_attempt = 1;
	for (size_t i = 0; i < list.n; i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *path = list.objects[i].path;
		const char *number = str_slice(&arena, path, strcspn(path, "/"));

		if (!str_int(&n, number, 1, INT32_MAX - 1, IGNORED) &&
		    n >= r->next_attempt)
			r->next_attempt = (uint32_t)n + 1;
	}
	store_listing_release(&list);
	return 0;
}

static int read_report(struct runs *r, struct error *err)
{
	cleanup_json cJSON *old = NULL;
	const char *time, *name;

	if (get_json(&old, &r->rundir, "report.json", err) && err->kind != ERR_FORMAT)
		return -1;
	time = json_str(old, "created");
	name = json_str(old, "checkpoint", "name");
	if (!time || time_parse(&r->created, time, IGNORED))
		r->created = clock_now();
	if (!name || !checkpoint_name_valid(name))
		return 0;
	snprintf(r->last_name, sizeof(r->last_name), "%s", name);
	r->last.step = json_int(old, -1, "checkpoint", "step");
	time = json_str(old, "checkpoint", "time");
	if (!time || time_parse(&r->last.time, time, IGNORED))
		r->last.time = 0;
	return 0;
}

/* If two jobs find no owner at the same time, the last to write its name becomes the owner. */
static int claim_once(struct runs *r, bool *is_new, struct error *err)
{
	return claim_owner(r, is_new, err) || find_last_attempt(r, err) ||
			       read_report(r, err) ||
			       (*is_new &&
				(put_job(r, err) || put_code(r, err) ||
				 runs_check_owner(&r->rundir, r->conf->job, err)))
		       ? -1
		       : 0;
}

int runs_claim(struct runs *r, struct error *err)
{
	int64_t until = clock_ms() + RUNS_GIVE_UP_MS, since = 0;
	bool is_new = false;

	while (claim_once(r, &is_new, err)) {
		if (err->kind == ERR_EXISTS || err->kind == ERR_INVALID ||
		    err->kind == ERR_DENIED || clock_ms() >= until)
			return -1;
		runs_log_failure(r, &since, err);
		if (stop_wait(PAUSE_MS))
			return error_set(err, ERR_STOPPED,
					 "stopped before the command began, as the place "
					 "could not be reached: %s",
					 r->error);
	}
	return 0;
}

/* ---- the report ---- */

static cJSON *checkpoint_of(const struct runs *r)
{
	cJSON *doc = r->last_name[0] ? cJSON_CreateObject() : cJSON_CreateNull();

	if (!r->last_name[0])
		return doc;
	json_put_str(doc, r->last_name, "name");
	json_put(doc, r->last.step < 0 ? cJSON_CreateNull() : json_new_int(r->last.step),
		 "step");
	put_time(doc, "time", r->last.time);
	return doc;
}

/* With the lock held. */
static cJSON *report_of(const struct runs *r)
{
	cJSON *doc = cJSON_CreateObject(), *counted = NULL;
	bool ended = r->ended != 0;

	put_names(doc, r->conf->job);
	json_put_str(doc, r->state, "status");
	json_put(doc, r->why[0] ? cJSON_CreateString(r->why) : cJSON_CreateNull(), "why");
	json_put(doc, ended ? json_new_int(r->status) : cJSON_CreateNull(), "exit");
	json_put_int(doc, r->conf->ranks, "nodes");
	put_time(doc, "created", r->created);
	put_time(doc, "started", r->started);
	put_time(doc, "ended", r->ended);
	put_time(doc, "updated", clock_now());
	json_put_int(doc, r->next_attempt - 1, "attempt");
	json_put_int(doc, r->restarts, "restarts");
	json_put(doc, checkpoint_of(r), "checkpoint");
	if (r->supervision.len)
		counted = json_reread((const char *)r->supervision.data);
	json_put(doc, json_dup(json_get(counted, "supervision")), "supervision");
	cJSON_Delete(counted);
	json_put(doc, r->progress ? json_dup(r->progress) : cJSON_CreateNull(),
		 "progress");
	json_put_str(doc, r->conf->version, "versions", "kftrainer");
	return doc;
}

int runs_send_report(struct runs *r, struct error *err)
{
	cJSON *doc;
	int rc;

	pthread_mutex_lock(&r->lock);
	doc = report_of(r);
	pthread_mutex_unlock(&r->lock);
	rc = runs_put_json(&r->rundir, "report.json", doc, err);
	cJSON_Delete(doc);
	return rc;
}
