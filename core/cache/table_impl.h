/* table_impl.h - shared by the files of table.h. */
#ifndef CACHE_TABLE_IMPL_H
#define CACHE_TABLE_IMPL_H

#include "arrow/iceberg.h"
#include "cache/table.h"

/* A data file. */
struct file {
	const char *path;
	const char *below; /* as location_file's; NULL: Iceberg's */
	struct range_object *object;
	struct parquet *parquet;
	uint64_t footer_crc;           /* of its footer's bytes */
	struct projection *projection; /* NULL: its columns are the table's */
	const struct iceberg_file *entry;
	struct block *live; /* per row group a bit per live row; empty: all rows */
};

/* A row group with rows that are not deleted. */
struct unit {
	const struct file *file;
	size_t group;
	struct rows rows; /* of the table */
};

struct table {
	struct arena arena;
	struct locations *locations;
	struct budget *budget;
	struct iceberg *iceberg; /* NULL: plain Parquet */
	struct hive_key *keys;   /* its partitions */
	size_t n_keys;
	struct field *columns; /* of plain Parquet, with those of the partitions */
	size_t n_columns;
	struct file *files;
	size_t n;
	struct unit *units;
	size_t n_units;
	int64_t rows;
};

/* Read the footer of an open object. Thread-safe. */
MUST_CHECK int file_open_parquet(struct file *f, struct budget *budget,
				 struct error *err);

/* ERR_INVALID, with the difference: a column's type differs in `path` and `other`. */
MUST_CHECK int table_column_check(const char *path, const struct field *b,
				  const char *other, const struct field *a,
				  struct error *err);

/* Remove all files but those of conf->only; files are sorted by path. */
MUST_CHECK int files_keep(struct table *t, const struct table_conf *conf,
			  struct error *err);
int file_by_path(const void *a, const void *b);

/*
 * Partitions of plain Parquet: a directory "year=2023" is a column of the files below it,
 * as in pyarrow.dataset with partitioning="hive". An int32 if all its values are, else a
 * string; null where it is __HIVE_DEFAULT_PARTITION__ or a file is in no such directory.
 * Keys and values are percent-decoded. hive_find() reads the paths of all files, which
 * need not be open; hive_columns() fills t->columns once the remaining files are open.
 */
MUST_CHECK int hive_find(struct table *t, struct error *err);
MUST_CHECK int hive_columns(struct table *t, struct error *err);

/* Is this the URI of an Iceberg table's metadata file? */
bool table_is_iceberg(const char *uri);
/* Fill t->iceberg and t->files with their projections and deletes. */
MUST_CHECK int iceberg_open_files(struct table *t, const struct table_conf *conf,
				  struct error *err);

/* Find the rows of data files that no delete file deletes. */
struct deletes;
MUST_CHECK int deletes_read(struct deletes **ret, struct table *t, struct error *err);
MUST_CHECK int deletes_apply(const struct deletes *d, struct table *t, struct file *f,
			     struct error *err);
void deletes_free(struct deletes *d); /* NULL is fine */

/*
 * Read the bytes of a row group's column chunks into blocks, and pass them to the scan.
 */
struct chunks {
	struct budget *budget;
	struct block *blocks;
	size_t n;
};
MUST_CHECK int chunks_read(struct chunks *c, const struct file *f, size_t group,
			   struct parquet_scan *scan, struct error *err);
void chunks_release(struct chunks *c);

#endif
