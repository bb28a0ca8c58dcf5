/*
 * memtable.h - rows of a table in memory, stored as the messages that clients receive.
 *
 * Rows are decoded once and stored as Arrow Flight messages of at most 2 MiB (one row may
 * be larger). A read sends them without a copy; only those at its two edges are cut.
 * Immutable and reference-counted.
 */
#ifndef CACHE_MEMTABLE_H
#define CACHE_MEMTABLE_H

#include "arrow/ipc.h"
#include "cache/dataset.h"
#include "cache/view.h"
#include "net/h2.h"
#include <stdatomic.h>

struct memtable;

struct memtable_conf {
	uint64_t memory;              /* limit for the messages, bytes */
	int64_t base;                 /* added to row numbers once it is loaded */
	const char *spill;            /* directory for the excess; NULL: ERR_LIMIT */
	const atomic_bool *stop;      /* ERR_STOPPED when set */
	atomic_int_least64_t *loaded; /* counts the loaded rows; or NULL */
};

/*
 * Decode these rows in several threads. The memtable owns the dataset from now on, also
 * on failure. ERR_LIMIT: the rows do not fit; reported before anything is read if that is
 * certain.
 */
MUST_CHECK int memtable_load(struct memtable **ret, struct dataset *take_dataset,
			     struct rows rows, const struct memtable_conf *conf,
			     struct error *err);
struct memtable *memtable_ref(struct memtable *m);
void memtable_unref(struct memtable *m); /* NULL is fine */

struct rows memtable_rows(const struct memtable *m);
uint64_t memtable_bytes(const struct memtable *m);   /* of messages */
uint64_t memtable_spilled(const struct memtable *m); /* of messages that are in files */

/*
 * Begin a read: the schema, then the requested rows that the memtable has, through the
 * view (NULL: all columns and rows). The read holds a reference; it is the ctx of a
 * grpc_source.
 */
void *memtable_read(struct memtable *m, struct rows rows, struct view *take_view);
void memtable_read_next(void *ctx, struct h2_piece *ret); /* len 0: the end */
void memtable_read_release(void *ctx);

const struct field *memtable_columns(const struct memtable *m, size_t *ret_n);

/* Append the FlightData of a schema, with gRPC's prefix. */
void memtable_schema(struct buf *out, const struct field *fields, size_t n,
		     struct ipc_form form);

#endif
