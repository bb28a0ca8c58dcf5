/* The work of reading and comparing documents grows as they do (tests/unit/cost.h). */
#include "base/screen.h"
#include "base/yaml.h"
#include "tests/unit/base/base_test.h"
#include "tests/unit/cost.h"

struct row {
	const char *what, *a, *b;
};

static const struct row rows[] = {
	{ "members", "{<'m#':1>}", "{<'m#':1>}" },
	{ "members in reverse", "{<'m#':1>}", "{<'m^':1>}" },
	{ "elements", "[<'e#'>]", "[<'e#'>]" },
	{ "objects", "[<{'a':1,'b':{'c':[]}}>]", "[<{'b':{'c':[]},'a':1}>]" },
	{ "numbers", "[<1#.5e2>]", "[<1#50e0>]" },
};

/* Reads, compares, prints and copies both. */
static uint64_t cost_of_json(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_json cJSON *a = cost_doc(row->a, n), *b = cost_doc(row->b, n);
	cleanup_json cJSON *copy = NULL, *again = NULL;
	cleanup_free char *text = json_text(a);
	struct error err = { 0 };
	uint64_t start = cost_now();

	if (json_parse(&again, text, strlen(text), &err))
		fail_msg("%s: %s", row->what, err.msg);
	copy = json_dup(b);
	json_equal(again, copy);
	json_is_deeper(again, JSON_MAX_DEPTH);
	return cost_now() - start;
}

static uint64_t cost_of_yaml(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_json cJSON *a = cost_doc(row->a, n), *docs = NULL;
	cleanup_free char *text = json_text(a);
	struct error err = { 0 };
	uint64_t start = cost_now();

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", row->what, err.msg);
	return cost_now() - start;
}

/* The places of all fields of the document that the row has as `a`. */
static uint64_t cost_of_places(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_json cJSON *a = cost_doc(row->a, n);
	cleanup_free char *text = json_text(a);
	cleanup_yaml_places struct yaml_places *places = yaml_places(text, strlen(text));
	uint64_t start = cost_now();
	const cJSON *field;
	int line, column, i = 0;

	json_each(field, a) {
		char path[64];

		if (field->string)
			snprintf(path, sizeof(path), "%s", field->string);
		else
			snprintf(path, sizeof(path), "[%d]", i++);
		assert_true(yaml_locate(places, 0, path, &line, &column));
	}
	return cost_now() - start;
}

TEST(test_places)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost_of_places, &rows[i], 500);
	assert_true(linear);
}

TEST(test_json)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost_of_json, &rows[i], 500);
	assert_true(linear);
}

TEST(test_yaml)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost_of_yaml, &rows[i], 500);
	assert_true(linear);
}

static void no_line(void *ctx, const char *line, size_t len)
{
}

static uint64_t cost_of_screen(const void *ctx, size_t n)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };
	struct screen s = { .on_line = no_line, .max = 1 << 20 };
	uint64_t start;

	for (size_t i = 0; i < n; i++)
		buf_adds(&text, ctx);
	start = cost_now();
	screen_write(&s, (char *)text.data, text.len);
	screen_end(&s);
	return cost_now() - start;
}

/* One write of many of these. */
TEST(test_screen)
{
	static const char *const texts[] = { "\r",    "\b",    "x",          "x\n",
					     "x\r\n", "\r50%", "\033[A",     "\033[31m",
					     "\302",  "\033",  "x\033[Ay\n", "\033]" };
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		linear &= cost_is_linear(texts[i], cost_of_screen, texts[i], 500);
	assert_true(linear);
}

static void drop_line(void *ctx, const char *line, size_t len)
{
}

/* A cursor that goes left does not look again and again at a color that it cannot pass. */
static uint64_t cost_of_left(const void *ctx, size_t n)
{
	struct screen s = { .on_line = drop_line, .max = 1 << 20 };
	uint64_t start = cost_now();
	char left[32];

	snprintf(left, sizeof(left), "\033[%zuD", 5 * n);
	for (size_t i = 0; i < n; i++)
		screen_write(&s, "xxxxxxxxxx", 10);
	screen_write(&s, "\033[31m", 5);
	for (size_t i = 0; i < n; i++)
		screen_write(&s, left, strlen(left));
	screen_release(&s);
	return cost_now() - start;
}

TEST(test_screen_left)
{
	assert_true(cost_is_linear("left", cost_of_left, NULL, 500));
}

/* Each element is searched from the first: n * n / 2. */
static uint64_t cost_of_search(const void *ctx, size_t n)
{
	cleanup_json cJSON *list = cost_doc(ctx, n);
	const cJSON *e;
	uint64_t start = cost_now();

	json_each(e, list)
		json_find(list, "name", json_str(e, "name"));
	return cost_now() - start;
}

TEST(test_what_is_not_linear_is_noticed)
{
	assert_false(cost_is_linear("(expected) a search in a loop", cost_of_search,
				    "[<{'name':'#'}>]", 16));
}

RUN_TESTS(NULL, NULL)
