/*
 * values.h - the values of a page, as the rows of an array.
 *
 * A decoder gives the values that are not null, one after another, in any number of
 * calls; they are put down without gaps, and values_spread() moves them to where the
 * validity says that they belong. What a page takes is counted against its budget.
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
	struct block last; /* the string before, of DELTA_BYTE_ARRAY */
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
 * The next m values become rows from a->n on, without gaps, for n >= m rows there, for
 * which a has room (values_reserve()). With gaps, values_spread() follows.
 */
MUST_CHECK int values_reserve(struct values *v, struct array *a, uint64_t n,
			      struct error *err);
MUST_CHECK int values_take(struct values *v, struct array *a, uint64_t n, uint64_t m,
			   struct error *err);
void values_release(struct values *v);

#endif
