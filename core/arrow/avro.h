/*
 * avro.h - Avro's object container files, as Iceberg's manifests are (Avro 1.12, "Object
 * Container Files"; iceberg/format/spec.md, "Avro").
 *
 * The whole file is in memory. Its schema becomes a tree of types, its records trees of
 * values, which are looked up by Iceberg's field ids. Values point into the file or into
 * the current block: they are valid until the next record is read.
 */
#ifndef ARROW_AVRO_H
#define ARROW_AVRO_H

#include "arrow/codec.h"
#include "base/cleanup.h"

enum avro_kind {
	AVRO_NULL,
	AVRO_BOOLEAN,
	AVRO_INT,
	AVRO_LONG,
	AVRO_FLOAT,
	AVRO_DOUBLE,
	AVRO_BYTES,
	AVRO_STRING,
	AVRO_FIXED,
	AVRO_ENUM,
	AVRO_ARRAY,
	AVRO_MAP, /* an array of records of two members, key and value */
	AVRO_RECORD,
	AVRO_UNION,
};

struct avro_type {
	enum avro_kind kind;
	size_t size;                 /* of AVRO_FIXED; symbols of AVRO_ENUM */
	struct avro_member *members; /* of records, unions; the element of arrays */
	size_t n;
};

struct avro_member {
	const char *name; /* "" in unions and arrays */
	int32_t id;       /* Iceberg's field-id; -1: none */
	const struct avro_type *type;
};

/* A value. Unions are resolved: type is never AVRO_UNION. */
struct avro_value {
	const struct avro_type *type;
	int64_t number; /* also of booleans and enums */
	double real;
	struct bytes bytes;        /* of strings, too; and of fixed */
	struct avro_value *values; /* of a record or an array */
	size_t n;
};

struct avro;

/* The bytes must outlive it. ERR_UNSUPPORTED: an unknown codec. */
MUST_CHECK int avro_open(struct avro **ret, struct bytes file, struct budget *budget,
			 struct error *err);
void avro_free(struct avro *a); /* NULL is fine */

/* A value of the file header's metadata; NULL: absent. */
const char *avro_meta(const struct avro *a, const char *key);

/* The next record; *ret is NULL at the end. */
MUST_CHECK int avro_next(struct avro *a, const struct avro_value **ret,
			 struct error *err);

/* The member of that id; NULL: absent, or null, or `v` is no record. */
const struct avro_value *avro_get(const struct avro_value *v, int32_t id);

CLEANUP(avro, struct avro *, avro_free);
#define cleanup_avro __attribute__((cleanup(cleanup_avrop)))

#endif
