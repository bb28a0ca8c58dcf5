/* Runs a download from its listing to its end; see fetch.h and fetch_impl.h. */
#include "store/fetch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/relpath.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/retry.h"
#include "net/uri.h"
#include "store/cpu_wait.h"
#include "store/fetch_impl.h"
#include "store/fetch_pace.h"

const char *const fetch_event_words[FETCH_EVENTS] = {
	[FETCH_PRESENT] = "present",
	[FETCH_STARTED] = "started",
	[FETCH_RESTARTED] = "again",
	[FETCH_DONE] = "done",
};

enum {
	TICK_MS = 100,
	SLOW_TICKS = 30, /* between checks for slow pieces */
	STALLED = 256,   /* bytes per second */
	SLOW_SHARE = 16, /* restart a piece that is this much slower than the mean */
	MAX_SLOW = 8,    /* at most this often per file */
	LEFT_TOLD = 20,
	RECEIVE_ALL = 16 << 20, /* bytes that all connections receive at once */
	RECEIVE_MAX = 1 << 20,
};

/* The requested number, within bounds. */
static unsigned max_connections(unsigned wanted)
{
	unsigned n = wanted ? wanted : FETCH_CONNECTIONS;

	return n < FETCH_MAX_CONNECTIONS ? n : FETCH_MAX_CONNECTIONS;
}

size_t fetch_receive_bytes(unsigned connections)
{
	size_t each = RECEIVE_ALL / max_connections(connections);

	return each < RECEIVE_MAX ? each : RECEIVE_MAX;
}

void fetch_report(struct fetch *f, enum fetch_event e, const char *path, int64_t bytes)
{
	if (!f->conf->file)
		return;
	pthread_mutex_lock(&f->report_lock);
	f->conf->file(f->conf->ctx, e, path, bytes);
	pthread_mutex_unlock(&f->report_lock);
}

void fetch_say(struct fetch *f, const char *line)
{
	pthread_mutex_lock(&f->report_lock);
	if (f->conf->say)
		f->conf->say(f->conf->ctx, line);
	pthread_mutex_unlock(&f->report_lock);
}

/* ---- the list ---- */

/* Refuse duplicate names, and a file where another one needs a directory. */
static int check_clash(const struct store_listing *l, struct error *err)
{
	cleanup_map struct map names = { 0 };
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < l->n; i++)
		if (map_put(&names, l->objects[i].path, &l->objects[i]))
			return error_set(err, ERR_INVALID, "source lists '%s' twice",
					 l->objects[i].path);
	for (size_t i = 0; i < l->n; i++) {
		char *path = arena_strdup(&arena, l->objects[i].path), *slash;

		while ((slash = strrchr(path, '/'))) {
			*slash = 0;
			if (map_get(&names, path))
				return error_set(err, ERR_INVALID,
						 "source lists '%s' both as a file and "
						 "as the directory of '%s'",
						 path, l->objects[i].path);
		}
		arena_clear(&arena);
	}
	return 0;
}

static bool is_wanted(void *stats, const char *name, bool named)
{
	return filter_apply(stats, name, named);
}

int fetch_list(const struct fetch_conf *c, struct filter_stats *stats,
	       struct store_listing *ret, struct error *err)
{
	if (c->scheme->list(c->store, is_wanted, stats, ret, err))
		return -1;
	for (size_t i = 0; c->unverified && i < ret->n; i++) {
		ret->objects[i].digest = STORE_DIGEST_NONE;
		ret->objects[i].sum = NULL;
	}
	return 0;
}

/* Report in one line what the default patterns leave out. */
static void report_skipped(struct fetch *f, const struct filter_stats *stats)
{
	cleanup_arena struct arena arena = { 0 };
	const char *names[FILTER_SHOWN + 1] = { 0 };
	size_t shown = stats->n < FILTER_SHOWN ? stats->n : FILTER_SHOWN;

	for (size_t i = 0; i < shown; i++)
		names[i] = str_visible(&arena, stats->names[i], false);
	if (stats->n)
		fetch_say(f, arena_printf(&arena,
					  "skipped %zu file%s by default patterns: "
					  "%.600s%s (see --allow, --ignore)",
					  stats->n, stats->n == 1 ? "" : "s",
					  str_join(&arena, names, ", "),
					  stats->n > shown ? ", ..." : ""));
	if (f->filter.fallback)
		fetch_say(f,
			  arena_printf(
				  &arena,
				  "no safetensors or GGUF weights: fetching %s instead",
				  str_join(&arena, f->filter.fallback, ", ")));
}

