#include "base/hash.h"
#include "tests/unit/unit.h"

/* Each with another hash than the others. */
static const char *const docs[] = {
	"null",
	"\"null\"",
	"\"\"",
	"{}",
	"[]",
	"0",
	"1",
	"\"1\"",
	"true",
	"false",
	"[null]",
	"[[]]",
	"[{}]",
	"{\"a\":1}",
	"{\"b\":1}",
	"{\"a\":\"bc\"}",
	"{\"ab\":\"c\"}",
	"[\"a\",\"b\"]",
	"[\"ab\"]",
	"[\"b\",\"a\"]",
	"{\"a\":[1],\"b\":2}",
	"{\"a\":[1,2]}",
	"{\"a\":{\"b\":1}}",
};
enum { N = N_ELEMENTS(docs) };

static uint64_t hash_of(uint64_t before, const char *text)
{
	struct error err;
	cJSON *doc = NULL;
	uint64_t hash;

	assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
	hash = hash_json(before, doc);
	cJSON_Delete(doc);
	return hash;
}

TEST(test_documents)
{
	for (size_t i = 0; i < N; i++) {
		uint64_t hash = hash_of(0, docs[i]);

		assert_true(hash != 0 && hash == hash_of(0, docs[i]));
		assert_true(hash != hash_of(hash, docs[i]));
		for (size_t j = 0; j < i; j++)
			assert_true(hash != hash_of(0, docs[j]));
	}
	assert_true(hash_json(0, NULL) != 0);
}

TEST(test_texts)
{
	assert_true(hash_text(0, "") == UINT64_C(0xcbf29ce484222325));
	assert_true(hash_text(0, "foobar") == UINT64_C(0x85944171f73967e8));
	assert_true(hash_text(hash_text(0, "foo"), "bar") == hash_text(0, "foobar"));
}

TEST(test_lists_of_texts)
{
	struct error err;
	cJSON *list = NULL;

	assert_int_equal(json_parse(&list, "[1,\"a\",null,[\"b\"]]", 18, &err), 0);
	assert_true(json_has_str(list, "a"));
	assert_false(json_has_str(list, "b"));
	assert_false(json_has_str(list, "1"));
	assert_false(json_has_str(NULL, "a"));
	cJSON_Delete(list);
}

RUN_TESTS(NULL, NULL)
