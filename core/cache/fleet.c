/* fleet.c - assigns rows to the head's workers, by their answers (cache/fleet.h). */
#include "cache/fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/fleet_impl.h"
#include "cache/serve_impl.h"

enum {
	SAME_MS = 60 * 1000, /* before the same message is logged again */
	STAY_MS = 10 * 1000, /* minimum time of loans after their worker's return */
};

#define LOADING "loading" /* prefix of `trouble` while a worker loads normally */

/* ---- polls: which rows a worker has ------------------------------------------------- */

char *fleet_assignment(struct remote *r)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_int(doc, r->polled_rows.first, "first");
	json_put_int(doc, r->polled_rows.end, "end");
	json_put_int(doc, r->fleet->rows, "rows");
	if (r->fleet->conf->snapshot)
		json_put_str(doc, r->fleet->conf->snapshot, "snapshot");
	json_put_str(doc, r->fleet->table_name, "table");
	r->assigned = true;
	pthread_mutex_lock(&r->fleet->lock);
	json_put(doc, loans_with(r), "more");
	pthread_mutex_unlock(&r->fleet->lock);
	return json_text(doc);
}

/* A worker of release 0.1.0 does not say of which table they are. */
static bool has_rows(const struct remote *r, const cJSON *doc)
{
	const char *table = json_str(doc, "table");

	return json_int(doc, -1, "first") == r->polled_rows.first &&
	       (!table || str_eq(table, r->fleet->table_name)) &&
	       json_int(doc, -1, "end") == r->polled_rows.end &&
	       json_int(doc, -1, "rows") == r->fleet->rows &&
	       str_eq(json_str(doc, "snapshot"), r->fleet->conf->snapshot);
}

/*
 * Must its rows be assigned? A failed worker's again, after a pause, however long it had
 * loaded: its files may now be readable.
 */
static bool needs_rows(struct remote *r, const cJSON *doc, const char *state)
{
	if (!str_eq(state, cache_state_words[CACHE_FAILED])) {
		r->failed_ms = 0;
		return !has_rows(r, doc);
	}
	r->failed_ms = r->failed_ms ? r->failed_ms : clock_ms();
	if (clock_ms() - r->failed_ms < FAILED_MS)
		return !has_rows(r, doc);
	r->failed_ms = 0;
	return true;
}

static void describe_trouble(char trouble[FLEET_TEXT], const struct remote *r,
			     const cJSON *doc)
{
	const char *why = json_str(doc, "error");

	if (why)
		snprintf(trouble, FLEET_TEXT, "%s", why);
	else
		snprintf(trouble, FLEET_TEXT, LOADING ": %" PRId64 " of %" PRId64 " rows",
			 json_int(doc, 0, "loaded"),
			 r->polled_rows.end - r->polled_rows.first);
}

bool fleet_poll_upstream(struct remote *r, char trouble[FLEET_TEXT])
{
	struct fleet *f = r->fleet;

	r->unanswered_ms = 0;
	pthread_mutex_lock(&f->lock);
	r->upstream = true;
	for (int i = 0; i < f->n_remotes && !f->by_files; i++) {
		f->remotes[i].rows = table_file_part(f->table, i, f->n_remotes);
		f->remotes[i].ready = false;
		loans_end(&f->remotes[i]);
	}
	f->by_files = true;
	pthread_mutex_unlock(&f->lock);
	snprintf(trouble, FLEET_TEXT, LOADING ": upstream's worker");
	return false;
}

void fleet_poll_begin(struct remote *r)
{
	pthread_mutex_lock(&r->fleet->lock);
	r->polled_rows = r->rows;
	pthread_mutex_unlock(&r->fleet->lock);
}

bool fleet_poll_silence(struct remote *r, const char *why, char trouble[FLEET_TEXT])
{
	r->unanswered_ms = r->unanswered_ms ? r->unanswered_ms : clock_ms();
	snprintf(trouble, FLEET_TEXT, "%s", why);
	return false;
}

/* Does the worker have rows of this table that an earlier head has assigned? */
static bool is_resumed(const struct remote *r, const cJSON *doc, const char *state)
{
	return !r->assigned && str_eq(state, cache_state_words[CACHE_READY]) &&
	       str_eq(json_str(doc, "table"), r->fleet->table_name);
}

bool fleet_poll_answer(struct remote *r, const cJSON *doc, bool *ret_wants,
		       char trouble[FLEET_TEXT])
{
	const char *state = json_str(doc, "state");
	bool ready = str_eq(state, cache_state_words[CACHE_READY]) && has_rows(r, doc);

	r->unanswered_ms = 0;
	trouble[0] = 0;
	if (!ready)
		describe_trouble(trouble, r, doc);
	pthread_mutex_lock(&r->fleet->lock);
	r->fleet->resumed = r->fleet->resumed || is_resumed(r, doc, state);
	*ret_wants = !loans_record(r, json_get(doc, "more"));
	pthread_mutex_unlock(&r->fleet->lock);
	if (!ready)
		*ret_wants = needs_rows(r, doc, state);
	return ready;
}

