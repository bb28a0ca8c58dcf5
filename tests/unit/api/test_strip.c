#include <stdlib.h>

#include "api/strip.h"
#include "base/xmalloc.h"
#include "tests/unit/unit.h"

#define FIELDS                                                                         \
	"\"managedFields\":[{\"f:a\":{\"k:{\\\"n\\\":\\\"]\\\"}\":{}},\"m\":\"]\\\"[{" \
	"\"}]"

static const struct {
	const char *in, *out;
	int depth;
} rows[] = {
	{ "{\"metadata\":{\"labels\":{}," FIELDS ",\"name\":\"n\"},\"spec\":{}}",
	  "{\"metadata\":{\"labels\":{},\"name\":\"n\"},\"spec\":{}}", 2 },
	{ "{\"metadata\":{" FIELDS ",\"name\":\"n\"}}", "{\"metadata\":{\"name\":\"n\"}}",
	  2 },
	{ "{\"metadata\":{\"labels\":{\"a\":\"}\"}," FIELDS "}}",
	  "{\"metadata\":{\"labels\":{\"a\":\"}\"}}}", 2 },
	{ "{\"metadata\":{" FIELDS "}}", "{\"metadata\":{}}", 2 },
	{ "{\"metadata\":{\"managedFields\":[],\"name\":\"n\"}}",
	  "{\"metadata\":{\"name\":\"n\"}}", 2 },
	{ "{\"type\":\"ADDED\",\"object\":{\"metadata\":{" FIELDS "}}}",
	  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}", 3 },
	/* an annotation's text that looks like it */
	{ "{\"metadata\":{\"annotations\":{\"a\":\"\\\"managedFields\\\":[\"}," FIELDS
	  "}}",
	  "{\"metadata\":{\"annotations\":{\"a\":\"\\\"managedFields\\\":[\"}}}", 2 },
	/* what stays as it is */
	{ "{\"metadata\":{},\"spec\":{\"template\":{\"metadata\":{" FIELDS "}}}}", NULL,
	  2 },
	{ "{\"metadata\":{\"managedFields\":null}}", NULL, 2 },
	{ "{\"metadata\":{\"managedFields\": []}}", NULL, 2 },
	{ "{\"metadata\":{\"managedFields\":[{\"a\":\"", NULL, 2 },
	{ "{\"metadata\":{\"managedFields\":[[]", NULL, 2 },
	{ "{\"metadata\":{\"managedFields\":[\"\\", NULL, 2 },
	{ "\"managedFields\":[", NULL, 2 },
	{ "", NULL, 2 },
};

TEST(managed_fields_are_removed)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *want = rows[i].out ? rows[i].out : rows[i].in;
		size_t len = strlen(rows[i].in);
		char *text = memcpy(xmalloc(len), rows[i].in, len);

		len = strip_managed_fields(text, len, rows[i].depth);
		assert_int_equal(len, strlen(want));
		assert_memory_equal(text, want, len);
		free(text);
	}
}

TEST(nul_escapes_are_replaced)
{
	char text[] = "\"\\u0000\\\\u0000\\\\\\u0000\\u00000\\u000\"";

	strip_nul(text, strlen(text));
	assert_string_equal(text, "\"\\ufffd\\\\u0000\\\\\\ufffd\\ufffd0\\u000\"");
	strip_nul(text, 0);
}

/* Of a spec, with names that begin alike and texts that look like it. */
TEST(test_list_cut)
{
	static const char in[] = "{\"object\":{\"metadata\":{\"annotations\":{\"jobs\":"
				 "\"\\\"jobs\\\":[\"}},"
				 "\"spec\":{\"jobsToo\":[1],\"jobs\":[{\"jobs\":[\"]\"]},"
				 "2],\"suspend\":true},"
				 "\"status\":{\"jobs\":[3]}}}";
	static const char out[] =
		"{\"object\":{\"metadata\":{\"annotations\":{\"jobs\":\"\\\"jobs\\\":[\"}},\"spec\":{\"jobsToo\":[1],\"suspend\":true},\"status\":{\"jobs\":[3]}}}";
	char name[65] = "";
	char text[sizeof(in)];

	memcpy(text, in, sizeof(in));
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(strip_spec_list(text, sizeof(in) - 1, "nothing", 3),
			 sizeof(in) - 1);
	assert_int_equal(strip_spec_list(text, sizeof(in) - 1, name, 3), sizeof(in) - 1);
	assert_int_equal(strip_spec_list(text, sizeof(in) - 1, "jobs", 2),
			 sizeof(in) - 1);
	assert_int_equal(strip_spec_list(text, sizeof(in) - 1, "jobs", 3),
			 sizeof(out) - 1);
	assert_memory_equal(text, out, sizeof(out) - 1);
}

RUN_TESTS(NULL, NULL)
