/*
 * text.h - rows as text: JSON, a line each, and CSV (RFC 4180).
 *
 * Exact: numbers read back to the same bits, decimals are strings. Bytes are base64, UUIDs
 * hex; times are ISO 8601, with Z where they are moments. NaN and the infinities, which
 * JSON lacks, are strings. A map is an object when its keys are strings, else a list of
 * pairs. What is not UTF-8 becomes U+FFFD.
 */
#ifndef ARROW_TEXT_H
#define ARROW_TEXT_H

#include "arrow/parquet.h"
#include "base/buf.h"

/* One value; `null` where it is null. */
void text_json(struct buf *out, const struct array *a, int64_t row);

/* {"column":value,...} and a newline. */
void text_json_row(struct buf *out, const struct batch *b, int64_t row);

/* Nulls are empty, empty strings are quoted; what has children is JSON. */
void text_csv_head(struct buf *out, const struct field *columns, size_t n,
		   const bool *chosen);
void text_csv_row(struct buf *out, const struct batch *b, int64_t row);

#endif
