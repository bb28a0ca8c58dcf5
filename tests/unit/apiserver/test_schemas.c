/* The schemas that the program has inside: the documents of core/assets, as JSON. */
#include <stdio.h>

#include "assets/assets.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"

static cJSON *parse_file(const char *path)
{
	cleanup_buf struct buf text = { .max = YAML_MAX_BYTES };
	struct error err = { 0 };
	FILE *f = fopen(path, "rb");
	char piece[BUFSIZ];
	cJSON *ret = NULL;
	size_t n;

	assert_non_null(f);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&text, piece, n);
	fclose(f);
	assert_int_equal(yaml_parse(&ret, text.data, text.len, &err), 0);
	return ret;
}

TEST(test_json_of_the_yaml)
{
	static const char *const names[] = { "machine", "schema" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct asset *asset =
			asset_find(arena_printf(&arena, "%s.json", names[i]));
		cleanup_json cJSON *yaml =
			parse_file(arena_printf(&arena, "core/assets/%s.yaml", names[i]));
		cleanup_json cJSON *json = NULL;
		struct error err = { 0 };

		assert_non_null(asset);
		assert_int_equal(json_parse(&json, asset->data, asset->len, &err), 0);
		assert_true(json_equal(json, yaml->child));
		assert_null(yaml->child->next);
	}
}

RUN_TESTS(NULL, NULL)
