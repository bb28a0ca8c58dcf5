/* tail.c - the logs of a job for one viewer. */
#include "ui/tail.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "client/logs.h"
#include "ui/html.h"
#include "ui/job.h"

enum { RING_BYTES = 32 << 10, WAIT_MS = 1000 };

struct line {
	struct line *next;
	uint64_t seq;
	size_t len;
	char json[];
};

struct tail {
	struct tail *next;
	uint64_t id;
	struct tails *all;
	struct arena arena; /* of the next three */
	const char *ns, *job, *only;
	int64_t lines;
	struct buf scratch; /* used by the thread alone, as `fresh` */
	size_t fresh;       /* bytes since the board was rung */
	pthread_t thread;
	bool cancel; /* atomic */
	pthread_mutex_t lock;
	pthread_cond_t room;
	struct line *first, **last;
	size_t bytes;
	uint64_t seq, acknowledged; /* of the last line; of the last acknowledged one */
	bool ended;
	unsigned turn;
	int users;       /* guarded by all->lock, as `left_ms` */
	int64_t left_ms; /* when it was left */
};

/* ---- the thread -------------------------------------------------------------------------- */

static bool is_wanted(const struct tail *t, const char *prefix)
{
	const char *at = t->only;
	size_t n = strlen(prefix);

	while (at && *at && (strncmp(at, prefix, n) || (at[n] && at[n] != ','))) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return !t->only || (at && *at);
}

/* The caller holds the lock. Drop the oldest line if it is acknowledged. */
static bool drop_acknowledged(struct tail *t)
{
	struct line *line = t->first;

	if (!line || line->seq > t->acknowledged)
		return false;
	t->first = line->next;
	if (!t->first)
		t->last = &t->first;
	t->bytes -= sizeof(*line) + line->len;
	free(line);
	return true;
}

static bool is_cancelled(const struct tail *t)
{
	return __atomic_load_n(&t->cancel, __ATOMIC_ACQUIRE);
}

static void flush(struct tail *t)
{
	if (t->fresh)
		board_notify(t->all->board);
	t->fresh = 0;
}

/* Keep t->scratch as a line; waits for arrivals while there is no room. */
static void keep(struct tail *t)
{
	struct line *line = xmalloc(sizeof(*line) + t->scratch.len);

	line->next = NULL;
	line->len = t->scratch.len;
	memcpy(line->json, t->scratch.data, line->len);
	pthread_mutex_lock(&t->lock);
	while (t->bytes + line->len > TAIL_BYTES && !is_cancelled(t))
		if (!drop_acknowledged(t)) {
			pthread_mutex_unlock(&t->lock);
			flush(t);
			pthread_mutex_lock(&t->lock);
			if (t->first && t->first->seq > t->acknowledged)
				cond_wait_until(&t->room, &t->lock, clock_ms() + WAIT_MS);
		}
	line->seq = ++t->seq;
	*t->last = line;
	t->last = &line->next;
	t->bytes += sizeof(*line) + line->len;
	pthread_mutex_unlock(&t->lock);
	t->fresh += line->len;
	if (t->fresh > RING_BYTES)
		flush(t);
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct tail *t = ctx;

	if (is_cancelled(t) || !is_wanted(t, prefix ? prefix : ""))
		return;
	buf_clear(&t->scratch);
	buf_adds(&t->scratch, "[");
	html_json(&t->scratch, prefix);
	html_line_json(&t->scratch, line, len < JOB_MAX_LINE ? len : JOB_MAX_LINE);
	if (len > JOB_MAX_LINE)
		buf_printf(&t->scratch, ",\" ... (%zu bytes in all)\"", len);
	buf_adds(&t->scratch, "],");
	keep(t);
}

static void on_note(void *ctx, const char *text)
{
	struct tail *t = ctx;

	buf_clear(&t->scratch);
	buf_adds(&t->scratch, "[null,");
	html_json(&t->scratch, text);
	buf_adds(&t->scratch, "],");
	keep(t);
}

static int on_pause(void *ctx, struct error *err)
{
	flush(ctx);
	return is_cancelled(ctx) ? error_set(err, ERR_STOPPED, "stopped") : 0;
}

static void *tail_main(void *ctx)
{
	struct tail *t = ctx;
	const struct logs_want query = { .ns = t->ns,
					 .job = t->job,
					 .rank = -1,
					 .tail = t->lines,
					 .follow = true,
					 .cancel = &t->cancel };
	const struct logs_out out = { .on_line = on_line,
				      .on_note = on_note,
				      .on_alone = on_note,
				      .on_pause = on_pause,
				      .ctx = t };
	struct error err = { 0 };

	if (logs_run(t->all->kube, &query, &out, &err) && !is_cancelled(t))
		on_note(t, err.msg);
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_mutex_unlock(&t->lock);
	board_notify(t->all->board);
	return NULL;
}

/* ---- viewers --------------------------------------------------------------------------- */

static void tail_free(struct tail *t)
{
	__atomic_store_n(&t->cancel, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->room);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	t->acknowledged = UINT64_MAX;
	while (drop_acknowledged(t))
		;
	buf_release(&t->scratch);
	pthread_cond_destroy(&t->room);
	pthread_mutex_destroy(&t->lock);
	arena_clear(&t->arena);
	free(t);
}

