/* table_impl.h - what the files of table.h share. */
#ifndef CACHE_TABLE_IMPL_H
#define CACHE_TABLE_IMPL_H

#include "cache/table.h"

/* A data file. */
struct file {
	const char *path;
	struct range_object *object;
	struct parquet *parquet;
};

/* A row group with rows that are not deleted. */
struct unit {
	const struct file *file;
	size_t group;
	struct rows rows; /* of the table */
};

struct table {
	struct arena arena;
	struct budget *budget;
	struct file *files;
	size_t n;
	struct unit *units;
	size_t n_units;
	int64_t rows;
};

/* Opens the file's object; its name stays the caller's. Many threads call it. */
MUST_CHECK int file_open_parquet(struct file *f, struct budget *budget,
				 struct error *err);

/* Does work(ctx, i) for all i < n, in some threads; the error of the least i. */
MUST_CHECK int in_parallel(size_t n, int (*work)(void *ctx, size_t i, struct error *err),
			   void *ctx, struct error *err);

#endif
