/*
 * A table's metadata: two bytes that say how long the JSON is, the JSON, and an Avro file
 * that is the manifest list and each manifest.
 */
#include "arrow/iceberg.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20, MANIFESTS = 8 };

static void check_field(const struct field *f)
{
	FUZZ_CHECK(f->name && (f->n_children > 0 || !field_has_children(f) ||
			       f->kind == ARROW_STRUCT));
	for (size_t i = 0; i < f->n_children; i++)
		check_field(&f->children[i]);
}

static void check_file(const struct iceberg_file *f)
{
	FUZZ_CHECK(f->path && f->rows >= 0 && f->size >= 0 && f->sequence >= 0);
	FUZZ_CHECK((f->content == ICEBERG_EQUALITY) == (f->n_equality > 0));
}

static void check_table(struct iceberg *t, struct bytes avro)
{
	const struct iceberg_manifest *manifests;
	const struct iceberg_file *files;
	struct error err = { 0 };
	size_t n;
	const struct field *columns = iceberg_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		check_field(&columns[i]);
	if (iceberg_list(t) && iceberg_add_list(t, avro, &err))
		return;
	n = iceberg_manifests(t, &manifests);
	for (size_t i = 0; i < n && i < MANIFESTS; i++)
		if (iceberg_add_manifest(t, i, avro, &err))
			return;
	files = iceberg_files(t, &n);
	for (size_t i = 0; i < n; i++)
		check_file(&files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget budget = { .limit = MEMORY };
	struct iceberg *t = NULL;
	struct error err = { 0 };
	size_t json;

	if (size < 2)
		return 0;
	json = (size_t)data[0] << 8 | data[1];
	json = json < size - 2 ? json : size - 2;
	if (!iceberg_open(&t, (struct bytes){ data + 2, json }, NULL, &budget, &err))
		check_table(t, (struct bytes){ data + 2 + json, size - 2 - json });
	iceberg_free(t);
	FUZZ_CHECK(budget.used == 0 && budget.peak <= budget.limit);
	return 0;
}
