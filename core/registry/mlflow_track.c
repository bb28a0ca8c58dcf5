/*
 * mlflow_track.c - runs of MLflow (mlflow/mlflow, mlflow/protos/service.proto).
 *
 * MLflow gives a run its ID and knows no other unique key: the run of a job is found by
 * its tag. Of two that are made at the same time the older one remains, if the younger's
 * process waits until the older one is there: the longer, the slower MLflow is. MLflow
 * stores a point once, however often it is sent.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "registry/track_impl.h"

#define API     "/api/2.0/mlflow"
#define TAG_KEY "kftrainer.job"

enum {
	WAIT_MS = 200, /* and WAIT_TIMES as long as MLflow took, up to MOST_WAIT_MS */
	WAIT_TIMES = 4,
	MOST_WAIT_MS = 5000,
	MAX_VALUE = 6000, /* MAX_PARAM_VAL_LENGTH */
	FOUND_AT_MOST = 100,
};

struct session {
	struct registry *r;
	const struct track_conf *conf;
	const char *experiment_id;
	cJSON *run; /* the job's, as it was found; NULL: none */
};

static int64_t unix_ms(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* MLflow's word for a refusal. That of another server, or of a proxy, is no refusal. */
static bool says(const struct registry_answer *a, const char *code)
{
	return a->status >= 300 && str_eq(json_str(a->doc, "error_code"), code);
}

/* A refusal that may pass. Returns -1. */
static int refuse(const struct registry *r, const struct registry_answer *a,
		  const char *what, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	error_set(err, ERR_UNSUPPORTED, "%s: status %d for %s%s", r->shown, a->status,
		  what, registry_said(&arena, a->doc));
	err->code = a->status;
	return -1;
}

/* A call that has to succeed. */
static int post(struct registry *r, const char *path, const cJSON *body, const char *what,
		struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };

	if (registry_ask(r, "POST", path, body, &answer, err))
		return -1;
	return answer.status >= 300 ? refuse(r, &answer, what, err) : 0;
}

/* ---- the experiment ---- */

/* s->experiment_id: NULL: there is none. */
static int find_experiment(struct session *s, const char *name, struct error *err)
{
	cleanup_answer struct registry_answer a = { 0 };
	struct registry *r = s->r;
	const char *path =
		arena_printf(r->arena, API "/experiments/get-by-name?experiment_name=%s",
			     registry_escape(r, name));
	const cJSON *experiment;

	if (registry_ask(r, "GET", path, NULL, &a, err))
		return -1;
	if (says(&a, "RESOURCE_DOES_NOT_EXIST"))
		return 0;
	if (a.status >= 300)
		return refuse(r, &a, "the experiment", err);
	experiment = json_get(a.doc, "experiment");
	if (str_eq(json_str(experiment, "lifecycle_stage"), "deleted"))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s: the experiment '%.100s' is deleted: restore it, or "
				 "use another one",
				 r->shown, str_visible(r->arena, name, false));
	s->experiment_id = arena_strdup(r->arena, json_str(experiment, "experiment_id"));
	return s->experiment_id ? 0
				: error_set(err, ERR_FORMAT,
					    "%s: the answer has no experiment_id: is "
					    "this MLflow?",
					    r->shown);
}

static int ensure_experiment(struct session *s, const char *name, struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	cleanup_json cJSON *body = cJSON_CreateObject();

	if (find_experiment(s, name, err) || s->experiment_id)
		return s->experiment_id ? 0 : -1;
	json_put_str(body, name, "name");
	if (registry_ask(s->r, "POST", API "/experiments/create", body, &answer, err))
		return -1;
	if (answer.status >= 300 && !says(&answer, "RESOURCE_ALREADY_EXISTS"))
		return refuse(s->r, &answer, "a new experiment", err);
	if (find_experiment(s, name, err))
		return -1;
	return s->experiment_id
		       ? 0
		       : error_set(err, ERR_BUSY, "%s: the experiment is not found",
				   s->r->shown);
}

/* ---- the run ---- */

static const char *id_of(const cJSON *run)
{
	return json_str(run, "info", "run_id");
}

static bool is_older(const cJSON *a, const cJSON *b)
{
	int64_t of_a = json_int(a, 0, "info", "start_time");
	int64_t of_b = json_int(b, 0, "info", "start_time");

	return of_a != of_b ? of_a < of_b : strcmp(id_of(a), id_of(b)) < 0;
}

