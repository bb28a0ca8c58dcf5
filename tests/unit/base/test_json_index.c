/* Lookups by an index have the results of those without. */
#include "base/json_index.h"
#include "tests/unit/base/base_test.h"

enum { NAMES = 40, STEPS = 4000 };

static unsigned next_number(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

TEST(test_members)
{
	cleanup_json cJSON *plain = cJSON_CreateObject(), *indexed = cJSON_CreateObject();
	cleanup_json_index struct json_index ix = { .of = indexed };
	unsigned seed = 1;

	for (int i = 0; i < STEPS; i++) {
		unsigned what = next_number(&seed) % 5;
		char name[16];

		snprintf(name, sizeof(name), "m%u", next_number(&seed) % NAMES);
		if (what < 2) {
			json_put_int(plain, i, name);
			json_index_put(&ix, json_new_int(i), name);
		} else if (what == 2) {
			json_del(plain, JSON_PATH(name));
			json_index_del(&ix, name);
		}
		assert_ptr_equal(json_index_get(&ix, name), json_member(indexed, name));
		if (i % 100 == 0) {
			cleanup_free char *a = json_text(plain), *b = json_text(indexed);

			assert_string_equal(a, b);
		}
	}
}

TEST(test_elements)
{
	cleanup_json cJSON *plain = cJSON_CreateArray(), *indexed = cJSON_CreateArray();
	cleanup_json_index struct json_index ix = { .of = indexed, .key = "name" };
	cleanup_free char *a = NULL, *b = NULL;
	unsigned seed = 2;

	for (int i = 0; i < STEPS; i++) {
		cJSON *element = cJSON_CreateObject();
		char name[16];

		snprintf(name, sizeof(name), "e%u", next_number(&seed) % NAMES);
		json_put_int(element, i, "value");
		if (i % 500)
			json_put_str(element, name, "name");
		json_upsert(plain, "name", json_dup(element));
		json_index_upsert(&ix, element);
		assert_ptr_equal(json_index_get(&ix, name),
				 json_find(indexed, "name", name));
	}
	a = json_text(plain);
	b = json_text(indexed);
	assert_string_equal(a, b);
}

TEST(test_nothing)
{
	cleanup_json_index struct json_index ix = { .of = NULL };

	assert_null(json_index_get(&ix, "a"));
	assert_null(json_index_get(&ix, NULL));
	json_index_del(&ix, "a");
}

TEST(test_identity)
{
	static const char *const equal[][2] = {
		{ "1", "1.0" },
		{ "100", "1e2" },
		{ "-0", "0" },
		{ "true", "true" },
		{ "\"a\"", "\"\\u0061\"" },
		{ "9223372036854775807", "9223372036854775807.0" },
	};
	static const char *const other[][2] = {
		{ "1", "\"1\"" },
		{ "true", "\"true\"" },
		{ "1", "-1" },
		{ "9223372036854775807", "9223372036854775806" },
	};

	for (size_t i = 0; i < 2 * N_ELEMENTS(equal); i++) {
		const char *const *row =
			i < N_ELEMENTS(equal) ? equal[i] : other[i % N_ELEMENTS(other)];
		cleanup_buf struct buf x = { .max = 100 }, y = { .max = 100 };
		cleanup_json cJSON *a = json_reread(row[0]), *b = json_reread(row[1]);

		json_print_identity(&x, a);
		json_print_identity(&y, b);
		assert_int_equal(json_equal(a, b),
				 !strcmp((char *)x.data, (char *)y.data));
		assert_int_equal(json_equal(a, b), i < N_ELEMENTS(equal));
	}
}

TEST(test_equal_but)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":3}", false },
		{ "{\"a\":1,\"x\":2}", "{\"a\":1}", true },
		{ "{\"a\":1}", "{\"x\":2,\"a\":1,\"y\":3}", true },
		{ "{\"a\":1,\"x\":2}", "{\"x\":3,\"y\":4}", false },
		{ "{\"x\":2}", "{\"a\":1}", false },
		{ "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":2}}", false },
		{ "[1]", "[1]", true },
		{ "{}", "[]", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *a = doc_of(rows[i].a), *b = doc_of(rows[i].b);

		if (json_equal_but(a, b, JSON_PATH("x", "y")) != rows[i].equal)
			fail_msg("%s, %s: not as expected", rows[i].a, rows[i].b);
	}
	assert_true(json_equal_but(NULL, NULL, JSON_PATH("x")));
}

RUN_TESTS(NULL, NULL)
