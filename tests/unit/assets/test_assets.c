/* The embedded files: all there, in order, byte for byte. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <glob.h>

#include "assets/assets.h"
#include "tests/unit/unit.h"

#define FOLDER "core/assets/"

/* By name, but runtimes that only we have come after upstream's. */
TEST(test_sorted)
{
	static const char ours[] = "runtimes/accelerate-distributed.yaml";

	for (const struct asset *a = assets; a->name && a[1].name; a++)
		assert_true(strcmp(a->name, a[1].name) < 0 || !strcmp(a[1].name, ours));
}

static void check_same(const struct asset *asset, const char *path)
{
	char *text = malloc(asset->len + 1);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fread(text, 1, asset->len + 1, f), asset->len);
	assert_memory_equal(text, asset->data, asset->len);
	fclose(f);
	free(text);
}

/* Embedded as JSON: tests/unit/apiserver/test_schemas.c. */
static bool is_schema(const char *path)
{
	return !strcmp(path, FOLDER "schema.yaml") ||
	       !strcmp(path, FOLDER "machine.yaml");
}

TEST(test_the_files_as_they_are)
{
	glob_t found = { 0 };
	const struct asset *asset;

	assert_int_equal(glob(FOLDER "*.yaml", 0, NULL, &found), 0);
	assert_int_equal(glob(FOLDER "*/*.yaml", GLOB_APPEND, NULL, &found), 0);
	assert_int_equal(glob(FOLDER "VERSION", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (is_schema(found.gl_pathv[i]))
			continue;
		asset = asset_find(found.gl_pathv[i] + strlen(FOLDER));
		if (!asset)
			fail_msg("%s: not in assets.S", found.gl_pathv[i]);
		check_same(asset, found.gl_pathv[i]);
	}
	globfree(&found);
}

TEST(test_what_is_not_there)
{
	assert_null(asset_find("schema"));
	assert_null(asset_find(""));
	assert_null(asset_find("runtimes/"));
}

RUN_TESTS(NULL, NULL)
