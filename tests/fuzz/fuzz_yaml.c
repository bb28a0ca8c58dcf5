/*
 * What YAML makes into documents prints as YAML, and reads back as the same;
 * every error and every place lies within the text; JSON is YAML.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const struct error *err, size_t size)
{
	unsigned line = 0, column = 0;

	FUZZ_CHECK(sscanf(err->msg, "%u:%u: ", &line, &column) == 2);
	FUZZ_CHECK(line >= 1 && line <= size + 2 && column >= 1 && column <= size + 2);
}

static void check_document(const cJSON *doc)
{
	cleanup_buf struct buf text = { .max = SIZE_MAX / 4 };
	cleanup_json cJSON *again = NULL;
	struct error err = { 0 };

	yaml_print(&text, doc);
	if (yaml_parse(&again, text.data, text.len, &err)) {
		/* The text of a document may be longer than a file may be. */
		FUZZ_CHECK(err.kind == ERR_LIMIT);
		return;
	}
	FUZZ_CHECK(cJSON_GetArraySize(again) == 1);
	FUZZ_CHECK(json_equal(again->child, doc));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "", "a", "spec.a[1].b", "a[b/c]", "[0]" };
	cleanup_json cJSON *docs = NULL;
	cleanup_json cJSON *json = NULL;
	cleanup_yaml_places struct yaml_places *places = NULL;
	struct error err = { 0 }, unused = { 0 };
	const cJSON *doc;
	int line = 1, column = 1;

	if (yaml_parse(&docs, data, size, &err)) {
		FUZZ_CHECK(!docs);
		check_error(&err, size);
		return 0;
	}
	json_each(doc, docs)
		check_document(doc);
	places = yaml_places(data, size);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++)
		if (yaml_locate(places, 0, paths[i], &line, &column))
			FUZZ_CHECK(line >= 1 && column >= 1);
	if (size && *data == '{' && !json_parse(&json, data, size, &unused))
		FUZZ_CHECK(json_equal(json, docs->child));
	return 0;
}
