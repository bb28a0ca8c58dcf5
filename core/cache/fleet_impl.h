/* fleet_impl.h - shared by the files of fleet.h. */
#ifndef CACHE_FLEET_IMPL_H
#define CACHE_FLEET_IMPL_H

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "cache/claim.h"
#include "cache/fleet.h"
#include "net/http.h"

enum { FLEET_TEXT = 1000, MAX_ORIGIN = 300, FLEET_SECRET = 80 };
enum {
	FAILED_MS = 5000,           /* after which failed rows are assigned again */
	FLEET_POLL_MS = 100,        /* between polls of a worker that loads */
	FLEET_READY_POLL_MS = 1000, /* between polls of a ready worker */
};

/* Rows of a missing worker, lent to another one. */
struct loan {
	struct rows rows;
	struct remote *holder;
	int tries;        /* number of workers tried as its holder */
	int64_t moved_ms; /* when its holder was chosen, or has failed */
	bool again;       /* the holder has failed, and shall try again */
	bool ready;
	char error[FLEET_TEXT]; /* why the holder failed */
};

/*
 * The head's state of a worker. Members that change are guarded by the fleet's lock.
 */
struct remote {
	struct fleet *fleet;
	const struct cache_address *address;
	char origin[MAX_ORIGIN];
	pthread_t thread;
	struct http_client *http;
	struct log_last logged;
	struct rows polled_rows; /* `rows` when this poll began */
	int64_t failed_ms;       /* since when it has failed; 0: it has not */
	int64_t unanswered_ms;   /* when it stopped answering; 0: it answers */
	int64_t back_ms;         /* when it got its rows again; 0: it has not */
	bool assigned;           /* this head has sent it an assignment */

	struct rows rows; /* its own */
	bool ready;       /* as of the last poll */
	bool upstream;    /* a worker of upstream's */
	char trouble[FLEET_TEXT];
	struct loan *loans; /* loans of its rows, in their order */
	size_t n_loans;
};

struct fleet {
	const struct cache_conf *conf;
	const struct table *table;
	int64_t rows; /* of the table */
	char table_name[TABLE_NAME + 1];
	struct remote *remotes;
	int n_remotes;
	pthread_mutex_t lock;
	bool ever_ready; /* all workers have been ready at some time */
	bool resumed;    /* all workers were ready for a head before this one */
	bool by_files;   /* assign whole files: there are upstream's workers */
	char secret[FLEET_SECRET];
};

/* Headers for calls to workers; NULL: none is needed. */
static inline const char *fleet_header(const struct fleet *f, struct arena *arena)
{
	const struct cache_auth *auth = &f->conf->auth;

	return auth->header ? auth->header(auth->ctx, arena) : NULL;
}

static inline const char *fleet_claim(const struct fleet *f, struct arena *arena)
{
	const struct cache_auth *auth = &f->conf->head_auth;
	const char *line = auth->header ? auth->header(auth->ctx, arena) : NULL;

	return arena_printf(arena, CLAIM_HEADER ": %s",
			    line ? strchr(line, ':') + 2 : f->secret);
}

/* The worker's "HOST:PORT". */
static inline const char *remote_address(const struct remote *r)
{
	return strstr(r->origin, "//") + 2;
}

/* ---- fleet.c: a poll of a worker, without the calls ---- */

/* *ret is set also upon failure: fleet_free() it. */
MUST_CHECK int fleet_new(struct fleet **ret, const struct cache_conf *conf,
			 const struct table *table, struct error *err);
void fleet_free(struct fleet *f);

/*
 * A poll begins, has one of the three outcomes, which return whether the worker has its
 * rows (`trouble`: why not), and ends with that.
 */
void fleet_poll_begin(struct remote *r);
/* The worker's answer to "health". *ret_wants: send it fleet_assignment(). */
bool fleet_poll_answer(struct remote *r, const cJSON *doc, bool *ret_wants,
		       char trouble[FLEET_TEXT]);
bool fleet_poll_silence(struct remote *r, const char *why, char trouble[FLEET_TEXT]);
/* The worker is upstream's: all workers get whole files from now on. */
bool fleet_poll_upstream(struct remote *r, char trouble[FLEET_TEXT]);
void fleet_poll_end(struct remote *r, bool ready, const char *trouble);

char *fleet_assignment(struct remote *r); /* the body of "assign"; free() it */

/* ---- upstream.c ---- */

/* Is this upstream's worker: does it answer, but without any actions? */
bool upstream_is(struct remote *r);
/* As poll_worker() for our workers; assigns its rows if it has none. */
bool upstream_poll(struct remote *r, char trouble[FLEET_TEXT]);

/* ---- loans.c: under the lock ---- */

void loans_make(
	struct remote *r); /* lend a missing worker's rows, or move failed loans */
void loans_end(struct remote *r);
/* The loans that a worker shall hold, for "assign": [[first, end], ...]. */
cJSON *loans_with(const struct remote *holder);
/* Record the reported state of the holder's loans; false: it holds other ones. */
bool loans_record(struct remote *holder, const cJSON *more);
bool loans_ready(const struct remote *r,
		 struct rows rows); /* are all of these lent and loaded? */

#endif