static void log_change(struct remote *r, bool was, const char *trouble)
{
	if (r->ready && !was)
		log_info("worker is ready", LOG_STR("worker", r->origin),
			 LOG_INT("first", r->rows.first), LOG_INT("end", r->rows.end));
	else if (!r->ready && !str_starts(trouble, LOADING) &&
		 log_is_news(&r->logged, trouble, SAME_MS))
		log_warn("worker is not ready", LOG_STR("worker", r->origin),
			 LOG_STR("why", trouble));
}

static bool has_begun(const struct fleet *f)
{
	return f->ever_ready || f->resumed;
}

static bool is_gone(const struct remote *r)
{
	int64_t wait = r->fleet->conf->takeover_ms;

	return wait && r->unanswered_ms && has_begun(r->fleet) &&
	       clock_ms() - r->unanswered_ms >= wait;
}

/* End the loans of a worker that has had its rows for takeover_ms. */
static void record_return(struct remote *r)
{
	int64_t wait = r->fleet->conf->takeover_ms;

	if (!r->back_ms)
		r->back_ms = clock_ms();
	if (clock_ms() - r->back_ms >= (wait > STAY_MS ? wait : STAY_MS))
		loans_end(r);
}

/* Are the worker's rows still those of this poll, and not reassigned meanwhile? */
static bool has_polled_rows(const struct remote *r)
{
	return r->polled_rows.first == r->rows.first && r->polled_rows.end == r->rows.end;
}

void fleet_poll_end(struct remote *r, bool ready, const char *trouble)
{
	struct fleet *f = r->fleet;
	bool was, all = true;

	pthread_mutex_lock(&f->lock);
	was = r->ready;
	r->ready = ready = ready && has_polled_rows(r);
	snprintf(r->trouble, sizeof(r->trouble), "%s", trouble);
	for (int i = 0; i < f->n_remotes; i++)
		all = all && f->remotes[i].ready;
	if (all && !f->ever_ready)
		log_info("ready", LOG_INT("rows", f->rows),
			 LOG_INT("workers", f->n_remotes));
	f->ever_ready = f->ever_ready || all;
	if (ready)
		record_return(r);
	else
		r->back_ms = 0;
	if (!ready && is_gone(r))
		loans_make(r);
	log_change(r, was, trouble);
	pthread_mutex_unlock(&f->lock);
}

static int make_secret(struct fleet *f, struct error *err)
{
	char key[RANDOM_KEY_SIZE];

	if (random_key(key, err))
		return -1;
	snprintf(f->secret, sizeof(f->secret), "Bearer %s", key);
	return 0;
}

