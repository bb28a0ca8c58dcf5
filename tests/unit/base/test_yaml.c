#include "base/str.h"
#include "base/yaml.h"
#include "tests/unit/base/base_test.h"

/* The array of documents as JSON, or "ERROR: message". */
static char *parsed(struct arena *a, const char *text)
{
	cleanup_json cJSON *docs = NULL;
	cleanup_free char *json = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, text, strlen(text), &err))
		return arena_printf(a, "ERROR: %s", err.msg);
	json = json_text(docs);
	return arena_strdup(a, json);
}

static void check_rows(const char *const rows[][2], size_t n)
{
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < n; i++)
		check_text(rows[i][0], parsed(&a, rows[i][0]), rows[i][1]);
}

TEST(test_documents)
{
	static const char *const rows[][2] = {
		{ "", "[]" },
		{ "# only a comment\n", "[]" },
		{ "---\n", "[]" },
		{ "--- ~\n--- null\n", "[]" },
		{ "a: 1\n", "[{\"a\":1}]" },
		{ "---\na: 1\n---\n# nothing\n---\nb: 2\n...\n",
		  "[{\"a\":1},{\"b\":2}]" },
		{ "%YAML 1.1\n---\n- x\n", "[[\"x\"]]" },
		{ "\xef\xbb\xbf"
		  "a: 1\n",
		  "[{\"a\":1}]" },
		{ "a: 1\r\nb: 2\r\n", "[{\"a\":1,\"b\":2}]" },
		{ "''\n", "[\"\"]" },
		{ "{\"a\": \"\\ud83d\\ude00\", \"b\": [1.0]}",
		  "[{\"a\":\"\xf0\x9f\x98\x80\","
		  "\"b\":[1.0]}]" },
		{ "{\"a\": 1}\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

/* JSON objects one after another, as kubectl and jq write them. */
TEST(test_json_objects)
{
	static const char *const rows[][2] = {
		{ "{\"a\":1}{\"b\":2}", "[{\"a\":1},{\"b\":2}]" },
		{ "\n {\"a\":1}\r\n{\"b\":2}\r\n\r\n", "[{\"a\":1},{\"b\":2}]" },
		{ "\xef\xbb\xbf{\"a\":1}\n{\"b\":2}", "[{\"a\":1},{\"b\":2}]" },
		{ "\xef\xbb\xbf"
		  "a: 1\n---\n\xef\xbb\xbf"
		  "b: 2\nc: 3\n",
		  "[{\"a\":1},{\"b\":2,\"c\":3}]" },
		{ "# x\n"
		  "{\"a\":1} # y\n"
		  "--- # z\n"
		  "{\"b\":2}\n"
		  "...\n"
		  "---\n"
		  "c: 3\n"
		  "---\n"
		  "{\"d\":4}",
		  "[{\"a\":1},{\"b\":2},{\"c\":3},{\"d\":4}]" },
		{ "{\"a\":1}{\"b\":2}\n---\n{c: 3,}\n",
		  "[{\"a\":1},{\"b\":2},{\"c\":3}]" },
		{ "{\"a\":1}\n--- {b: *c}\n",
		  "ERROR: 2:9: no anchor '&c' before this alias" },
		{ "{\"a\":1}\n---\nb: [1\nc: 2\n",
		  "ERROR: 4:2: ',' or ']' expected in the list (in what began at 3:4)" },
		{ "{\"a\":1},\n{\"b\":2}", "ERROR: 1:8: expected '{', '---' or the end "
					   "of the text after an object" },
		{ "{\"a\":1}\nb: 2\n", "ERROR: 2:1: expected '{', '---' or the end of "
				       "the text after an object" },
		{ "{\"a\":1}\n{\"b\" 2}", "ERROR: 2:6: ':' expected, found '2'" },
		{ "{\"a\":1}\n{\"b\":2,\"b\":3}",
		  "ERROR: 2:8: duplicate key \"b\" in this object" },
		{ "{\"a\": [1,\n]}",
		  "ERROR: 2:1: a value expected, found ']'; remove the ',' before it" },
		{ "{\"a\": 1,}",
		  "ERROR: 1:9: a key in quotes expected, found '}'; remove "
		  "the ',' before it" },
		{ "{\"a\": x,}", "[{\"a\":\"x\"}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

/* As Windows writes text. */
TEST(test_utf16)
{
	static const struct {
		const char *text;
		size_t len;
		const char *want;
	} rows[] = {
#define ROW(text, want) { text, sizeof(text) - 1, want }
		ROW("\xff\xfe{\0\"\0a\0\"\0:\0\"\0\xe9\0\x3d\xd8\x00\xde\"\0}\0{\0}\0",
		    "[{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\"},{}]"),
		ROW("\xfe\xff\0a\0:\0 \x20\xac\0\n", "[{\"a\":\"\xe2\x82\xac\"}]"),
		ROW("\xff\xfe\"\0\x3d\xd8\"\0", NULL),
		ROW("\xff\xfe\"\0\x00\xde\"\0", NULL),
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *docs = NULL;
		cleanup_free char *json = NULL;
		struct error err = { 0 };
		int failed = yaml_parse(&docs, rows[i].text, rows[i].len, &err);

		assert_int_equal(failed != 0, rows[i].want == NULL);
		json = failed ? NULL : json_text(docs);
		if (json)
			assert_string_equal(json, rows[i].want);
	}
}

TEST(test_collections)
{
	static const char *const rows[][2] = {
		{ "a:\n  - b\n  - c: 1\n    d: 2\n",
		  "[{\"a\":[\"b\",{\"c\":1,\"d\":2}]}]" },
		{ "a:\n- b\nc:\n- d\n", "[{\"a\":[\"b\"],\"c\":[\"d\"]}]" },
		{ "- - a\n  - b\n- c\n", "[[[\"a\",\"b\"],\"c\"]]" },
		{ "{a: [b, {c: d}], e: }", "[{\"a\":[\"b\",{\"c\":\"d\"}],\"e\":null}]" },
		{ "a: {}\nb: []\nc:\n", "[{\"a\":{},\"b\":[],\"c\":null}]" },
		{ "? a\n: b\n? c\n", "[{\"a\":\"b\",\"c\":null}]" },
		{ "z: 1\na: 2\nm: 3\n", "[{\"z\":1,\"a\":2,\"m\":3}]" },
		{ "a: http://x/y:z #comment\n", "[{\"a\":\"http://x/y:z\"}]" },
		{ "a: b#c\n", "[{\"a\":\"b#c\"}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

TEST(test_block_scalars)
{
	static const char *const rows[][2] = {
		{ "a: |\n  x\n   y\n\n  z\n", "[{\"a\":\"x\\n y\\n\\nz\\n\"}]" },
		{ "a: |-\n  x\n\n", "[{\"a\":\"x\"}]" },
		{ "a: |+\n  x\n\n", "[{\"a\":\"x\\n\\n\"}]" },
		{ "a: |2\n   x\n", "[{\"a\":\" x\\n\"}]" },
		{ "a: >\n  x\n  y\n\n  z\n", "[{\"a\":\"x y\\nz\\n\"}]" },
		{ "a: >-\n  x\n    y\n  z\n", "[{\"a\":\"x\\n  y\\nz\"}]" },
		{ "a: x\n  y\n", "[{\"a\":\"x y\"}]" },
		{ "a: 'x\n\n  y'\n", "[{\"a\":\"x\\ny\"}]" },
		{ "a: |\n  1\n", "[{\"a\":\"1\\n\"}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

/* https://yaml.org/type/merge.html: a mapping's own keys win, then the earlier map. */
TEST(test_anchors_and_merges)
{
	static const char *const rows[][2] = {
		{ "a: &x [1]\nb: *x\n", "[{\"a\":[1],\"b\":[1]}]" },
		{ "&k a: 1\nb: *k\n", "[{\"a\":1,\"b\":\"a\"}]" },
		{ "a: &x 1\nb: &x 2\nc: *x\n", "[{\"a\":1,\"b\":2,\"c\":2}]" },
		{ "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n  e: 4\n",
		  "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":1,\"c\":3,\"e\":4}}]" },
		{ "a: &x {b: 1, c: 2}\nd:\n  c: 3\n  <<: *x\n",
		  "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}]" },
		{ "- &x {k: 1, j: 1}\n- &z {k: 2, l: 2}\n- <<: [*x, *z]\n",
		  "[[{\"k\":1,\"j\":1},{\"k\":2,\"l\":2},{\"k\":1,\"j\":1,\"l\":2}]]" },
		{ "- &x {k: 1}\n- &z {<<: *x, m: 2}\n- {<<: *z, k: 3}\n",
		  "[[{\"k\":1},{\"k\":1,\"m\":2},{\"m\":2,\"k\":3}]]" },
		{ "<<: {a: 1}\nb: 2\n", "[{\"a\":1,\"b\":2}]" },
		{ "'<<': 1\n", "[{\"<<\":1}]" },
		{ "a: <<\n", "[{\"a\":\"<<\"}]" },
		{ "<<: 5\n", "ERROR: 1:5: '<<' merges a mapping or a list of mappings" },
		{ "<<: [5]\n",
		  "ERROR: 1:6: '<<' merges a mapping or a list of mappings" },
		{ "a: *x\n", "ERROR: 1:4: no anchor '&x' before this alias" },
		{ "a: &x 1\n---\nb: *x\n",
		  "ERROR: 3:4: no anchor '&x' before this alias" },
		{ "a: &x [*x]\n", "ERROR: 1:8: the alias '*x' is inside its own anchor" },
		{ "&x a: {b: *x, c: &z {d: *z}}\n",
		  "ERROR: 1:25: the alias '*z' is inside its own anchor" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

TEST(test_equal_keys)
{
	static const char *const rows[][2] = {
		{ "a: 1\nb: 2\na: 3\n",
		  "ERROR: 3:1: duplicate key \"a\" in this mapping; first at 1:1" },
		{ "x:\n  - {a: 1, 'a': 2}\n",
		  "ERROR: 2:12: duplicate key \"a\" in this mapping; first at 2:6" },
		{ "yes: 1\ntrue: 2\n",
		  "ERROR: 2:1: duplicate key \"true\" in this mapping; first at 1:1" },
		{ "a: {x: 1}\nb: {x: 1}\n", "[{\"a\":{\"x\":1},\"b\":{\"x\":1}}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

/* What people get wrong, in one sentence each. */
TEST(test_messages)
{
	static const char *const rows[][2] = {
		{ "a:\n\tb: c\n", "ERROR: 2:1: tab used for indentation; use spaces" },
		{ "a: b: c\n",
		  "ERROR: 1:5: ':' is not expected here: check the indentation "
		  "of this line and the one before, or put the text in quotes" },
		{ "a: 1\n   b: 2\n", "ERROR: 2:5: ':' is not expected here: check the "
				     "indentation of this line "
				     "and the one before, or put the text in quotes" },
		{ "a:\n  b: 1\n c: 2\n", "ERROR: 3:2: expected a key here: check the "
					 "indentation, or put the text "
					 "before in quotes (in what began at 1:1)" },
		{ "- a\nb: c\n",
		  "ERROR: 2:1: expected '- ' here: check the indentation of "
		  "this list (in what began at 1:1)" },
		{ "a: 1\nb\n", "ERROR: 2:1: this line has no ':' after its key" },
		{ "a: 1\nb\nc: 2\n", "ERROR: 2:1: this line has no ':' after its key" },
		{ "a: [1, 2\n", "ERROR: 2:1: ',' or ']' expected in the list (in what "
				"began at 1:4)" },
		{ "a: [1, 2", "ERROR: 1:9: ',' or ']' expected in the list" },
		{ "\xc3\xa9: \xc3\xa9\nb:\n\tc: 1\n",
		  "ERROR: 3:1: tab used for indentation; use spaces" },
		{ "a: {b: 1\n", "ERROR: 2:1: ',' or '}' expected in the mapping (in what "
				"began at 1:4)" },
		{ "a: @x\n", "ERROR: 1:4: a value cannot begin with this character; "
			     "quote the value" },
		{ "a: \"x\n", "ERROR: 2:1: the text ends within a quoted string (in what "
			      "began at 1:4)" },
		{ "a: \"\\q\"\n",
		  "ERROR: 1:5: unknown escape in a string in double quotes "
		  "(write \\\\ for a backslash)" },
		{ "a: 'x' y\n",
		  "ERROR: 1:8: expected a key here: check the indentation, or "
		  "put the text before in quotes" },
		{ "a: 1\n- b\n",
		  "ERROR: 2:1: expected a key here: check the indentation, or "
		  "put the text before in quotes (in what began at 1:1)" },
		{ "a: \x01\n", "ERROR: 1:4: control characters are not allowed" },
		{ "a: \xff\n", "ERROR: 1:4: invalid leading UTF-8 octet" },
		{ "\xc3\xa9: x\ny: \xc3(\n", "ERROR: 2:5: invalid trailing UTF-8 octet" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

/* libyaml names the line after the one that is wrong, or one that is right. */
TEST(test_causes)
{
	static const char *const rows[][2] = {
		{ "a:\n  b:2\n  c: 3\n", "ERROR: 2:4: write a space after this ':'" },
		{ "a:\n  b: 3\n  c:2\n", "ERROR: 3:4: write a space after this ':'" },
		{ "a:\n  b:2\n\n  # d: e\n  c: 3\n",
		  "ERROR: 2:4: write a space after this ':'" },
		{ "a:\r\n  b:2\r\n  c: 3\r\n",
		  "ERROR: 2:4: write a space after this ':'" },
		{ "a:\n- b:2\n  c: 3\n", "ERROR: 2:4: write a space after this ':'" },
		{ "a:1\nb: 2", "ERROR: 1:2: write a space after this ':'" },
		{ "a:\n-b\n- c\n", "ERROR: 2:1: write a space after this '-'" },
		{ "a:\n\xc2\xa0 b: 1\n  c: 1\n",
		  "ERROR: 2:1: this is a no-break space (U+00A0): type a space in its "
		  "place" },
		{ "a:\n  b:\xc2\xa0"
		  "1\n  c: 1\n",
		  "ERROR: 2:5: this is a no-break space (U+00A0): type a space in its "
		  "place" },
		{ "\xc3\xa9:\n  b\xef\xbc\x9a"
		  "1\n  c: 1\n",
		  "ERROR: 2:4: this is a wide colon (U+FF1A): type ': ' in its place" },
		{ "a:\n  b:\xe3\x80\x80"
		  "1\n  c: 1\n",
		  "ERROR: 2:5: this is a wide space (U+3000): type a space in its place" },
		{ "a:\n  b:\xe2\x80\x8b"
		  "1\n  c: 1\n",
		  "ERROR: 2:5: a space of no width (U+200B) is here: remove it" },
		{ "{\n  // b\n  \"c\": 1\n}\n",
		  "ERROR: 2:3: this is no comment in YAML or JSON: remove it" },
		/* not a cause: a URL, text in quotes, a comment, what YAML allows */
		{ "a:\n  http://b\n  c: 1\n",
		  "ERROR: 3:4: ':' is not expected here: check the indentation of this "
		  "line and the one before, or put the text in quotes" },
		{ "a:\n- b:2\nc: d: e\n",
		  "ERROR: 3:5: ':' is not expected here: check the indentation of this "
		  "line and the one before, or put the text in quotes" },
		{ "a:\n- -c\n  d: e\n",
		  "ERROR: 3:4: ':' is not expected here: check the indentation of this "
		  "line and the one before, or put the text in quotes" },
		{ "a: 'b\xc2\xa0' # \xc2\xa0\n  c: 1\n",
		  "ERROR: 2:3: expected a key here: check the indentation, or put the "
		  "text before in quotes (in what began at 1:1)" },
		{ "a: {b:1, c: 2}\n", "[{\"a\":{\"b:1\":null,\"c\":2}}]" },
		{ "\xc2\xa0: b:1\n", "[{\"\xc2\xa0\":\"b:1\"}]" },
	};

	check_rows(rows, N_ELEMENTS(rows));
}

TEST(test_limits)
{
	cleanup_buf struct buf deep = { .max = 10000 }, big = { .max = SIZE_MAX / 4 };
	cleanup_arena struct arena a = { 0 };

	for (int i = 0; i <= YAML_MAX_DEPTH; i++)
		buf_adds(&deep, "[");
	assert_string_equal(parsed(&a, (char *)deep.data),
			    "ERROR: 1:201: nested deeper than 200 levels");
	for (int i = 0; i <= 1024 * 1024; i++)
		buf_adds(&big, "#              \n");
	assert_string_equal(parsed(&a, (char *)big.data),
			    "ERROR: 16777232 bytes of YAML, more than 16777216");
}

/*
 * The same shape for lists, for merge keys, and for one long string. Of the lists
 * l0 has 10 values and each next 1 + 9 times as many: l6 is the first past a million.
 */
TEST(test_billion_laughs)
{
	cleanup_buf struct buf lists = { .max = 10000 }, merges = { .max = 10000 };
	cleanup_buf struct buf bytes = { .max = SIZE_MAX / 4 }, deep = { .max = 100000 };
	cleanup_arena struct arena a = { 0 };

	buf_adds(&lists, "l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
	buf_adds(&merges, "l0: &l0 {x: 1}\n");
	buf_adds(&deep, "l0: &l0 [x]\n");
	buf_adds(&bytes, "l0: &l0 ");
	for (int i = 0; i < 100000; i++)
		buf_adds(&bytes, "0123456789");
	buf_adds(&bytes, "\n");
	for (int i = 1; i < 10; i++) {
		buf_printf(&lists, "l%d: &l%d [", i, i);
		buf_printf(&merges, "l%d: &l%d {<<: [", i, i);
		buf_printf(&bytes, "l%d: &l%d [", i, i);
		for (int j = 0; j < 9; j++) {
			buf_printf(&lists, "*l%d%s", i - 1, j < 8 ? ", " : "]\n");
			buf_printf(&merges, "*l%d%s", i - 1, j < 8 ? ", " : "]}\n");
			buf_printf(&bytes, "*l%d%s", i - 1, j < 8 ? ", " : "]\n");
		}
	}
	for (int i = 1; i < 300; i++)
		buf_printf(&deep, "l%d: &l%d [*l%d]\n", i, i, i - 1);
	assert_string_equal(parsed(&a, (char *)lists.data),
			    "ERROR: 7:10: more than 1000000 values, aliases expanded");
	assert_non_null(strstr(parsed(&a, (char *)merges.data),
			       ": more than 1000000 values, aliases expanded"));
	assert_string_equal(parsed(&a, (char *)bytes.data),
			    "ERROR: 3:40: more than 67108864 bytes, aliases expanded");
	assert_non_null(
		strstr(parsed(&a, (char *)deep.data), ": nested deeper than 200 levels"));
}

TEST(test_prints_as_kubectl_does)
{
	cleanup_json cJSON *doc = doc_of(
		"{\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"a.b/c\":\"yes\"},\"annotations\":{}},\"count\":9007199254740993,\"list\":[1,null,true,\"x\",[],[\"a\",\"b\"],{\"name\":\"A\",\"value\":\"1\"},[{\"k\":\"v\",\"l\":[1]}]],\"args\":[\"--n=1\",\"-c\",\"a: b\",\"\",\"# x\",\"10Gi\",\"12:30\",\" x\"],\"script\":\"#!/bin/sh\\necho x\\n\",\"keep\":\"a\\n\\n\",\"strip\":\"a\\nb\",\"lead\":\"  a\\nb\\n\",\"cr\":\"a\\r\\nb\",\"blank\":\"\\n\",\"nested\":[\"a\\nb\"],\"yes\":1,\"1\":2,\"\":3}");
	cleanup_buf struct buf out = { .max = 10000 };

	yaml_print(&out, doc);
	assert_string_equal(out.data, "apiVersion: v1\n"
				      "metadata:\n"
				      "  labels:\n"
				      "    a.b/c: \"yes\"\n"
				      "  annotations: {}\n"
				      "count: 9007199254740993\n"
				      "list:\n"
				      "- 1\n"
				      "- null\n"
				      "- true\n"
				      "- x\n"
				      "- []\n"
				      "- - a\n"
				      "  - b\n"
				      "- name: A\n"
				      "  value: \"1\"\n"
				      "- - k: v\n"
				      "    l:\n"
				      "    - 1\n"
				      "args:\n"
				      "- --n=1\n"
				      "- -c\n"
				      "- \"a: b\"\n"
				      "- \"\"\n"
				      "- \"# x\"\n"
				      "- 10Gi\n"
				      "- \"12:30\"\n"
				      "- \" x\"\n"
				      "script: |\n"
				      "  #!/bin/sh\n"
				      "  echo x\n"
				      "keep: |+\n"
				      "  a\n"
				      "\n"
				      "strip: |-\n"
				      "  a\n"
				      "  b\n"
				      "lead: |2\n"
				      "    a\n"
				      "  b\n"
				      "cr: \"a\\r\\nb\"\n"
				      "blank: \"\\n\"\n"
				      "nested:\n"
				      "- |-\n"
				      "  a\n"
				      "  b\n"
				      "\"yes\": 1\n"
				      "\"1\": 2\n"
				      "\"\": 3\n");
}

/* Read back, each as a value, as an item and as a key. */
TEST(test_prints_any_text)
{
	static const char *const rows[] = {
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		"\xc3\xa9\n\xe2\x82\xac\n",
		"\x01\x1b\x7f",
		"a\xc2\x85z",
		"a\xe2\x80\xa8z\n",
		"\xef\xbb\xbf",
		"\xef\xbf\xbe",
		"\t",
		"a\t",
		"\ta\nb",
		"\n\n",
		"\na",
		" \n",
		" a\n",
		"a\n \n",
		"a \nb \n",
		"a\n\n\n",
		"\\\"'",
		"'",
		"\"",
		"? a",
		": a",
		"?a",
		":a",
		"-",
		"---",
		"--- a",
		"...",
		"a:",
		"a: b",
		"a :b",
		"a #b",
		"a#b",
		"[a]",
		"a]",
		"*a",
		"&a",
		"!a",
		"|",
		">",
		"%a",
		"@a",
		"`a",
		", a",
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = cJSON_CreateObject();
		cleanup_json cJSON *docs = NULL;
		cleanup_buf struct buf text = { .max = 10000 };
		struct error err = { 0 };

		json_put_str(doc, rows[i], "value");
		cJSON_AddItemToArray(json_list(doc, "list"), cJSON_CreateString(rows[i]));
		json_put_bool(doc, false, "key", rows[i]);
		yaml_print(&text, doc);
		if (yaml_parse(&docs, text.data, text.len, &err))
			fail_msg("%s: %s", (char *)text.data, err.msg);
		if (!json_equal(docs->child, doc))
			fail_msg("%s is read back as something else", (char *)text.data);
	}
}

/* libyaml takes a key of up to 1024 characters before its ':'. */
TEST(test_prints_long_keys)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_json cJSON *docs = NULL;
	cleanup_buf struct buf text = { .max = 1000000 };
	struct error err = { 0 };
	char key[2001];

	for (size_t len = 890; len < 2000; len += 10) {
		memset(key, len % 20 ? 'k' : '"', len);
		key[len] = 0;
		json_put_int(doc, 1, key);
	}
	json_put_str(doc, "y", "nested", key, "x");
	yaml_print(&text, doc);
	if (yaml_parse(&docs, text.data, text.len, &err))
		fail_msg("%s", err.msg);
	assert_true(json_equal(docs->child, doc));
}

TEST(test_prints_documents_that_are_no_mapping)
{
	static const char *const rows[][2] = {
		{ "1", "1\n" },
		{ "\"1\"", "\"1\"\n" },
		{ "[]", "[]\n" },
		{ "{}", "{}\n" },
		{ "\"a\\nb\"", "|-\n  a\n  b\n" },
		{ "[{}]", "- {}\n" },
		{ "null", "null\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = doc_of(rows[i][0]);
		cleanup_buf struct buf out = { .max = 1000 };

		yaml_print(&out, doc);
		check_text(rows[i][0], (char *)out.data, rows[i][1]);
	}
}

TEST(test_locate)
{
	static const char text[] = "# a job\n"
				   "---\n"
				   "---\n"
				   "defaults: &d\n"
				   "  numNodes: 2\n"
				   "spec:\n"
				   "  trainer:\n"
				   "    <<: *d\n"
				   "    env:\n"
				   "    - name: A\n"
				   "    - {name: B, value: x}\n"
				   "  labels: {a.b/c: x}\n"
				   "---\n"
				   "[[1, 2], other: 3]\n";
	static const struct {
		int doc;
		const char *path;
		int line, column;
	} rows[] = {
		{ 0, "", 4, 1 },
		{ 0, "spec", 6, 1 },
		{ 0, "spec.trainer.env", 9, 5 },
		{ 0, "spec.trainer.env[0]", 10, 7 },
		{ 0, "spec.trainer.env[0].name", 10, 7 },
		{ 0, "spec.trainer.env[1].value", 11, 17 },
		{ 0, "spec.trainer.env[1].valueFrom.x", 11, 7 },
		{ 0, "spec.trainer.env[7].name", 9, 5 },
		{ 0, "spec.trainer.numNodes", 5, 3 },
		{ 0, "spec.labels[a.b/c]", 12, 12 },
		{ 0, "spec.labels.a.b/c", 12, 12 },
		{ 0, "spec.labels.a.b/d", 12, 3 },
		{ 0, "spec.nothing", 6, 1 },
		{ 0, "nothing", 4, 1 },
		{ 0, "spec[", 6, 1 },
		{ 0, "...[[", 4, 1 },
		{ 1, "[0][1]", 14, 6 },
		{ 1, "[1].other", 14, 10 },
		{ 2, "", 0, 0 },
	};
	cleanup_yaml_places struct yaml_places *places = yaml_places(text, strlen(text));

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int line = 0, column = 0;

		check_int(rows[i].path,
			  yaml_locate(places, rows[i].doc, rows[i].path, &line, &column),
			  rows[i].line > 0);
		check_int(rows[i].path, line, rows[i].line);
		check_int(rows[i].path, column, rows[i].column);
		/* Whatever was looked for before. */
		for (size_t j = 0; j < N_ELEMENTS(rows); j++) {
			yaml_locate(places, rows[j].doc, rows[j].path, &line, &column);
			yaml_locate(places, rows[i].doc, rows[i].path, &line, &column);
			if (rows[i].line)
				check_int(rows[i].path, line * 100 + column,
					  rows[i].line * 100 + rows[i].column);
		}
	}
	assert_null(yaml_places("a: [", 4));
	assert_false(yaml_locate(NULL, 0, "a", &(int){ 0 }, &(int){ 0 }));
}

RUN_TESTS(NULL, NULL)
