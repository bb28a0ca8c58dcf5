/*
 * nest.h - build lists, maps and structs from the levels of their leaves; for scan.c
 * only.
 */
#ifndef ARROW_NEST_H
#define ARROW_NEST_H

#include "arrow/leaf.h"

/*
 * The array of field `f` for n rows. `leaves` are all leaves of the file, by number;
 * those below f were read, and their arrays are taken. *ret must be released, also on
 * failure.
 */
MUST_CHECK int nest(struct array *ret, const struct field *f, struct leaf_rows *leaves,
		    struct budget *budget, int64_t n, struct error *err);

#endif