int fleet_new(struct fleet **ret, const struct cache_conf *conf,
	      const struct table *table, struct error *err)
{
	struct fleet *f = xcalloc(1, sizeof(*f));
	const struct rows all = { 0, table_rows(table) };

	f->conf = conf;
	f->table = table;
	f->rows = all.end;
	table_name(table, f->table_name);
	f->n_remotes = conf->n_workers;
	f->remotes = xcalloc((size_t)f->n_remotes + 1, sizeof(*f->remotes));
	pthread_mutex_init(&f->lock, NULL);
	for (int i = 0; i < f->n_remotes; i++) {
		struct remote *r = &f->remotes[i];

		r->fleet = f;
		r->address = &conf->workers[i];
		r->rows = table_part(table, all, i, f->n_remotes);
		snprintf(r->origin, sizeof(r->origin),
			 strchr(r->address->host, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
			 conf->tls_cert ? "https" : "http", r->address->host,
			 r->address->port);
	}
	*ret = f;
	return make_secret(f, err);
}

void fleet_free(struct fleet *f)
{
	for (int i = 0; i < f->n_remotes; i++)
		loans_end(&f->remotes[i]);
	free(f->remotes);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- who has rows ------------------------------------------------------------------ */

static bool meet(struct rows a, struct rows b)
{
	return (a.first > b.first ? a.first : b.first) < (a.end < b.end ? a.end : b.end);
}

/*
 * The worker for requests for no rows: one that is ready, if any. Upstream's has no schema
 * without rows.
 */
static const struct remote *schema_holder(const struct fleet *f)
{
	for (int i = 0; i < f->n_remotes; i++) {
		const struct remote *r = &f->remotes[i];

		if (r->ready && (!r->upstream || r->rows.first < r->rows.end))
			return r;
	}
	return f->remotes;
}

/* Is the worker needed for these rows: has it some of them? */
static bool concerns(const struct remote *r, struct rows rows)
{
	if (rows.first == rows.end)
		return r == schema_holder(r->fleet);
	return meet(r->rows, rows);
}

void holders_release(struct holders *h)
{
	free(h->at);
	*h = (struct holders){ 0 };
}

static void add_holder(struct holders *to, const struct remote *r, struct rows rows)
{
	if (to->n == to->cap) {
		to->cap = 2 * to->cap + 8;
		to->at = xreallocarray(to->at, to->cap, sizeof(*to->at));
	}
	to->at[to->n++] = (struct holder){ r->address, rows };
}

static struct rows clip(struct rows rows, struct rows to)
{
	return (struct rows){ rows.first > to.first ? rows.first : to.first,
			      rows.end < to.end ? rows.end : to.end };
}

static void add_loans(struct holders *to, const struct remote *r, struct rows rows)
{
	for (size_t i = 0; i < r->n_loans; i++) {
		const struct loan *l = &r->loans[i];

		if (meet(l->rows, rows))
			add_holder(to, l->holder, clip(rows, l->rows));
	}
}

static int unreadable(const struct remote *r, struct error *err)
{
	size_t i = 0;

	while (i < r->n_loans && !r->loans[i].error[0])
		i++;
	error_set(err, ERR_BUSY,
		  "rows %" PRId64 " to %" PRId64 " cannot be read: worker %s: %.200s",
		  r->rows.first, r->rows.end - 1, remote_address(r),
		  r->trouble[0] ? r->trouble : "not asked yet");
	if (i < r->n_loans) {
		const struct loan *l = &r->loans[i];
		struct error why = *err;

		error_set(err, ERR_BUSY,
			  "%.300s; worker %s cannot take them over: %.150s", why.msg,
			  remote_address(l->holder), l->error);
	}
	return -1;
}

/*
 * A worker because of which rows cannot be read, or NULL; preferably one with an error
 * rather than one that loads. Until all workers were ready once, every worker is
 * required.
 */
static const struct remote *find_bad(const struct fleet *f, struct rows rows)
{
	const struct remote *bad = NULL;

	for (int i = 0; i < f->n_remotes; i++) {
		const struct remote *r = &f->remotes[i];

		if (r->ready || (has_begun(f) && !concerns(r, rows)) ||
		    loans_ready(r, rows))
			continue;
		if (!bad || str_starts(bad->trouble, LOADING))
			bad = r;
	}
	return bad;
}

int fleet_find(struct fleet *f, struct rows rows, struct holders *ret, struct error *err)
{
	const struct remote *bad;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	bad = find_bad(f, rows);
	if (bad)
		rc = unreadable(bad, err);
	for (int i = 0; i < f->n_remotes && !rc; i++) {
		const struct remote *r = &f->remotes[i];

		if (concerns(r, rows) && r->ready)
			add_holder(ret, r, clip(rows, r->rows));
		else if (concerns(r, rows))
			add_loans(ret, r, rows);
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

const char *fleet_table(const struct fleet *f)
{
	return f->table_name;
}

bool fleet_ready(struct fleet *f)
{
	bool ready;

	pthread_mutex_lock(&f->lock);
	ready = !find_bad(f, (struct rows){ 0, f->rows });
	pthread_mutex_unlock(&f->lock);
	return ready;
}

static void describe_loans(cJSON *worker, const struct remote *r)
{
	cJSON *list = r->n_loans ? json_list(worker, "lent") : NULL;

	for (size_t i = 0; i < r->n_loans; i++) {
		const struct loan *l = &r->loans[i];
		cJSON *one = cJSON_CreateObject();

		json_put_str(one, remote_address(l->holder), "to");
		json_put_int(one, l->rows.first, "first");
		json_put_int(one, l->rows.end, "end");
		json_put_bool(one, l->ready, "ready");
		if (l->error[0])
			json_put_str(one, l->error, "error");
		cJSON_AddItemToArray(list, one);
	}
}

cJSON *fleet_describe(struct fleet *f)
{
	cJSON *doc = cJSON_CreateObject(), *list;

	pthread_mutex_lock(&f->lock);
	json_put_str(doc, "head", "role");
	json_put_str(doc, cache_state_words[has_begun(f) ? CACHE_READY : CACHE_LOADING],
		     "state");
	json_put_int(doc, f->rows, "rows");
	list = json_list(doc, "workers");
	for (int i = 0; i < f->n_remotes; i++) {
		const struct remote *r = &f->remotes[i];
		cJSON *worker = cJSON_CreateObject();

		json_put_str(worker, remote_address(r), "address");
		json_put_int(worker, r->rows.first, "first");
		json_put_int(worker, r->rows.end, "end");
		json_put_bool(worker, r->ready, "ready");
		if (r->trouble[0])
			json_put_str(worker, r->trouble, "error");
		describe_loans(worker, r);
		cJSON_AddItemToArray(list, worker);
	}
	pthread_mutex_unlock(&f->lock);
	return doc;
}
