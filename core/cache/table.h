/*
 * table.h - Parquet files, or an Iceberg table, as one table, and its rows in one order.
 *
 * Rows are numbered by (data file, row group, row): files in the order of the bytes of
 * their names. The numbers are the same at each start, for every reader and every number
 * of ranks. Deleted rows have no number. All rows of a table are read, or it is an error
 * that names the file.
 */
#ifndef CACHE_TABLE_H
#define CACHE_TABLE_H

#include "arrow/parquet.h"
#include "arrow/predicate.h"
#include "cache/places.h"

struct table;

struct table_conf {
	struct places *places; /* outlives the table, as does the budget */
	struct budget *budget;
	/*
	 * Parquet files and directories of them, each file once, or one file of an
	 * Iceberg table's metadata: NAME.metadata.json, also gzip.
	 */
	char *const *uris;
	size_t n;
	/* Iceberg's: an id, or the name of a branch or tag; NULL: the current one. */
	const char *snapshot;
	/* Not NULL: these data files alone, by their names in table_unit. ERR_NOT_FOUND. */
	char *const *only;
	size_t n_only;
};

/*
 * Opens all files and reads their footers. ERR_INVALID: the files' columns differ.
 * ERR_UNSUPPORTED: something of Iceberg's that is not understood.
 */
MUST_CHECK int table_open(struct table **ret, const struct table_conf *conf,
			  struct error *err);
void table_free(struct table *t); /* NULL is fine */

/* Is it that snapshot, by id, branch or tag? Plain files are none. */
bool table_is_snapshot(const struct table *t, const char *name);

int64_t table_rows(const struct table *t);
const struct field *table_columns(const struct table *t, size_t *ret_n);

/* Rows [first, end). */
struct rows {
	int64_t first, end;
};

/* A row group: the unit of work. In the order of the rows; without rows, none. */
struct table_unit {
	const char *file;
	size_t group;
	struct rows rows;
	uint64_t bytes; /* decoded, roughly */
};
size_t table_units(const struct table *t);
struct table_unit table_unit(const struct table *t, size_t i);

/*
 * The units' rows take at least that many bytes of Arrow's, by what the files say of their
 * columns: far less than they will where strings are in dictionaries.
 */
uint64_t table_least_bytes(const struct table *t, struct rows rows);

/*
 * Shard `rank` of `world`, 0 <= rank < world: contiguous, floor or ceil of n / world rows,
 * the larger ones first; all shards together are all rows, in order.
 */
struct rows table_shard(int64_t n, int64_t rank, int64_t world);

struct table_scan;

/*
 * `columns[i]`: is column i wanted? NULL: all. Rows a batch: 0 for batches of about
 * 2 MiB. The table must outlive the scan. To decode unit i, scan
 * table_unit(t, i).rows; scans of one table may run in many threads.
 */
struct table_scan *table_scan_new(const struct table *t, struct rows rows,
				  const bool *columns, int64_t batch_rows);
void table_scan_free(struct table_scan *s); /* NULL is fine */

/*
 * Only those of the rows that meet it, which keep their numbers; before the first
 * table_next(). By statistics, row groups are not read, and pages not decoded.
 */
void table_scan_filter(struct table_scan *s, const struct predicate *filter);

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
