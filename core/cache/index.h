/*
 * index.h - the table by which upstream's head assigns files to a worker
 * (pkg/data_cache).
 *
 * DoPut with one record batch: worker_ids, row_start_indexes and row_end_indexes (UInt64),
 * file_paths (List<Utf8View>). A worker loads the files; its rows are numbered from the
 * first row's row_start_indexes on.
 */
#ifndef CACHE_INDEX_H
#define CACHE_INDEX_H

#include <sys/uio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cache/table.h"

struct index {
	int64_t first; /* number of the first row */
	char **files;  /* in the arena */
	size_t n_files;
};

/*
 * Read the next FlightData; *ret_done is true after the message with rows. ERR_FORMAT:
 * not such a table. Safe for any bytes.
 */
MUST_CHECK int index_read(struct index *ret, struct iovec message, bool *ret_done,
			  struct arena *arena, struct error *err);

/*
 * Write a request's messages, each with gRPC's prefix: worker `id` gets these rows and
 * files.
 */
void index_write(struct buf *out, uint64_t id, struct rows rows, char *const *files,
		 size_t n);

#endif
