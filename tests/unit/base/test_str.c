#include "base/str.h"
#include "tests/unit/base/base_test.h"

TEST(test_prefix_and_suffix)
{
	assert_true(str_starts("abc", "ab") && str_starts("abc", "") &&
		    str_starts("", ""));
	assert_false(str_starts("a", "ab"));
	assert_true(str_ends("abc", "bc") && str_ends("abc", "") &&
		    str_ends("abc", "abc"));
	assert_false(str_ends("bc", "abc"));
	assert_string_equal(str_after("s3://bucket", "s3://"), "bucket");
	assert_null(str_after("s3:", "s3://"));
	assert_true(str_eq(NULL, NULL) && str_eq("a", "a"));
	assert_false(str_eq(NULL, "") || str_eq("", NULL) || str_eq("a", "b"));
}

TEST(test_split_keeps_empty_parts)
{
	static const struct {
		const char *text, *joined;
		size_t n;
	} rows[] = {
		{ "", "", 1 },         { "a", "a", 1 }, { "a,b", "a|b", 2 },
		{ "a,,b", "a||b", 3 }, { ",", "|", 2 }, { "a,", "a|", 2 },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		size_t n = 0;
		char **parts = str_split(&a, rows[i].text, ',', &n);

		check_int(rows[i].text, (long long)n, (long long)rows[i].n);
		assert_null(parts[n]);
		check_text(rows[i].text, str_join(&a, (const char *const *)parts, "|"),
			   rows[i].joined);
	}
	assert_string_equal(str_trim(&a, " \t a b\n"), "a b");
	assert_string_equal(str_trim(&a, "  "), "");
	assert_string_equal(str_join(&a, (const char *const[]){ NULL }, ","), "");
}

TEST(test_int)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "-7", true, -7 },
		{ "007", true, 7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1x", false, 0 },
		{ "0x1", false, 0 },
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int64_t v = 42;
		int ret = str_int(&v, rows[i].text, INT64_MIN, INT64_MAX, &err);

		check_int(rows[i].text, ret, rows[i].ok ? 0 : -1);
		check_int(rows[i].text, v, rows[i].ok ? rows[i].value : 42);
	}
	assert_int_equal(str_int(&(int64_t){ 0 }, "5", 1, 4, &err), -1);
	assert_string_equal(err.msg, "5 is not between 1 and 4");
	assert_int_equal(str_int(&(int64_t){ 0 }, "x", 1, 4, &err), -1);
	assert_string_equal(err.msg, "'x' is not a whole number");
}

TEST(test_visible)
{
	static const struct {
		const char *text, *visible, *lines;
	} rows[] = {
		{ "", "", "" },
		{ "plain, \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t|",
		  "plain, \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t|",
		  "plain, \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t|" },
		{ "\033[31mred", "\\x1b[31mred", "\\x1b[31mred" },
		{ "a\nb\r", "a\\x0ab\\x0d", "a\nb\\x0d" },
		{ "\x7f\xc2\x9b"
		  "1m",
		  "\\x7f\\x9b"
		  "1m",
		  "\\x7f\\x9b"
		  "1m" },
		{ "\xe2\x80\xae"
		  "exe",
		  "\\u202eexe", "\\u202eexe" },
		{ "\xf3\xa0\x80\x81", "\\U000e0001", "\\U000e0001" },
		{ "\xff\xc3", "\\xff\\xc3", "\\xff\\xc3" },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		check_text(rows[i].text, str_visible(&a, rows[i].text, false),
			   rows[i].visible);
		check_text(rows[i].text, str_visible(&a, rows[i].text, true),
			   rows[i].lines);
	}
}

TEST(test_utf8)
{
	static const struct {
		const char *name, *bytes;
		size_t length;
	} rows[] = {
		{ "ascii", "a", 1 },
		{ "two", "\xc3\xa9", 2 },
		{ "three", "\xe2\x82\xac", 3 },
		{ "four", "\xf0\x9f\x98\x80", 4 },
		{ "last", "\xf4\x8f\xbf\xbf", 4 },
		{ "too large", "\xf4\x90\x80\x80", 0 },
		{ "overlong slash", "\xc0\xaf", 0 },
		{ "overlong three", "\xe0\x80\xaf", 0 },
		{ "surrogate", "\xed\xa0\x80", 0 },
		{ "before surrogates", "\xed\x9f\xbf", 3 },
		{ "cut off", "\xe2\x82", 0 },
		{ "continuation", "\x80", 0 },
		{ "no continuation", "\xc3(", 0 },
		{ "ff", "\xff", 0 },
		{ "nothing", "", 0 },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *p = rows[i].bytes;

		check_int(rows[i].name, (long long)utf8_length(p, p + strlen(p)),
			  (long long)rows[i].length);
	}
	assert_true(utf8_valid("a\xc3\xa9z", 4));
	assert_false(utf8_valid("a\xc3", 2));
	assert_true(utf8_valid("", 0));
	assert_string_equal(utf8_clean(&arena, "a\xc3\xa9z"), "a\xc3\xa9z");
	assert_string_equal(utf8_clean(&arena, "\xff"
					       "a\xc3"),
			    "\xef\xbf\xbd"
			    "a\xef\xbf\xbd");
	assert_string_equal(utf8_clean(&arena, ""), "");
	assert_int_equal(utf8_cut("abc", 3, 5), 3);
	assert_int_equal(utf8_cut("abc", 3, 2), 2);
	assert_int_equal(utf8_cut("a\xc3\xa9z", 4, 3), 3);
	assert_int_equal(utf8_cut("a\xc3\xa9z", 4, 2), 1);
	assert_int_equal(utf8_cut("\x80\x80\x80", 3, 2), 0);
	assert_string_equal(str_at_most(&arena, "a\xc3\xa9z", 4), "a\xc3\xa9z");
	assert_string_equal(str_at_most(&arena, "a\xc3\xa9z", 2), "a");
	assert_string_equal(str_at_most(&arena, "", 2), "");
}

