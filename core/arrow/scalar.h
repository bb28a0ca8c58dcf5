/*
 * scalar.h - a single value, for comparing it with others of its column's type.
 */
#ifndef ARROW_SCALAR_H
#define ARROW_SCALAR_H

#include "arrow/array.h"
#include "arrow/codec.h"
#include "arrow/schema.h"
#include "base/json.h"

enum scalar_class {
	SCALAR_NONE,    /* types that cannot be compared */
	SCALAR_INTEGER, /* also booleans, dates, times, and decimals without their point */
	SCALAR_REAL,
	SCALAR_BYTES,
};

struct scalar {
	__int128 integer;
	double real;
	struct bytes bytes;
};

enum scalar_class scalar_class(const struct field *f);

/* < 0, 0, > 0; SCALAR_UNORDERED: one is NaN. */
enum { SCALAR_UNORDERED = 2 };
int scalar_compare(enum scalar_class class, const struct scalar *a,
		   const struct scalar *b);

/* A row that is not null. */
struct scalar scalar_at(const struct array *a, int64_t row);

/* Decode a bound of Parquet's statistics; false: unusable. */
bool scalar_of_statistics(struct scalar *ret, const struct leaf_type *leaf,
			  struct thrift_bytes bytes);

/* Decode a literal, as text.h prints it. ERR_INVALID: wrong type, or out of range. */
MUST_CHECK int scalar_of_json(struct scalar *ret, struct arena *arena,
			      const struct field *f, const cJSON *v, struct error *err);

#endif
