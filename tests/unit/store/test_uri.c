#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store/filter.h"
#include "store/store.h"
#include "store/uri.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text, *scheme, *host, *path, *query, *fragment;
	} rows[] = {
		{ "hf://squad", "hf", "squad", "", NULL, NULL },
		{ "HF://Org/Name", "hf", "Org", "Name", NULL, NULL },
		{ "s3://bucket/a/b/", "s3", "bucket", "a/b/", NULL, NULL },
		{ "file:///data/x", "file", "", "data/x", NULL, NULL },
		{ "https://h:1/p?q=1#f", "https", "h:1", "p", "q=1", "f" },
		{ "https://h?q", "https", "h", "", "q", NULL },
		{ "https://h/a%20b#x?y", "https", "h", "a%20b", NULL, "x?y" },
		{ "noscheme", NULL, NULL, NULL, NULL, NULL },
		{ "a:b", NULL, NULL, NULL, NULL, NULL },
		{ "://x", NULL, NULL, NULL, NULL, NULL },
		{ "1a://x", NULL, NULL, NULL, NULL, NULL },
		{ "s3://bucket/a b", "s3", "bucket", "a b", NULL, NULL },
		{ "https://h/a b", NULL, NULL, NULL, NULL, NULL },
		{ "HTTP://h/a b", NULL, NULL, NULL, NULL, NULL },
		{ "s3://buc ket/a", NULL, NULL, NULL, NULL, NULL },
		{ "hf://a b", NULL, NULL, NULL, NULL, NULL },
		{ "hf://a\nb", NULL, NULL, NULL, NULL, NULL },
		{ "", NULL, NULL, NULL, NULL, NULL },
	};
	cleanup_arena struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };
		struct uri u = { 0 };
		int rc = uri_parse(&u, &a, rows[i].text, &err);

		assert_int_equal(rc, rows[i].scheme ? 0 : -1);
		if (rc)
			continue;
		assert_string_equal(u.scheme, rows[i].scheme);
		assert_string_equal(u.host, rows[i].host);
		assert_string_equal(u.path, rows[i].path);
		assert_true(str_eq(u.query, rows[i].query));
		assert_true(str_eq(u.fragment, rows[i].fragment));
	}
}

/* RFC 3986, 5.4, those that matter; and what is above the root. */
static void test_resolve(void **state)
{
	static const struct {
		const char *reference, *want;
	} rows[] = {
		{ "g", "http://a/b/c/g" },
		{ "./g", "http://a/b/c/g" },
		{ "g/", "http://a/b/c/g/" },
		{ "/g", "http://a/g" },
		{ "//g", "http://g" },
		{ "?y", "http://a/b/c/d;p?y" },
		{ "g?y", "http://a/b/c/g?y" },
		{ "", "http://a/b/c/d;p?q" },
		{ "..", "http://a/b/" },
		{ "../g", "http://a/b/g" },
		{ "../../../g", "http://a/g" },
		{ "g/./h", "http://a/b/c/g/h" },
		{ "https://x/y", "https://x/y" },
	};
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *got = NULL;

		assert_int_equal(uri_resolve(&got, &a, "http://a/b/c/d;p?q",
					     rows[i].reference, &err),
				 0);
		assert_string_equal(got, rows[i].want);
	}
}

