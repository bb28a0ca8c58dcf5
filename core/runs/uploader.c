/* uploader.c - the thread that uploads checkpoints (runs/runs_impl.h). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "runs/detect.h"
#include "runs/entries.h"
#include "runs/linkcopy.h"
#include "runs/runs_impl.h"

enum {
	SCAN_MS = 2000,
	SOON_MS = 500, /* while there is something to upload, or the command has ended */
	SHRUNK_MS = 60 * 1000, /* the same for one of which files were removed */
	LATE_MS = 30 * 1000,   /* how far a rank with checkpoints may be behind rank 0 */
	MAX_NAMES = 3,
	/* A sync is a counter and a hash of the checkpoint's name; other checkpoints with
	 * the same hash are uploaded, too. */
	SUM_BITS = 12,
	SUM_MASK = (1 << SUM_BITS) - 1,
	SECOND_US = 1000 * 1000,
	/* Hashing and uploading get 1.5 % of a core beside a busy thread of the training, and
	 * all of an idle core. As batch work they preempt no other thread. */
	NICE = 19,
};

#define REFUSAL "{}\n" /* NAME.rank-RANK.files of a rank that cannot upload it */

struct uploader {
	struct runs *r;
	struct rundir rundir;
	struct entries here;
	bool logged_unrecognized; /* log_unrecognized() has logged its line */
	bool logged_skipped;      /* log_skipped() has */
	bool had_files; /* a rank but 0: it has uploaded files of a checkpoint */
	bool ended;     /* the command has ended */
	uint32_t sync;
	int64_t sync_at;
	struct arena arena;
	struct checkpoint *done; /* the complete checkpoints, the newest first */
	size_t n_done;
	int64_t failing; /* clock_ms() of the first failure; 0: the last upload succeeded */
};

/* A copy of what the caller of runs.h has set. */
struct request {
	uint32_t sync, attempt;
	bool flush, over, failed;
	int64_t failed_at;
};

/* ---- one rank's files ---- */

struct lines {
	struct uploader *k;
	const char *name; /* the checkpoint's */
	struct buf text;
	uint32_t rank;
	int64_t files, bytes;
};

static int add_line(void *ctx, const char *path, int64_t size, const char *hex,
		    struct error *err)
{
	struct lines *l = ctx;
	const struct checkpoint_file f = { l->rank, path, size, hex };

	l->files++;
	l->bytes += size;
	checkpoint_print_file(&l->text, &f);
	return buf_check(&l->text, "the checkpoint's list of files", err);
}

/* Once in a process: the next checkpoint has the same file. */
static void log_skipped(void *ctx, const char *line)
{
	const struct lines *l = ctx;

	if (!l->k->logged_skipped)
		runs_say(l->k->r, "run directory: %.200s: %.300s", l->name, line);
	l->k->logged_skipped = true;
}

static int list_files(struct uploader *k, const char *path, struct lines *ret,
		      struct error *err)
{
	const struct upload_conf all = { .links = true, .say = log_skipped, .ctx = ret };

	ret->k = k;
	ret->name = path_base(path);
	ret->rank = k->r->conf->rank;
	ret->text.max = CHECKPOINT_MANIFEST_MAX;
	return upload_list(&all, path, add_line, ret, err);
}

/* The directory of a rank's files of the checkpoint, in the run directory. */
static const char *files_of(struct arena *arena, const char *name, uint32_t rank)
{
	return rank ? arena_printf(arena, "checkpoints/%s" CHECKPOINT_RANK "%u", name,
				   rank)
		    : arena_printf(arena, "checkpoints/%s", name);
}

static void wait_until_unchanged(struct uploader *k, const struct entry *e)
{
	struct runs *r = k->r;
	int64_t until = e->changed + UNCHANGED_MS;

	pthread_mutex_lock(&r->lock);
	while (!r->flush && !r->over && cond_wait_until(&r->changed, &r->lock, until))
		;
	pthread_mutex_unlock(&r->lock);
}

