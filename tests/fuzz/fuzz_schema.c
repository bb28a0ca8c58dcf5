/*
 * An object of one of our kinds, however wrong: what is filled in and pruned is
 * stable, has no unknown field left, is unchanged against itself, and every
 * fault is said in a line.
 */
#include <string.h>

#include "api/schema.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

static const struct schema *the_schema(void)
{
	static struct schema *schema;
	struct error err = { 0 };
	const struct asset *source = asset_find("schema.json");

	if (!schema)
		FUZZ_CHECK(!schema_load(&schema, source->data, source->len, &err));
	return schema;
}

/* How many errors, those of one type aside; all of them are printed. */
static size_t count_errors(const cJSON *obj, const cJSON *old,
			   enum field_error_type aside)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	size_t n = 0;

	schema_validate(the_schema(), obj, old, &errs);
	for (size_t i = 0; i < errs.n; i++) {
		cleanup_buf struct buf line = { .max = 1 << 20 };

		field_error_print(&line, &errs.list[i]);
		FUZZ_CHECK(line.len && !line.overflowed);
		n += errs.list[i].type != aside;
	}
	return n;
}

static bool has_unknown(const cJSON *obj)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	schema_validate(the_schema(), obj, NULL, &errs);
	for (size_t i = 0; i < errs.n; i++)
		if (errs.list[i].type == FIELD_UNKNOWN)
			return true;
	return false;
}

/* Whatever it is, an object of one of our kinds. */
static void dress(cJSON *obj, size_t size)
{
	static const char *const kinds[] = { "TrainJob", "TrainingRuntime",
					     "ClusterTrainingRuntime" };

	if (schema_knows(the_schema(), obj) || !cJSON_IsObject(obj))
		return;
	json_put_str(obj, "trainer.kubeflow.org/v1alpha1", "apiVersion");
	json_put_str(obj, kinds[size % 3], "kind");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	cleanup_json cJSON *obj = NULL;
	cleanup_json cJSON *full = NULL;
	cleanup_json cJSON *again = NULL;

	if (json_parse(&obj, data, size, &err))
		return 0;
	(void)count_errors(obj, NULL, FIELD_INTERNAL);
	dress(obj, size);
	(void)count_errors(obj, NULL, FIELD_INTERNAL);
	full = json_dup(obj);
	schema_default(the_schema(), full);
	schema_prune(the_schema(), full);
	FUZZ_CHECK(!has_unknown(full));
	again = json_dup(full);
	schema_default(the_schema(), again);
	schema_prune(the_schema(), again);
	FUZZ_CHECK(json_equal(full, again));
	if (count_errors(full, NULL, FIELD_DUPLICATE))
		return 0;
	FUZZ_CHECK(!count_errors(full, again, FIELD_DUPLICATE));
	(void)count_errors(full, obj, FIELD_INTERNAL);
	return 0;
}
