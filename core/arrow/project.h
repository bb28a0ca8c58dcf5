/*
 * project.h - map a file's columns to a table's, by field id (iceberg/format/spec.md,
 * "Column Projection") or by name.
 *
 * Integers, floats and decimals widen; times take the table's unit. A column that the file
 * lacks is a constant of its partition, the column's initial value, or null.
 */
#ifndef ARROW_PROJECT_H
#define ARROW_PROJECT_H

#include "arrow/codec.h"
#include "arrow/parquet.h"
#include "base/cleanup.h"

/* The value of a column in all rows of a file. */
struct project_constant {
	int32_t id; /* the column's field id; by_name: its place in `to` */
	bool null;
	int64_t number; /* for booleans, integers, dates and times */
	double real;
	struct bytes bytes; /* for other types; decimals are big-endian */
};

struct projection;

/*
 * Columns `to` of columns `from`, both of which must outlive it. ERR_UNSUPPORTED: a type
 * that cannot become the table's; ERR_FORMAT: a required column that the file lacks, or
 * two columns of one field id.
 */
struct project_sides {
	const struct field *to, *from;
	size_t n_to, n_from;
	const struct project_constant *constants;
	size_t n_constants;
	bool by_name; /* constants come before columns of the file */
};
MUST_CHECK int projection_new(struct projection **ret, const struct project_sides *sides,
			      struct error *err);
void projection_free(struct projection *p); /* NULL is fine */

/* ret_from: the columns of the file needed for the table's with columns[i]; NULL: all. */
void projection_reads(const struct projection *p, const bool *columns, bool *ret_from);
/* The file's column for this one of the table; -1: none. */
ptrdiff_t projection_from(const struct projection *p, size_t column);

/*
 * Converts `b` from the file's columns of projection_reads(), in their order, to the
 * table's with columns[i]. After an error it is unchanged or empty: release it.
 */
MUST_CHECK int projection_apply(const struct projection *p, const bool *columns,
				struct batch *b, struct budget *budget,
				struct error *err);

CLEANUP(projection, struct projection *, projection_free);
#define cleanup_projection __attribute__((cleanup(cleanup_projectionp)))

#endif
