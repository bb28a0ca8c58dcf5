/* iceberg_impl.h - declarations shared by the files of iceberg.h. */
#ifndef ARROW_ICEBERG_IMPL_H
#define ARROW_ICEBERG_IMPL_H

#include "arrow/iceberg.h"
#include "base/json.h"

struct iceberg_schema {
	int32_t id;
	struct field *fields;
	size_t n;
};

struct iceberg_part {
	int32_t source, id;
	bool identity;
};

struct iceberg_spec {
	int32_t id;
	struct iceberg_part *parts;
	size_t n;
};

struct iceberg {
	struct arena arena;
	struct budget *budget;
	size_t taken; /* from the budget, for the files */
	int version;
	struct iceberg_schema *schemas, *schema; /* the latter: the snapshot's */
	size_t n_schemas;
	struct iceberg_spec *specs;
	size_t n_specs;
	cJSON *names; /* the name mapping; NULL: none */
	const char *list;
	const char **snapshot; /* its id, branches and tags; ends with NULL */
	struct iceberg_manifest *manifests;
	size_t n_manifests, cap_manifests;
	struct iceberg_file *files;
	size_t n_files, cap_files;
};

/* iceberg_schema.c */
MUST_CHECK int iceberg_schema_read(struct iceberg_schema *ret, struct arena *arena,
				   const cJSON *doc, struct error *err);

#endif
