/*
 * locations.h - open and list a table's files, local or remote.
 *
 * A URI is the user's text: file, pvc, s3 (s3a and s3n are the same), gs, http, https or
 * hf; without a scheme it is a local path. A location is a text of a table's metadata, of
 * which nothing is decoded. Credentials come from the environment, as for
 * initialize-dataset.
 */
#ifndef CACHE_LOCATIONS_H
#define CACHE_LOCATIONS_H

#include "arrow/budget.h"
#include "base/cleanup.h"
#include "store/range.h"

struct locations;

struct locations_conf {
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	void (*say)(void *ctx, const char *line);        /* or NULL */
	void *ctx;
	int tries;            /* 0: RETRY_TRIES */
	unsigned connections; /* 0: RANGE_CONNECTIONS */
};

/* Must outlive the objects opened from it. */
struct locations *locations_new(const struct locations_conf *conf);
void locations_free(struct locations *s); /* NULL is fine */

/* Thread-safe. size -1: unknown. ERR_FORMAT: the file has another size. */
MUST_CHECK int locations_open(struct locations *s, const char *location, int64_t size,
			      struct range_object **ret, struct error *err);

/*
 * The file that a URI names, or those below it whose names end in .parquet or .parq, in
 * any case. Names that begin with '_' or '.' are skipped, also of directories.
 */
struct location_file {
	const char *name;  /* the URI, and the path below it */
	const char *below; /* the path below the URI; the URI's own if it names a file */
	const struct range_conf *source;
	struct store_object o;
};
struct location_files {
	struct location_file *at;
	size_t n;
	bool named; /* the URI names one file */
	struct store_listing listing;
};
MUST_CHECK int locations_list(struct locations *s, const char *uri,
			      struct location_files *ret, struct error *err);
void location_files_release(struct location_files *f);

/* Read a whole object. ERR_LIMIT: more than `max` bytes. */
MUST_CHECK int locations_read(struct range_object *o, uint64_t max, struct block *to,
			      struct budget *budget, size_t *ret_len, struct error *err);

CLEANUP(locations, struct locations *, locations_free);
#define cleanup_locations      __attribute__((cleanup(cleanup_locationsp)))
#define cleanup_location_files __attribute__((cleanup(location_files_release)))

#endif
