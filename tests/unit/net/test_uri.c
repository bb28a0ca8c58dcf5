#include "base/cleanup.h"
#include "base/str.h"
#include "net/uri.h"
#include "tests/unit/unit.h"

TEST(test_parse)
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
		/* Names of files and objects: nothing is cut off. */
		{ "file:///d/c#1?x", "file", "", "d/c#1?x", NULL, NULL },
		{ "pvc://claim/c#", "pvc", "claim", "c#", NULL, NULL },
		{ "hf://org/name/c?#", "hf", "org", "name/c?#", NULL, NULL },
		{ "S3://b/a?b#c%20+;", "s3", "b", "a?b#c%20+;", NULL, NULL },
		{ "s3a://b/a#", "s3a", "b", "a#", NULL, NULL },
		{ "gs://b/?/#", "gs", "b", "?/#", NULL, NULL },
		{ "gs://b#/x", "gs", "b#", "x", NULL, NULL },
		{ "cache://s/t?q#f", "cache", "s", "t", "q", "f" },
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
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
TEST(test_resolve)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *got = NULL;

		assert_int_equal(uri_resolve(&got, &a, "http://a/b/c/d;p?q",
					     rows[i].reference, &err),
				 0);
		assert_string_equal(got, rows[i].want);
	}
}

TEST(test_shown)
{
	cleanup_arena struct arena a = { 0 };
	const char *got = NULL;
	struct error err = { 0 };

	assert_string_equal(uri_shown(&a, "https://u:secret@h/p?sig=secret#secret"),
			    "https://h/p");
	assert_string_equal(uri_shown(&a, "https://h/p@x"), "https://h/p@x");
	assert_string_equal(uri_shown(&a, "s3://b/c#?d"), "s3://b/c#?d");
	assert_string_equal(uri_shown(&a, "htps://h/p?sig=secret"), "htps://h/p");
	assert_int_equal(uri_decode(&got, &a, "a%20b%c3%A9", &err), 0);
	assert_string_equal(got, "a b\xc3\xa9");
	assert_int_equal(uri_decode(&got, &a, "%", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%4", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%00", &err), -1);
	assert_int_equal(uri_decode(&got, &a, "%zz", &err), -1);
}

/* As Python's fnmatch.fnmatchcase answers. */
RUN_TESTS(NULL, NULL)
