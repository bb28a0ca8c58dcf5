/*
 * dataset.h - an open table with the storage clients, memory budget and IPC form to read
 * it.
 */
#ifndef CACHE_DATASET_H
#define CACHE_DATASET_H

#include "arrow/ipc.h"
#include "base/cleanup.h"
#include "cache/table.h"

struct dataset;

/* Data files of a table, by their names in it. */
struct dataset_files {
	char *const *at;
	size_t n;
};

struct dataset_conf {
	const char *location;                            /* a URI, or a path */
	const char *snapshot;                            /* as table_conf's */
	uint64_t memory;                                 /* limit for decoding, bytes */
	const char *(*env)(void *ctx, const char *name); /* as locations_conf's */
	void *env_ctx;
	const struct dataset_files *only; /* NULL: all; ERR_NOT_FOUND: one is missing */
};

/* Errors: those of table_open(). */
MUST_CHECK int dataset_open(struct dataset **ret, const struct dataset_conf *conf,
			    struct error *err);
void dataset_free(struct dataset *d); /* NULL is fine */

const struct table *dataset_table(const struct dataset *d);
struct ipc_form dataset_form(const struct dataset *d);
uint64_t dataset_memory(const struct dataset *d); /* the limit for decoding */

CLEANUP(dataset, struct dataset *, dataset_free);
#define cleanup_dataset __attribute__((cleanup(cleanup_datasetp)))

#endif
