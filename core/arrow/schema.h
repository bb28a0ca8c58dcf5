/*
 * schema.h - build Arrow's fields from a Parquet file's schema.
 *
 * Types follow Parquet's own rules (LogicalTypes.md of apache/parquet-format), including
 * those for lists and maps of old writers; pyarrow's ARROW:schema is ignored. INT96 is a
 * timestamp in nanoseconds, or in microseconds (parquet_int96_us).
 */
#ifndef ARROW_SCHEMA_H
#define ARROW_SCHEMA_H

#include "arrow/array.h"
#include "arrow/footer.h"

struct leaf_type {
	struct field *field;
	int32_t physical; /* enum physical */
	uint32_t width;   /* of a physical value; 0: bits or strings */
	uint8_t max_def, max_rep;
	bool in_group;  /* inside groups, which need its levels */
	bool unordered; /* minimum and maximum mean nothing */
	char *path;     /* "a.list.element": for messages */
};

struct schema {
	struct field *fields; /* the columns */
	size_t n_fields;
	struct leaf_type *leaves; /* in the file's order */
	size_t n_leaves;
};

/* ERR_FORMAT: not a valid tree. ERR_UNSUPPORTED: an unknown type. */
MUST_CHECK int schema_build(struct schema *ret, const struct footer *footer,
			    struct budget *budget, struct arena *arena,
			    struct error *err);

#endif
