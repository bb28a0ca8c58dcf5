/*
 * holdings.h - the rows that a worker has or is loading: its own, and those of missing
 * workers.
 *
 * A thread loads them one after another. Rows that a new assignment also has remain
 * loaded; others are freed once their last reader is done.
 */
#ifndef CACHE_HOLDINGS_H
#define CACHE_HOLDINGS_H

#include <sys/uio.h>

#include "base/json.h"
#include "cache/memtable.h"
#include "cache/serve.h"
#include "cache/ticket.h"

struct holdings;

/* The rows to hold: rows[0] are the worker's own, the others are loans. */
struct assignment {
	const struct rows *rows;
	size_t n;
	int64_t total;        /* rows of the table, as the head counts them */
	const char *snapshot; /* NULL: the current one */
	const char *table;    /* its table_name(); NULL: any */
	/*
	 * Set by upstream's head: the worker's own rows are those of these data files,
	 * numbered from rows[0].first.
	 */
	char *const *files;
	size_t n_files;
};

struct holdings *holdings_new(const struct cache_conf *conf); /* must outlive it */
void holdings_free(struct holdings *h); /* waits until the running load has stopped */

/* Start the thread that loads what is assigned, before or from now on. */
MUST_CHECK int holdings_start(struct holdings *h, struct error *err);

/*
 * Assign rows; rows that failed to load are tried again. Never blocks. An assignment that
 * is not yet begun is replaced.
 */
void holdings_assign(struct holdings *h, const struct assignment *a);

bool holdings_ready(struct holdings *h);      /* own rows are loaded, as the head knows */
void holdings_report(struct holdings *h);     /* the head is sent the state */
cJSON *holdings_describe(struct holdings *h); /* "state", "first", ... of serve_impl.h */

/*
 * Begin a read (memtable_read()) of a ticket's rows; if files are assigned, of the rows
 * that they have. No rows: the schema. ERR_BUSY, with the cause: no holding has all of the
 * rows, or it is not loaded, or the rows are those of another table. ERR_INVALID: the
 * view.
 */
MUST_CHECK int holdings_read(struct holdings *h, const struct ticket *t,
			     enum ipc_codec codec, void **ret, struct error *err);

#endif
