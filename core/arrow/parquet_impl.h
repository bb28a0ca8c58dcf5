/* parquet_impl.h - declarations shared by parquet.c and scan.c. */
#ifndef ARROW_PARQUET_IMPL_H
#define ARROW_PARQUET_IMPL_H

#include "arrow/footer.h"
#include "arrow/parquet.h"
#include "arrow/schema.h"

struct parquet {
	struct arena arena;
	struct budget *budget;
	size_t taken; /* from the budget, for the metadata */
	uint64_t file_size;
	bool omits_header;  /* a chunk's size may lack the header of its dictionary */
	struct block bytes; /* the footer's: names and statistics point there */
	struct footer footer;
	struct schema schema;
};

static inline const struct row_group *parquet_group(const struct parquet *p, size_t i)
{
	return (const struct row_group *)p->footer.groups.at + i;
}

static inline const struct column_chunk *parquet_column(const struct parquet *p,
							size_t group, size_t leaf)
{
	return (const struct column_chunk *)parquet_group(p, group)->columns.at + leaf;
}

#endif
