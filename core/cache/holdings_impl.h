/* holdings_impl.h - shared by the files of holdings.h: what is held, and who loads it. */
#ifndef CACHE_HOLDINGS_IMPL_H
#define CACHE_HOLDINGS_IMPL_H

#include <pthread.h>

#include "cache/holdings.h"
#include "cache/serve_impl.h"

enum { HOLDING_TEXT = 1000 };

struct holding {
	struct rows rows;
	char **files; /* rows of these files; NULL: of the table */
	size_t n_files;
	enum cache_state state;
	struct memtable *table; /* set in CACHE_READY */
	bool reported;          /* the head knows that it is ready */
	char error[HOLDING_TEXT];
};

/* An assignment, and the state of its rows. */
struct holdings_set {
	struct holding *list; /* the own rows, then loans */
	size_t n;
	int64_t total;
	char *snapshot, *table;
};

struct holdings {
	const struct cache_conf *conf;
	atomic_bool cancel;          /* stops the running load */
	atomic_int_least64_t loaded; /* rows of the running load */
	pthread_t loader;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t news;
	bool has_loader, stopping;
	struct holdings_set now;   /* the list is changed only by the loader */
	struct holdings_set *next; /* for the loader; NULL: nothing new */
};

/* ---- holdings.c: the steps of the loader, without I/O ---- */

/* Begin the assignment that waits, if any. Rows that are not in it are freed. */
void holdings_next(struct holdings *h);
/* The rows to load after these (NULL: the first); NULL: none, or an assignment waits. */
struct holding *holdings_begin(struct holdings *h, struct holding *last);
/* The load has ended: with the rows, or (NULL) with this error. */
void holdings_end(struct holdings *h, struct holding *it, struct memtable *take_table,
		  const struct error *err);

/* Is it the table whose rows are assigned? ERR_CONFLICT. */
MUST_CHECK int holdings_check(const struct holdings *h, const struct table *t,
			      struct error *err);

/* ---- holdings_load.c ---- */

void holdings_stop(struct holdings *h); /* end the thread, if it was started */

#endif
