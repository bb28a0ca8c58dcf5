/* Expected values: k8s.io/apimachinery v0.36 pkg/api/resource, or its documentation. */

#include "api/quantity.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

static struct quantity parsed(const char *text)
{
	struct error err = { 0 };
	struct quantity q = { 0 };

	if (quantity_parse(&q, text, &err))
		fail_msg("%s: %s", text, err.msg);
	return q;
}

static void expect_text(const struct quantity *q, const char *want, const char *what)
{
	char buf[QUANTITY_TEXT_SIZE];

	if (strcmp(quantity_text(q, buf), want))
		fail_msg("%s: wanted %s, got %s", what, want, buf);
}

TEST(test_canonical_form)
{
	static const char *const rows[][2] = {
		{ "0", "0" },
		{ "-0", "0" },
		{ "0Ki", "0" },
		{ "+5", "5" },
		{ ".5", "500m" },
		{ "5.", "5" },
		{ "0.5", "500m" },
		{ "1.500", "1500m" },
		{ "1000m", "1" },
		{ "1000", "1k" },
		{ "1500", "1500" },
		{ "1e3", "1e3" },
		{ "1E3", "1e3" },
		{ "12e6", "12e6" },
		{ "1e4", "10e3" },
		{ "1e-3", "1e-3" },
		{ "1e0", "1" },
		{ "1E", "1E" },
		{ "1000E", "1000E" }, /* upstream prints 1: no suffix is larger */
		{ "1e21", "1e21" },
		{ "1024Mi", "1Gi" },
		{ "1500Mi", "1500Mi" },
		{ "1.5Gi", "1536Mi" },
		{ "512Ki", "512Ki" },
		{ "1Ki", "1Ki" },
		{ "0.5Ki", "512" }, /* below 1024: as a decimal */
		{ "0.0001Ki", "102400u" },
		{ "1025.1", "1025100m" },
		{ "1.0005Ki", "1024512m" },        /* no whole number: as a decimal */
		{ "0.1n", "1n" },                  /* nothing is less than a nano, */
		{ "1.0000000001", "1000000001n" }, /* and all is rounded away from 0 */
		{ "-1.0000000001", "-1000000001n" },
		{ "1e-20", "1e-9" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "8Ei", "9223372036854775807" }, /* 2^63 is capped */
		{ "99999999999Ei", "9223372036854775807" },
		{ "7Ei", "7Ei" },
		{ "9223372036854775808", "9223372036854775808" }, /* decimals are not */
		{ "100000000000000000000000000000000000000000", "10000000000E" },
		{ "-1.5Gi", "-1536Mi" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct quantity q = parsed(rows[i][0]);

		expect_text(&q, rows[i][1], rows[i][0]);
	}
}

TEST(test_what_is_no_quantity)
{
	static const char *const rows[] = {
		"",    "abc",  "1.2.3", "1K",   "1ki", "1KI", "1e",    "1e+",
		"1mi", "1 Gi", " 1",    "1Gi ", "--1", "1-",  "1e3k",  "1e+-3",
		".",   "+",    "Gi",    "0x10", "1_0", "1Zi", "1e1.5", "Inf",
	};
	struct error err;
	struct quantity q = { 7, QUANTITY_BINARY_SI };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (!quantity_parse(&q, rows[i], &err))
			fail_msg("taken for a quantity: \"%s\"", rows[i]);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_true(q.nano == 7); /* untouched */
}

TEST(test_sum_takes_the_first_format)
{
	static const char *const rows[][3] = {
		{ "0", "1Gi", "1Gi" },
		{ "1Gi", "1Gi", "2Gi" },
		{ "1Gi", "1k", "1073742824" },
		{ "1k", "1Ki", "2024" },
		{ "1", "1024Mi", "1073741825" },
		{ "0Gi", "2", "2" },
		{ "500m", "500m", "1" },
		{ "1e3", "1k", "2e3" },
		{ "1Gi", "100m", "1073741824100m" },
		{ "1", "-1", "0" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct quantity a = parsed(rows[i][0]), b = parsed(rows[i][1]);

		quantity_add(&a, &b);
		expect_text(&a, rows[i][2], rows[i][0]);
	}
}

TEST(test_mul_is_exact)
{
	struct quantity q = parsed("4Gi");

	quantity_mul(&q, 102);
	expect_text(&q, "408Gi", "4Gi x 102");
	q = parsed("250m");
	quantity_mul(&q, 3);
	expect_text(&q, "750m", "250m x 3");
	quantity_mul(&q, 0);
	expect_text(&q, "0", "750m x 0");
	q = parsed("-1");
	quantity_mul(&q, INT64_MIN);
	expect_text(&q, "9223372036854775808", "-1 x -2^63");
	q = parsed("7Ei");
	for (int i = 0; i < 9; i++)
		quantity_mul(&q, INT64_MAX); /* stays put at the end of the range */
	assert_true(q.nano > 0);
}

TEST(test_rounding_is_up)
{
	static const struct {
		const char *text;
		int64_t whole, milli;
	} rows[] = {
		{ "2500m", 3, 2500 },
		{ "0.7", 1, 700 },
		{ "1n", 1, 1 },
		{ "-1500m", -2, -1500 },
		{ "3", 3, 3000 },
		{ "1Ki", 1024, 1024000 },
		{ "1e30", INT64_MAX, INT64_MAX },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct quantity q = parsed(rows[i].text);

		assert_int_equal(quantity_ceil(&q), rows[i].whole);
		assert_int_equal(quantity_milli(&q), rows[i].milli);
	}
}

TEST(test_compare)
{
	struct quantity a = parsed("1Gi"), b = parsed("1073741824"), c = parsed("1G");

	assert_int_equal(quantity_cmp(&a, &b), 0);
	assert_true(quantity_cmp(&a, &c) > 0);
	assert_true(quantity_cmp(&c, &a) < 0);
}

TEST(test_of_a_document)
{
	static const char text[] =
		"[4, 0.5, \" 2Gi \", 12345678901234567890, true, null]";
	static const char *const want[] = { "4", "500m", "2Gi", "12345678901234567890" };
	struct error err = { 0 };
	cleanup_json cJSON *list = NULL;
	struct quantity q;
	const cJSON *node;
	size_t i = 0;

	assert_int_equal(json_parse(&list, text, strlen(text), &err), 0);
	json_each(node, list) {
		assert_int_equal(quantity_of(&q, node, &err), i < 4 ? 0 : -1);
		if (i < 4)
			expect_text(&q, want[i], "document");
		i++;
	}
	assert_int_equal(quantity_of(&q, NULL, &err), -1);
}

/* ParseQuantity keeps the text (Quantity.s) where that is near enough to canonical. */
TEST(test_what_is_sent)
{
	static const char *const rows[][2] = {
		{ "1500m", "1500m" },
		{ "1.125", "1.125" },
		{ "1.500", "1.500" },
		{ "1.000", "1" },
		{ "0.125", "125m" },
		{ "1.5", "1500m" },
		{ "+1", "+1" },
		{ "-3", "-3" },
		{ "007", "007" },
		{ "00", "0" },
		{ "5.", "5." },
		{ ".5", "500m" },
		{ "1E3", "1E3" },
		{ "2e-3", "2e-3" },
		{ "3e2", "300" },
		{ "1000m", "1" },
		{ "4000", "4k" },
		{ "+4001", "+4001" },
		{ "+4010", "+4010" },
		{ "+4100", "+4100" },
		{ "+4000", "4k" },
		{ "1234567890123456789", "1234567890123456789" },
		{ "+1234567890123456789", "1234567890123456789" },
		{ "012345678901234567", "012345678901234567" },
		{ "0.0000000001", "1n" },
		{ "+9Ki", "+9Ki" },
		{ "+8Ki", "8Ki" },
		{ "1025Mi", "1025Mi" },
		{ "1024Mi", "1Gi" },
		{ "1.0Gi", "1Gi" },
		{ "+1Ei", "1Ei" },
	};
	char buf[QUANTITY_TEXT_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *node = cJSON_CreateString(rows[i][0]);
		struct quantity q = parsed(rows[i][0]);

		assert_string_equal(quantity_client_text(&q, node, buf), rows[i][1]);
	}
}

TEST(test_a_number_is_sent_in_canonical_form)
{
	cleanup_json cJSON *node = cJSON_CreateNumber(4000);
	struct quantity q = parsed("4000");
	char buf[QUANTITY_TEXT_SIZE];

	assert_string_equal(quantity_client_text(&q, node, buf), "4k");
}

RUN_TESTS(NULL, NULL)
