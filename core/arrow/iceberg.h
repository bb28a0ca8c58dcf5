/*
 * iceberg.h - the metadata of an Iceberg table, versions 1 and 2: bytes in, files out.
 *
 * No I/O. The caller provides the metadata's JSON (possibly gzipped), the manifest list
 * that iceberg_list() names, if any, and each manifest of iceberg_manifests():
 *
 *     iceberg_open(&t, json, snapshot, budget, err)
 *     iceberg_list(t): a manifest list; its bytes to iceberg_add_list(t, bytes, err)
 *     for each i < iceberg_manifests(t, &m):
 *             iceberg_add_manifest(t, i, bytes, err)
 *     iceberg_files(t, &n)
 *
 * Unknown features are ERR_UNSUPPORTED: no row is missed, and no deleted row is returned.
 * Follows iceberg/format/spec.md.
 */
#ifndef ARROW_ICEBERG_H
#define ARROW_ICEBERG_H

#include "arrow/array.h"
#include "arrow/codec.h"
#include "arrow/project.h"
#include "base/cleanup.h"

enum iceberg_content { ICEBERG_DATA, ICEBERG_POSITIONS, ICEBERG_EQUALITY };

struct iceberg_manifest {
	const char *path;
	int64_t length; /* -1: unknown */
	int32_t spec;   /* -1: the manifest says which */
	bool deletes;
	int64_t sequence; /* for added entries without one of their own */
};

struct iceberg_file {
	enum iceberg_content content;
	const char *path;
	int64_t rows, size, sequence;
	int32_t spec;
	bool unpartitioned;
	struct bytes partition;             /* equal bytes: an equal partition */
	struct project_constant *constants; /* columns that are the same in all rows */
	size_t n_constants;
	int32_t *equality; /* field ids */
	size_t n_equality;
};

struct iceberg;

/* `snapshot`: an id or the name of a branch or tag; NULL: the current one. */
MUST_CHECK int iceberg_open(struct iceberg **ret, struct bytes json, const char *snapshot,
			    struct budget *budget, struct error *err);
void iceberg_free(struct iceberg *t); /* NULL is fine */

/* Is `name` the id, branch or tag of the opened snapshot? */
bool iceberg_is_snapshot(const struct iceberg *t, const char *name);

/* The snapshot's schema: Arrow's types, with field ids. */
const struct field *iceberg_columns(const struct iceberg *t, size_t *ret_n);

/* The newest column of that id, in any schema; NULL: none. */
const struct field *iceberg_field(const struct iceberg *t, int32_t id);

const char *iceberg_list(const struct iceberg *t); /* NULL: no rows, or no list */
MUST_CHECK int iceberg_add_list(struct iceberg *t, struct bytes avro, struct error *err);
size_t iceberg_manifests(const struct iceberg *t, const struct iceberg_manifest **ret);
MUST_CHECK int iceberg_add_manifest(struct iceberg *t, size_t i, struct bytes avro,
				    struct error *err);
const struct iceberg_file *iceberg_files(const struct iceberg *t, size_t *ret_n);

/*
 * Set the field ids of a file's columns, which have none, by the table's name mapping.
 * ERR_UNSUPPORTED: the table has none.
 */
MUST_CHECK int iceberg_map_names(const struct iceberg *t, struct field *columns, size_t n,
				 struct error *err);

CLEANUP(iceberg, struct iceberg *, iceberg_free);
#define cleanup_iceberg __attribute__((cleanup(cleanup_icebergp)))

#endif
