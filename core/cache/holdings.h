/*
 * holdings.h - the rows that a worker has, or is loading: its own, and those of workers
 * that are gone.
 *
 * A thread loads them one after another. Rows that are wanted again stay; what is not
 * wanted any more ends once its last reader is done.
 */
#ifndef CACHE_HOLDINGS_H
#define CACHE_HOLDINGS_H

#include <sys/uio.h>

#include "base/json.h"
#include "cache/memtable.h"
#include "cache/serve.h"

struct holdings;

/* What a worker is to have. `rows[0]` are its own. */
struct assignment {
	const struct rows *rows;
	size_t n;
	int64_t total;        /* rows of the table, as the head counts them */
	const char *snapshot; /* NULL: the current one */
	/*
	 * Not NULL: upstream's head. Its own rows are those of these data files; what
	 * counts of rows[0] is `first`, the number of the first one.
	 */
	char *const *files;
	size_t n_files;
};

struct holdings *holdings_new(const struct cache_conf *conf); /* which outlives it */
void holdings_free(struct holdings *h); /* waits for what is being loaded to stop */

/* As it is, nothing happens; own rows that failed to load are loaded again. */
MUST_CHECK int holdings_assign(struct holdings *h, const struct assignment *a,
			       struct error *err);

bool holdings_ready(struct holdings *h);      /* its own rows are loaded */
cJSON *holdings_describe(struct holdings *h); /* "state", "first", ... of serve_impl.h */

/*
 * A read (memtable.h) of these rows, of the first holding that has one of them, its own
 * where none has. `view`: JSON of view.h, or empty. ERR_BUSY: that one is not loaded; the
 * message says why. ERR_INVALID: the view.
 */
MUST_CHECK int holdings_read(struct holdings *h, struct rows rows, struct iovec view,
			     enum ipc_codec codec, void **ret, struct error *err);

#endif
