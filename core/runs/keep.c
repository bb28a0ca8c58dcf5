/* keep.c - the thread that sends checkpoints (runs/runs_impl.h). */
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
#include "runs/entries.h"
#include "runs/held.h"
#include "runs/recognize.h"
#include "runs/runs_impl.h"

enum {
	SCAN_MS = 2000,
	SOON_MS = 500,   /* if there is something to send, or the command has ended */
	QUIET_MS = 2000, /* a checkpoint has not changed for so long */
	REMOVED_MS = 60 * 1000, /* and nothing more of it was removed */
	LATE_MS = 30 * 1000, /* a rank that has had files may be so far behind rank 0 */
	MOST_NAMED = 3,
	/* A mark is a number, counted up, and a sum of the name of the checkpoint that is
	 * asked for; another one with the same sum is sent, too. */
	SUM_BITS = 12,
	SUM_MASK = (1 << SUM_BITS) - 1,
	SECOND_US = 1000 * 1000,
	/* Of what hashes and sends: 1.5 % of a core beside one busy thread of the training,
	 * and all of an idle one. As batch work it preempts nobody. */
	NICE = 19,
};

#define REFUSAL "{}\n" /* NAME.rank-RANK.files of a rank that cannot send it */

struct keeper {
	struct runs *r;
	struct run_place place;
	struct entries here;
	bool unrecognized; /* say_unrecognized() has said so */
	bool skipped;      /* say_skipped() has said so */
	bool had_files;    /* another rank than the first: of a checkpoint before */
	bool ended;        /* the command writes no more */
	uint32_t heard;
	int64_t heard_at;
	struct arena arena;
	struct complete_head *done; /* complete ones, the newest first */
	size_t n_done;
	int64_t failing; /* since then; 0: it works */
};

struct wish {
	uint32_t heard, attempt;
	bool flush, over, failed;
	int64_t failed_at;
};

/*
 * Files that a failed command may have left half written are not sent. Of another rank
 * than the first no sign says so: those that had not changed for a while are whole.
 */
static void leave_out_torn(struct keeper *k, const struct wish *w)
{
	for (size_t i = 0; i < k->here.n; i++) {
		struct entry *e = &k->here.list[i];
		bool whole = k->r->conf->rank
				     ? e->renamed || !w->failed_at ||
					       e->changed + QUIET_MS < w->failed_at
				     : recognize_whole(k->here.dir, e->name, e->renamed);

		if (e->sent || (whole && !e->half) ||
		    (!w->failed && e->attempt == w->attempt))
			continue;
		if (k->r->conf->rank)
			e->torn = true;
		else
			e->old = true;
	}
}

/* ---- one rank's files ---- */

struct lines {
	struct keeper *k;
	const char *name; /* the checkpoint's */
	struct buf text;
	uint32_t rank;
	int64_t files, bytes;
};

static int add_line(void *ctx, const char *path, int64_t size, const char *hex,
		    struct error *err)
{
	struct lines *l = ctx;
	const struct complete_file f = { l->rank, path, size, hex };

	l->files++;
	l->bytes += size;
	complete_print_file(&l->text, &f);
	return buf_check(&l->text, "the checkpoint's list of files", err);
}

/* For the first of its kind: the next checkpoint has the same. */
static void say_skipped(void *ctx, const char *line)
{
	const struct lines *l = ctx;

	if (!l->k->skipped)
		runs_say(l->k->r, "run directory: %.200s: %.300s", l->name, line);
	l->k->skipped = true;
}

static int list_files(struct keeper *k, const char *path, struct lines *ret,
		      struct error *err)
{
	const struct upload_conf all = { .links = true, .say = say_skipped, .ctx = ret };

	ret->k = k;
	ret->name = path_base(path);
	ret->rank = k->r->conf->rank;
	ret->text.max = COMPLETE_MAX;
	return upload_list(&all, path, add_line, ret, err);
}

/* Where a rank's files of it are. */
static const char *files_of(struct arena *arena, const char *name, uint32_t rank)
{
	return rank ? arena_printf(arena, "checkpoints/%s" COMPLETE_RANK "%u", name, rank)
		    : arena_printf(arena, "checkpoints/%s", name);
}

