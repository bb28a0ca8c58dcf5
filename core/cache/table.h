/*
 * table.h - Parquet files, or an Iceberg table, as one table with numbered rows.
 *
 * Rows are numbered in the order of (data file, row group, row), files by the bytes of
 * their names; deleted rows are not counted. The numbers are the same at each start, for
 * every reader and every number of ranks. A file that cannot be read is an error that
 * names it, never skipped rows.
 */
#ifndef CACHE_TABLE_H
#define CACHE_TABLE_H

#include "arrow/parquet.h"
#include "arrow/predicate.h"
#include "base/cleanup.h"
#include "cache/locations.h"

struct table;

struct table_conf {
	struct locations *locations; /* must outlive the table, as the budget */
	struct budget *budget;
	/*
	 * Parquet files and directories of them, each file once; or one Iceberg metadata
	 * file: NAME.metadata.json, possibly gzipped.
	 */
	char *const *uris;
	size_t n;
	/* Iceberg's: an id, or the name of a branch or tag; NULL: the current one. */
	const char *snapshot;
	/* If set: only these data files, by their names in table_unit. ERR_NOT_FOUND. */
	char *const *only;
	size_t n_only;
};

/*
 * Open all files and read their footers. ERR_INVALID: the files' columns differ.
 * ERR_UNSUPPORTED: an Iceberg feature that is not implemented.
 */
MUST_CHECK int table_open(struct table **ret, const struct table_conf *conf,
			  struct error *err);
void table_free(struct table *t); /* NULL is fine */

/* Is `name` the id, branch or tag of the opened snapshot? False for plain files. */
bool table_is_snapshot(const struct table *t, const char *name);

int64_t table_rows(const struct table *t);

/*
 * A name of the table's content, as far as footers show it, in hexadecimal: the files'
 * names below the location, their footers (columns, row groups, offsets, statistics), and
 * the rows that are not deleted. The same in every process.
 */
enum { TABLE_NAME = 16 };
void table_name(const struct table *t, char ret[TABLE_NAME + 1]);
const struct field *table_columns(const struct table *t, size_t *ret_n);

/* Rows [first, end). */
struct rows {
	int64_t first, end;
};

/* A row group with rows: the unit of work. Units are in the order of the rows. */
struct table_unit {
	const char *file;
	size_t group;
	struct rows rows;
	uint64_t bytes; /* decoded, roughly */
};
size_t table_units(const struct table *t);
struct table_unit table_unit(const struct table *t, size_t i);

/*
 * A lower bound of the rows' size as Arrow data, from the files' metadata; strings in
 * dictionaries may take far more.
 */
uint64_t table_least_bytes(const struct table *t, struct rows rows);

/*
 * Shard `rank` of `world`, 0 <= rank < world: floor or ceil of n / world contiguous rows,
 * larger shards first. The shards partition the n rows in order.
 */
struct rows table_shard(int64_t n, int64_t rank, int64_t world);

/* Part i of n of these rows, in whole row groups or whole files, as even as possible. */
struct rows table_part(const struct table *t, struct rows rows, int64_t i, int64_t n);
struct rows table_file_part(const struct table *t, int64_t i, int64_t n);

struct table_scan;

/*
 * columns[i]: is column i wanted? NULL: all. batch_rows 0: batches of about 2 MiB. The
 * table must outlive the scan. To decode unit i, scan table_unit(t, i).rows. A table may
 * be scanned by many threads.
 */
struct table_scan *table_scan_new(const struct table *t, struct rows rows,
				  const bool *columns, int64_t batch_rows);
void table_scan_free(struct table_scan *s); /* NULL is fine */

/*
 * Return only rows that pass the filter, with their numbers. Call it before the
 * first table_next(). Row groups and pages that statistics exclude are not read.
 */
void table_scan_filter(struct table_scan *s, const struct predicate *filter);

/* The next rows, of one row group; ret->n is 0 at the end. batch_release() it. */
MUST_CHECK int table_next(struct table_scan *s, struct batch *ret, struct error *err);

CLEANUP(table, struct table *, table_free);
CLEANUP(table_scan, struct table_scan *, table_scan_free);
#define cleanup_table      __attribute__((cleanup(cleanup_tablep)))
#define cleanup_table_scan __attribute__((cleanup(cleanup_table_scanp)))

#endif
