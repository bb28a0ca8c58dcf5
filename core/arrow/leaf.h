/*
 * leaf.h - one leaf column of one row group, read from its first row to its last.
 *
 * The bytes of the column chunk, from its first page on, are borrowed; BLOCK_SLACK bytes
 * after them must be readable.
 */
#ifndef ARROW_LEAF_H
#define ARROW_LEAF_H

#include "arrow/codec.h"
#include "arrow/values.h"

struct leaf {
	const struct leaf_type *type;
	int32_t codec;
	struct codec_state *state; /* shared by the leaves of a scan */
	struct budget *budget;
	const uint8_t *p, *end;
	uint64_t base; /* of the chunk in the file, for messages */
	const uint8_t *begin;
	uint64_t entries_left; /* of the chunk, beyond the current page */
	/* Estimates from the file's sizes, for reserving memory. */
	double entries_per_row, bytes_per_entry;
	/* The current page. */
	uint64_t left; /* entries, not yet taken */
	struct block page;
	struct hybrid def;
	struct values values;
	/* All of the page's levels at once; only for a repeated leaf. */
	struct block page_defs, page_reps;
	size_t level_at;
	bool in_row; /* a row has begun and may go on */
};

/* Rows of the leaf, and their levels if groups need them. */
struct leaf_rows {
	struct array array;
	struct block defs, reps;
	size_t n_levels;
};

/* A chunk of `rows` rows. */
void leaf_begin(struct leaf *l, const struct leaf_type *type,
		const struct column_chunk *chunk, uint64_t rows, struct bytes bytes);

/* The next `rows` rows of the file: ERR_FORMAT when there are fewer. */
MUST_CHECK int leaf_take(struct leaf *l, struct leaf_rows *to, uint64_t rows,
			 struct error *err);
MUST_CHECK int leaf_skip(struct leaf *l, uint64_t rows, struct error *err);

/* Check after the last row that no data is left: ERR_FORMAT. */
MUST_CHECK int leaf_finish(struct leaf *l, struct error *err);

void leaf_release(struct leaf *l);
void leaf_rows_release(struct leaf_rows *rows);

#endif