/* List again if the default patterns leave a model without weights. */
static int choose(struct fetch *f, struct error *err)
{
	struct filter_stats stats = { .filter = &f->filter };
	int rc = fetch_list(f->conf, &stats, &f->list, err);

	f->filter.fallback = rc ? NULL : filter_fallback(&stats);
	if (f->filter.fallback) {
		filter_stats_release(&stats);
		stats = (struct filter_stats){ .filter = &f->filter };
		store_listing_release(&f->list);
		rc = fetch_list(f->conf, &stats, &f->list, err);
	}
	if (!rc)
		report_skipped(f, &stats);
	filter_stats_release(&stats);
	return rc;
}

static int check_total(const struct fetch *f, struct error *err)
{
	int64_t left = f->conf->max_bytes ? f->conf->max_bytes : INT64_MAX;
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < f->list.n; i++) {
		int64_t size = f->list.objects[i].size;

		if (size > left)
			return error_set(err, ERR_LIMIT,
					 "%s: the files have more than %lld bytes",
					 uri_shown(&arena, f->conf->uri),
					 (long long)f->conf->max_bytes);
		left -= size > 0 ? size : 0;
	}
	return 0;
}

/* Why the path cannot be stored, or NULL. In the arena. */
static const char *left_out(struct arena *arena, const struct store_object *o)
{
	struct error why = { 0 };

	if (relpath_check(o->path, &why))
		return arena_printf(arena, "skipped: %s", why.msg);
	if (target_reserved(o->path))
		return arena_printf(arena, "skipped %s: reserved name", o->path);
	return NULL;
}

static int list_objects(struct fetch *f, struct error *err)
{
	const struct fetch_conf *c = f->conf;
	struct store_listing *l = &f->list;
	cleanup_arena struct arena arena = { 0 };
	size_t kept = 0, left = 0;

	if (choose(f, err))
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		const struct store_object *o = &l->objects[i];
		const char *why = left_out(&arena, o);

		if (o->size > STORE_MAX_SIZE || o->size < -1)
			return error_set(err, ERR_LIMIT, "%.300s: invalid size %lld",
					 str_visible(&arena, o->path, false),
					 (long long)o->size);
		if (c->paths && !map_get(c->paths, o->path))
			continue;
		if (!why)
			l->objects[kept++] = *o;
		else if (left++ < LEFT_TOLD)
			fetch_say(f, why);
	}
	if (left > LEFT_TOLD)
		fetch_say(f, arena_printf(&arena, "skipped %zu more files",
					  left - LEFT_TOLD));
	l->n = kept;
	if (!l->n && !c->allow_empty)
		return error_set(err, ERR_NOT_FOUND,
				 "%s: no files to fetch; check the URI and the patterns",
				 uri_shown(&arena, c->uri));
	store_listing_sort(l);
	return check_total(f, err) || check_clash(l, err) ? -1 : 0;
}

/* Is it present already? If its size and time do not decide, a worker hashes it. */
static int check_present(struct fetch *f, size_t i, struct error *err)
{
	const struct store_object *o = &f->list.objects[i];
	cleanup_arena struct arena arena = { 0 };
	struct store_object there = *o;
	struct prior *known = &f->known[i];
	struct stat st;

	if (target_stat(&f->target, o->path, &st, err))
		return -1;
	if (!st.st_nlink)
		return 0;
	there.size = st.st_size;
	if (!f->conf->recheck && ledger_has(&f->ledger, o, &st))
		known->present = true;
	else if ((o->size < 0 || o->size == st.st_size) && verify_name(&arena, &there))
		known->check = true;
	else if (!f->conf->recheck)
		*known =
			(struct prior){ .validator = ledger_validator(&f->ledger, o, &st),
					.size = st.st_size };
	return 0;
}

