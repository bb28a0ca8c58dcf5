/*
 * page_index.h - statistics of a column chunk's pages (PageIndex.md of parquet-format).
 */
#ifndef ARROW_PAGE_INDEX_H
#define ARROW_PAGE_INDEX_H

#include "arrow/codec.h"
#include "arrow/parquet.h"
#include "arrow/schema.h"

struct page_index {
	const struct leaf_type *leaf;
	int64_t rows; /* of the group */
	struct page_statistics {
		int64_t first_row;
		struct statistics statistics;
		bool only_nulls;
	} * pages;
	size_t n;
};

/* The places of a column's two indexes in the file; false: none, or nested. */
bool page_index_ranges(const struct parquet *p, size_t group, size_t column,
		       struct range *ret_columns, struct range *ret_offsets);

/* A column, and the bytes of its indexes, which must outlive the page_index. */
struct page_index_source {
	const struct parquet *file;
	size_t group, column;
	struct bytes columns, offsets;
};

/* The rest is in the arena. ERR_FORMAT. */
MUST_CHECK int page_index_read(struct page_index *ret,
			       const struct page_index_source *from, struct arena *arena,
			       struct error *err);

#endif
