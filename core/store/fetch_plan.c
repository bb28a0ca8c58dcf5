/* Assigns work to the threads of a download; see fetch_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/retry.h"
#include "store/fetch_impl.h"

static int64_t piece_pos(const struct piece *p)
{
	return fetch_count_of(&p->pos);
}

/* Size of the next piece: small while a kill would lose much of a file. */
static int64_t piece_size(const struct fetch *f, const struct file *file)
{
	int64_t least = file->o.size / 1024, size = f->piece_bytes;
	int64_t rest = fetch_count_of(&f->bytes) - fetch_count_of(&f->bytes_done);

	if (file->o.size < 0)
		return PIECE_MIN;
	if (size > rest / (4 * (int64_t)f->want))
		size = rest / (4 * (int64_t)f->want);
	if (size < least)
		size = least;
	if (size > PIECE_MAX)
		size = PIECE_MAX;
	return size < PIECE_MIN ? PIECE_MIN : size;
}

static void drop_first(struct file *file)
{
	file->n_left--;
	memmove(file->left, file->left + 1, file->n_left * sizeof(*file->left));
}

static struct piece *cut_piece(struct fetch *f, struct file *file)
{
	struct piece *p = xcalloc(1, sizeof(*p));
	struct range *r = &file->left[0];
	int64_t size = piece_size(f, file);

	p->f = file;
	p->fetch = f;
	p->from = p->pos = p->recorded = r->from;
	p->end = r->to;
	/* a larger piece rather than a tiny one at the end */
	if (!file->no_ranges && r->to - r->from > size + size / 2)
		p->end = r->from + size;
	r->from = p->end;
	if (r->from >= r->to)
		drop_first(file);
	if (file->verify && !file->hashing && file->hashed == p->from)
		p->hashes = file->hashing = true;
	p->began_ms = p->mark_ms = clock_ms();
	p->mark_pos = p->from;
	p->next = file->pieces;
	file->pieces = p;
	return p;
}

/*
 * Bytes arrive faster than they are hashed: later ones may have left the page cache and
 * would have to be read from disk.
 */
static bool is_ahead(const struct file *file)
{
	return file->catching_up &&
	       file->left[0].from - fetch_count_of(&file->hashed) > BACKLOG;
}

/* Can a piece of the file be assigned now? *until: when to check again. */
static bool is_ready(const struct file *file, int64_t now, int64_t *until)
{
	if (file->busy || file->restart || file->unchanged || !file->n_left ||
	    is_ahead(file))
		return false;
	/* while the size is unknown there is only one piece */
	if (file->pieces && (file->no_ranges || file->o.size < 0))
		return false;
	if (file->not_before > now) {
		if (*until < 0 || file->not_before < *until)
			*until = file->not_before;
		return false;
	}
	return true;
}

static struct file *begin_next(struct fetch *f)
{
	struct file *file, **at = &f->files;

	while (f->next < f->list.n && f->known[f->next].present)
		f->next++;
	if (f->next == f->list.n || f->n_files >= 2 * (size_t)f->want + 2)
		return NULL;
	file = xcalloc(1, sizeof(*file));
	file->index = f->next;
	file->o = f->list.objects[f->next];
	file->check_local = f->known[f->next].check;
	file->local_validator = f->known[f->next].validator;
	file->local_size = f->known[f->next].size;
	file->fd = file->journal_fd = -1;
	file->busy = true;
	f->next++;
	while (*at)
		at = &(*at)->next;
	*at = file;
	f->n_files++;
	return file;
}

/* A worker that catches up with hashing counts, too. */
static size_t workers_of(const struct file *file)
{
	size_t n = file->catching_up;

	for (const struct piece *p = file->pieces; p; p = p->next)
		n++;
	return n;
}

/*
 * The file with the fewest workers: while each connection has its own file, bytes arrive
 * in order, are hashed at once, and no two writers wait for one file.
 */
static struct file *least_busy(const struct fetch *f, int64_t now, int64_t *until)
{
	struct file *ret = NULL;
	size_t least = 0;

	for (struct file *file = f->files; file; file = file->next) {
		size_t n;

		if (!is_ready(file, now, until))
			continue;
		n = workers_of(file);
		if (!ret || n < least) {
			ret = file;
			least = n;
		}
	}
	return ret;
}

enum task plan_next_task(struct fetch *f, struct file **ret_file,
			 struct piece **ret_piece)
{
	enum task task = TASK_END;

