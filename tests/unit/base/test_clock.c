#include "base/clock.h"
#include "tests/unit/base/base_test.h"

TEST(test_time_text)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ 951782399, "2000-02-28T23:59:59Z" },
		{ 951782400, "2000-02-29T00:00:00Z" },
		{ 1767225599, "2025-12-31T23:59:59Z" },
		{ -1, "1969-12-31T23:59:59Z" },
		{ INT64_MAX, "9999-12-31T23:59:59Z" },
		{ INT64_MIN, "0000-01-01T00:00:00Z" },
	};
	char text[TIME_TEXT_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].text, time_text(rows[i].seconds, text), rows[i].text);
}

TEST(test_time_parse)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t seconds;
	} rows[] = {
		{ "1970-01-01T00:00:00Z", true, 0 },
		{ "2000-02-29T00:00:00Z", true, 951782400 },
		{ "2000-02-29t00:00:00z", true, 951782400 },
		{ "2000-02-29T01:00:00+01:00", true, 951782400 },
		{ "2000-02-28T18:30:00-05:30", true, 951782400 },
		{ "2000-02-29T00:00:00.999999Z", true, 951782400 },
		{ "2001-02-29T00:00:00Z", false, 0 },
		{ "1900-02-29T00:00:00Z", false, 0 },
		{ "2000-13-01T00:00:00Z", false, 0 },
		{ "2000-00-01T00:00:00Z", false, 0 },
		{ "2000-04-31T00:00:00Z", false, 0 },
		{ "2000-01-00T00:00:00Z", false, 0 },
		{ "2000-01-01T24:00:00Z", false, 0 },
		{ "2000-01-01T00:60:00Z", false, 0 },
		{ "2000-01-01T00:00:61Z", false, 0 },
		{ "2000-01-01T00:00:00", false, 0 },
		{ "2000-01-01T00:00:00.Z", false, 0 },
		{ "2000-01-01T00:00:00+1:00", false, 0 },
		{ "2000-01-01T00:00:00+24:00", false, 0 },
		{ "2000-01-01T00:00:00Zx", false, 0 },
		{ "2000-01-01 00:00:00Z", false, 0 },
		{ "2000-01-01", false, 0 },
		{ "", false, 0 },
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int64_t v = 42;

		check_int(rows[i].text, time_parse(&v, rows[i].text, &err),
			  rows[i].ok ? 0 : -1);
		check_int(rows[i].text, v, rows[i].ok ? rows[i].seconds : 42);
	}
}

/* Rows of Go's time.ParseDuration, and 'd'. */
TEST(test_duration_parse)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t ms;
	} rows[] = {
		{ "0", true, 0 },
		{ "90s", true, 90000 },
		{ "1h30m", true, 5400000 },
		{ "1.5h", true, 5400000 },
		{ ".5s", true, 500 },
		{ "250ms", true, 250 },
		{ "1s1ms", true, 1001 },
		{ "1500us", true, 1 },
		{ "2d", true, 172800000 },
		{ "-5s", true, -5000 },
		{ "+5s", true, 5000 },
		{ "0.0000000001s", true, 0 },
		{ "1", false, 0 },
		{ "", false, 0 },
		{ "s", false, 0 },
		{ ".s", false, 0 },
		{ "1h1", false, 0 },
		{ "1 s", false, 0 },
		{ "1x", false, 0 },
		{ "1..5s", false, 0 },
		{ "99999999999999999999s", false, 0 },
		{ "9223372036854775807h", false, 0 },
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int64_t v = 42;

		check_int(rows[i].text, duration_parse(&v, rows[i].text, &err),
			  rows[i].ok ? 0 : -1);
		check_int(rows[i].text, v, rows[i].ok ? rows[i].ms : 42);
	}
}

TEST(test_duration_text)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0s" },           { 1, "1ms" },
		{ 999, "999ms" },      { 1000, "1s" },
		{ 1500, "1.5s" },      { 10000, "10s" },
		{ 60000, "1m0s" },     { 90250, "1m30.25s" },
		{ 3600000, "1h0m0s" }, { 90061001, "25h1m1.001s" },
		{ -5000, "-5s" },
	};
	char text[DURATION_TEXT_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].text, duration_text(rows[i].ms, text), rows[i].text);
	assert_string_equal(duration_text(INT64_MIN, text), "-2562047788015h12m55.808s");
}

/* Rows of k8s.io/apimachinery/pkg/util/duration TestHumanDuration. */
TEST(test_age)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{ -5, "0s" },
		{ 0, "0s" },
		{ 1, "1s" },
		{ 70, "70s" },
		{ 119, "119s" },
		{ 120, "2m" },
		{ 190, "3m10s" },
		{ 600, "10m" },
		{ 70 * 60, "70m" },
		{ 47 * 60 + 12, "47m" },
		{ 3 * 3600, "3h" },
		{ 3 * 3600 + 120, "3h2m" },
		{ 8 * 3600 + 60, "8h" },
		{ 47 * 3600, "47h" },
		{ 49 * 3600, "2d1h" },
		{ 48 * 3600, "2d" },
		{ (8 * 24 + 2) * 3600, "8d" },
		{ 367LL * 24 * 3600, "367d" },
		{ (2 * 365 + 25) * 86400LL, "2y25d" },
		{ 3 * 365 * 86400LL, "3y" },
		{ (8 * 365 + 2) * 86400LL, "8y" },
	};
	char text[DURATION_TEXT_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].text, duration_age(rows[i].seconds, text),
			   rows[i].text);
}

TEST(test_seconds)
{
	assert_int_equal(clock_seconds_ms(0), 0);
	assert_int_equal(clock_seconds_ms(90), 90000);
	assert_int_equal(clock_seconds_ms(-1), -1000);
	assert_true(clock_seconds_ms(INT64_MAX) > clock_seconds_ms(1LL << 32));
	assert_true(clock_seconds_ms(INT64_MAX) < INT64_MAX / 2);
	assert_true(clock_seconds_ms(INT64_MIN) == -clock_seconds_ms(INT64_MAX));
}

TEST(test_clocks_go_on)
{
	int64_t before = clock_ms();

	clock_sleep_ms(2);
	assert_true(clock_ms() >= before + 2);
	assert_true(clock_now() > 1700000000);
	clock_sleep_ms(-1);
}

/* All sides come, and no others. */
TEST(test_dice)
{
	int seen[3] = { 0 };

	for (int i = 0; i < 1000; i++) {
		int64_t n = clock_dice(3);

		assert_in_range(n, 0, 2);
		seen[n]++;
	}
	assert_true(seen[0] && seen[1] && seen[2]);
	assert_int_equal(clock_dice(1), 0);
}

RUN_TESTS(NULL, NULL)
