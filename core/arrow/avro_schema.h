/* avro_schema.h - the types of an Avro schema, which is JSON. */
#ifndef ARROW_AVRO_SCHEMA_H
#define ARROW_AVRO_SCHEMA_H

#include "arrow/avro.h"

/* The types live in the arena. ERR_FORMAT, ERR_LIMIT. */
MUST_CHECK int avro_schema(const struct avro_type **ret, struct arena *arena,
			   const void *json, size_t len, struct error *err);

#endif
