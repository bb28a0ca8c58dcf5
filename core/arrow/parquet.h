/*
 * parquet.h - a Parquet file: bytes in, columns out.
 *
 * No I/O. The caller gets the footer's place from parquet_tail(), passes its bytes to
 * parquet_open(), gets the places of the column chunks of a row group, passes their bytes
 * to a scan, and takes batches of rows from it:
 *
 *     parquet_tail(&at, &len, last_bytes, file_size, err)
 *     parquet_open(&p, footer, len, file_size, budget, err)
 *     scan = parquet_scan_new(p, group, columns, budget)
 *     for each leaf that parquet_wants(scan, leaf):
 *             parquet_chunk(p, group, leaf, &range); parquet_scan_give(scan, leaf, bytes)
 *     parquet_skip(scan, rows), parquet_next(scan, &batch, rows)
 *
 * All sizes in a file are checked against the budget. Format: apache/parquet-format 2.12.
 * Encrypted files and columns are ERR_UNSUPPORTED.
 */
#ifndef ARROW_PARQUET_H
#define ARROW_PARQUET_H

#include "arrow/array.h"
#include "arrow/codec.h"
#include "base/cleanup.h"

enum { PARQUET_TAIL = 8, PARQUET_SLACK = BLOCK_SLACK };

struct parquet;
struct parquet_scan;

struct range {
	uint64_t offset, len;
};

/* Where the footer is, by the file's last PARQUET_TAIL bytes. */
MUST_CHECK int parquet_tail(struct range *ret, const uint8_t *tail, uint64_t file_size,
			    struct error *err);

/* Copies the footer's bytes. `budget` must outlive it. */
MUST_CHECK int parquet_open(struct parquet **ret, const void *footer, size_t len,
			    uint64_t file_size, struct budget *budget, struct error *err);
void parquet_free(struct parquet *p); /* NULL is fine */

const struct field *parquet_columns(const struct parquet *p, size_t *ret_n);
/* The same, for setting field ids. */
struct field *parquet_columns_mut(struct parquet *p, size_t *ret_n);
/* Read INT96 as microseconds: nanoseconds end in 2262. */
void parquet_int96_us(struct parquet *p);
size_t parquet_groups(const struct parquet *p);
int64_t parquet_rows(const struct parquet *p, size_t group);
size_t parquet_leaves(const struct parquet *p);

/* The place of a leaf's pages, which parquet_open() has checked to be within the file. */
struct range parquet_chunk(const struct parquet *p, size_t group, size_t leaf);

/* Estimates: a group's decoded size; how many of its rows have that many bytes. */
uint64_t parquet_bytes(const struct parquet *p, size_t group); /* > 0 */
int64_t parquet_batch_rows(const struct parquet *p, size_t group, uint64_t bytes);

/*
 * A lower bound of the decoded size of the columns with columns[i] set, not counting
 * columns of several leaves; NULL: of all columns. `even`: only of columns whose rows
 * have equal lengths.
 */
uint64_t parquet_least_bytes(const struct parquet *p, size_t group, const bool *columns,
			     bool even);

/* The columns with columns[i], all for NULL. */
struct parquet_scan *parquet_scan_new(const struct parquet *p, size_t group,
				      const bool *columns, struct budget *budget);
void parquet_scan_free(struct parquet_scan *s); /* NULL is fine */
bool parquet_wants(const struct parquet_scan *s, size_t leaf);

/* Borrows the bytes; PARQUET_SLACK bytes after them must be readable. */
void parquet_scan_give(struct parquet_scan *s, size_t leaf, struct bytes bytes);

struct batch {
	struct array *columns; /* of the scan, in the file's order */
	size_t n_columns;
	int64_t n;
};

/* Skip rows; take at most `rows` rows, in order. n is 0 at the end. */
MUST_CHECK int parquet_skip(struct parquet_scan *s, int64_t rows, struct error *err);
MUST_CHECK int parquet_next(struct parquet_scan *s, struct batch *ret, int64_t rows,
			    struct error *err);
void batch_release(struct batch *b);

CLEANUP(parquet, struct parquet *, parquet_free);
CLEANUP(parquet_scan, struct parquet_scan *, parquet_scan_free);
#define cleanup_parquet      __attribute__((cleanup(cleanup_parquetp)))
#define cleanup_parquet_scan __attribute__((cleanup(cleanup_parquet_scanp)))
#define cleanup_batch        __attribute__((cleanup(batch_release)))

#endif