TEST(test_size_text)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 21000001, "20.0 MiB" },
		{ INT64_C(1) << 30, "1.0 GiB" },
		{ INT64_C(1) << 42, "4096.0 GiB" },
	};
	struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(str_size(&a, rows[i].bytes), rows[i].text);
	arena_clear(&a);
}

TEST(test_wipe)
{
	char secret[] = "token";

	str_wipe(NULL);
	str_wipe(secret);
	assert_memory_equal(secret, "\0\0\0\0\0", sizeof(secret));
}

/* RFC 4648, section 10, and what a strict reader refuses. */
TEST(test_base64)
{
	static const struct {
		const char *text, *base64;
	} rows[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xfe", "+//+" },
	};
	static const char *const wrong[] = { "Z",    "Zg=",  "Zg",   "Zg==Zg==",
					     "Zh==", "Zm9=", "Z===", "====",
					     "Zm9*", "Zm 9", "=Zg=", NULL };
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf b = { .max = 100 }, back = { .max = 100 };
		size_t len = strlen(rows[i].base64);

		base64_encode(&b, rows[i].text, strlen(rows[i].text));
		check_text(rows[i].text, b.data ? (char *)b.data : "", rows[i].base64);
		check_int(rows[i].base64, base64_decode(&back, rows[i].base64, len, &err),
			  0);
		check_text(rows[i].base64, back.data ? (char *)back.data : "",
			   rows[i].text);
	}
	for (size_t i = 0; wrong[i]; i++) {
		cleanup_buf struct buf b = { .max = 100 };

		check_int(wrong[i], base64_decode(&b, wrong[i], strlen(wrong[i]), &err),
			  -1);
		assert_int_equal(err.kind, ERR_FORMAT);
	}
}

TEST(test_base64url)
{
	static const struct {
		const char *text, *base64url;
	} rows[] = { { "", "" },
		     { "f", "Zg" },
		     { "fo", "Zm8" },
		     { "foo", "Zm9v" },
		     { "\xfb\xff", "-_8" } };
	static const char *const wrong[] = { "Zg==", "Zm8=", "+_8", "-/8",
					     "Z",    "Zh",   "Z g" };
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf b = { .max = 100 }, back = { .max = 100 };
		const char *url = rows[i].base64url;

		base64url_encode(&b, rows[i].text, strlen(rows[i].text));
		check_text(url, b.data ? (char *)b.data : "", url);
		check_int(url, base64url_decode(&back, url, strlen(url), &err), 0);
		check_text(url, back.data ? (char *)back.data : "", rows[i].text);
	}
	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		cleanup_buf struct buf b = { .max = 100 };

		check_int(wrong[i],
			  base64url_decode(&b, wrong[i], strlen(wrong[i]), &err), -1);
	}
}

TEST(test_hex)
{
	cleanup_buf struct buf b = { .max = 100 }, back = { .max = 100 };
	struct error err = { 0 };

	hex_encode(&b, "\x00\x9f\xff", 3);
	assert_string_equal(b.data, "009fff");
	assert_int_equal(hex_decode(&back, "009Fff", 6, &err), 0);
	assert_int_equal(back.len, 3);
	assert_memory_equal(back.data, "\x00\x9f\xff", 3);
	assert_int_equal(hex_decode(&back, "0", 1, &err), -1);
	assert_int_equal(hex_decode(&back, "0g", 2, &err), -1);
	assert_int_equal(hex_decode(&back, "@0", 2, &err), -1);
}

TEST(test_sh)
{
	cleanup_arena struct arena arena = { 0 };

	assert_string_equal(str_sh(&arena, "/a/b-1.yaml"), "/a/b-1.yaml");
	assert_string_equal(str_sh(&arena, "my file"), "'my file'");
	assert_string_equal(str_sh(&arena, "it's"), "'it'\\''s'");
	assert_string_equal(str_sh(&arena, ""), "''");
}

RUN_TESTS(NULL, NULL)
