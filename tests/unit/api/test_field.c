/* Errors about fields: wording, paths, values that are long. */
#include "tests/unit/api/schema_fixture.h"

#include "api/names.h"
#include "base/str.h"

static const struct line {
	enum field_error_type type;
	const char *path, *value, *detail, *want;
} lines[] = {
	{ FIELD_REQUIRED, "spec.runtimeRef", NULL, "",
	  "spec.runtimeRef: Required value" },
	{ FIELD_INVALID, "spec.trainer.numNodes", "-1", "should be at least 0",
	  "spec.trainer.numNodes: Invalid value: -1: should be at least 0" },
	{ FIELD_TYPE_INVALID, "a", "[1]", "d", "a: Invalid value: [1]: d" },
	{ FIELD_NOT_SUPPORTED, "a", "\"x\"", "supported values: \"y\"",
	  "a: Unsupported value: \"x\": supported values: \"y\"" },
	{ FIELD_DUPLICATE, "a[1]", "{name: A}", "",
	  "a[1]: Duplicate value: {\"name\":\"A\"}" },
	{ FIELD_FORBIDDEN, "a", "1", "not now", "a: Forbidden: not now" },
	{ FIELD_TOO_LONG, "a", "1", "may not be more than 3 bytes",
	  "a: Too long: may not be more than 3 bytes" },
	{ FIELD_TOO_MANY, "a", "9", "must have at most 8 items",
	  "a: Too many: 9: must have at most 8 items" },
	{ FIELD_UNKNOWN, "a.b", "1", "did you mean \"c\"?",
	  "a.b: Unknown field: did you mean \"c\"?" },
	{ FIELD_INTERNAL, "a", NULL, "out of luck", "a: Internal error: out of luck" },
	{ FIELD_INVALID, "", NULL, "no object", "Invalid value: no object" },
};

TEST(test_an_error_is_one_line)
{
	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		const struct line *l = &lines[i];
		struct field_errors errs = { 0 };
		cleanup_buf struct buf out = { .max = 1000 };
		cleanup_json cJSON *value = l->value ? yaml_doc(l->value) : NULL;

		field_error_add(&errs, l->type, l->path, value, "%s", l->detail);
		field_error_print(&out, &errs.list[0]);
		assert_string_equal((char *)out.data, l->want);
		field_errors_release(&errs);
	}
}

TEST(test_paths)
{
	struct field_errors errs = { 0 };

	assert_string_equal(field_child(&errs, "", "spec"), "spec");
	assert_string_equal(field_child(&errs, "spec", "x"), "spec.x");
	assert_string_equal(field_index(&errs, "a.b", 12), "a.b[12]");
	assert_string_equal(field_key(&errs, "metadata.labels", "a/b"),
			    "metadata.labels[a/b]");
	field_errors_release(&errs);
}

/* Cut between characters: none is left half. */
TEST(test_a_long_value_is_shortened)
{
	struct field_errors errs = { 0 };
	char text[1000];
	cJSON *value;

	for (int odd = 0; odd < 2; odd++) {
		memset(text, 'a', sizeof(text));
		for (size_t i = (size_t)odd; i + 2 < sizeof(text); i += 2)
			memcpy(text + i, "\xc3\xa9", 2);
		text[sizeof(text) - 1] = 0;
		value = cJSON_CreateString(text);
		field_error_add(&errs, FIELD_INVALID, "a", value, "x");
		cJSON_Delete(value);
		assert_in_range(strlen(errs.list[odd].value), 200, 210);
		assert_true(
			utf8_valid(errs.list[odd].value, strlen(errs.list[odd].value)));
		assert_true(str_ends(errs.list[odd].value, "..."));
	}
	field_errors_release(&errs);
}

