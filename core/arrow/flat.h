/*
 * flat.h - FlatBuffers (flatbuffers.dev, "Internals"): Arrow's messages are tables of these.
 *
 * Write strings and vectors first, then the table that refers to them by the numbers that
 * writing them returned. Reading checks every offset; an absent field has its default.
 * nanoarrow's IPC is not used because its encoder copies bodies and its decoder needs a
 * runtime, for only six tables.
 */
#ifndef ARROW_FLAT_H
#define ARROW_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { FLAT_SLOTS = 8 };

/* Grows from its end to its beginning. { 0 } is an empty one. */
struct flat {
	uint8_t *data;
	size_t cap, used;
	size_t table;              /* where the current table's fields end */
	uint32_t slot[FLAT_SLOTS]; /* its fields: distance from the end; 0: none */
};

void flat_release(struct flat *f);

/* Return the distance from the end, for flat_ref() and flat_refs(). */
uint32_t flat_str(struct flat *f, const char *s);
uint32_t flat_refs(struct flat *f, const uint32_t *refs, size_t n);
uint32_t flat_structs(struct flat *f, const void *data, size_t size, size_t n);

/* One table at a time; its parts before it. flat_int(): size 1, 2, 4 or 8. */
void flat_begin(struct flat *f);
void flat_int(struct flat *f, int slot, size_t size, int64_t value);
void flat_ref(struct flat *f, int slot, uint32_t to); /* 0: the field stays absent */
uint32_t flat_end(struct flat *f);

/* The whole message, a multiple of 8 bytes long. */
void flat_finish(struct flat *f, uint32_t root, struct buf *out);

/* ---- reading ---- */

struct flat_table {
	const uint8_t *data; /* NULL: absent; all of its fields are */
	size_t len, at;      /* of the message, and in it */
};

struct flat_vector {
	const uint8_t *data;
	size_t n;
};

MUST_CHECK int flat_open(struct flat_table *ret, const void *data, size_t len,
			 struct error *err);
MUST_CHECK int flat_get_int(const struct flat_table *t, int slot, size_t size,
			    int64_t absent, int64_t *ret, struct error *err);
MUST_CHECK int flat_get_table(const struct flat_table *t, int slot,
			      struct flat_table *ret, struct error *err);
/* Elements of `size` bytes each, of a string too. */
MUST_CHECK int flat_get_vector(const struct flat_table *t, int slot, size_t size,
			       struct flat_vector *ret, struct error *err);
/* Element i of a vector of tables. */
MUST_CHECK int flat_element(const struct flat_table *t, const struct flat_vector *v,
			    size_t i, struct flat_table *ret, struct error *err);

#define cleanup_flat __attribute__((cleanup(flat_release)))

#endif
