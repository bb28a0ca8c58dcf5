/* board.c - the jobs as they are now. */
#include "ui/board.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/time.h>

#include "api/meta.h"
#include "api/selector.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "client/changes.h"
#include "client/columns.h"
#include "client/jobs.h"
#include "trainer/progress.h"
#include "trainer/run_spec.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "ui/html.h"
#include "ui/series.h"
#include "ui/ui.h"

enum {
	TICK_MS = 250,
	AGAIN_MS = 5000,           /* after a failure that does not pass by itself */
	RUNTIMES_MS = 10000,       /* the numbers of nodes of runtimes are read again */
	BACKFILL_AGAIN_MS = 30000, /* a supervisor sends each 10 s */
	MAX_GONE = 1000,
	MAX_CELLS = 16384,
	POINTS_BYTES = 8 << 20,
};

/* The job's reports from before this process. */
enum backfill_state {
	BACKFILL_NONE,
	BACKFILL_REQUESTED,
	BACKFILL_READING,
	BACKFILL_DONE
};

struct row {
	uint64_t version;
	uint64_t round; /* of the watch that saw it last */
	bool gone;
	char *cells, *labels; /* JSON */
	struct series_set series;
	int64_t at[2];   /* of what it has reported (ui.h) */
	char *run_dir;   /* NULL: it has none */
	int64_t live_ms; /* of the first report that was seen here; 0: none */
	enum backfill_state backfill;
	char *backfill_fault;      /* why there is no more of it; NULL: there is all */
	uint64_t backfill_version; /* of backfill_fault */
	int64_t backfill_ms;       /* when it was read, by clock_ms(); 0: not yet */
	bool backfill_again;
};

struct board {
	const struct ui_conf *conf;
	struct columns columns; /* used by the thread alone, as the next two */
	int64_t runtimes_ms;
	uint64_t round;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct map rows; /* of `struct row`, by "ns/name" */
	uint64_t version, changes;
	uint64_t forgotten; /* the newest version of a name that is no longer kept */
	size_t n_gone, point_bytes;
	bool synced, stopping, backfill_requested;
	struct error lost; /* kind 0: the API server answers */
};

static void drop_backfill(struct row *r)
{
	free(STEAL(r->backfill_fault));
	r->backfill = BACKFILL_NONE;
	r->backfill_ms = 0;
	r->backfill_again = false;
}

/* Free all that it has of its job. */
static void empty(struct row *r)
{
	series_release(&r->series);
	free(STEAL(r->cells));
	free(STEAL(r->labels));
	free(STEAL(r->run_dir));
	drop_backfill(r);
	r->live_ms = 0;
}

static void row_free(void *p)
{
	struct row *r = p;

	empty(r);
	free(r);
}

/* The caller holds the lock, as for the functions below. */
static void notify(struct board *b)
{
	b->changes++;
	pthread_cond_broadcast(&b->changed);
}

static void drop_gone(struct board *b)
{
	map_each(e, &b->rows) {
		if (((struct row *)e->value)->gone)
			row_free(map_del(&b->rows, e->key));
	}
	b->forgotten = b->version;
	b->n_gone = 0;
}

static void remove_row(struct board *b, struct row *r)
{
	if (r->gone)
		return;
	b->point_bytes -= r->series.bytes;
	empty(r);
	r->gone = true;
	r->version = ++b->version;
	b->n_gone++;
}

static int64_t unix_ms(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000;
}

uint64_t board_epoch(void)
{
	return (uint64_t)unix_ms();
}

static void count_points(struct board *b, const struct row *r)
{
	b->point_bytes += r->series.bytes;
	if (b->point_bytes < POINTS_BYTES)
		return;
	b->point_bytes = 0;
	map_each(e, &b->rows) {
		struct row *other = e->value;

		series_thin(&other->series, b->version);
		b->point_bytes += other->series.bytes;
	}
}

