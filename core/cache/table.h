/*
 * table.h - Parquet files on this machine as one table, and its rows in one order.
 *
 * Rows are numbered by (path, row group, row): paths in the order of their bytes, each
 * once. The numbers are the same for every reader and every number of ranks.
 */
#ifndef CACHE_TABLE_H
#define CACHE_TABLE_H

#include "arrow/parquet.h"

struct table;

/* Opens all files and reads their footers. ERR_INVALID: their columns differ. */
MUST_CHECK int table_open(struct table **ret, char *const *paths, size_t n,
			  struct budget *budget, struct error *err);
void table_free(struct table *t); /* NULL is fine */

int64_t table_rows(const struct table *t);
const struct field *table_columns(const struct table *t, size_t *ret_n);

/* Rows [first, end). */
struct rows {
	int64_t first, end;
};

/*
 * Shard `rank` of `world`, 0 <= rank < world: contiguous, floor or ceil of n / world rows,
 * the larger ones first; all shards together are all rows, in order.
 */
struct rows table_shard(int64_t n, int64_t rank, int64_t world);

struct table_scan;

/*
 * `columns[i]`: is column i wanted? NULL: all. Rows a batch: 0 for batches of about
 * 2 MiB. The table must outlive the scan.
 */
struct table_scan *table_scan_new(const struct table *t, struct rows rows,
				  const bool *columns, int64_t batch_rows);
void table_scan_free(struct table_scan *s); /* NULL is fine */

/* The next rows, of one row group; ret->n is 0 at the end. batch_release() it. */
MUST_CHECK int table_next(struct table_scan *s, struct batch *ret, struct error *err);

static inline void cleanup_tablep(struct table **t)
{
	table_free(*t);
}

static inline void cleanup_table_scanp(struct table_scan **s)
{
	table_scan_free(*s);
}
#define cleanup_table      __attribute__((cleanup(cleanup_tablep)))
#define cleanup_table_scan __attribute__((cleanup(cleanup_table_scanp)))

#endif
