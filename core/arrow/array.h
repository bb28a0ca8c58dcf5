/*
 * array.h - columns in memory, as Arrow lays them out (Columnar.rst of apache/arrow).
 *
 * A field is a column's type; its children are the members of a struct, the element of a
 * list, the key and the value of a map. An array has the rows of a field: bit i of
 * validity is row i's (least significant first; absent without nulls), offsets are int32
 * and one more than rows. Rows begin at 0. The value of a null row is undefined.
 */
#ifndef ARROW_ARRAY_H
#define ARROW_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/budget.h"
#include "base/buf.h"

enum arrow_kind {
	ARROW_NULL,
	ARROW_BOOL, /* bits, as validity */
	ARROW_INT8,
	ARROW_INT16,
	ARROW_INT32,
	ARROW_INT64,
	ARROW_UINT8,
	ARROW_UINT16,
	ARROW_UINT32,
	ARROW_UINT64,
	ARROW_HALF,
	ARROW_FLOAT,
	ARROW_DOUBLE,
	ARROW_DECIMAL,   /* width 16 or 32, little-endian, two's complement */
	ARROW_DATE,      /* int32: days since 1970 */
	ARROW_TIME32,    /* int32: since midnight */
	ARROW_TIME64,    /* int64 */
	ARROW_TIMESTAMP, /* int64: since 1970 */
	ARROW_FIXED,     /* width bytes */
	ARROW_STRING,
	ARROW_BINARY,
	ARROW_LIST,
	ARROW_MAP, /* a list of structs: two children, under one "entries" */
	ARROW_STRUCT,
};

enum arrow_unit { ARROW_MS = 1, ARROW_US, ARROW_NS };

struct project_constant;

struct field {
	char *name;
	enum arrow_kind kind;
	bool nullable;
	int32_t id;               /* Iceberg's and Parquet's field id; -1: none */
	uint32_t width;           /* of a value, in bytes; 0: bits, offsets or none */
	int32_t precision, scale; /* of a decimal */
	int unit;                 /* enum arrow_unit, of times */
	bool utc;                 /* a timestamp is an instant (UTC), not local time */
	bool int96;               /* a timestamp: utc is not known */
	bool uuid;                /* of ARROW_FIXED */
	const struct project_constant *initial; /* where a file lacks it; NULL: null */
	struct field *children;
	size_t n_children;
	/*
	 * Parquet's levels (Dremel): a slot of this field is an entry of a leaf below it
	 * with rep <= `rep` and def >= `def_around`; it is not null at def >= `def`, and a
	 * list has an element there at def >= `def_inside`.
	 */
	uint8_t rep, def_around, def, def_inside;
	size_t first_leaf, n_leaves; /* below, or itself */
};

struct array {
	const struct field *field;
	int64_t n, n_null;
	struct block validity, offsets, values;
	struct array *children; /* field->n_children; xcalloc()ed */
};

void array_release(struct array *a); /* { 0 } is fine */
static inline bool array_is_valid(const struct array *a, int64_t row)
{
	return !a->validity.data || (a->validity.data[row >> 3] >> (row & 7) & 1);
}

/* Append the type as Arrow writes it: "int32", "list<element: struct<a: string>>". */
void field_type(struct buf *out, const struct field *f);

static inline bool field_has_children(const struct field *f)
{
	return f->kind == ARROW_LIST || f->kind == ARROW_MAP || f->kind == ARROW_STRUCT;
}

#endif