static void add_points(struct board *b, struct row *r, const cJSON *job, int64_t ms)
{
	b->point_bytes -= r->series.bytes;
	if (series_add(&r->series, job, ms, b->version, b->point_bytes < POINTS_BYTES) &&
	    !r->live_ms)
		r->live_ms =
			progress_updated_ms(job) >= 0 ? progress_updated_ms(job) : ms;
	count_points(b, r);
}

struct reading {
	struct board *board;
	struct row *row;
};

static void on_report(void *ctx, const cJSON *report)
{
	const struct reading *r = ctx;
	cleanup_json cJSON *job = cJSON_CreateObject();

	progress_put_line(job, report);
	if (progress_updated_ms(job) >= 0)
		add_points(r->board, r->row, job, progress_updated_ms(job));
}

/* All that it has reported since, where that is kept; else what it reports now. */
static void read_points(struct board *b, struct row *r, const cJSON *job)
{
	struct reading reading = { b, r };

	if (!b->conf->reports || !b->conf->reports(meta_namespace(job), meta_name(job),
						   r->at, on_report, &reading))
		add_points(b, r, job, unix_ms());
}

/* ---- the watch ------------------------------------------------------------------------ */

/* Removes what neither the columns nor the metrics need; STATE needs jobsStatus. */
static bool slim(cJSON *job)
{
	static const char *const drop[][4] = {
		{ "metadata", "managedFields" }, { "metadata", "annotations" },
		{ "spec", "initializer" },       { "spec", "podTemplateOverrides" },
		{ "spec", "runtimePatches" },    { "spec", "trainer", "command" },
		{ "spec", "trainer", "args" },   { "spec", "trainer", "env" },
	};
	cleanup_json cJSON *run_dir =
		json_dup(json_get(job, "metadata", "annotations", RUN_DIR_ANNOTATION));

	for (size_t i = 0; i < N_ELEMENTS(drop); i++)
		json_del(job, drop[i]);
	if (run_dir)
		json_put(job, STEAL(run_dir), "metadata", "annotations",
			 RUN_DIR_ANNOTATION);
	return true;
}

/* Since when a cell's time grows; -1: the cell does not grow. */
static int64_t grows_since(const cJSON *job, const char *head)
{
	int64_t now = clock_now(), t = -1;

	if (str_eq(head, "AGE") && meta_created(job) &&
	    time_parse(&t, meta_created(job), IGNORED))
		return -1;
	if (str_eq(head, "DURATION") && !status_finished(tj_status(job)) &&
	    status_duration(job, now) >= 0)
		t = now - status_duration(job, now);
	return t;
}

static char *print_cells(struct board *b, const cJSON *job)
{
	struct buf out = { .max = MAX_CELLS };

	for (size_t i = 0; i < N_COLUMNS; i++) {
		cleanup_arena struct arena arena = { 0 };
		int64_t since = grows_since(job, columns[i].head);

		buf_adds(&out, i ? "," : "[");
		if (since >= 0)
			buf_printf(&out, "%" PRId64, since);
		else
			html_json(&out, column_text(&arena, &b->columns, i, job));
	}
	if (out.overflowed) { /* by no API server that checks what it stores */
		buf_clear(&out);
		out.overflowed = false;
		for (size_t i = 0; i < N_COLUMNS; i++)
			buf_adds(&out, i ? ",\"...\"" : "[\"...\"");
	}
	buf_adds(&out, "]");
	return (char *)out.data;
}

static void set_run_dir(struct row *r, const char *uri)
{
	if (str_eq(r->run_dir, uri))
		return;
	free(r->run_dir);
	r->run_dir = uri ? xstrdup(uri) : NULL;
	drop_backfill(r);
}