/* s->run: the oldest run with the key. */
static int find_run(struct session *s, struct error *err)
{
	const char *key = mlflow_quoted(s->r, s->conf->key, err);
	cleanup_answer struct registry_answer answer = { 0 };
	cleanup_json cJSON *body = cJSON_CreateObject();
	cJSON *run, *oldest = NULL;

	if (!key)
		return -1;
	cJSON_AddItemToArray(json_list(body, "experiment_ids"),
			     cJSON_CreateString(s->experiment_id));
	json_put_str(body, arena_printf(s->r->arena, "tags.`" TAG_KEY "` = %s", key),
		     "filter");
	json_put_int(body, FOUND_AT_MOST, "max_results");
	if (registry_ask(s->r, "POST", API "/runs/search", body, &answer, err))
		return -1;
	if (answer.status >= 300)
		return refuse(s->r, &answer, "a search of runs", err);
	json_each(run, json_get(answer.doc, "runs"))
		if (id_of(run) && (!oldest || is_older(run, oldest)))
			oldest = run;
	cJSON_Delete(s->run);
	s->run = json_dup(oldest);
	return 0;
}

static int is_made(void *ctx, bool *ret, struct error *err)
{
	struct session *s = ctx;

	if (find_run(s, err))
		return -1;
	*ret = s->run != NULL;
	return 0;
}

static void add_pair(cJSON *to, const char *list, const char *key, const char *value)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *pair = cJSON_CreateObject();

	json_put_str(pair, key, "key");
	json_put_str(pair, str_at_most(&arena, value, MAX_VALUE), "value");
	cJSON_AddItemToArray(json_list(to, list), pair);
}

static cJSON *new_run(const struct session *s)
{
	const struct track_conf *c = s->conf;
	cJSON *body = cJSON_CreateObject();

	json_put_str(body, s->experiment_id, "experiment_id");
	json_put_int(body, unix_ms(), "start_time");
	json_put_str(body, c->name, "run_name");
	add_pair(body, "tags", TAG_KEY, c->key);
	for (size_t i = 0; i < c->n_tags; i++)
		add_pair(body, "tags", c->tags[i].name, c->tags[i].value);
	return body;
}

static int delete_run(struct registry *r, const char *id, struct error *err)
{
	cleanup_json cJSON *body = cJSON_CreateObject();

	json_put_str(body, id, "run_id");
	return post(r, API "/runs/delete", body, "the second run of the job", err);
}

/* s->run: ours, or that of another process that was faster. */
static int make_run(struct session *s, struct error *err)
{
	int64_t began = clock_ms(), wait;
	cleanup_json cJSON *body = new_run(s);
	const struct registry_call call = { .method = "POST",
					    .path = API "/runs/create",
					    .body = body,
					    .is_done = is_made,
					    .ctx = s };
	cleanup_answer struct registry_answer answer = { 0 };
	const char *ours;

	if (registry_call(s->r, &call, &answer, err))
		return -1;
	if (answer.status >= 300)
		return refuse(s->r, &answer, "a new run", err);
	wait = WAIT_MS + WAIT_TIMES * (clock_ms() - began);
	clock_sleep_ms(wait < MOST_WAIT_MS ? wait : MOST_WAIT_MS);
	if (find_run(s, err))
		return -1;
	if (!s->run)
		return error_set(err, ERR_BUSY, "%s: the new run is not found",
				 s->r->shown);
	ours = id_of(json_get(answer.doc, "run"));
	return ours && !str_eq(ours, id_of(s->run)) ? delete_run(s->r, ours, err) : 0;
}

static int set_status(struct registry *r, const char *id, const char *status, bool ended,
		      struct error *err)
{
	cleanup_json cJSON *body = cJSON_CreateObject();

	json_put_str(body, id, "run_id");
	json_put_str(body, status, "status");
	if (ended)
		json_put_int(body, unix_ms(), "end_time");
	return post(r, API "/runs/update", body, "the state of the run", err);
}

/* A parameter cannot be changed: those that the run has remain. */
static int add_params(struct session *s, struct error *err)
{
	cleanup_json cJSON *body = cJSON_CreateObject();
	const cJSON *known = json_get(s->run, "data", "params");
	size_t n = 0;

	for (size_t i = 0; i < s->conf->n_params; i++) {
		const struct registry_property *p = &s->conf->params[i];

		if (json_find_const(known, "key", p->name))
			continue;
		add_pair(body, "params", p->name, p->value);
		n++;
	}
	json_put_str(body, id_of(s->run), "run_id");
	if (!n || !post(s->r, API "/runs/log-batch", body, "parameters", err))
		return 0;
	if (err->kind == ERR_STOPPED || err->kind == ERR_DENIED)
		return -1;
	/* Another supervisor of the job wrote the same at this moment: MLflow's database
	 * refuses one of them, and takes equal values afterwards. */
	*err = (struct error){ 0 };
	return post(s->r, API "/runs/log-batch", body, "parameters", err);
}