	pthread_mutex_lock(&f->lock);
	while (!f->failed && !stop_requested() && f->n_left) {
		int64_t now = clock_ms(), until = -1;
		struct file *file;

		if (f->pause_until > now) {
			cond_wait_until(&f->changed, &f->lock, f->pause_until);
			continue;
		}
		if (f->n_working >= f->want) {
			pthread_cond_wait(&f->changed, &f->lock);
			continue;
		}
		file = least_busy(f, now, &until);
		*ret_file = !file || (file->pieces && f->n_files < f->want)
				    ? begin_next(f)
				    : NULL;
		if (*ret_file) {
			task = TASK_BEGIN;
			break;
		}
		if (file) {
			*ret_piece = cut_piece(f, file);
			task = TASK_PIECE;
			break;
		}
		cond_wait_until(&f->changed, &f->lock, until);
	}
	f->n_working += task != TASK_END;
	pthread_mutex_unlock(&f->lock);
	return task;
}

static void fail_locked(struct fetch *f, const char *path, const struct error *err)
{
	if (!f->failed) {
		__atomic_store_n(&f->failed, true, __ATOMIC_RELAXED);
		f->why = *err;
		if (path && err->kind != ERR_STOPPED)
			error_wrap(&f->why, "%s", path);
		for (struct file *file = f->files; file; file = file->next)
			for (struct piece *p = file->pieces; p; p = p->next)
				__atomic_store_n(&p->cancel, true, __ATOMIC_RELEASE);
	}
	pthread_cond_signal(&f->over);
	pthread_cond_broadcast(&f->changed);
}

void plan_fail(struct fetch *f, const char *path, const struct error *err)
{
	pthread_mutex_lock(&f->lock);
	fail_locked(f, path, err);
	pthread_mutex_unlock(&f->lock);
}

static void remove_file(struct fetch *f, struct file *file)
{
	struct file **at = &f->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	f->n_files--;
	f->n_left--;
	if (!f->n_left)
		pthread_cond_signal(&f->over);
	pthread_cond_broadcast(&f->changed);
}

/* Everything before it is written. */
static int64_t written_to(const struct file *file)
{
	int64_t to = file->n_left ? file->left[0].from : file->o.size;

	for (const struct piece *p = file->pieces; p; p = p->next)
		if (piece_pos(p) < to)
			to = piece_pos(p);
	return to;
}

static bool is_complete(const struct file *file)
{
	if (file->restart || file->busy || file->hashing || file->pieces)
		return false;
	if (file->unchanged)
		return true;
	return !file->n_left && file->o.size >= 0 &&
	       (!file->verify || file->hashed == file->o.size);
}

/* Restart the file, unless that was tried before. False: it has failed. */
static bool may_restart(struct fetch *f, struct file *file, const char *why)
{
	struct error err = { 0 };

	if (file->resumed || file->restarts++ < 1) {
		file->resumed = false;
		return true;
	}
	error_set(&err, ERR_CONFLICT, "%s", why);
	fail_locked(f, file->o.path, &err);
	return false;
}

/* Does the name now have another object? */
static void list_again(struct fetch *f, struct file *file)
{
	const struct fetch_conf *c = f->conf;
	struct filter_stats stats = { .filter = &f->filter };
	struct store_listing list = { 0 };

	if (!file->o.etag && file->o.digest == STORE_DIGEST_NONE && file->o.size < 0)
		return;
	pthread_mutex_lock(&f->listing);
	if (!fetch_list(c, &stats, &list, IGNORED))
		for (size_t i = 0; i < list.n; i++) {
			const struct store_object *o = &list.objects[i];

			if (!str_eq(o->path, file->o.path) || o->size < 0)
				continue;
			fetch_count(&f->bytes,
				    o->size - (file->o.size < 0 ? 0 : file->o.size));
			file->o = store_object_copy(&file->arena, o);
		}
	store_listing_release(&list);
	filter_stats_release(&stats);
	pthread_mutex_unlock(&f->listing);
}

/* A size that a response gave, and no listing, is of the file that was there then. */
static void forget_size(struct fetch *f, struct file *file)
{
	if (file->o.size < 0 || f->list.objects[file->index].size >= 0)
		return;
	fetch_count(&f->bytes, -file->o.size);
	__atomic_add_fetch(&f->files_unsized, 1, __ATOMIC_RELAXED);
	file->o.size = -1;
}

