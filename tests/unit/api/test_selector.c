/* Selectors: what k8s.io/apimachinery v0.34 pkg/labels and pkg/fields say of the same texts. */

#include "api/selector.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "tests/unit/unit.h"

static const struct row {
	const char *selector, *labels;
	int matches; /* -1: refused */
} rows[] = {
	{ "", "{}", 1 },
	{ "a=b", "{\"a\":\"b\"}", 1 },
	{ "a=b", "{\"a\":\"c\"}", 0 },
	{ "a=b", "{}", 0 },
	{ " a == b , c = d ", "{\"a\":\"b\",\"c\":\"d\"}", 1 },
	{ "a=b,c=d", "{\"a\":\"b\"}", 0 },
	{ "a=", "{\"a\":\"\"}", 1 },
	{ "a!=b", "{}", 1 },
	{ "a!=b", "{\"a\":\"b\"}", 0 },
	{ "a", "{\"a\":\"x\"}", 1 },
	{ "a", "{}", 0 },
	{ "!a", "{}", 1 },
	{ "! a", "{\"a\":\"x\"}", 0 },
	{ "a in (x, y)", "{\"a\":\"y\"}", 1 },
	{ "a in (x,y)", "{\"a\":\"z\"}", 0 },
	{ "a in ()", "{\"a\":\"\"}", 1 },
	{ "a notin (x)", "{}", 1 },
	{ "a notin (x)", "{\"a\":\"x\"}", 0 },
	{ "in in (in)", "{\"in\":\"in\"}", 1 },
	{ "a>1", "{\"a\":\"2\"}", 1 },
	{ "a>1", "{\"a\":\"x\"}", 0 },
	{ "a<1", "{\"a\":\"0\"}", 1 },
	{ "x.y/z=1", "{\"x.y/z\":\"1\"}", 1 },
	{ "jobset.sigs.k8s.io/replicatedjob-name in (dataset-initializer, node)",
	  "{\"jobset.sigs.k8s.io/replicatedjob-name\":\"node\"}", 1 },
	{ "a in (,x)", "{\"a\":\"\"}", 1 },
	{ "a notin (x)", "{\"a\":\"y\"}", 1 },
	{ "a notin ( x , y ) , b", "{\"a\":\"y\",\"b\":\"\"}", 0 },
	{ "a in (x) ,b", "{\"a\":\"x\"}", 0 },
	{ "  a  in  ( x ) ", "{\"a\":\"x\"}", 1 },
	{ "\ta\n", "{\"a\":\"\"}", 1 },
	{ "!a,b", "{\"b\":\"\"}", 1 },
	{ "notin", "{\"notin\":\"\"}", 1 },
	{ "a>1", "{\"a\":\"1\"}", 0 },
	{ "a<1", "{\"a\":\"1\"}", 0 },
	{ "a<1", "{}", 0 },
	{ "a>-3", NULL, -1 }, /* no value of a label begins with - */
	{ "a>9223372036854775807", "{\"a\":\"2\"}", 0 },
	{ "a>9223372036854775808", NULL, -1 },
	{ "a in (x/y)", NULL, -1 },
	{ "a=-", NULL, -1 },
	{ "a/=b", NULL, -1 },
	{ "/a", NULL, -1 },
	{ "a in (x) b", NULL, -1 },
	{ "=", NULL, -1 },
	{ ",", NULL, -1 },
	{ "a,", NULL, -1 },
	{ "a b", NULL, -1 },
	{ "a in", NULL, -1 },
	{ "a in (x", NULL, -1 },
	{ "a in x", NULL, -1 },
	{ "a>x", NULL, -1 },
	{ "a=b/c", NULL, -1 },
	{ "a/b/c=d", NULL, -1 },
	{ "a=(b)", NULL, -1 },
	{ "!a=b", NULL, -1 },
};

TEST(test_labels)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *labels =
			rows[i].labels ? json_reread(rows[i].labels) : NULL;
		const struct requirement *r = NULL;
		struct error err = { 0 };
		int rc = selector_labels(&arena, rows[i].selector, &r, &err);

		if ((rc ? -1 : selector_matches(r, labels)) != rows[i].matches)
			fail_msg("%s of %s: %s", rows[i].selector, rows[i].labels,
				 err.msg);
		assert_int_equal(rc && err.kind != ERR_INVALID, 0);
	}
}

static const struct {
	const char *selector, *key, *value;
	enum selector_op op;
	bool refused;
} fields[] = {
	{ "metadata.name=a", "metadata.name", "a", SELECTOR_IN, false },
	{ "metadata.name==a", "metadata.name", "a", SELECTOR_IN, false },
	{ "a!=b", "a", "b", SELECTOR_NOT_IN, false },
	{ "a=b\\,c", "a", "b,c", SELECTOR_IN, false },
	{ "a=b\\=c", "a", "b=c", SELECTOR_IN, false },
	{ "a=", "a", "", SELECTOR_IN, false },
	{ ",,a=b,", "a", "b", SELECTOR_IN, false },
	{ "a=b\\\\c", "a", "b\\c", SELECTOR_IN, false },
	{ "a=!b", "a", "!b", SELECTOR_IN, false },
	{ "a", NULL, NULL, SELECTOR_IN, true },
	{ "a=b,c", NULL, NULL, SELECTOR_IN, true },
	{ "a=b=c", NULL, NULL, SELECTOR_IN, true },
	{ "a=b\\c", NULL, NULL, SELECTOR_IN, true },
	{ "a=b\\", NULL, NULL, SELECTOR_IN, true },
};

TEST(test_fields)
{
	for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct requirement *r = NULL;
		struct error err = { 0 };

		assert_int_equal(!!selector_fields(&arena, fields[i].selector, &r, &err),
				 fields[i].refused);
		if (fields[i].refused)
			continue;
		assert_string_equal(r->key, fields[i].key);
		assert_string_equal(r->values[0], fields[i].value);
		assert_int_equal(r->op, fields[i].op);
		assert_null(r->next);
	}
}

TEST(test_limits)
{
	cleanup_arena struct arena arena = { 0 };
	char *text = arena_alloc(&arena, SELECTOR_MAX_BYTES + 2);
	const struct requirement *r = NULL;
	struct error err = { 0 };

	memset(text, 'a', SELECTOR_MAX_BYTES + 1);
	assert_int_equal(selector_labels(&arena, text, &r, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(selector_fields(&arena, text, &r, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	text[SELECTOR_MAX_BYTES] = '\0';
	text[1] = '=';
	assert_int_equal(selector_fields(&arena, text, &r, &err), 0);
	assert_int_equal(strlen(r->values[0]), SELECTOR_MAX_BYTES - 2);
	for (int n = 1000; n <= 1001; n++) {
		cleanup_buf struct buf many = { .max = 65536 };

		buf_adds(&many, "a in (");
		for (int i = 0; i < n; i++)
			buf_printf(&many, "%sv%d", i ? "," : "", i);
		buf_adds(&many, ")");
		assert_int_equal(selector_labels(&arena, (char *)many.data, &r, &err),
				 n > 1000 ? -1 : 0);
		if (n > 1000)
			assert_int_equal(err.kind, ERR_LIMIT);
		else
			assert_string_equal(r->values[999], "v999");
	}
}

RUN_TESTS(NULL, NULL)