static int64_t next_step(const cJSON *run)
{
	const cJSON *metric;
	int64_t next = 0;

	json_each(metric, json_get(run, "data", "metrics")) {
		int64_t step = json_int(metric, -1, "step");

		if (step >= next && step < INT64_MAX / 2 &&
		    !str_starts(json_str(metric, "key"), "system/"))
			next = step + 1;
	}
	return next;
}

static int open_session(struct session *s, const char *experiment, struct error *err)
{
	if (ensure_experiment(s, experiment, err) || find_run(s, err) ||
	    (!s->run && make_run(s, err)) || add_params(s, err))
		return -1;
	if (str_eq(json_str(s->run, "info", "status"), "RUNNING"))
		return 0;
	return set_status(s->r, id_of(s->run), "RUNNING", false, err);
}

static int open_run(struct registry *r, const struct track_conf *conf,
		    const char *experiment, struct track_run *ret, struct error *err)
{
	struct session s = { .r = r, .conf = conf };
	int rc = open_session(&s, experiment, err);

	if (!rc && strlen(id_of(s.run)) >= sizeof(ret->id))
		rc = error_set(err, ERR_FORMAT, "%s: the run's ID is too long", r->shown);
	if (!rc) {
		memcpy(ret->id, id_of(s.run), strlen(id_of(s.run)) + 1);
		ret->step = next_step(s.run);
	}
	cJSON_Delete(s.run);
	return rc;
}

/* ---- points ---- */

/* As protobuf's JSON has a double. */
static cJSON *number(double v)
{
	if (isnan(v))
		return cJSON_CreateString("NaN");
	if (isinf(v))
		return cJSON_CreateString(v < 0 ? "-Infinity" : "Infinity");
	return cJSON_CreateNumber(v);
}

static cJSON *metric_of(const struct track_point *p)
{
	cJSON *metric = cJSON_CreateObject();

	json_put_str(metric, p->name, "key");
	json_put(metric, number(p->value), "value");
	json_put_int(metric, p->unix_ms, "timestamp");
	json_put_int(metric, p->step, "step");
	return metric;
}

/* A part of a path that MLflow does not take. */
static bool is_bad_part(const char *part)
{
	size_t len = strcspn(part, "/");

	return !len || (len == 1 && *part == '.') || str_starts(part, "..");
}

/* Other characters than letters and digits of ASCII and "_-. :/" become '_'. */
static char *clean_name(const char *name)
{
	char *out = xcalloc(1, REGISTRY_MAX_NAME + 2), *p = out;

	for (const char *c = name; p < out + REGISTRY_MAX_NAME; c++) {
		bool more = ((unsigned char)*c & 0xc0) == 0x80; /* of a character */

		if ((c == name || c[-1] == '/') && is_bad_part(c))
			*p++ = '_';
		if (!*c)
			break;
		if (!more)
			*p++ = isalnum((unsigned char)*c) || strchr("_-. :/", *c) ? *c
										  : '_';
	}
	out[REGISTRY_MAX_NAME] = 0;
	return out;
}

/* Is the run gone, or are only these points refused? */
static int refused(struct registry *r, const struct track_run *run,
		   const struct registry_answer *a, struct error *err)
{
	const char *path = arena_printf(r->arena, API "/runs/get?run_id=%s", run->id);
	cleanup_answer struct registry_answer answer = { 0 };

	if (!json_str(a->doc, "error_code"))
		return refuse(r, a, "points", err);
	if (registry_ask(r, "GET", path, NULL, &answer, err))
		return -1;
	if (says(&answer, "RESOURCE_DOES_NOT_EXIST") ||
	    str_eq(json_str(answer.doc, "run", "info", "lifecycle_stage"), "deleted"))
		return error_set(err, ERR_NOT_FOUND, "%s: the run %s is deleted",
				 r->shown, run->id);
	refuse(r, a, "points", err);
	err->kind = ERR_INVALID;
	return -1;
}

static int send_points(struct registry *r, const struct track_run *run,
		       const struct track_point *points, size_t n, struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	cleanup_json cJSON *body = cJSON_CreateObject();
	cJSON *list = json_list(body, "metrics");

	json_put_str(body, run->id, "run_id");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, metric_of(&points[i]));
	if (registry_ask(r, "POST", API "/runs/log-batch", body, &answer, err))
		return -1;
	return answer.status >= 300 ? refused(r, run, &answer, err) : 0;
}

static int end_run(struct registry *r, const struct track_run *run,
		   enum track_outcome outcome, struct error *err)
{
	static const char *const states[] = { [TRACK_FINISHED] = "FINISHED",
					      [TRACK_FAILED] = "FAILED",
					      [TRACK_KILLED] = "KILLED" };

	return set_status(r, run->id, states[outcome], true, err);
}

const struct track_kind mlflow_track = {
	.name = clean_name,
	.open = open_run,
	.send = send_points,
	.end = end_run,
};