/* Call it with the lock, which is released during the work. */
static void reset(struct fetch *f, struct file *file)
{
	struct error err = { 0 };
	int rc;

	file->busy = true;
	forget_size(f, file);
	pthread_mutex_unlock(&f->lock);
	list_again(f, file);
	rc = file_reset(f, file, &err);
	pthread_mutex_lock(&f->lock);
	/* servers behind one name may differ in their ETags: one response is of one */
	file->no_ranges |=
		file->restarts && !file->o.etag && file->o.digest == STORE_DIGEST_NONE;
	file->busy = file->restart = false;
	if (rc)
		fail_locked(f, file->o.path, &err);
	pthread_cond_broadcast(&f->changed);
}

/* Call it with the lock, which is released while the file is hashed and renamed. */
static void end(struct fetch *f, struct file *file)
{
	struct error err = { 0 };
	bool wrong = false;
	int rc;

	file->busy = true;
	pthread_mutex_unlock(&f->lock);
	rc = file_end(f, file, &wrong, &err);
	if (!rc && !wrong) {
		__atomic_add_fetch(&f->files_done, 1, __ATOMIC_RELAXED);
		fetch_report(f, file->unchanged ? FETCH_PRESENT : FETCH_DONE,
			     file->o.path, file->o.size);
	}
	pthread_mutex_lock(&f->lock);
	file->busy = false;
	if (rc) {
		fail_locked(f, file->o.path, &err);
	} else if (!wrong) {
		remove_file(f, file);
		file_free(file);
	} else if (may_restart(f, file,
			       "checksum mismatch, twice: corrupted in transit or at the "
			       "source; the data was discarded")) {
		file->restart = true;
		reset(f, file);
	}
}

static bool can_hash(const struct fetch *f, const struct file *file)
{
	return file->verify && !file->hashing && !file->restart && !file->busy &&
	       !file->unchanged && !f->failed && file->o.size >= 0 &&
	       written_to(file) > file->hashed;
}

/* Continue after a change: hash bytes that are in order, end or reset the file. */
static void advance(struct fetch *f, struct file *file)
{
	while (can_hash(f, file)) {
		int64_t to = written_to(file);
		struct error err = { 0 };
		int rc;

		if (to > file->hashed + HASH_STEP)
			to = file->hashed + HASH_STEP;
		file->hashing = file->catching_up = true;
		pthread_mutex_unlock(&f->lock);
		rc = file_hash(file, to, &err);
		pthread_mutex_lock(&f->lock);
		file->hashing = file->catching_up = false;
		if (rc)
			fail_locked(f, file->o.path, &err);
		pthread_cond_signal(&f->changed);
	}
	if (f->failed || file->busy)
		return;
	if (file->restart && !file->pieces && !file->hashing)
		reset(f, file);
	else if (is_complete(file))
		end(f, file);
}

void plan_started(struct fetch *f, struct file *file, bool there)
{
	pthread_mutex_lock(&f->lock);
	f->n_working--;
	file->busy = false;
	if (there) {
		__atomic_add_fetch(&f->files_done, 1, __ATOMIC_RELAXED);
		fetch_count(&f->bytes_done, file->o.size);
		remove_file(f, file);
		pthread_mutex_unlock(&f->lock);
		fetch_report(f, FETCH_PRESENT, file->o.path, file->o.size);
		file_free(file);
		return;
	}
	if (file->o.size > PIECE_MIN || file->n_left > 1)
		pthread_cond_broadcast(&f->changed);
	advance(f, file);
	pthread_mutex_unlock(&f->lock);
}

static void give_back(struct file *file, int64_t from, int64_t to)
{
	size_t i = 0;

	if (from >= to)
		return;
	file->left = xreallocarray(file->left, file->n_left + 1, sizeof(*file->left));
	while (i < file->n_left && file->left[i].from < from)
		i++;
	memmove(file->left + i + 1, file->left + i,
		(file->n_left - i) * sizeof(*file->left));
	file->left[i] = (struct range){ .from = from, .to = to };
	file->n_left++;
	if (i + 1 < file->n_left && file->left[i].to == file->left[i + 1].from) {
		file->left[i + 1].from = from;
		file->n_left--;
		memmove(file->left + i, file->left + i + 1,
			(file->n_left - i) * sizeof(*file->left));
	}
}

static void retry_later(struct fetch *f, struct file *file, const struct piece *p,
			struct error *err)
{
	int tries = f->conf->tries < 0 ? RETRY_TRIES : f->conf->tries;
	int64_t now = clock_ms(), until;
	/* pieces in flight when another failed count as the same failed try */
	bool counts = !file->tried || p->began_ms > file->failed_ms;