static void wait_until_quiet(struct keeper *k, const struct entry *e)
{
	struct runs *r = k->r;
	int64_t until = e->changed + QUIET_MS;

	pthread_mutex_lock(&r->lock);
	while (!r->flush && !r->over && cond_wait_until(&r->changed, &r->lock, until))
		;
	pthread_mutex_unlock(&r->lock);
}

/* A snapshot of it as it was recognized; -1: none. */
static int hold(const struct keeper *k, const struct entry *e)
{
	int fd = held_make(k->here.dir, k->here.held, e->name);
	struct recognized files;

	if (fd >= 0 && recognize_stamp(fd, e->name, &files) != e->stamp) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static ino_t number_of(const struct keeper *k, const struct entry *e)
{
	struct stat st;

	return fstatat(k->here.dir, e->name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}

/* `held`: its snapshot, which a checkpoint replaces that is renamed or removed; or -1. */
static int send_held(struct keeper *k, const struct entry *e, int held, struct lines *ret,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = k->r->conf->dir;
	const char *path = path_join(
		&arena, held < 0 ? dir : path_join(&arena, dir, k->here.held), e->name);
	const char *to = files_of(&arena, e->name, k->r->conf->rank);
	ino_t number = number_of(k, e);
	struct recognized files;

	if (e->single)
		to = arena_printf(&arena, "%s/%s", to, e->name);
	if (list_files(k, path, ret, err)) {
		if (err->kind != ERR_NOT_FOUND)
			err->kind = ERR_CONFLICT; /* until it changes */
		return -1;
	}
	if (place_send(&k->place, path, to, err))
		return -1;
	wait_until_quiet(k, e);
	if (recognize_stamp(k->here.dir, e->name, &files) == e->stamp ||
	    (held >= 0 && (number_of(k, e) != number || entries_is_less(e, &files)) &&
	     recognize_stamp(held, e->name, &files) == e->stamp))
		return 0;
	return error_set(err, ERR_CONFLICT, "%s changed while it was sent", e->name);
}

static int send_files(struct keeper *k, const struct entry *e, struct lines *ret,
		      struct error *err)
{
	int held = hold(k, e), rc;
	struct recognized files;

	/* Replaced since the scan: the next one finds it, and nothing is lost. */
	if (held < 0 && recognize_stamp(k->here.dir, e->name, &files) != e->stamp)
		rc = error_set(err, ERR_CONFLICT, "%s", "");
	else
		rc = send_held(k, e, held, ret, err);
	if (held >= 0)
		close(held);
	held_remove(k->r->conf->dir, k->here.held);
	return rc;
}

static struct complete_head head_of(const struct keeper *k, const struct entry *e)
{
	return (struct complete_head){ .name = e->name,
				       .attempt = e->attempt,
				       .nodes = k->r->conf->ranks,
				       .step = complete_step(e->name),
				       .time = e->changed_us / SECOND_US,
				       .us = (int)(e->changed_us % SECOND_US),
				       .single = e->single };
}

/*
 * On ranks other than the first, any directory may be a part of a checkpoint; a file that
 * is not finished is none.
 */
static bool is_due(const struct keeper *k, const struct entry *e)
{
	return !e->sent && !e->old && complete_name_ok(e->name) &&
	       (recognize_finished(k->here.dir, e->name, e->renamed) ||
		(k->r->conf->rank && !e->single));
}

/* An entry that its writer finishes in one step is sent at once: wait_until_quiet(). */
static bool is_quiet(const struct keeper *k, const struct entry *e)
{
	return e->quiet &&
	       (k->ended ||
		(!e->half && recognize_whole(k->here.dir, e->name, e->renamed)) ||
		clock_ms() >= e->changed + (e->half ? REMOVED_MS : QUIET_MS));
}

/* The names of entries that are due, for runs_unsent(). */
static void publish_due(struct keeper *k)
{
	cleanup_buf struct buf names = { .max = sizeof(k->r->due) };
	size_t n = 0;

	buf_adds(&names, "");
	for (size_t i = 0; i < k->here.n; i++)
		if (is_due(k, &k->here.list[i]) && n++ < MOST_NAMED)
			buf_printf(&names, "%s%s", n > 1 ? ", " : "",
				   k->here.list[i].name);
	if (n > MOST_NAMED)
		buf_printf(&names, " and %zu more", n - MOST_NAMED);
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

static bool is_marked(const struct entry *e, const struct wish *w)
{
	return sum_of(e->name) == (w->heard & SUM_MASK);
}

/* Rank 0 asks the others for one at a time, and at the end for all. */
static bool is_asked(const struct keeper *k, const struct entry *e, const struct wish *w)
{
	return is_due(k, e) && (!k->r->conf->rank || w->flush || is_marked(e, w));
}

/* The newest entry that is asked for and quiet; *ret_due: how many are asked for. */
static struct entry *newest_due(struct keeper *k, const struct wish *w, size_t *ret_due)
{
	struct entry *best = NULL;

	*ret_due = 0;
	for (size_t i = 0; i < k->here.n; i++) {
		struct entry *e = &k->here.list[i];
		struct complete_head a = head_of(k, e), b;

		if (!is_asked(k, e, w))
			continue;
		++*ret_due;
		if (best)
			b = head_of(k, best);
		if (is_quiet(k, e) && (!best || complete_compare(&a, &b) < 0))
			best = e;
	}
	return best;
}

/* ---- a rank that is not the first ---- */

/* At the end: are there as many newer ones as are kept? Then rank 0 does not want it. */
static bool is_surplus(const struct keeper *k, const struct entry *e)
{
	struct complete_head head = head_of(k, e);
	int64_t newer = 0;

	for (size_t i = 0; i < k->here.n; i++) {
		const struct entry *other = &k->here.list[i];
		struct complete_head h = head_of(k, other);

		newer += !other->single && !other->old && !other->torn && !other->gone &&
			 complete_compare(&h, &head) < 0;
	}
	return k->r->conf->keep && newer >= k->r->conf->keep;
}

/* Why its files are not sent; NULL: they are. */
static const char *refusal(const struct keeper *k, const struct entry *e,
			   const struct wish *w)
{
	if (e->torn)
		return "the command failed as it may not have been whole";
	if (e->gone)
		return "it was removed before it was sent";
	return w->flush && !is_marked(e, w) && is_surplus(k, e) ? "" : NULL;
}

static int send_entry(struct keeper *k, struct entry *e, const struct wish *w,
		      struct error *err)
{
	const char *why = refusal(k, e, w);
	cleanup_arena struct arena arena = { 0 };
	struct complete_head head = head_of(k, e);
	cleanup_buf struct buf text = { .max = COMPLETE_MAX };
	struct lines lines = { 0 };
	const char *to = arena_printf(&arena, "%s" COMPLETE_FILES,
				      files_of(&arena, e->name, k->r->conf->rank));
	int rc = why ? error_set(err, ERR_CONFLICT, "%s: %s", e->name, why)
		     : send_files(k, e, &lines, err);
	struct recognized n;

	head.files = lines.files;
	head.bytes = lines.bytes;
	if (!rc) {
		complete_print_head(&text, &head);
		buf_add(&text, lines.text.data, lines.text.len);
	} else if (err->kind == ERR_CONFLICT &&
		   (why || recognize_stamp(k->here.dir, e->name, &n) == e->stamp)) {
		if (!why || *why)
			runs_say(k->r, "run directory: %.500s", err->msg);
		buf_adds(&text, REFUSAL);
		rc = 0;
	}
	buf_release(&lines.text);
	if (rc || place_put(&k->place, to, text.data, text.len, err))
		return -1;
	e->sent = true;
	e->kept = !why;
	k->had_files |= !why;
	return 0;
}

/* false: again, a moment later. */
static bool send_all(struct keeper *k, const struct wish *w, struct error *err)
{
	struct entry *e;
	size_t due;

	for (size_t i = 0; i < k->here.n; i++)
		if (is_asked(k, &k->here.list[i], w) && !is_quiet(k, &k->here.list[i]))
			return false;
	while ((e = newest_due(k, w, &due)))
		if (send_entry(k, e, w, err))
			return false;
	return true;
}

/* No effect once the next attempt has begun: a new supervisor of rank 0 counts from 1. */
static void set_marked(struct runs *r, uint32_t mark, const struct wish *w)
{
	pthread_mutex_lock(&r->lock);
	if (r->running->number == w->attempt)
		r->marked = mark;
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
}

/* How long the files of what is asked for may take to appear. */
static int64_t patience(const struct keeper *k, const struct wish *w)
{
	for (size_t i = 0; i < k->here.n; i++)
		if (k->here.list[i].sent && is_marked(&k->here.list[i], w))
			return QUIET_MS;
	return k->had_files ? LATE_MS : QUIET_MS;
}

/*
 * *ret_left: there is something to send. A mark is answered a moment later than it is
 * heard: where ranks do not wait for each other, this one may be a bit behind rank 0.
 */
static int follow_mark(struct keeper *k, const struct wish *w, bool *ret_left,
		       struct error *err)
{
	bool asked = w->heard > runs_marked(k->r);

	if (w->failed && !w->flush)
		return 0;
	*ret_left = (asked || w->flush) && !send_all(k, w, err);
	if (err->kind == ERR_CONFLICT || err->kind == ERR_NOT_FOUND)
		*err = (struct error){ 0 };
	if (err->kind)
		return -1;
	if (!*ret_left && w->flush)
		set_marked(k->r, RUNS_ALL_SENT, w);
	else if (!*ret_left && asked && clock_ms() >= k->heard_at + patience(k, w))
		set_marked(k->r, w->heard, w);
	else
		*ret_left |= asked;
	return 0;
}

/* ---- rank 0 ---- */

static void know(struct keeper *k, const struct complete_head *head)
{
	struct complete_head *list;
	size_t n = 0;

	list = arena_alloc(&k->arena, (k->n_done + 1) * sizeof(*list));
	for (size_t i = 0; i < k->n_done; i++)
		if (!str_eq(k->done[i].name, head->name))
			list[n++] = k->done[i];
	list[n] = *head;
	list[n].name = arena_strdup(&k->arena, head->name);
	qsort(list, n + 1, sizeof(*list), complete_compare);
	k->done = list;
	k->n_done = n + 1;
}

static int remove_complete(struct keeper *k, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return place_remove(&k->place,
			    arena_printf(&arena, "checkpoints/%s" COMPLETE_ENDING, name),
			    err);
}

static int remove_checkpoint(struct keeper *k, const struct complete_head *h,
			     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int rc = remove_complete(k, h->name, err);

	for (uint32_t rank = 0; !rc && rank < h->nodes; rank++) {
		const char *files = files_of(&arena, h->name, rank);

		rc = place_remove(&k->place, files, err);
		if (!rc && rank)
			rc = place_remove(
				&k->place,
				arena_printf(&arena, "%s" COMPLETE_FILES, files), err);
	}
	return rc;
}

static void remove_older(struct keeper *k)
{
	size_t keep = (size_t)k->r->conf->keep;
	struct error err = { 0 };

	while (keep && k->n_done > keep) {
		if (remove_checkpoint(k, &k->done[k->n_done - 1], &err)) {
			runs_trouble(k->r, &k->failing, &err);
			return;
		}
		k->n_done--;
	}
}

/* Files of a checkpoint that other ranks have sent. */
struct others {
	const struct entry *of;
	struct complete_head *head; /* with the sums */
	struct buf *lines;          /* of each rank */
	uint32_t ranks;
	const char *starts;
};

static int add_other(void *ctx, const char *path, const struct buf *text,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct others *o = ctx;
	const char *rest = str_after(path, o->starts), *end;
	struct complete_head h;
	int64_t rank;

	if (err->kind)
		return -1;
	if (str_int(&rank, str_slice(&arena, rest, strcspn(rest, ".")), 1, o->ranks - 1,
		    IGNORED))
		return 0;
	if (!text->len ||
	    complete_read_head(&h, &arena, (const char *)text->data, text->len, IGNORED))
		return error_set(err, ERR_CONFLICT, "%s: rank %lld could not send it",
				 o->of->name, (long long)rank);
	if (h.attempt != o->of->attempt)
		return error_set(err, ERR_CONFLICT,
				 "%s: rank %lld has sent that of another attempt",
				 o->of->name, (long long)rank);
	end = (const char *)memchr(text->data, '\n', text->len) + 1;
	buf_add(&o->lines[rank], end,
		text->len - (size_t)(end - (const char *)text->data));
	o->head->files += h.files;
	o->head->bytes += h.bytes;
	return 0;
}

/* The lines of the other ranks, in their order. */
static int add_others(struct keeper *k, const struct entry *e, struct buf *lines,
		      struct complete_head *head, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	uint32_t ranks = k->r->conf->ranks;
	struct others o = {
		.of = e,
		.head = head,
		.ranks = ranks,
		.lines = arena_alloc(&arena, ranks * sizeof(*o.lines)),
		.starts = arena_printf(&arena, "%s" COMPLETE_RANK, e->name),
	};
	const struct place_pick files = { o.starts, COMPLETE_FILES, COMPLETE_MAX };
	int rc;

	for (uint32_t i = 0; i < ranks; i++)
		o.lines[i] = (struct buf){ .max = COMPLETE_MAX };
	rc = ranks > 1 ? place_read(&k->place, "checkpoints", &files, add_other, &o, err)
		       : 0;
	for (uint32_t i = 0; i < ranks; i++) {
		buf_add(lines, o.lines[i].data, o.lines[i].len);
		buf_release(&o.lines[i]);
	}
	return rc;
}

static uint32_t next_mark(struct runs *r, const char *name)
{
	uint32_t mark;

	pthread_mutex_lock(&r->lock);
	mark = r->mark = ((r->mark >> SUM_BITS) + 1) << SUM_BITS | sum_of(name);
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
	return mark;
}

/* Have all other ranks sent theirs? ERR_CONFLICT: they start again, and will not. */
static int wait_for_marks(struct keeper *k, const struct entry *e, uint32_t mark,
			  struct error *err)
{
	struct runs *r = k->r;
	bool all, lost, over;

	if (r->conf->ranks == 1)
		return 0;
	pthread_mutex_lock(&r->lock);
	for (;;) {
		lost = r->next_attempt - 1 != e->attempt;
		all = !lost && r->all_marked >= mark;
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

static int put_complete(struct keeper *k, const struct complete_head *head,
			const struct lines *mine, const struct buf *others,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = COMPLETE_MAX };
	const char *name =
		arena_printf(&arena, "checkpoints/%s" COMPLETE_ENDING, head->name);

	complete_print_head(&text, head);
	buf_add(&text, mine->text.data, mine->text.len);
	buf_add(&text, others->data, others->len);
	return buf_check(&text, name, err) ||
			       (head->nodes > 1 &&
				resume_check_named(&k->place, &text, err)) ||
			       runs_check_owner(&k->place, k->r->conf->job, err) ||
			       place_put(&k->place, name, text.data, text.len, err)
		       ? -1
		       : 0;
}

static void announce(struct keeper *k, const struct complete_head *head, int64_t ms)
{
	struct runs *r = k->r;
	char text[400];

	snprintf(text, sizeof(text),
		 "%s is complete: %lld files, %lld bytes in %lld.%lld s", head->name,
		 (long long)head->files, (long long)head->bytes, (long long)ms / 1000,
		 (long long)ms / 100 % 10);
	runs_event(r, "Normal", "Checkpoint", text);
	pthread_mutex_lock(&r->lock);
	if (complete_compare(head, &r->last) <= 0) { /* older ones may be sent after it */
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

static int complete(struct keeper *k, struct entry *e, uint32_t mark, struct error *err)
{
	cleanup_buf struct buf others = { .max = COMPLETE_MAX };
	struct complete_head head = head_of(k, e);
	struct lines mine = { 0 };
	int64_t began = clock_ms();
	int rc = wait_for_marks(k, e, 0, err); /* a lost one replaces nothing */

	for (size_t i = 0; !rc && i < k->n_done; i++)
		if (str_eq(k->done[i].name, e->name))
			rc = remove_complete(k, e->name, err);
	rc = rc || send_files(k, e, &mine, err) || wait_for_marks(k, e, mark, err) ? -1
										   : 0;
	head.files = mine.files;
	head.bytes = mine.bytes;
	if (!rc && !add_others(k, e, &others, &head, err) &&
	    !put_complete(k, &head, &mine, &others, err)) {
		e->kept = true;
		announce(k, &head, clock_ms() - began);
		know(k, &head);
		remove_older(k);
	} else {
		rc = -1;
		if (err->kind == ERR_CONFLICT && !number_of(k, e))
			(void)!remove_checkpoint(k, &head,
						 IGNORED); /* it will not be sent again */
	}
	buf_release(&mine.text);
	return rc;
}

/* Is it older than those that are kept? Then it would be removed once it was sent. */
static bool is_past(struct keeper *k, const struct entry *e)
{
	size_t keep = (size_t)k->r->conf->keep;
	struct complete_head head = head_of(k, e);

	return keep && k->n_done >= keep &&
	       complete_compare(&k->done[keep - 1], &head) < 0;
}

static int complete_one(struct keeper *k, const struct wish *w, bool *ret_left,
			struct error *err)
{
	size_t due;
	struct entry *e = newest_due(k, w, &due);

	*ret_left = due > 0;
	if (!e)
		return 0;
	e->sent = true;
	if (is_past(k, e)) {
		struct complete_head head = head_of(k, e);

		return head.nodes > 1 ? remove_checkpoint(k, &head, err) : 0;
	}
	if (!complete(k, e, next_mark(k->r, e->name), err))
		return 0;
	if (err->kind != ERR_CONFLICT && err->kind != ERR_NOT_FOUND)
		e->sent = false;
	else if (*err->msg)
		runs_say(k->r, "run directory: %.500s", err->msg);
	return -1;
}

static int learn_done(struct keeper *k, struct error *err)
{
	return k->r->conf->rank
		       ? 0
		       : resume_list(&k->place, &k->arena, &k->done, &k->n_done, err);
}

/* ---- the thread ---- */

static struct wish next_wish(struct keeper *k, bool busy)
{
	struct runs *r = k->r;
	struct wish w;
	int64_t until, now;

	pthread_mutex_lock(&r->lock);
	until = clock_ms() + (r->flush || busy ? SOON_MS : SCAN_MS);
	while (!r->over && !(r->flush && !r->keep_done && busy) && r->heard == k->heard &&
	       !entries_heard(&k->here) && (now = clock_ms()) < until)
		cond_wait_until(&r->changed, &r->lock,
				now + SOON_MS < until ? now + SOON_MS : until);
	w = (struct wish){ r->heard, r->running->number, r->flush,
			   r->over,  r->failed,          r->failed_at };
	pthread_mutex_unlock(&r->lock);
	if (w.heard != k->heard)
		k->heard_at = clock_ms();
	k->heard = w.heard;
	k->ended = w.flush;
	return w;
}

/* Something was left there, and nothing of it is a checkpoint: a silent loss. */
static void say_unrecognized(struct keeper *k)
{
	const char *name = NULL;

	for (size_t i = 0; i < k->here.n; i++) {
		const struct entry *e = &k->here.list[i];

		if (is_due(k, e) || e->sent || e->old)
			return;
		name = e->name;
	}
	if (!name || k->n_done || k->r->conf->rank || k->unrecognized)
		return;
	k->unrecognized = true;
	runs_say(k->r,
		 "run directory: no checkpoint was kept: '%s' in "
		 "KFTRAINER_CHECKPOINT_DIR is not recognized as one; save directly into "
		 "that directory by a library that docs/runs.md lists, or rename into it",
		 name);
}

/* *ret_busy: look again soon. */
static int step(struct keeper *k, const struct wish *w, bool *ret_busy, struct error *err)
{
	int rc;

	entries_scan(&k->here);
	leave_out_torn(k, w);
	publish_due(k);
	*ret_busy = false;
	if (!k->done && learn_done(k, err))
		return -1;
	if (w->flush && !w->failed)
		say_unrecognized(k);
	rc = k->r->conf->rank ? follow_mark(k, w, ret_busy, err)
			      : complete_one(k, w, ret_busy, err);
	publish_due(k);
	return rc;
}

void *runs_keep(void *runs)
{
	struct runs *r = runs;
	struct keeper k = { .r = r, .here = r->opened };
	struct error err = { 0 };
	bool busy = false;
	struct wish w;

	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread, and what it starts */
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){ 0 });
	if (place_open(&k.place, r->conf->uri, r->conf->env, r->conf->env_ctx, &err))
		runs_say(r, "%s", err.msg);
	for (w = next_wish(&k, false); !w.over; w = next_wish(&k, busy)) {
		bool failed;

		err = (struct error){ 0 };
		failed = step(&k, &w, &busy, &err) && err.kind != ERR_CONFLICT &&
			 err.kind != ERR_NOT_FOUND;
		runs_trouble(r, &k.failing, failed ? &err : NULL);
		pthread_mutex_lock(&r->lock);
		r->keep_done = w.flush && !busy &&
			       (!failed || clock_ms() > k.failing + RUNS_GIVE_UP_MS);
		pthread_mutex_unlock(&r->lock);
		runs_wake(r);
		if (failed)
			clock_sleep_ms(1000);
	}
	return NULL;
}