static void set_row(struct board *b, const char *key, const cJSON *job)
{
	char *cells = print_cells(b, job);
	const cJSON *labels = json_get(job, "metadata", "labels");
	struct row *r;

	pthread_mutex_lock(&b->lock);
	r = map_get(&b->rows, key);
	if (!r) {
		r = xcalloc(1, sizeof(*r));
		map_put(&b->rows, key, r);
	}
	b->n_gone -= r->gone;
	r->gone = false;
	free(r->cells);
	free(r->labels);
	r->cells = cells;
	r->labels = labels ? json_text(labels) : NULL;
	set_run_dir(r, meta_annotation(job, RUN_DIR_ANNOTATION));
	r->version = ++b->version;
	r->round = b->round;
	read_points(b, r, job);
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

/* The first list of a watch has come: what it does not have was deleted. */
static void sync_rows(struct board *b)
{
	pthread_mutex_lock(&b->lock);
	map_each(e, &b->rows) {
		if (((struct row *)e->value)->round != b->round)
			remove_row(b, e->value);
	}
	b->synced = true;
	b->version++;
	b->lost = (struct error){ 0 };
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

static void set_lost(struct board *b, const struct error *err)
{
	pthread_mutex_lock(&b->lock);
	b->lost = err ? *err : (struct error){ 0 };
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

static void delete_row(struct board *b, const char *key)
{
	struct row *r;

	pthread_mutex_lock(&b->lock);
	r = map_get(&b->rows, key);
	if (r)
		remove_row(b, r);
	if (b->n_gone > MAX_GONE)
		drop_gone(b);
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

static void apply(struct board *b, const struct change *change)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key = change->obj ? informer_key(&arena, meta_namespace(change->obj),
						     meta_name(change->obj))
				      : NULL;

	if (clock_ms() - b->runtimes_ms > RUNTIMES_MS) {
		map_release(&b->columns.runtimes, free);
		b->runtimes_ms = clock_ms();
	}
	switch (change->kind) {
	case CHANGE_ADDED:
	case CHANGE_MODIFIED:
		set_row(b, key, change->obj);
		break;
	case CHANGE_DELETED:
		delete_row(b, key);
		break;
	case CHANGE_SYNCED:
		sync_rows(b);
		break;
	case CHANGE_LOST:
		set_lost(b, &change->err);
		break;
	case CHANGE_FOUND:
		set_lost(b, NULL);
		break;
	}
}

/* Until it is stopped, or a failure that does not pass by itself. */
static int watch(struct board *b, struct error *err)
{
	const struct kube_ref ref = job_ref(b->conf->ns, NULL);
	cleanup_changes struct changes *c = NULL;
	uint64_t seen_changes = 0;

	b->round++;
	if (changes_new(&c, b->conf->kube, NULL, NULL, err) ||
	    changes_watch(c, &ref, NULL, slim, err))
		return -1;
	while (board_wait(b, &seen_changes, 0)) {
		cleanup_change struct change change = { 0 };
		int rc = changes_next(c, TICK_MS, &change, err);

		if (rc < 0)
			return -1;
		if (rc)
			apply(b, &change);
	}
	return 0;
}

static void *board_main(void *ctx)
{
	struct board *b = ctx;
	struct error err = { 0 };

	while (watch(b, &err) && err.kind != ERR_STOPPED) {
		uint64_t seen_changes = 0;
		int64_t until = clock_ms() + AGAIN_MS;

		job_explain(&err);
		set_lost(b, &err);
		while (clock_ms() < until)
			if (!board_wait(b, &seen_changes, until - clock_ms()))
				return NULL;
		err = (struct error){ 0 };
	}
	return NULL;
}

int board_start(struct board **ret, const struct ui_conf *conf, struct error *err)
{
	struct board *b = xcalloc(1, sizeof(*b));

	b->conf = conf;
	b->columns.kube = conf->kube;
	b->version = b->forgotten = board_epoch();
	pthread_mutex_init(&b->lock, NULL);
	cond_init(&b->changed);
	if (thread_start(&b->thread, board_main, b, err)) {
		free(b);
		return -1;
	}
	*ret = b;
	return 0;
}

void board_stop(struct board *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

void board_free(struct board *b)
{
	if (!b)
		return;
	board_stop(b);
	pthread_join(b->thread, NULL);
	map_release(&b->rows, row_free);
	map_release(&b->columns.runtimes, free);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ---- viewers --------------------------------------------------------------------------- */

void board_notify(struct board *b)
{
	pthread_mutex_lock(&b->lock);
	notify(b);
	pthread_mutex_unlock(&b->lock);
}

bool board_wait(struct board *b, uint64_t *seen_changes, int64_t ms)
{
	int64_t until = clock_ms() + ms;
	bool go_on;

	pthread_mutex_lock(&b->lock);
	while (!b->stopping && *seen_changes == b->changes &&
	       cond_wait_until(&b->changed, &b->lock, until))
		;
	*seen_changes = b->changes;
	go_on = !b->stopping;
	pthread_mutex_unlock(&b->lock);
	return go_on;
}

/* The caller holds the lock. 0: not a version of this board, or one too old. */
static uint64_t seen_here(const struct board *b, uint64_t seen)
{
	return seen < b->forgotten || seen > b->version ? 0 : seen;
}

uint64_t board_version(struct board *b)
{
	uint64_t version;

	pthread_mutex_lock(&b->lock);
	version = b->synced ? b->version : 0;
	pthread_mutex_unlock(&b->lock);
	return version;
}

static bool is_matched(const struct row *r, const struct requirement *wanted)
{
	cleanup_json cJSON *labels = r->labels && wanted ? json_reread(r->labels) : NULL;

	return !wanted || selector_matches(wanted, labels);
}

/* A row that does not match is as good as gone: its labels may have changed. */
static void print_rows(struct board *b, struct buf *out, uint64_t seen,
		       const struct requirement *wanted, bool gone)
{
	const char *comma = "";

	map_each(e, &b->rows) {
		const struct row *r = e->value;

		if (r->version <= seen || (r->gone || !is_matched(r, wanted)) != gone)
			continue;
		buf_printf(out, gone ? "%s" : "%s[", comma);
		html_json(out, e->key);
		if (!gone)
			buf_printf(out, ",%s", r->cells + 1);
		comma = ",";
	}
}

void board_rows(struct board *b, struct buf *out, uint64_t seen, const char *selector)
{
	cleanup_arena struct arena arena = { 0 };
	const struct requirement *wanted = NULL;
	struct error err = { 0 };
	bool full;

	if (selector && selector_labels(&arena, selector, &wanted, &err))
		return;
	pthread_mutex_lock(&b->lock);
	full = !seen_here(b, seen);
	if (b->synced && (full || seen < b->version)) {
		buf_printf(out, "{\"now\":%" PRId64 ",\"full\":%s,\"rows\":[",
			   clock_now(), full ? "true" : "false");
		seen = full ? 0 : seen;
		print_rows(b, out, seen, wanted, false);
		buf_adds(out, "],\"gone\":[");
		print_rows(b, out, seen, wanted, true);
		buf_adds(out, "]}");
	}
	pthread_mutex_unlock(&b->lock);
}

bool board_points(struct board *b, struct buf *out, const char *key, size_t i,
		  const uint64_t span[2])
{
	const struct row *r;
	bool is_there;

	pthread_mutex_lock(&b->lock);
	r = map_get(&b->rows, key);
	is_there = r && i < r->series.n;
	if (is_there)
		series_print(out, &r->series, i, seen_here(b, span[0]), span[1]);
	pthread_mutex_unlock(&b->lock);
	return is_there;
}

/*
 * A second request finds reports that a supervisor had not sent yet; one for each new viewer
 * finds those that were missed here.
 */
static bool is_backfill_due(const struct row *r, uint64_t seen)
{
	if (r->backfill != BACKFILL_DONE)
		return r->backfill == BACKFILL_NONE;
	return (!seen && r->backfill_fault) ||
	       ((!seen || !r->backfill_again) &&
		clock_ms() > r->backfill_ms + BACKFILL_AGAIN_MS);
}

bool board_request_backfill(struct board *b, struct buf *out, const char *key,
			    uint64_t seen)
{
	struct row *r;
	bool failed;

	pthread_mutex_lock(&b->lock);
	r = b->conf->history ? map_get(&b->rows, key) : NULL;
	if (r && r->run_dir && is_backfill_due(r, seen)) {
		free(STEAL(r->backfill_fault));
		r->backfill_again = r->backfill == BACKFILL_DONE;
		r->backfill = BACKFILL_REQUESTED;
		b->backfill_requested = true;
		notify(b);
	}
	failed = r && r->backfill_fault && r->backfill_version > seen;
	if (failed)
		html_json(out, r->backfill_fault);
	pthread_mutex_unlock(&b->lock);
	return failed;
}

bool board_next_backfill(struct board *b, struct arena *a, const char **ret_key,
			 const char **ret_run_dir)
{
	struct row *next = NULL;

	pthread_mutex_lock(&b->lock);
	if (b->backfill_requested)
		map_each(e, &b->rows) {
			struct row *r = e->value;

			if (next || r->backfill != BACKFILL_REQUESTED)
				continue;
			next = r;
			r->backfill = BACKFILL_READING;
			*ret_key = arena_strdup(a, e->key);
			*ret_run_dir = arena_strdup(a, r->run_dir);
		}
	b->backfill_requested = next;
	pthread_mutex_unlock(&b->lock);
	return next;
}

void board_put_backfill(struct board *b, const char *key, const char *run_dir,
			const struct series_set *points, const struct error *why)
{
	struct row *r;

	pthread_mutex_lock(&b->lock);
	r = map_get(&b->rows, key);
	if (r && r->backfill == BACKFILL_READING && str_eq(r->run_dir, run_dir)) {
		++b->version;
		b->point_bytes -= r->series.bytes;
		if (!why->kind || !r->backfill_ms)
			series_join(&r->series, points,
				    r->live_ms ? r->live_ms : INT64_MAX, b->version);
		count_points(b, r);
		r->backfill = BACKFILL_DONE;
		r->backfill_version = b->version;
		r->backfill_ms = clock_ms();
		r->backfill_fault = why->kind ? xstrdup(why->msg) : NULL;
		notify(b);
	}
	pthread_mutex_unlock(&b->lock);
}

/* A slash sorts before all that names have: "a/z" comes before "a-b/a". */
static int compare_keys(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	while (*x && *x == *y)
		x++, y++;
	return (*x == '/' ? 1 : (unsigned char)*x) - (*y == '/' ? 1 : (unsigned char)*y);
}

bool board_each(struct board *b,
		void (*visit)(void *ctx, const char *key, const cJSON *cells), void *ctx)
{
	const char **keys;
	bool known;
	size_t n = 0;

	pthread_mutex_lock(&b->lock);
	known = b->synced && !b->lost.kind;
	keys = xcalloc(b->rows.n + 1, sizeof(*keys));
	map_each(e, &b->rows) {
		if (!((struct row *)e->value)->gone)
			keys[n++] = e->key;
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; known && i < n; i++) {
		const struct row *r = map_get(&b->rows, keys[i]);
		cleanup_json cJSON *cells = json_reread(r->cells);

		visit(ctx, keys[i], cells);
	}
	pthread_mutex_unlock(&b->lock);
	free(keys);
	return known;
}

uint64_t board_changed(struct board *b, const char *key)
{
	uint64_t version = 0;
	const struct row *r;

	pthread_mutex_lock(&b->lock);
	r = map_get(&b->rows, key);
	if (r)
		version = r->version;
	pthread_mutex_unlock(&b->lock);
	return version;
}

bool board_lost(struct board *b, struct buf *out)
{
	bool lost;

	pthread_mutex_lock(&b->lock);
	lost = b->lost.kind != ERR_NONE;
	if (lost)
		html_json(out, b->lost.msg);
	pthread_mutex_unlock(&b->lock);
	return lost;
}