/*
 * Take the one that was left longest ago, if nobody reads it and that was before then:
 * nobody can join it any more. The caller holds all->lock.
 */
static struct tail *take_left(struct tails *all, int64_t before)
{
	struct tail **left = NULL, *ret;

	for (struct tail **at = &all->first; *at; at = &(*at)->next)
		if (!(*at)->users && (*at)->left_ms <= before &&
		    (!left || (*at)->left_ms < (*left)->left_ms))
			left = at;
	if (!left)
		return NULL;
	ret = *left;
	*left = ret->next;
	return ret;
}

/* Ends what take_left() found, whose place is free then. The caller holds all->lock. */
static bool end_left(struct tails *all, int64_t before)
{
	struct tail *t = take_left(all, before);

	if (!t)
		return false;
	pthread_mutex_unlock(&all->lock);
	tail_free(t);
	pthread_mutex_lock(&all->lock);
	all->n--;
	return true;
}

void tails_sweep(struct tails *all, bool every)
{
	int64_t before = every ? INT64_MAX : clock_ms() - TAIL_LINGER_MS;

	pthread_mutex_lock(&all->lock);
	while (end_left(all, before))
		;
	pthread_mutex_unlock(&all->lock);
}

static int tail_new(struct tails *all, const struct stream_query *query,
		    struct tail **ret, struct error *err)
{
	struct tail *t = xcalloc(1, sizeof(*t));

	t->all = all;
	t->ns = arena_strdup(&t->arena, query->ns);
	t->job = arena_strdup(&t->arena, query->job);
	t->only = arena_strdup(&t->arena, query->only);
	t->lines = query->lines;
	t->last = &t->first;
	t->users = 1;
	t->scratch.max = TAIL_BYTES;
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->room);
	if (thread_start(&t->thread, tail_main, t, err)) {
		arena_clear(&t->arena);
		free(t);
		return -1;
	}
	*ret = t;
	return 0;
}

/* Join the tail if it has all lines after seq. The caller holds all->lock. */
static bool can_go_on(struct tail *t, uint64_t seq)
{
	bool has;

	pthread_mutex_lock(&t->lock);
	has = seq <= t->seq && (seq == t->seq || (t->first && t->first->seq <= seq + 1));
	if (has) {
		t->users++;
		t->turn++;
		t->acknowledged = seq;
		pthread_cond_broadcast(&t->room);
	}
	pthread_mutex_unlock(&t->lock);
	return has;
}

/* The caller holds all->lock. */
static struct tail *find(struct tails *all, uint64_t id)
{
	struct tail *t = id ? all->first : NULL;

	while (t && t->id != id)
		t = t->next;
	return t;
}

void tail_acknowledge(struct tails *all, uint64_t id, uint64_t seq)
{
	struct tail *t;

	pthread_mutex_lock(&all->lock);
	t = find(all, id);
	if (t) {
		pthread_mutex_lock(&t->lock);
		if (seq > t->acknowledged && seq <= t->seq)
			t->acknowledged = seq;
		pthread_cond_broadcast(&t->room);
		pthread_mutex_unlock(&t->lock);
	}
	pthread_mutex_unlock(&all->lock);
}

/* The tail of that id, if it can go on; else NULL. The caller holds all->lock. */
static struct tail *rejoin(struct tails *all, const struct stream_query *query)
{
	struct tail *t = find(all, query->id.tail);

	return t && str_eq(t->job, query->job) && str_eq(t->ns, query->ns) &&
			       str_eq(t->only, query->only) &&
			       can_go_on(t, query->id.line)
		       ? t
		       : NULL;
}

/* A new one, in the place of one that nobody reads if need be. The caller holds all->lock. */
static int add(struct tails *all, struct stream_query *query, struct tail **ret,
	       struct error *err)
{
	while (all->n >= TAIL_MAX)
		if (!end_left(all, INT64_MAX))
			return error_set(err, ERR_BUSY, "%d logs are shown", TAIL_MAX);
	if (tail_new(all, query, ret, err))
		return -1;
	query->id.line = 0;
	query->id.tail = (*ret)->id = ++all->last_id;
	(*ret)->next = all->first;
	all->first = *ret;
	all->n++;
	return 0;
}

int tail_join(struct tails *all, struct stream_query *query, unsigned *turn,
	      struct tail **ret, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&all->lock);
	*ret = rejoin(all, query);
	if (!*ret)
		rc = add(all, query, ret, err);
	*turn = *ret ? (*ret)->turn : 0;
	pthread_mutex_unlock(&all->lock);
	return rc;
}

void tail_leave(struct tails *all, struct tail *t)
{
	pthread_mutex_lock(&all->lock);
	t->users--;
	t->left_ms = clock_ms();
	pthread_mutex_unlock(&all->lock);
}

bool tail_read(struct tail *t, unsigned turn, struct buf *out, uint64_t *seq, size_t max)
{
	struct line *line;
	bool go_on;

	pthread_mutex_lock(&t->lock);
	go_on = turn == t->turn;
	for (line = t->first; line && line->seq <= *seq; line = line->next)
		;
	for (; go_on && line && out->len < max; line = line->next) {
		buf_add(out, line->json, line->len);
		*seq = line->seq;
	}
	go_on = go_on && (!t->ended || *seq < t->seq);
	pthread_mutex_unlock(&t->lock);
	return go_on;
}
