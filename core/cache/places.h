/*
 * places.h - open and list a table's files, local or remote.
 *
 * A URI is the user's text: file, pvc, s3 (s3a and s3n are the same), gs, http, https or
 * hf; without a scheme it is a local path. A location is a text of a table's metadata, of
 * which nothing is decoded. Credentials come from the environment, as for
 * initialize-dataset.
 */
#ifndef CACHE_PLACES_H
#define CACHE_PLACES_H

#include "arrow/budget.h"
#include "base/cleanup.h"
#include "store/range.h"

struct places;

struct places_conf {
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	void (*say)(void *ctx, const char *line);        /* or NULL */
	void *ctx;
	int tries;            /* 0: RETRY_TRIES */
	unsigned connections; /* 0: RANGE_CONNECTIONS */
};

/* Must outlive the objects opened from it. */
struct places *places_new(const struct places_conf *conf);
void places_free(struct places *s); /* NULL is fine */

/* Thread-safe. size -1: unknown. ERR_FORMAT: the file has another size. */
MUST_CHECK int places_open(struct places *s, const char *location, int64_t size,
			   struct range_object **ret, struct error *err);

/*
 * The file that a URI names, or those below it whose names end in .parquet or .parq. Names
 * that begin with '_' or '.' are skipped, also of directories.
 */
struct place_file {
	const char *name;  /* the URI, and the path below it */
	const char *below; /* the path below the URI; the URI's own if it names a file */
	const struct range_conf *place;
	struct store_object o;
};
struct place_files {
	struct place_file *at;
	size_t n;
	bool named; /* the URI names one file */
	struct store_listing listing;
};
MUST_CHECK int places_list(struct places *s, const char *uri, struct place_files *ret,
			   struct error *err);
void place_files_release(struct place_files *f);

/* Read a whole object. ERR_LIMIT: more than `max` bytes. */
MUST_CHECK int places_read(struct range_object *o, uint64_t max, struct block *to,
			   struct budget *budget, size_t *ret_len, struct error *err);

CLEANUP(places, struct places *, places_free);
#define cleanup_places      __attribute__((cleanup(cleanup_placesp)))
#define cleanup_place_files __attribute__((cleanup(place_files_release)))

#endif
