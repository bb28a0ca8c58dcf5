/*
 * thrift.h - read structs of Thrift's compact protocol by tables.
 *
 * A table lists the wanted members of a struct by field id, with the offsets where they
 * are stored; other members are skipped. Errors are sticky: after the first one every
 * call does nothing, and thrift_check() returns it. Follows
 * thrift/doc/specs/thrift-compact-protocol.md.
 */
#ifndef ARROW_THRIFT_H
#define ARROW_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/budget.h"
#include "base/error.h"

enum thrift_kind {
	THRIFT_BOOL = 1,
	THRIFT_I32, /* also enums */
	THRIFT_I64,
	THRIFT_BYTES,   /* struct thrift_bytes, within the input */
	THRIFT_STRUCT,  /* a struct at that offset, by the table `of` */
	THRIFT_LIST,    /* struct thrift_list of such structs, each of `size` bytes */
	THRIFT_STRINGS, /* struct thrift_list of struct thrift_bytes */
	THRIFT_NUMBERS, /* struct thrift_list of int64_t, also of booleans */
	THRIFT_PRESENT, /* bool: the member is there, whatever it is */
};

struct thrift_bytes {
	const uint8_t *data;
	size_t len;
};

struct thrift_list {
	void *at; /* in the arena */
	size_t n;
};

struct thrift_table;

struct thrift_member {
	int id;
	enum thrift_kind kind;
	size_t offset;
	const struct thrift_table *of;
	size_t size;
	const void *initial; /* of an element of a THRIFT_LIST; NULL: zeros */
};

struct thrift_table {
	const struct thrift_member *members; /* ends with id 0 */
	bool is_union; /* the id of the member that is set is stored as an int at `which` */
	size_t which;
};

struct thrift {
	const uint8_t *p, *end;
	struct budget *budget; /* for lists; budget and arena may be NULL without lists */
	struct arena *arena;
	int depth;
	bool bad;
	struct error why;
};

/* The caller fills `to` with zeros, or with other values that mean "absent". */
void thrift_read(struct thrift *t, const struct thrift_table *table, void *to);

/* -1 with the first error: ERR_FORMAT or ERR_LIMIT. */
MUST_CHECK int thrift_check(const struct thrift *t, struct error *err);

#endif