/* A copy by hard links of the entry as it was scanned; -1: none. */
static int create_copy(const struct uploader *k, const struct entry *e)
{
	int fd = linkcopy_create(k->here.dir, k->here.copy, e->name);
	struct detected files;

	if (fd >= 0 && detect_fingerprint(fd, e->name, &files) != e->fingerprint) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static ino_t number_of(const struct uploader *k, const struct entry *e)
{
	struct stat st;

	return fstatat(k->here.dir, e->name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}

/*
 * `copy`: from create_copy(), or -1. With a copy, the original may be replaced or removed
 * meanwhile.
 */
static int upload_copy(struct uploader *k, const struct entry *e, int copy,
		       struct lines *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = k->r->conf->dir;
	const char *path = path_join(
		&arena, copy < 0 ? dir : path_join(&arena, dir, k->here.copy), e->name);
	const char *to = files_of(&arena, e->name, k->r->conf->rank);
	ino_t number = number_of(k, e);
	struct detected files;

	if (e->single)
		to = arena_printf(&arena, "%s/%s", to, e->name);
	if (list_files(k, path, ret, err)) {
		if (err->kind != ERR_NOT_FOUND)
			err->kind = ERR_CONFLICT; /* no retry before it changes */
		return -1;
	}
	if (rundir_upload(&k->rundir, path, to, err))
		return -1;
	wait_until_unchanged(k, e);
	if (detect_fingerprint(k->here.dir, e->name, &files) == e->fingerprint ||
	    (copy >= 0 && (number_of(k, e) != number || entry_has_shrunk(e, &files)) &&
	     detect_fingerprint(copy, e->name, &files) == e->fingerprint))
		return 0;
	return error_set(err, ERR_CONFLICT, "%s changed while it was sent", e->name);
}

static int upload_files(struct uploader *k, const struct entry *e, struct lines *ret,
			struct error *err)
{
	int copy = create_copy(k, e), rc;
	struct detected files;

	/* Replaced since the scan: the next scan finds the new one. */
	if (copy < 0 &&
	    detect_fingerprint(k->here.dir, e->name, &files) != e->fingerprint)
		rc = error_set(err, ERR_CONFLICT, "%s", "");
	else
		rc = upload_copy(k, e, copy, ret, err);
	if (copy >= 0)
		close(copy);
	linkcopy_remove(k->r->conf->dir, k->here.copy);
	return rc;
}

static struct checkpoint head_of(const struct uploader *k, const struct entry *e)
{
	return (struct checkpoint){ .name = e->name,
				    .attempt = e->attempt,
				    .nodes = k->r->conf->ranks,
				    .step = checkpoint_step(e->name),
				    .time = e->changed_us / SECOND_US,
				    .us = (int)(e->changed_us % SECOND_US),
				    .single = e->single };
}

/* On ranks but 0, any directory may be part of a checkpoint, but only a finished file. */
static bool is_due(const struct uploader *k, const struct entry *e)
{
	return !e->uploaded && !e->excluded && checkpoint_name_valid(e->name) &&
	       (detect_finished(k->here.dir, e->name, e->renamed) ||
		(k->r->conf->rank && !e->single));
}

/* An entry that is renamed is uploaded at once: wait_until_unchanged() follows. */
static bool is_unchanged(const struct uploader *k, const struct entry *e)
{
	return e->unchanged &&
	       (k->ended ||
		(!e->partial && detect_whole(k->here.dir, e->name, e->renamed)) ||
		clock_ms() >= e->changed + (e->partial ? SHRUNK_MS : UNCHANGED_MS));
}

/* Set the names of the entries that are due, for runs_unsent(). */
static void publish_due(struct uploader *k)
{
	cleanup_buf struct buf names = { .max = sizeof(k->r->due) };
	size_t n = 0;

	buf_adds(&names, "");
	for (size_t i = 0; i < k->here.n; i++)
		if (is_due(k, &k->here.list[i]) && n++ < MAX_NAMES)
			buf_printf(&names, "%s%s", n > 1 ? ", " : "",
				   k->here.list[i].name);
	if (n > MAX_NAMES)
		buf_printf(&names, " and %zu more", n - MAX_NAMES);
	pthread_mutex_lock(&k->r->lock);
	snprintf(k->r->due, sizeof(k->r->due), "%s", (const char *)names.data);
	pthread_mutex_unlock(&k->r->lock);
}

static uint32_t sum_of(const char *name)
{
	uint32_t h = 0;

	while (*name)
		h = h * 31 + (unsigned char)*name++;
	return h & SUM_MASK;
}

static bool is_requested(const struct entry *e, const struct request *w)
{
	return sum_of(e->name) == (w->sync & SUM_MASK);
}

/* Rank 0 requests one checkpoint at a time, and at the end all. */
static bool is_asked(const struct uploader *k, const struct entry *e,
		     const struct request *w)
{
	return is_due(k, e) && (!k->r->conf->rank || w->flush || is_requested(e, w));
}

/* The newest requested entry that is unchanged; *ret_due: the number of requested ones. */
static struct entry *newest_due(struct uploader *k, const struct request *w,
				size_t *ret_due)
{
	struct entry *best = NULL;

	*ret_due = 0;
	for (size_t i = 0; i < k->here.n; i++) {
		struct entry *e = &k->here.list[i];
		struct checkpoint a = head_of(k, e), b;

		if (!is_asked(k, e, w))
			continue;
		++*ret_due;
		if (best)
			b = head_of(k, best);
		if (is_unchanged(k, e) && (!best || checkpoint_compare(&a, &b) < 0))
			best = e;
	}
	return best;
}

/* ---- ranks but 0 ---- */

/* Are there as many newer ones as are kept? Then rank 0 does not request it. */
static bool is_surplus(const struct uploader *k, const struct entry *e)
{
	struct checkpoint head = head_of(k, e);
	int64_t newer = 0;

	for (size_t i = 0; i < k->here.n; i++) {
		const struct entry *other = &k->here.list[i];
		struct checkpoint h = head_of(k, other);

		newer += !other->single && !other->excluded && !other->suspect &&
			 !other->removed && checkpoint_compare(&h, &head) < 0;
	}
	return k->r->conf->keep && newer >= k->r->conf->keep;
}

/* Why the entry is not uploaded; NULL: it is. */
static const char *refusal(const struct uploader *k, const struct entry *e,
			   const struct request *w)
{
	if (e->suspect)
		return "it may have been incomplete when the command failed";
	if (e->removed)
		return "it was removed before it was sent";
	return w->flush && !is_requested(e, w) && is_surplus(k, e) ? "" : NULL;
}

static int upload_entry(struct uploader *k, struct entry *e, const struct request *w,
			struct error *err)
{
	const char *why = refusal(k, e, w);
	cleanup_arena struct arena arena = { 0 };
	struct checkpoint head = head_of(k, e);
	cleanup_buf struct buf text = { .max = CHECKPOINT_MANIFEST_MAX };
	struct lines lines = { 0 };
	const char *to = arena_printf(&arena, "%s" CHECKPOINT_FILES,
				      files_of(&arena, e->name, k->r->conf->rank));
	int rc = why ? error_set(err, ERR_CONFLICT, "%s: %s", e->name, why)
		     : upload_files(k, e, &lines, err);
	struct detected n;

	head.files = lines.files;
	head.bytes = lines.bytes;
	if (!rc) {
		checkpoint_print(&text, &head);
		buf_add(&text, lines.text.data, lines.text.len);
	} else if (err->kind == ERR_CONFLICT &&
		   (why ||
		    detect_fingerprint(k->here.dir, e->name, &n) == e->fingerprint)) {
		if (!why || *why)
			runs_say(k->r, "run directory: %.500s", err->msg);
		buf_adds(&text, REFUSAL);
		rc = 0;
	}
	buf_release(&lines.text);
	if (rc || rundir_put(&k->rundir, to, text.data, text.len, err))
		return -1;
	e->uploaded = true;
	e->stored = !why;
	k->had_files |= !why;
	return 0;
}

/* false: call it again later. */
static bool upload_all(struct uploader *k, const struct request *w, struct error *err)
{
	struct entry *e;
	size_t due;

	for (size_t i = 0; i < k->here.n; i++)
		if (is_asked(k, &k->here.list[i], w) &&
		    !is_unchanged(k, &k->here.list[i]))
			return false;
	while ((e = newest_due(k, w, &due)))
		if (upload_entry(k, e, w, err))
			return false;
	return true;
}

/* Has no effect once the next attempt has begun: a new rank 0 counts from 1. */
static void set_acked(struct runs *r, uint32_t sync, const struct request *w)
{
	pthread_mutex_lock(&r->lock);
	if (r->running->number == w->attempt)
		r->acked = sync;
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
}

/* How long to wait for requested files before the sync is acknowledged without them. */
static int64_t ack_delay(const struct uploader *k, const struct request *w)
{
	for (size_t i = 0; i < k->here.n; i++)
		if (k->here.list[i].uploaded && is_requested(&k->here.list[i], w))
			return UNCHANGED_MS;
	return k->had_files ? LATE_MS : UNCHANGED_MS;
}

/*
 * *ret_left: there is something to upload. A sync is acknowledged ack_delay() after its
 * arrival: ranks that do not wait for each other may be behind rank 0.
 */
static int serve_sync(struct uploader *k, const struct request *w, bool *ret_left,
		      struct error *err)
{
	bool asked = w->sync > runs_sync_acked(k->r);

	if (w->failed && !w->flush)
		return 0;
	*ret_left = (asked || w->flush) && !upload_all(k, w, err);
	if (err->kind == ERR_CONFLICT || err->kind == ERR_NOT_FOUND)
		*err = (struct error){ 0 };
	if (err->kind)
		return -1;
	if (!*ret_left && w->flush)
		set_acked(k->r, RUNS_ALL_SENT, w);
	else if (!*ret_left && asked && clock_ms() >= k->sync_at + ack_delay(k, w))
		set_acked(k->r, w->sync, w);
	else
		*ret_left |= asked;
	return 0;
}

/* ---- rank 0 ---- */

static void add_done(struct uploader *k, const struct checkpoint *head)
{
	struct checkpoint *list;
	size_t n = 0;

	list = arena_alloc(&k->arena, (k->n_done + 1) * sizeof(*list));
	for (size_t i = 0; i < k->n_done; i++)
		if (!str_eq(k->done[i].name, head->name))
			list[n++] = k->done[i];
	list[n] = *head;
	list[n].name = arena_strdup(&k->arena, head->name);
	qsort(list, n + 1, sizeof(*list), checkpoint_compare);
	k->done = list;
	k->n_done = n + 1;
}

static int remove_complete(struct uploader *k, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return rundir_remove(
		&k->rundir,
		arena_printf(&arena, "checkpoints/%s" CHECKPOINT_COMPLETE, name), err);
}

static int remove_checkpoint(struct uploader *k, const struct checkpoint *h,
			     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int rc = remove_complete(k, h->name, err);

	for (uint32_t rank = 0; !rc && rank < h->nodes; rank++) {
		const char *files = files_of(&arena, h->name, rank);

		rc = rundir_remove(&k->rundir, files, err);
		if (!rc && rank)
			rc = rundir_remove(
				&k->rundir,
				arena_printf(&arena, "%s" CHECKPOINT_FILES, files), err);
	}
	return rc;
}

static void remove_older(struct uploader *k)
{
	size_t keep = (size_t)k->r->conf->keep;
	struct error err = { 0 };

	while (keep && k->n_done > keep) {
		if (remove_checkpoint(k, &k->done[k->n_done - 1], &err)) {
			runs_log_failure(k->r, &k->failing, &err);
			return;
		}
		k->n_done--;
	}
}

/* The manifests of the other ranks. */
struct others {
	const struct entry *of;
	struct checkpoint *head; /* with the sums */
	struct buf *lines;       /* of each rank */
	uint32_t ranks;
	const char *starts;
};

static int add_other(void *ctx, const char *path, const struct buf *text,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct others *o = ctx;
	const char *rest = str_after(path, o->starts), *end;
	struct checkpoint h;
	int64_t rank;

	if (err->kind)
		return -1;
	if (str_int(&rank, str_slice(&arena, rest, strcspn(rest, ".")), 1, o->ranks - 1,
		    IGNORED))
		return 0;
	if (!text->len ||
	    checkpoint_read(&h, &arena, (const char *)text->data, text->len, IGNORED))
		return error_set(err, ERR_CONFLICT, "%s: rank %lld could not send it",
				 o->of->name, (long long)rank);
	if (h.attempt != o->of->attempt)
		return error_set(err, ERR_CONFLICT,
				 "%s: rank %lld has uploaded files of another attempt",
				 o->of->name, (long long)rank);
	end = (const char *)memchr(text->data, '\n', text->len) + 1;
	buf_add(&o->lines[rank], end,
		text->len - (size_t)(end - (const char *)text->data));
	o->head->files += h.files;
	o->head->bytes += h.bytes;
	return 0;
}

/* Append the lines of the other ranks, by rank. */
static int add_others(struct uploader *k, const struct entry *e, struct buf *lines,
		      struct checkpoint *head, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	uint32_t ranks = k->r->conf->ranks;
	struct others o = {
		.of = e,
		.head = head,
		.ranks = ranks,
		.lines = arena_alloc(&arena, ranks * sizeof(*o.lines)),
		.starts = arena_printf(&arena, "%s" CHECKPOINT_RANK, e->name),
	};
	const struct rundir_pattern files = { o.starts, CHECKPOINT_FILES,
					      CHECKPOINT_MANIFEST_MAX };
	int rc;

	for (uint32_t i = 0; i < ranks; i++)
		o.lines[i] = (struct buf){ .max = CHECKPOINT_MANIFEST_MAX };
	rc = ranks > 1 ? rundir_read_each(&k->rundir, "checkpoints", &files, add_other,
					  &o, err)
		       : 0;
	for (uint32_t i = 0; i < ranks; i++) {
		buf_add(lines, o.lines[i].data, o.lines[i].len);
		buf_release(&o.lines[i]);
	}
	return rc;
}

static uint32_t next_sync(struct runs *r, const char *name)
{
	uint32_t sync;

	pthread_mutex_lock(&r->lock);
	sync = r->sync = ((r->sync >> SUM_BITS) + 1) << SUM_BITS | sum_of(name);
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
	return sync;
}

/* Wait until all other ranks have acknowledged. ERR_CONFLICT: they start again instead. */
static int wait_for_acks(struct uploader *k, const struct entry *e, uint32_t sync,
			 struct error *err)
{
	struct runs *r = k->r;
	bool all, lost, over;

	if (r->conf->ranks == 1)
		return 0;
	pthread_mutex_lock(&r->lock);
	for (;;) {
		lost = r->next_attempt - 1 != e->attempt;
		all = !lost && r->acked_by_all >= sync;
		lost |= !all && r->alone;
		over = r->over;
		if (all || lost || over)
			break;
		cond_wait_until(&r->changed, &r->lock, clock_ms() + 500);
	}
	pthread_mutex_unlock(&r->lock);
	return all ? 0
		   : error_set(err, over ? ERR_STOPPED : ERR_CONFLICT,
			       "%s: a rank failed before it had sent its files", e->name);
}

static int put_complete(struct uploader *k, const struct checkpoint *head,
			const struct lines *mine, const struct buf *others,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = CHECKPOINT_MANIFEST_MAX };
	const char *name =
		arena_printf(&arena, "checkpoints/%s" CHECKPOINT_COMPLETE, head->name);

	checkpoint_print(&text, head);
	buf_add(&text, mine->text.data, mine->text.len);
	buf_add(&text, others->data, others->len);
	return buf_check(&text, name, err) ||
			       (head->nodes > 1 &&
				resume_check_named(&k->rundir, &text, err)) ||
			       runs_check_owner(&k->rundir, k->r->conf->job, err) ||
			       rundir_put(&k->rundir, name, text.data, text.len, err)
		       ? -1
		       : 0;
}

static void announce(struct uploader *k, const struct checkpoint *head, int64_t ms)
{
	struct runs *r = k->r;
	char text[400];

	snprintf(text, sizeof(text),
		 "%s is complete: %lld files, %lld bytes in %lld.%lld s", head->name,
		 (long long)head->files, (long long)head->bytes, (long long)ms / 1000,
		 (long long)ms / 100 % 10);
	runs_event(r, "Normal", "Checkpoint", text);
	pthread_mutex_lock(&r->lock);
	if (checkpoint_compare(head, &r->last) <=
	    0) { /* an older one may be complete later */
		snprintf(r->last_name, sizeof(r->last_name), "%s", head->name);
		r->last = *head;
		r->last.name = r->last_name;
	}
	r->news = true;
	pthread_mutex_unlock(&r->lock);
	if (r->conf->grace_ms && ms > r->conf->grace_ms)
		runs_say(r,
			 "run directory: %s took %lld s to send, the grace at the end is "
			 "%lld s: raise terminationGracePeriodSeconds, or the last "
			 "checkpoint may be lost",
			 head->name, (long long)ms / 1000,
			 (long long)r->conf->grace_ms / 1000);
}

static int complete(struct uploader *k, struct entry *e, uint32_t sync, struct error *err)
{
	cleanup_buf struct buf others = { .max = CHECKPOINT_MANIFEST_MAX };
	struct checkpoint head = head_of(k, e);
	struct lines mine = { 0 };
	int64_t began = clock_ms();
	int rc = wait_for_acks(
		k, e, 0, err); /* a checkpoint that cannot be complete replaces none */

	for (size_t i = 0; !rc && i < k->n_done; i++)
		if (str_eq(k->done[i].name, e->name))
			rc = remove_complete(k, e->name, err);
	rc = rc || upload_files(k, e, &mine, err) || wait_for_acks(k, e, sync, err) ? -1
										    : 0;
	head.files = mine.files;
	head.bytes = mine.bytes;
	if (!rc && !add_others(k, e, &others, &head, err) &&
	    !put_complete(k, &head, &mine, &others, err)) {
		e->stored = true;
		announce(k, &head, clock_ms() - began);
		add_done(k, &head);
		remove_older(k);
	} else {
		rc = -1;
		if (err->kind == ERR_CONFLICT && !number_of(k, e))
			(void)!remove_checkpoint(k, &head,
						 IGNORED); /* never uploaded again */
	}
	buf_release(&mine.text);
	return rc;
}

/* Is it older than the checkpoints to keep? Then it would be removed after its upload. */
static bool is_outdated(struct uploader *k, const struct entry *e)
{
	size_t keep = (size_t)k->r->conf->keep;
	struct checkpoint head = head_of(k, e);

	return keep && k->n_done >= keep &&
	       checkpoint_compare(&k->done[keep - 1], &head) < 0;
}

static int complete_one(struct uploader *k, const struct request *w, bool *ret_left,
			struct error *err)
{
	size_t due;
	struct entry *e = newest_due(k, w, &due);

	*ret_left = due > 0;
	if (!e)
		return 0;
	e->uploaded = true;
	if (is_outdated(k, e)) {
		struct checkpoint head = head_of(k, e);

		return head.nodes > 1 ? remove_checkpoint(k, &head, err) : 0;
	}
	if (!complete(k, e, next_sync(k->r, e->name), err))
		return 0;
	if (err->kind != ERR_CONFLICT && err->kind != ERR_NOT_FOUND)
		e->uploaded = false;
	else if (*err->msg)
		runs_say(k->r, "run directory: %.500s", err->msg);
	return -1;
}

static int read_done(struct uploader *k, struct error *err)
{
	return k->r->conf->rank
		       ? 0
		       : resume_list(&k->rundir, &k->arena, &k->done, &k->n_done, err);
}

/* ---- the thread ---- */

static struct request next_request(struct uploader *k, bool busy)
{
	struct runs *r = k->r;
	struct request w;
	int64_t until, now;

	pthread_mutex_lock(&r->lock);
	until = clock_ms() + (r->flush || busy ? SOON_MS : SCAN_MS);
	while (!r->over && !(r->flush && !r->uploads_done && busy) &&
	       r->sync_received == k->sync && !entries_rename_pending(&k->here) &&
	       (now = clock_ms()) < until)
		cond_wait_until(&r->changed, &r->lock,
				now + SOON_MS < until ? now + SOON_MS : until);
	w = (struct request){ r->sync_received, r->running->number, r->flush,
			      r->over,          r->failed,          r->failed_at };
	pthread_mutex_unlock(&r->lock);
	if (w.sync != k->sync)
		k->sync_at = clock_ms();
	k->sync = w.sync;
	k->ended = w.flush;
	return w;
}

/* The command has ended, there are entries, and none of them is a checkpoint. */
static void log_unrecognized(struct uploader *k)
{
	const char *name = NULL;

	for (size_t i = 0; i < k->here.n; i++) {
		const struct entry *e = &k->here.list[i];

		if (is_due(k, e) || e->uploaded || e->excluded)
			return;
		name = e->name;
	}
	if (!name || k->n_done || k->r->conf->rank || k->logged_unrecognized)
		return;
	k->logged_unrecognized = true;
	runs_say(k->r,
		 "run directory: no checkpoint was kept: '%s' in "
		 "KFTRAINER_CHECKPOINT_DIR is not recognized as one; save directly into "
		 "that directory by a library that docs/runs.md lists, or rename into it",
		 name);
}

/* *ret_busy: call it again after SOON_MS. */
static int step(struct uploader *k, const struct request *w, bool *ret_busy,
		struct error *err)
{
	int rc;

	entries_scan(&k->here);
	entries_exclude_partial(&k->here, w->attempt, w->failed, w->failed_at);
	publish_due(k);
	*ret_busy = false;
	if (!k->done && read_done(k, err))
		return -1;
	if (w->flush && !w->failed)
		log_unrecognized(k);
	rc = k->r->conf->rank ? serve_sync(k, w, ret_busy, err)
			      : complete_one(k, w, ret_busy, err);
	publish_due(k);
	return rc;
}

void *runs_uploader(void *runs)
{
	struct runs *r = runs;
	struct uploader k = { .r = r, .here = r->opened };
	struct error err = { 0 };
	bool busy = false;
	struct request w;

	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread and those that it starts */
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){ 0 });
	if (rundir_open(&k.rundir, r->conf->uri, r->conf->env, r->conf->env_ctx, &err))
		runs_say(r, "%s", err.msg);
	for (w = next_request(&k, false); !w.over; w = next_request(&k, busy)) {
		bool failed;

		err = (struct error){ 0 };
		failed = step(&k, &w, &busy, &err) && err.kind != ERR_CONFLICT &&
			 err.kind != ERR_NOT_FOUND;
		runs_log_failure(r, &k.failing, failed ? &err : NULL);
		pthread_mutex_lock(&r->lock);
		r->uploads_done = w.flush && !busy &&
				  (!failed || clock_ms() > k.failing + RUNS_GIVE_UP_MS);
		pthread_mutex_unlock(&r->lock);
		runs_wake(r);
		if (failed)
			clock_sleep_ms(1000);
	}
	return NULL;
}