	if (counts) {
		file->failed_ms = now;
		file->tried++;
	}
	if (file->tried > tries) {
		size_t len = strlen(err->msg);

		snprintf(err->msg + len, sizeof(err->msg) - len,
			 " (tried %d times; run again to resume)", file->tried);
		fail_locked(f, file->o.path, err);
		return;
	}
	if (!counts && p->pause_ms <= 0)
		return;
	until = now + retry_pause(file->tried - 1, p->pause_ms);
	if (until > file->not_before)
		file->not_before = until;
	if (p->pause_ms > 0 && until > f->pause_until)
		f->pause_until = until;
}

/* Its pieces in flight see it, without the lock, and end. */
static void start_over(struct file *file)
{
	__atomic_store_n(&file->restart, true, __ATOMIC_RELAXED);
}

static void handle_outcome(struct fetch *f, struct piece *p, struct error *err)
{
	struct file *file = p->f;

	bool named = file_is_identified(file);

	if (named &&
	    (p->pos - p->from >= PROGRESS || (p->pos == p->end && p->pos > p->from)))
		file->tried = file->refused = 0;
	switch (p->outcome) {
	case PIECE_OK:
	case PIECE_RETRY_NOW:
		break;
	case PIECE_RETRY:
		retry_later(f, file, p, err);
		/* the file may have changed since, undetected */
		if (!named && fetch_count_of(&file->written) > 0)
			start_over(file);
		break;
	case PIECE_CHANGED:
		if (!file->restart && may_restart(f, file, err->msg))
			start_over(file);
		break;
	case PIECE_FATAL:
		fail_locked(f, file->o.path, err);
		break;
	}
}

/* The seconds of a pause, if it is to be reported; else 0. */
static int64_t pause_to_report(struct fetch *f, const struct file *file)
{
	int64_t now = clock_ms(), ms = file->not_before - now;

	if (f->failed || ms < REPORT_FROM_MS || now < f->next_report)
		return 0;
	f->next_report = now + REPORT_EVERY_MS;
	return (ms + 999) / 1000;
}

void plan_piece_end(struct fetch *f, struct piece *p, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct file *file = p->f;
	const char *path = NULL;
	struct piece **at = &file->pieces;
	int64_t seconds = 0;

	pthread_mutex_lock(&f->lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!file->restart)
		give_back(file, p->pos, p->end);
	if (p->hashes)
		file->hashing = false;
	handle_outcome(f, p, err);
	if (p->outcome == PIECE_RETRY) {
		seconds = pause_to_report(f, file);
		path = arena_strdup(&arena, file->o.path); /* the file may end below */
	}
	arena_clear(&p->arena);
	free(p);
	advance(f, file);
	f->n_working--;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	if (seconds)
		fetch_say(f, arena_printf(&arena, "%s: %s; retrying in %lld s", path,
					  err->msg, (long long)seconds));
}

bool plan_claim_all(struct fetch *f, struct piece *p)
{
	struct file *file = p->f;
	bool alone;

	pthread_mutex_lock(&f->lock);
	file->no_ranges = true;
	alone = file->pieces == p && !p->next;
	if (alone && file->n_left && file->left[0].from == p->end) {
		p->end = file->left[0].to;
		drop_first(file);
	}
	pthread_mutex_unlock(&f->lock);
	return alone;
}

int plan_size_known(struct fetch *f, struct file *file, int64_t size, struct error *err)
{
	if (size < 0 || size > STORE_MAX_SIZE)
		return error_set(err, ERR_LIMIT, "invalid file size %lld",
				 (long long)size);
	pthread_mutex_lock(&f->lock);
	if (file->o.size < 0) {
		file->o.size = size;
		fetch_count(&f->bytes, size);
		__atomic_sub_fetch(&f->files_unsized, 1, __ATOMIC_RELAXED);
		for (size_t i = 0; i < file->n_left; i++)
			if (file->left[i].to > size)
				file->left[i].to = size;
		if (file->n_left && file->left[0].from >= size)
			file->n_left = 0;
		for (struct piece *p = file->pieces; p; p = p->next)
			if (p->end > size)
				p->end = size;
		if (!file->verify &&
		    !file->pieces) /* else its first piece creates the file */
			file->verify = verify_new(&file->o);
	}
	pthread_mutex_unlock(&f->lock);
	return 0;
}