static int64_t part_bytes(struct fetch *f, const char *path)
{
	char name[TARGET_NAME_SIZE + 16];
	struct stat st;

	target_name(&f->target, name, path, "part");
	if (fstatat(f->target.state, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (int64_t)st.st_blocks * 512;
}

static int check_all_present(struct fetch *f, struct error *err)
{
	int64_t need = 0;

	f->known = xcalloc(f->list.n + 1, sizeof(*f->known));
	for (size_t i = 0; i < f->list.n; i++) {
		const struct store_object *o = &f->list.objects[i];

		if (check_present(f, i, err))
			return -1;
		f->files_unsized += o->size < 0;
		f->bytes += o->size < 0 ? 0 : o->size;
		f->n_left += !f->known[i].present;
		if (f->known[i].present) {
			f->files_done++;
			f->bytes_done += o->size < 0 ? 0 : o->size;
			fetch_report(f, FETCH_PRESENT, o->path, o->size);
		} else if (!f->known[i].check && o->size > 0) {
			int64_t part = part_bytes(f, o->path);

			need += o->size > part ? o->size - part : 0;
		}
	}
	if (need > target_free_bytes(&f->target))
		return disk_full(f, need, err);
	return 0;
}

/* ---- the work ---- */

static void *work(void *ctx)
{
	struct fetch *f = ctx;
	struct file *file;
	struct piece *p;
	enum task task;

	while ((task = plan_next_task(f, &file, &p)) != TASK_END) {
		struct error err = { 0 };
		bool there = false;

		if (task == TASK_PIECE) {
			piece_run(f, p, &err);
			plan_piece_end(f, p, &err);
		} else if (file_begin(f, file, &there, &err)) {
			plan_fail(f, file->o.path, &err);
		} else {
			plan_started(f, file, there);
		}
	}
	return NULL;
}

/* Surplus workers wait in plan_next_task(). */
static void set_workers(struct fetch *f, unsigned want)
{
	struct error err = { 0 };

	pthread_mutex_lock(&f->lock);
	f->want = want;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	while (f->n_threads < want &&
	       !thread_start(&f->threads[f->n_threads], work, f, &err))
		f->n_threads++;
	if (!f->n_threads)
		plan_fail(f, NULL, &err);
}

/* Is the piece slow, compared with others, current and earlier? */
static bool is_slow(const struct fetch *f, const struct piece *p, int64_t rate)
{
	return p->first_ms && p->f->slow < MAX_SLOW && rate < f->rate / SLOW_SHARE;
}

/*
 * Repeat requests that hardly progress on another connection, keeping what they received;
 * a few times per file, because the server itself may be slow.
 */
static void cancel_slow(struct fetch *f)
{
	int64_t now = clock_ms();

	pthread_mutex_lock(&f->lock);
	for (struct file *file = f->files; file; file = file->next)
		for (struct piece *p = file->pieces; p; p = p->next) {
			int64_t ms = now - p->mark_ms, pos = fetch_count_of(&p->pos);
			int64_t rate = (pos - p->mark_pos) * 1000 / (ms > 0 ? ms : 1);

			if (ms < SLOW_TICKS * TICK_MS / 2)
				continue;
			p->stalled = p->first_ms && rate < STALLED;
			if (p->stalled || is_slow(f, p, rate)) {
				file->slow++;
				__atomic_store_n(&p->cancel, true, __ATOMIC_RELEASE);
			}
			p->mark_ms = now;
			p->mark_pos = pos;
		}
	pthread_mutex_unlock(&f->lock);
}

static bool is_over(struct fetch *f)
{
	bool over;

	pthread_mutex_lock(&f->lock);
	over = f->failed || !f->n_left;
	if (stop_requested())
		over = true;
	if (over)
		pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return over;
}

static void fill_now(const struct fetch *f, struct fetch_progress *now)
{
	*now = (struct fetch_progress){
		.files = f->list.n,
		.files_done = __atomic_load_n(&f->files_done, __ATOMIC_RELAXED),
		.bytes = fetch_count_of(&f->bytes),
		.bytes_done = fetch_count_of(&f->bytes_done),
		.bytes_fetched = fetch_count_of(&f->bytes_fetched),
		.files_unsized = __atomic_load_n(&f->files_unsized, __ATOMIC_RELAXED),
		.connections = f->want,
		.ms = clock_ms() - f->begin_ms,
	};
}

static void wait_tick(struct fetch *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->n_left && !f->failed)
		cond_wait_until(&f->over, &f->lock, clock_ms() + TICK_MS);
	pthread_mutex_unlock(&f->lock);
}

static void watch(struct fetch *f, unsigned max)
{
	struct pace pace = { .begin_ms = clock_ms() - f->begin_ms };
	struct cpu_wait cpu_wait = { 0 };
	struct fetch_progress now;

	for (unsigned tick = 1, want; !is_over(f); tick++) {
		wait_tick(f);
		pace.cpu_bound = cpu_wait_high(&cpu_wait, clock_ms());
		fill_now(f, &now);
		if (f->conf->tick)
			f->conf->tick(f->conf->ctx, &now);
		if (tick % SLOW_TICKS == 0)
			cancel_slow(f);
		want = pace_adjust(&pace, f->want, max, now.bytes_fetched, now.ms);
		if (want != f->want)
			set_workers(f, want);
	}
}

static void work_all(struct fetch *f)
{
	unsigned max = max_connections(f->conf->connections);

	if (f->n_left)
		set_workers(f, max < FIRST_CONNECTIONS ? max : FIRST_CONNECTIONS);
	watch(f, max);
	for (unsigned i = 0; i < f->n_threads; i++)
		pthread_join(f->threads[i], NULL);
}

/* ---- the end ---- */

/* Remove parts of files that are no longer listed. */
static void sweep(struct fetch *f)
{
	int fd = openat(f->target.state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if ((str_ends(e->d_name, ".part") || str_ends(e->d_name, ".journal") ||
		     str_ends(e->d_name, ".note")) &&
		    target_is_free(&f->target, e->d_name))
			unlinkat(f->target.state, e->d_name, 0);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* Remove what an earlier run fetched from there and the source no longer has. */
static int drop_stale(struct fetch *f, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n = 0;

	if (!f->list.n)
		return 0;
	if (ledger_drop_stale(&f->ledger, &f->list, &n, err))
		return -1;
	if (n)
		fetch_say(f, arena_printf(&arena,
					  "removed %zu %s that the source no longer has",
					  n, n == 1 ? "file" : "files"));
	return 0;
}

static bool is_same_file(struct fetch *f, const char *a, const char *b)
{
	struct stat x, y;

	return !target_stat(&f->target, a, &x, IGNORED) &&
	       !target_stat(&f->target, b, &y, IGNORED) && x.st_nlink &&
	       x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* On a volume without case (SMB), "a.txt" has replaced "A.txt". */
static int check_case(struct fetch *f, struct error *err)
{
	cleanup_map struct map names = { 0 };
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < f->list.n; i++) {
		struct store_object *o = &f->list.objects[i], *other;
		char *name = arena_strdup(&arena, o->path);

		for (char *p = name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		other = map_put(&names, name, o);
		arena_clear(&arena);
		if (other && is_same_file(f, other->path, o->path))
			return error_set(
				err, ERR_EXISTS,
				"%s: the volume takes %.300s and %.300s for one "
				"name: use one that distinguishes case, or leave one "
				"out with --ignore",
				f->target.path, str_visible(&arena, other->path, false),
				str_visible(&arena, o->path, false));
	}
	return 0;
}

static int finish(struct fetch *f, struct error *err)
{
	if (stop_requested() && f->n_left)
		return error_set(err, ERR_STOPPED, "stopped; run again to resume");
	if (f->failed) {
		*err = f->why;
		return -1;
	}
	if (check_case(f, err) || drop_stale(f, err) ||
	    ledger_finish(&f->ledger, &f->list, f->conf->uri, err))
		return -1;
	sweep(f);
	return 0;
}

static void add_patterns(struct buf *out, const char *word, const char *const *list)
{
	buf_printf(out, " %s", word);
	for (; list && *list; list++)
		buf_printf(out, " %s", *list);
}

/* Equal for two runs of the same source and patterns; "": it equals none. */
static const char *source_of(const struct fetch *f, struct arena *arena)
{
	const struct fetch_conf *c = f->conf;
	cleanup_buf struct buf out = { .max = 64 * 1024 };

	buf_adds(&out, c->scheme->base_uri ? c->scheme->base_uri(c->store, arena)
					   : uri_shown(arena, c->uri));
	add_patterns(&out, "allow", c->filter ? c->filter->allow : NULL);
	add_patterns(&out, "ignore", c->filter ? c->filter->ignore : NULL);
	return arena_strdup(arena,
			    out.overflowed || c->paths ? "" : (const char *)out.data);
}

static int fetch_all(struct fetch *f, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int rc;

	if (list_objects(f, err))
		return -1;
	if (target_open(&f->target, f->conf->target, err))
		return -1;
	if (ledger_open(&f->ledger, &f->target, source_of(f, &arena), err)) {
		target_close(&f->target);
		return -1;
	}
	rc = check_all_present(f, err);
	if (!rc) {
		work_all(f);
		rc = finish(f, err);
	}
	ledger_close(&f->ledger);
	target_close(&f->target);
	return rc;
}

int fetch_run(const struct fetch_conf *conf, struct fetch_progress *ret,
	      struct error *err)
{
	struct fetch *f = xcalloc(1, sizeof(*f));
	int rc;

	f->conf = conf;
	f->filter = *conf->filter;
	f->begin_ms = clock_ms();
	f->piece_bytes = PIECE_MIN;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->listing, NULL);
	pthread_mutex_init(&f->report_lock, NULL);
	cond_init(&f->changed);
	cond_init(&f->over);
	rc = fetch_all(f, err);
	fill_now(f, ret);
	for (struct file *file = f->files, *next; file; file = next) {
		next = file->next;
		file_free(file);
	}
	store_listing_release(&f->list);
	free(f->known);
	pthread_cond_destroy(&f->changed);
	pthread_cond_destroy(&f->over);
	pthread_mutex_destroy(&f->report_lock);
	pthread_mutex_destroy(&f->listing);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return rc;
}
