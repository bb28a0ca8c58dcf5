/* schema_type.h - one leaf's Arrow type; of schema.c alone. */
#ifndef ARROW_SCHEMA_TYPE_H
#define ARROW_SCHEMA_TYPE_H

#include "arrow/schema.h"

/* Kind, width, unit and the like into `f`, whose name is set. */
MUST_CHECK int schema_leaf_type(struct field *f, struct leaf_type *leaf,
				const struct schema_element *e, struct error *err);

/* The logical type, of old files too: what the converted type means. */
struct logical schema_logical(const struct schema_element *e);

#endif
