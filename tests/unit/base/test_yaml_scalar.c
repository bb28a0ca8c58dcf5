/*
 * The type of a scalar by the rules of go-yaml v2 (resolve.go) and sigs.k8s.io/yaml.
 * A row is the text after "a: " and the JSON value that comes of it.
 */
#include "base/yaml.h"
#include "tests/unit/base/base_test.h"

static const struct {
	const char *text, *json;
} rows[] = {
	/* booleans of YAML 1.1, in three spellings each */
	{ "y", "true" },
	{ "Y", "true" },
	{ "yes", "true" },
	{ "Yes", "true" },
	{ "YES", "true" },
	{ "on", "true" },
	{ "On", "true" },
	{ "ON", "true" },
	{ "true", "true" },
	{ "True", "true" },
	{ "TRUE", "true" },
	{ "n", "false" },
	{ "N", "false" },
	{ "no", "false" },
	{ "No", "false" },
	{ "NO", "false" },
	{ "off", "false" },
	{ "Off", "false" },
	{ "OFF", "false" },
	{ "false", "false" },
	{ "False", "false" },
	{ "FALSE", "false" },
	{ "yEs", "\"yEs\"" },
	{ "tRUE", "\"tRUE\"" },
	{ "t", "\"t\"" },
	{ "nope", "\"nope\"" },
	/* null */
	{ "", "null" },
	{ "~", "null" },
	{ "null", "null" },
	{ "Null", "null" },
	{ "NULL", "null" },
	{ "nULL", "\"nULL\"" },
	{ "none", "\"none\"" },
	/* decimal integers */
	{ "0", "0" },
	{ "-0", "0" },
	{ "1", "1" },
	{ "+1", "1" },
	{ "-1", "-1" },
	{ "1_000", "1000" },
	{ "1__0", "10" },
	{ "1_", "1" },
	{ "_1", "\"_1\"" },
	{ "-_1", "-1" },
	{ "9007199254740993", "9007199254740993" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "18446744073709551616", "18446744073709551616" },
	{ "+18446744073709551616", "18446744073709551616" },
	/* other bases */
	{ "017", "15" },
	{ "-017", "-15" },
	{ "0_7", "7" },
	{ "00", "0" },
	{ "0777", "511" },
	{ "08", "8" },
	{ "0888", "888" },
	{ "0o17", "15" },
	{ "0O17", "15" },
	{ "0o8", "\"0o8\"" },
	{ "0o", "\"0o\"" },
	{ "0x1F", "31" },
	{ "0X1f", "31" },
	{ "-0x10", "-16" },
	{ "+0x10", "16" },
	{ "0x_1F", "31" },
	{ "0x", "\"0x\"" },
	{ "0xg", "\"0xg\"" },
	{ "0xffffffffffffffff", "18446744073709551615" },
	{ "0x10000000000000000", "\"0x10000000000000000\"" },
	{ "0b101", "5" },
	{ "0B11", "3" },
	{ "-0b11", "-3" },
	{ "0b-1", "-1" },
	{ "0b2", "\"0b2\"" },
	{ "0b", "\"0b\"" },
	/* floats */
	{ "1.0", "1" },
	{ "1.", "1" },
	{ "1.10", "1.1" },
	{ ".5", "0.5" },
	{ "-.5", "-0.5" },
	{ "+.5", "0.5" },
	{ ".5e3", "500" },
	{ ".5_0", "0.5" },
	{ ".5_", "\".5_\"" },
	{ "._5", "\"._5\"" },
	{ "1_2.5", "12.5" },
	{ "1e3", "1000" },
	{ "1E+3", "1000" },
	{ "1e-3", "0.001" },
	{ "1.e5", "100000" },
	{ "1e21", "1e21" },
	{ "0.1", "0.1" },
	{ "0.30000000000000004", "0.30000000000000004" },
	{ "1e", "\"1e\"" },
	{ ".", "\".\"" },
	{ ".e5", "\".e5\"" },
	{ "1e400", "\"1e400\"" },
	{ "1e-400", "0" },
	{ "inf", "\"inf\"" },
	{ "nan", "\"nan\"" },
	/* what only looks like a number */
	{ "+", "\"+\"" },
	{ "--", "\"--\"" },
	{ "1.2.3", "\"1.2.3\"" },
	{ "12:30", "\"12:30\"" },
	{ "190:20:30", "\"190:20:30\"" },
	{ "10Gi", "\"10Gi\"" },
	{ "500m", "\"500m\"" },
	{ "1k", "\"1k\"" },
	{ "1e3Mi", "\"1e3Mi\"" },
	{ "1,000", "\"1,000\"" },
	{ "50%", "\"50%\"" },
	{ "1/2", "\"1/2\"" },
	{ "10.0.0.1", "\"10.0.0.1\"" },
	{ "-a", "\"-a\"" },
	{ "--flag", "\"--flag\"" },
	/* timestamps stay text */
	{ "2001-01-01", "\"2001-01-01\"" },
	{ "2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\"" },
	{ "2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\"" },
	/* quotes */
	{ "\"1\"", "\"1\"" },
	{ "'yes'", "\"yes\"" },
	{ "\"\"", "\"\"" },
	{ "''", "\"\"" },
	{ "'it''s'", "\"it's\"" },
	{ "\"\\x41\\u00e9\\t\"", "\"A\\u00e9\\t\"" },
	{ "<<", "\"<<\"" },
	{ "=", "\"=\"" },
	/* tags */
	{ "!!str 1", "\"1\"" },
	{ "!!str", "\"\"" },
	{ "! 12", "\"12\"" },
	{ "!!int 0x10", "16" },
	{ "!!int '12'", "12" },
	{ "!!float 1", "1" },
	{ "!!float '2.5'", "2.5" },
	{ "!!bool yes", "true" },
	{ "!!bool 'true'", "true" },
	{ "!!null ''", "null" },
	{ "!!timestamp 2001-01-01", "\"2001-01-01\"" },
	{ "!!binary aGVsbG8=", "\"hello\"" },
	{ "!!binary", "\"\"" },
	{ "!!binary |\n  aGVs\n  bG8=", "\"hello\"" },
	{ "!!seq [1]", "[1]" },
	{ "!!map {b: c}", "{\"b\":\"c\"}" },
};

