/* loans.c - lends the rows of missing workers to others (cache/fleet.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/fleet_impl.h"
#include "cache/serve_impl.h"

/* Can the worker hold loans? Upstream's workers hold only their own files. */
static bool may_hold(const struct remote *r)
{
	return r->ready && !r->upstream;
}

/* The next worker after `i` that may hold loans; NULL: none. */
static struct remote *next_ready(struct fleet *f, int i)
{
	for (int k = 1; k <= f->n_remotes; k++) {
		struct remote *r = &f->remotes[(i + k) % f->n_remotes];

		if (may_hold(r))
			return r;
	}
	return NULL;
}

static int index_of(const struct remote *r)
{
	return (int)(r - r->fleet->remotes);
}

static void lend_all(struct remote *r, int n)
{
	struct remote *to = r;

	/* Free memory: loans of workers that have their rows again only serve old tickets. */
	for (int i = 0; i < r->fleet->n_remotes; i++)
		if (r->fleet->remotes[i].ready)
			loans_end(&r->fleet->remotes[i]);
	r->loans = xcalloc((size_t)n + 1, sizeof(*r->loans));
	for (int i = 0; i < n; i++) {
		struct rows rows = table_part(r->fleet->table, r->rows, i, n);

		to = next_ready(r->fleet, index_of(to));
		if (rows.first < rows.end)
			r->loans[r->n_loans++] =
				(struct loan){ .rows = rows, .holder = to, .tries = 1 };
	}
	log_warn("worker is down; others load its rows", LOG_STR("worker", r->origin),
		 LOG_INT("first", r->rows.first), LOG_INT("end", r->rows.end),
		 LOG_INT("to", n));
}

/*
 * Move a loan to the next worker if its holder could not load it or is missing. After all
 * have been tried, they are again: the storage or memory that they lacked may be there.
 */
static void move(struct loan *l, struct fleet *f)
{
	struct remote *to = next_ready(f, index_of(l->holder));
	bool all = l->tries >= f->n_remotes;

	if ((l->holder->ready && !l->error[0]) || !to ||
	    (all && clock_ms() - l->moved_ms < FAILED_MS))
		return;
	l->again = to == l->holder;
	l->holder = to;
	l->tries = all ? 1 : l->tries + 1;
	l->moved_ms = clock_ms();
	l->ready = false;
	l->error[0] = 0;
}

void loans_make(struct remote *r)
{
	int n = 0;

	for (int i = 0; i < r->fleet->n_remotes; i++)
		n += may_hold(&r->fleet->remotes[i]);
	if (!r->n_loans && n && r->rows.first < r->rows.end)
		lend_all(r, n);
	for (size_t i = 0; i < r->n_loans; i++)
		move(&r->loans[i], r->fleet);
}

void loans_end(struct remote *r)
{
	free(r->loans);
	r->loans = NULL;
	r->n_loans = 0;
}

/* Call on(ctx, loan) for all loans that a worker holds. */
static void each_of(const struct remote *holder, void (*on)(void *ctx, struct loan *l),
		    void *ctx)
{
	const struct fleet *f = holder->fleet;

	for (int i = 0; i < f->n_remotes; i++)
		for (size_t k = 0; k < f->remotes[i].n_loans; k++) {
			struct loan *l = &f->remotes[i].loans[k];

			if (l->holder == holder)
				on(ctx, l);
		}
}

static void add(void *ctx, struct loan *l)
{
	cJSON *pair = cJSON_CreateArray();

	cJSON_AddItemToArray(pair, json_new_int(l->rows.first));
	cJSON_AddItemToArray(pair, json_new_int(l->rows.end));
	cJSON_AddItemToArray(ctx, pair);
}

cJSON *loans_with(const struct remote *holder)
{
	cJSON *list = cJSON_CreateArray();

	each_of(holder, add, list);
	return list;
}

/* A holder's own list of its loans, which is in the order of the rows, as the head's. */
struct answer {
	const cJSON *at; /* the next element; NULL: none */
	bool differs;    /* the rows must be assigned again */
};

static bool is_of(const cJSON *node, const struct loan *l)
{
	return json_int(node, -1, "first") == l->rows.first &&
	       json_int(node, -1, "end") == l->rows.end;
}

/* A loan that the holder does not list is not there, as after a restart. */
static void record_loan(void *ctx, struct loan *l)
{
	struct answer *a = ctx;
	const char *state, *why;
	bool failed;

	for (; a->at && json_int(a->at, -1, "first") < l->rows.first; a->at = a->at->next)
		a->differs = true;
	if (!is_of(a->at, l)) {
		a->differs = true;
		l->ready = false;
		return;
	}
	state = json_str(a->at, "state");
	why = json_str(a->at, "error");
	why = why ? why : "unknown";
	a->at = a->at->next;
	l->ready = str_eq(state, cache_state_words[CACHE_READY]);
	failed = str_eq(state, cache_state_words[CACHE_FAILED]);
	if (failed && !l->error[0])
		l->moved_ms = clock_ms();
	if (failed && l->again)
		a->differs = true;
	else
		snprintf(l->error, sizeof(l->error), "%s", failed ? why : "");
	l->again = l->again && !failed;
}

bool loans_record(struct remote *holder, const cJSON *more)
{
	struct answer a = { .at = more ? more->child : NULL };

	each_of(holder, record_loan, &a);
	return !a.differs && !a.at;
}

bool loans_ready(const struct remote *r, struct rows rows)
{
	for (size_t i = 0; i < r->n_loans; i++) {
		const struct loan *l = &r->loans[i];

		if (l->rows.first < rows.end && rows.first < l->rows.end &&
		    !(l->ready && l->holder->ready))
			return false;
	}
	return r->n_loans > 0;
}
