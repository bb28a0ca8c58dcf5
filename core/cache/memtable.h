/*
 * memtable.h - rows of a table in memory, as the messages that clients get.
 *
 * Rows are decoded once and kept as Arrow Flight's messages of 2 MiB at most (one row may
 * be larger). A read sends them from where they are; only the two at its edges are cut.
 * A memtable does not change. Who uses it has a reference.
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
	uint64_t memory;         /* most bytes of messages */
	int64_t base;            /* is added to the numbers of rows once it is loaded */
	const char *spill;       /* directory for what is beyond; NULL: ERR_LIMIT */
	const atomic_bool *stop; /* ERR_STOPPED when set */
	atomic_int_least64_t *loaded; /* rows so far, for who watches; or NULL */
};

/*
 * Decodes these rows, in several threads. Takes the data set in every case: it lives as
 * long as the memtable. ERR_LIMIT: they do not fit; before anything is read where that is
 * certain by then.
 */
MUST_CHECK int memtable_load(struct memtable **ret, struct dataset *take_dataset,
			     struct rows rows, const struct memtable_conf *conf,
			     struct error *err);
struct memtable *memtable_ref(struct memtable *m);
void memtable_unref(struct memtable *m); /* NULL is fine */

struct rows memtable_rows(const struct memtable *m);
uint64_t memtable_bytes(const struct memtable *m);   /* of messages */
uint64_t memtable_spilled(const struct memtable *m); /* of these, those in files */

/*
 * A read: the schema, then these of the rows that the memtable has, as the view wants them
 * (NULL: as they are). It holds a reference. `ctx` is for grpc_source.
 */
void *memtable_read(struct memtable *m, struct rows rows, struct view *take_view);
void memtable_read_next(void *ctx, struct h2_piece *ret); /* len 0: the end */
void memtable_read_release(void *ctx);

const struct field *memtable_columns(const struct memtable *m, size_t *ret_n);

/* A schema's FlightData with gRPC's prefix. */
void memtable_schema(struct buf *out, const struct field *fields, size_t n,
		     struct ipc_form form);

#endif
