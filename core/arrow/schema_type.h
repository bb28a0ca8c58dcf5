/* schema_type.h - the Arrow type of a leaf; for schema.c only. */
#ifndef ARROW_SCHEMA_TYPE_H
#define ARROW_SCHEMA_TYPE_H

#include "arrow/schema.h"

/* Set kind, width, unit and so on of `f`, whose name is set. */
MUST_CHECK int schema_leaf_type(struct field *f, struct leaf_type *leaf,
				const struct schema_element *e, struct error *err);

/* The logical type; for old files, the one that the converted type means. */
struct logical schema_logical(const struct schema_element *e);

#endif
