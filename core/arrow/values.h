/*
 * values.h - decode the values of a page into the rows of an array.
 *
 * A decoder returns the non-null values in order, over any number of calls, and stores
 * them in their rows, by the validity bits. Memory is taken from the budget.
 */
#ifndef ARROW_VALUES_H
#define ARROW_VALUES_H

#include "arrow/array.h"
#include "arrow/delta.h"
#include "arrow/footer.h"
#include "arrow/hybrid.h"
#include "arrow/schema.h"

struct values {
	const struct leaf_type *type;
	struct budget *budget;
	int32_t encoding;
	const uint8_t *p, *end;
	uint64_t n; /* entries of the page: no decoder has more values */
	struct hybrid hybrid;
	struct delta delta;
	size_t split_at, split_n; /* BYTE_STREAM_SPLIT: the next value, of how many */
	struct block lengths;     /* u32 each, of the strings of a delta encoding */
	struct block prefixes;    /* the same, of DELTA_BYTE_ARRAY */
	size_t string_at, n_strings;
	struct block last; /* the previous string, for DELTA_BYTE_ARRAY */
	size_t last_len;
	struct array dictionary;
	bool has_dictionary;
	struct block scratch;
};

/* A page of n entries at most, from p to end. BLOCK_SLACK bytes after it can be read. */
MUST_CHECK int values_begin(struct values *v, int32_t encoding, const uint8_t *p,
			    const uint8_t *end, uint64_t n, struct error *err);
MUST_CHECK int values_dictionary(struct values *v, const uint8_t *p, const uint8_t *end,
				 uint64_t n, struct error *err);

/*
 * Store the next m values in n >= m rows from a->n on: those whose validity bits are set.
 * values_reserve() must have made room for n rows; a->n is left to the caller.
 */
MUST_CHECK int values_reserve(struct values *v, struct array *a, uint64_t n,
			      struct error *err);
MUST_CHECK int values_take(struct values *v, struct array *a, uint64_t n, uint64_t m,
			   struct error *err);
void values_release(struct values *v);

#endif