static void test_shown(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *got = NULL;
	struct error err = { 0 };

	(void)state;
	assert_string_equal(uri_shown(&a, "https://u:secret@h/p?sig=secret#secret"),
			    "https://h/p");
	assert_string_equal(uri_shown(&a, "https://h/p@x"), "https://h/p@x");
	assert_int_equal(uri_decode(&got, &a, "a%20b%c3%A9", &err), 0);
	assert_string_equal(got, "a b\xc3\xa9");
	assert_int_equal(uri_decode(&got, &a, "%", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%4", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%00", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%zz", &err), -1);
}

/* As Python's fnmatch.fnmatchcase answers. */
static void test_fnmatch(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} rows[] = {
		{ "*.bin", "a.bin", true },
		{ "*.bin", "deep/er/a.bin", true },
		{ "*.bin", "a.BIN", false },
		{ "*.bin", "a.bin2", false },
		{ "*.bin", ".bin", true },
		{ "data/*", "data/a/b", true },
		{ "data/*", "data", false },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", true },
		{ "a?c", "ac", false },
		{ "?", "\xc3\xa9", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[!a-c]x", "ax", false },
		{ "[]]x", "]x", true },
		{ "[!]]x", "ax", true },
		{ "[a", "[a", true },
		{ "[a", "a", false },
		{ "[-a]", "-", true },
		{ "[a-]", "-", true },
		{ "*a*b*c", "xxaxxbxxbc", true },
		{ "*a*b*c", "xxaxxcxxb", false },
		{ "**", "x", true },
		{ "*", "", true },
		{ "", "", true },
		{ "", "a", false },
		{ "a\\*", "a\\b", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (fnmatch_case(rows[i].pattern, rows[i].name) != rows[i].fits)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
}

static void test_filter(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
			    .ignore = filter_list(&a, " *.h5 ,, old/ ,") };

	(void)state;
	assert_true(filter_wants(&f, "x/config.json", false));
	assert_false(filter_wants(&f, "pytorch_model.bin", false));
	assert_false(filter_wants(&f, "old/a/config.json", false));
	assert_null(filter_list(&a, ""));
	assert_null(filter_list(&a, NULL));
	assert_null(filter_list(&a, " , "));
	f.allow = NULL;
	assert_true(filter_wants(&f, "x.bin", false));
	assert_false(filter_wants(&f, "x.h5", false));
}

static void test_defaults_leave_out_nothing_that_was_named(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
			    .ignore = filter_list(&a, FILTER_MODEL_IGNORE) };

	(void)state;
	assert_false(filter_wants(&f, "a/x.bin", false));
	assert_true(filter_wants(&f, "a/x.bin", true));
	f.ignore_given = true;
	assert_false(filter_wants(&f, "a/x.bin", true));
	assert_true(filter_wants(&f, "a/x.zip", true));
	f.allow_given = true;
	assert_false(filter_wants(&f, "a/x.zip", true));
}

/* Rows: what is there, who gave the patterns, what is rescued, how much is left out. */
static void test_a_model_keeps_its_weights(void **state)
{
	static const struct {
		const char *names;
		bool allow_given, ignore_given;
		const char *rescued;
		size_t left;
	} rows[] = {
		{ "config.json,model.safetensors,model.bin", false, false, NULL, 1 },
		{ "config.json,model.bin,tf.h5", false, false, "*.bin", 2 },
		{ "config.json,tf.h5,flax.msgpack", false, false, "*.h5", 2 },
		{ "config.json,model.onnx", false, false, "*.onnx", 1 },
		{ "config.json,README.md", false, false, NULL, 1 },
		{ "config.json,model.bin", false, true, NULL, 0 },
		{ "config.json,model.bin", true, false, NULL, 0 },
		{ "config.json,model.gguf", true, true, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
				    .ignore = filter_list(&a, FILTER_MODEL_IGNORE),
				    .allow_given = rows[i].allow_given,
				    .ignore_given = rows[i].ignore_given,
				    .has_weights = true };
		struct filter_look look = { .filter = &f };
		char **names = str_split(&a, rows[i].names, ',', NULL);

		for (size_t k = 0; names[k]; k++)
			filter_look(&look, names[k], false);
		print_message("# %s\n", rows[i].names);
		f.rescued = filter_rescue(&look);
		assert_int_equal(look.n, rows[i].left);
		if (rows[i].rescued)
			assert_string_equal(f.rescued[0], rows[i].rescued);
		else
			assert_null(f.rescued);
		filter_look_release(&look);
	}
}

static void test_path(void **state)
{
	static const char *const good[] = { "a",        "a/b", "..a",  "a..", ".hidden/x",
					    "\xc3\xa9", "a b", "a\\b", NULL };
	static const char *const bad[] = { "",       "/a",   "a//b", "a/",    "../a",
					   "a/../b", "a/..", ".",    "a/./b", "a\nb",
					   "\xff",   "..",   NULL };
	struct error err = { 0 };
	char part[300];

	(void)state;
	for (int i = 0; good[i]; i++)
		assert_int_equal(store_path_check(good[i], &err), 0);
	for (int i = 0; bad[i]; i++)
		assert_int_equal(store_path_check(bad[i], &err), -1);
	memset(part, 'x', sizeof(part));
	part[255] = 0;
	assert_int_equal(store_path_check(part, &err), 0);
	part[255] = 'x';
	part[256] = 0;
	assert_int_equal(store_path_check(part, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_fnmatch),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_defaults_leave_out_nothing_that_was_named),
		cmocka_unit_test(test_a_model_keeps_its_weights),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