TEST(test_scalars)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf text = { .max = 1000 };
		cleanup_json cJSON *want = doc_of(rows[i].json);
		cleanup_json cJSON *docs = NULL;
		cleanup_free char *got = NULL;
		struct error err = { 0 };

		buf_printf(&text, "a: %s\n", rows[i].text);
		if (yaml_parse(&docs, text.data, text.len, &err))
			fail_msg("%s: %s", rows[i].text, err.msg);
		got = json_text(cJSON_GetObjectItemCaseSensitive(docs->child, "a"));
		if (!json_equal(cJSON_GetObjectItemCaseSensitive(docs->child, "a"), want))
			fail_msg("%s: got %s, want %s", rows[i].text, got, rows[i].json);
	}
}

/* Each text as a string is printed so that it is read back as a string. */
TEST(test_strings_that_look_like_something_else)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = cJSON_CreateArray();
		cleanup_json cJSON *docs = NULL;
		cleanup_buf struct buf text = { .max = 10000 };
		struct error err = { 0 };

		cJSON_AddItemToArray(doc, cJSON_CreateString(rows[i].text));
		yaml_print(&text, doc);
		if (yaml_parse(&docs, text.data, text.len, &err))
			fail_msg("%s: %s", (char *)text.data, err.msg);
		if (!json_equal(docs->child, doc))
			fail_msg("%s is not read back as text", (char *)text.data);
	}
}

TEST(test_keys_become_text)
{
	static const char text[] =
		"1: a\n0x10: b\n1.5: c\n1.0: d\nyes: e\n017: f\n'~': g\n"
		"2001-01-01: h\n0.1: i\n!!str 5: j\n18446744073709551615: k\n";
	cleanup_json cJSON *docs = NULL;
	cleanup_free char *got = NULL;
	struct error err = { 0 };

	/* 1.0 is 1 as a key, too, and 1 stands there already. */
	assert_int_equal(yaml_parse(&docs, text, strlen(text), &err), -1);
	assert_string_equal(err.msg,
			    "4:1: duplicate key \"1\" in this mapping; first at 1:1");
	assert_int_equal(yaml_parse(&docs, text + 5, strlen(text) - 5, &err), 0);
	got = json_text(docs->child);
	assert_string_equal(got,
			    "{\"16\":\"b\",\"1.5\":\"c\",\"1\":\"d\",\"true\":\"e\","
			    "\"15\":\"f\",\"~\":\"g\",\"2001-01-01\":\"h\","
			    "\"0.1\":\"i\",\"5\":\"j\",\"18446744073709551615\":\"k\"}");
}

TEST(test_what_json_cannot_hold)
{
	static const struct {
		const char *text, *msg;
	} refused[] = {
		{ ".inf",
		  "1:1: .inf has no counterpart in JSON; put it in quotes if it is "
		  "meant as text" },
		{ "-.INF",
		  "1:1: -.INF has no counterpart in JSON; put it in quotes if it is "
		  "meant as text" },
		{ ".NaN",
		  "1:1: .NaN has no counterpart in JSON; put it in quotes if it is "
		  "meant as text" },
		{ "!!int 1.5", "1:1: '1.5' is not a !!int" },
		{ "!!float x", "1:1: 'x' is not a !!float" },
		{ "!!bool 1", "1:1: '1' is not a !!bool" },
		{ "!!null x", "1:1: 'x' is not a !!null" },
		{ "!local x", "1:1: unknown tag !local" },
		{ "!!set {x}", "1:1: unknown tag !!set" },
		{ "!!binary a",
		  "1:1: !!binary: base64: 1 characters, not a multiple of 4" },
		{ "!!binary /w==",
		  "1:1: !!binary: not text, and JSON holds only text; write "
		  "the base64 as a plain string" },
		{ "!!binary AA==",
		  "1:1: !!binary: not text, and JSON holds only text; write "
		  "the base64 as a plain string" },
		{ "\"a\\0b\"", "1:1: a string may not hold NUL" },
		{ "{~: x}", "1:2: a key is missing (null); put it in quotes if it is "
			    "meant as text" },
		{ "{? [a] : b}", "1:4: a key may not be a list" },
		{ "{? {a: b} : c}",
		  "1:4: a key may not be a mapping: render a template with '{{' first" },
	};

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		struct error err = { 0 };
		cJSON *docs = NULL;

		check_int(
			refused[i].text,
			yaml_parse(&docs, refused[i].text, strlen(refused[i].text), &err),
			-1);
		check_text(refused[i].text, err.msg, refused[i].msg);
		check_int(refused[i].text, err.kind, ERR_FORMAT);
	}
}

RUN_TESTS(NULL, NULL)
