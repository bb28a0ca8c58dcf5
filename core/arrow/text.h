/*
 * text.h - print rows as JSON, a line each, or CSV (RFC 4180).
 *
 * Lossless: numbers read back to the same bits, decimals are strings. Bytes are base64,
 * UUIDs hex; times are ISO 8601, with Z if they are UTC. NaN and the infinities, which
 * JSON lacks, are strings. A map with string keys is an object, else a list of pairs.
 * Invalid UTF-8 becomes U+FFFD.
 */
#ifndef ARROW_TEXT_H
#define ARROW_TEXT_H

#include "arrow/parquet.h"
#include "base/buf.h"

/* {"column":value,...} and a newline. */
void text_json_row(struct buf *out, const struct batch *b, int64_t row);

/* Nulls are empty, empty strings are quoted; lists, maps and structs are JSON. */
void text_csv_head(struct buf *out, const struct field *columns, size_t n,
		   const bool *chosen);
void text_csv_row(struct buf *out, const struct batch *b, int64_t row);

#endif