/* 200 bytes as JSON are shown whole. */
TEST(test_a_value_of_the_longest_length)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	char text[200];

	for (size_t len = 198; len < 200; len++) {
		cleanup_json cJSON *value = NULL;

		memset(text, 'a', len);
		text[len] = 0;
		value = cJSON_CreateString(text);
		field_error_add(&errs, FIELD_INVALID, "a", value, "x");
	}
	assert_int_equal(strlen(errs.list[0].value), 200);
	assert_true(str_ends(errs.list[0].value, "a\""));
	assert_int_equal(strlen(errs.list[1].value), 203);
	assert_true(str_ends(errs.list[1].value, "a..."));
}

TEST(test_many_errors)
{
	struct field_errors errs = { 0 };

	for (int i = 0; i < 1000; i++)
		field_error_add(&errs, FIELD_INVALID, "a", NULL, "%d", i);
	assert_int_equal(errs.n, 1000);
	assert_string_equal(errs.list[999].detail, "999");
	field_errors_release(&errs);
	assert_int_equal(errs.n, 0);
}

TEST(test_errors_beyond_the_limit_are_counted)
{
	struct field_errors errs = { .max = 3 };

	for (int i = 0; i < 5; i++) {
		assert_int_equal(field_errors_full(&errs), i >= 3);
		field_error_add(&errs, FIELD_INVALID, "a", NULL, "%d", i);
	}
	assert_int_equal(errs.n, 3);
	assert_int_equal(errs.more, 2);
	assert_string_equal(errs.list[2].detail, "2");
	field_errors_release(&errs);
}

#define LONG63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"

/* Rows: what names.h says of each, following apimachinery's validation tests. */
static const struct name {
	const char *name;
	bool label, subdomain, key, value, dns1035;
} names[] = {
	{ "a", true, true, true, true, true },
	{ "a-b", true, true, true, true, true },
	{ "0a", true, true, true, true, false },
	{ "a.b", false, true, true, true, false },
	{ "a..b", false, false, true, true, false },
	{ "a-", false, false, false, false, false },
	{ "-a", false, false, false, false, false },
	{ "A", false, false, true, true, false },
	{ "a_b", false, false, true, true, false },
	{ "a b", false, false, false, false, false },
	{ "", false, false, false, true, false },
	{ ".", false, false, false, false, false },
	{ "x.io/name", false, false, true, false, false },
	{ "x.io/", false, false, false, false, false },
	{ "/name", false, false, false, false, false },
	{ "X.io/name", false, false, false, false, false },
	{ "a/b/c", false, false, false, false, false },
	{ "a.b./c", false, false, false, false, false },
	{ LONG63, true, true, true, true, true },
	{ LONG63 "4", false, true, false, false, true },
	{ "x/" LONG63 "4", false, false, false, false, false },
	{ "\xc3\xa9", false, false, false, false, false },
};

TEST(test_names)
{
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const struct name *n = &names[i];

		print_message("# %s\n", n->name);
		assert_int_equal(!name_label_invalid(n->name), n->label);
		assert_int_equal(!name_subdomain_invalid(n->name), n->subdomain);
		assert_int_equal(!name_key_invalid(n->name), n->key);
		assert_int_equal(!name_value_invalid(n->name), n->value);
		assert_int_equal(name_is_dns1035(n->name), n->dns1035);
	}
}

TEST(test_the_longest_subdomain)
{
	char text[300];

	memset(text, 'a', sizeof(text));
	text[253] = 0;
	assert_null(name_subdomain_invalid(text));
	text[253] = 'a';
	text[254] = 0;
	assert_non_null(name_subdomain_invalid(text));
}

TEST(test_same_paths)
{
	assert_true(field_path_same("limits[cpu]", "limits.cpu"));
	assert_true(field_path_same("a.b[1].c", "a.b[1].c"));
	assert_true(field_path_same("", ""));
	assert_false(field_path_same("a.b", "a.bc"));
	assert_false(field_path_same("a.bd", "a.bc"));
	assert_false(field_path_same("a-b", "a.b"));
	assert_false(field_path_same("a[b", "a.c"));
	assert_false(field_path_same("a.b", "a.b.c"));
	assert_false(field_path_same("a", ""));
}

RUN_TESTS(NULL, NULL)
