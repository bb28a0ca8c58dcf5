/*
 * What vendor/patches/cjson-literals.patch makes of cJSON: numbers keep how they
 * were written, and what RFC 8259 forbids is refused.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

/* From memory that ends where the text does, all of it or nothing. */
static cJSON *parse(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + !len);
	const char *end;
	cJSON *doc;

	memcpy(copy, text, len);
	doc = cJSON_ParseWithLengthOpts(copy, len, &end, 0);
	if (doc && end != copy + len) {
		cJSON_Delete(doc);
		doc = NULL;
	}
	free(copy);
	return doc;
}

static void assert_prints(const cJSON *doc, const char *want)
{
	char *got = cJSON_PrintUnformatted(doc);

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

TEST(test_numbers_are_printed_as_written)
{
	static const char *const texts[] = {
		"0",
		"-1",
		"1.0",
		"1.50",
		"1e3",
		"1E+2",
		"-0",
		"-0.0",
		"1e-999",
		"0.1",
		"2147483647",
		"2147483648",
		"-2147483648",
		"-2147483649",
		"9007199254740993",
		"9223372036854775807",
		"18446744073709551615",
		"123456789012345678901234567890",
		"1.7976931348623157e308",
		"[1,2.50,{\"a\":1.0,\"b\":[5000000000]}]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		cJSON *doc = parse(texts[i]), *copy;

		assert_non_null(doc);
		assert_prints(doc, texts[i]);
		copy = cJSON_Duplicate(doc, 1);
		cJSON_Delete(doc);
		assert_prints(copy, texts[i]);
		cJSON_Delete(copy);
	}
}

TEST(test_only_what_an_int_does_not_hold_has_a_literal)
{
	static const struct {
		const char *text;
		int has;
	} rows[] = {
		{ "0", 0 },          { "-7", 0 },          { "2147483647", 0 },
		{ "2147483648", 1 }, { "-2147483648", 0 }, { "-0", 1 },
		{ "1.0", 1 },        { "1e0", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cJSON *doc = parse(rows[i].text);

		assert_int_equal(doc->valuestring != NULL, rows[i].has);
		assert_null(cJSON_GetStringValue(doc));
		cJSON_Delete(doc);
	}
}

TEST(test_what_the_rfc_forbids_is_refused)
{
	static const char *const texts[] = {
		"",
		"-",
		"01",
		"-01",
		"1.",
		"1.e5",
		".5",
		"+1",
		"1e",
		"1e+",
		"--1",
		"[1-2]",
		"[1e5e]",
		"[0x10]",
		"NaN",
		"[Infinity]",
		"1e999",
		"-1e999",
		"[1,\v2]",
		"\f1",
		"\"\\u0000\"",
		"\"\\uZZZZ\"",
		"\"\\u00\"",
		"\"a\nb\"",
		"\"\t\"",
		"{\"a\x01\":1}",
		"\"\\ud800\"",
		"\"\\x\"",
		"[1,]",
		"{\"a\":1,}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (parse(texts[i]))
			fail_msg("row %zu, %s: taken", i, texts[i]);
}

TEST(test_whitespace_is_taken)
{
	cJSON *doc = parse("{ \"a\" :\t1 ,\r\n\"b\":[ ] }");

	assert_prints(doc, "{\"a\":1,\"b\":[]}");
	cJSON_Delete(doc);
}

TEST(test_integers_are_compared_by_their_digits)
{
	static const struct {
		const char *a, *b;
		int equal;
	} rows[] = {
		{ "9007199254740993", "9007199254740992", 0 },
		{ "9007199254740993", "9007199254740993", 1 },
		{ "1.0", "1", 1 },
		{ "1e3", "1000", 1 },
		{ "2147483648", "2147483648.0", 1 },
		{ "2147483648", "2147483649", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cJSON *a = parse(rows[i].a), *b = parse(rows[i].b);

		assert_int_equal(cJSON_Compare(a, b, 1), rows[i].equal);
		cJSON_Delete(a);
		cJSON_Delete(b);
	}
}

TEST(test_a_new_value_drops_the_literal)
{
	cJSON *doc = parse("1.50"), *holder = cJSON_CreateObject();

	cJSON_SetNumberValue(doc, 7);
	assert_prints(doc, "7");
	cJSON_Delete(doc);
	doc = parse("1.50");
	cJSON_SetIntValue(doc, 8);
	assert_prints(doc, "8");
	cJSON_Delete(doc);

	doc = parse("5000000000");
	cJSON_AddItemReferenceToObject(holder, "x", doc);
	assert_prints(holder, "{\"x\":5000000000}");
	cJSON_SetNumberValue(cJSON_GetObjectItem(holder, "x"), 3);
	assert_prints(holder, "{\"x\":3}");
	cJSON_Delete(holder);
	assert_prints(doc, "5000000000");
	cJSON_Delete(doc);
}

TEST(test_nesting_has_a_limit)
{
	char text[2 * 1001 + 1] = "";
	cJSON *doc;

	memset(text, '[', 1001);
	memset(text + 1001, ']', 1001);
	assert_null(parse(text));
	text[2 * 1001 - 1] = '\0';
	doc = parse(text + 1);
	assert_non_null(doc);
	cJSON_Delete(doc);
}

RUN_TESTS(NULL, NULL)
