/*
 * convert.h - convert Parquet's physical values to Arrow's, if they differ.
 */
#ifndef ARROW_CONVERT_H
#define ARROW_CONVERT_H

#include "arrow/schema.h"

/*
 * Converts n values of leaf->width bytes each to field->width. convert_of() is NULL if
 * they are the same.
 */
typedef void convert_fn(const struct leaf_type *leaf, void *to, const void *from,
			size_t n);
convert_fn *convert_of(const struct leaf_type *leaf);

/* A big-endian number of len bytes, which must fit, as a decimal of width bytes. */
MUST_CHECK int convert_decimal(void *to, uint32_t width, const uint8_t *from, size_t len,
			       struct error *err);

/*
 * In place, spread m consecutive values over n slots: to those whose bits from `at` on
 * are set.
 */
void convert_spread(void *values, uint32_t width, const uint8_t *bits, uint64_t at,
		    uint64_t n, uint64_t m);

#endif
