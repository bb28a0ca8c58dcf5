/*
 * dataset.h - the table that a place names, with what it needs to be read.
 */
#ifndef CACHE_DATASET_H
#define CACHE_DATASET_H

#include "arrow/ipc.h"
#include "cache/table.h"

struct dataset;

struct dataset_conf {
	const char *location;                            /* a URI, or a path */
	uint64_t memory;                                 /* for decoding */
	const char *(*env)(void *ctx, const char *name); /* as places_conf's */
	void *env_ctx;
};

MUST_CHECK int dataset_open(struct dataset **ret, const struct dataset_conf *conf,
			    struct error *err);
void dataset_free(struct dataset *d); /* NULL is fine */

const struct table *dataset_table(const struct dataset *d);
struct ipc_form dataset_form(const struct dataset *d);

/* Worker i of n's rows: whole units, as even as these allow. */
struct rows dataset_part(const struct dataset *d, int64_t i, int64_t n);

static inline void cleanup_datasetp(struct dataset **d)
{
	dataset_free(*d);
}
#define cleanup_dataset __attribute__((cleanup(cleanup_datasetp)))

#endif
