/* fleet_impl.h - what the files of fleet.h share. */
#ifndef CACHE_FLEET_IMPL_H
#define CACHE_FLEET_IMPL_H

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "cache/fleet.h"
#include "net/http.h"

enum { FLEET_TEXT = 1000, MAX_ORIGIN = 300 };
enum { FAILED_MS = 5000 }; /* before a worker that failed is told to try again */

/* Rows of a worker that is gone, with another one. */
struct loan {
	struct rows rows;
	struct remote *holder;
	int tries; /* workers that were asked to hold it */
	bool ready;
	char error[FLEET_TEXT]; /* why the last one of them could not */
};

/* Of what the head knows about a worker, what changes is under the fleet's lock. */
struct remote {
	struct fleet *fleet;
	const struct cache_worker_place *place;
	char origin[MAX_ORIGIN];
	pthread_t thread;
	struct http_client *http;
	struct log_last said;
	struct rows goal;  /* `rows` when this look began */
	int64_t failed_ms; /* since when it is failed; 0: it is not */
	int64_t away_ms;   /* since when it does not answer; 0: it does */

	struct rows rows; /* its own */
	bool ready;       /* as of the last look */
	bool upstream;    /* a worker of upstream's */
	char trouble[FLEET_TEXT];
	struct loan *loans; /* of its rows, in their order */
	size_t n_loans;
};

struct fleet {
	const struct cache_conf *conf;
	const struct dataset *dataset;
	int64_t rows; /* of the table */
	struct remote *remotes;
	int n_remotes;
	pthread_mutex_t lock;
	bool was_ready; /* all workers were, once */
	bool by_files;  /* for upstream's workers, which load whole files */
};

/* A header for calls to workers; NULL: none is needed. */
static inline const char *fleet_header(const struct fleet *f, struct arena *arena)
{
	const struct cache_auth *auth = &f->conf->auth;

	return auth->header ? auth->header(auth->ctx, arena) : NULL;
}

/* Its "HOST:PORT". */
static inline const char *remote_address(const struct remote *r)
{
	return strstr(r->origin, "//") + 2;
}

/* ---- upstream.c ---- */

/* Is it a worker of upstream's? One that answers, though it knows no actions, is. */
bool upstream_is(struct remote *r);
/* As look() of one of ours; gives it its rows where it has none. */
bool upstream_look(struct remote *r, char trouble[FLEET_TEXT]);

/* ---- loans.c: under the lock ---- */

void loans_make(
	struct remote *r); /* of a worker that is gone, or moves those that failed */
void loans_end(struct remote *r);
/* What a worker is to hold of others' rows, as of "assign": [[first, end], ...]. */
cJSON *loans_with(const struct remote *holder);
/* Takes over what the worker says of them; false: it has others. */
bool loans_note(struct remote *holder, const cJSON *more);
bool loans_ready(const struct remote *r, struct rows rows); /* all of these are */

#endif
