/* memtable_impl.h - shared by the files of memtable.h. */
#ifndef CACHE_MEMTABLE_IMPL_H
#define CACHE_MEMTABLE_IMPL_H

#include "cache/memtable.h"

struct message {
	const uint8_t *data;                      /* with gRPC's prefix */
	uint32_t len, metadata, n_metadata, body; /* `metadata`, `body`: offsets */
	int64_t first, n;
};

/* Memory in which messages are stored, one after another. */
struct slab {
	uint8_t *data;
	size_t cap, used;
	bool file, large; /* of large.h */
};

struct memtable {
	atomic_int refs;
	struct dataset *dataset;
	const struct field *fields;
	size_t n_fields;
	struct rows rows;
	struct ipc_form form;
	struct buf schema;
	struct message *messages;
	size_t n, cap;
	struct slab *slabs;
	size_t n_slabs;
	uint64_t bytes, spilled;
};

/* The intersection; { 0 }: empty. */
static inline struct rows rows_meet(struct rows a, struct rows b)
{
	struct rows both = { a.first > b.first ? a.first : b.first,
			     a.end < b.end ? a.end : b.end };

	return both.first < both.end ? both : (struct rows){ 0 };
}

/*
 * Write the bytes before the body: prefix, metadata, the body's tag and length; returns
 * their size. `to` may be NULL.
 */
size_t message_head(uint8_t *to, const struct ipc_plan *p, uint32_t *ret_metadata);

#endif
