/* Points of metrics: what is kept, and how it is written. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "ui/series.h"

static void report(struct series_set *set, int step, const char *value, uint64_t version,
		   bool more)
{
	cleanup_json cJSON *job = cJSON_CreateObject();
	cJSON *m = cJSON_CreateObject(), *s = cJSON_CreateObject();
	char text[24];

	snprintf(text, sizeof(text), "%d", step);
	json_put_str(m, "loss", "name");
	json_put_str(m, value, "value");
	json_put_str(s, "step", "name");
	json_put_str(s, text, "value");
	cJSON_AddItemToArray(json_list(job, "status", "trainerStatus", "metrics"), m);
	cJSON_AddItemToArray(json_list(job, "status", "trainerStatus", "metrics"), s);
	series_add(set, job, 1000 + step, version, more);
}

static void check_print(const struct series_set *set, size_t i, uint64_t seen,
			uint64_t upto, const char *want)
{
	cleanup_buf struct buf out = { .max = 1 << 20 };

	buf_adds(&out, "");
	series_print(&out, set, i, seen, upto);
	assert_string_equal(out.len ? (char *)out.data : "", want);
}

TEST(points_by_version)
{
	struct series_set set = { 0 };

	report(&set, 0, "2.5", 1, true);
	report(&set, 1, "0.1", 2, true);
	report(&set, 1, "0.1", 3, true); /* the same report */
	report(&set, 2, "1e-300", 4, true);
	check_print(&set, 0, 0, 9,
		    "\"loss\",true,[[1000,0,2.5],[1001,1,0.1],[1002,2,1e-300]]");
	check_print(&set, 0, 2, 9, "\"loss\",false,[[1002,2,1e-300]]");
	check_print(&set, 0, 0, 2, "\"loss\",true,[[1000,0,2.5],[1001,1,0.1]]");
	check_print(&set, 0, 4, 9, "");
	check_print(&set, 1, 2, 9, "\"step\",false,[[1002,2,2]]");
	series_release(&set);
}

TEST(what_is_no_finite_number_is_null)
{
	const char *const odd[] = { "NaN", "inf", "-Infinity", "1e999",  "<b>",
				    "",    "1 2", "0x",        "1.7e308" };
	struct series_set set = { 0 };

	for (int i = 0; i < 9; i++)
		report(&set, i, odd[i], (uint64_t)i + 1, true);
	check_print(&set, 0, 0, 99,
		    "\"loss\",true,[[1000,0,null],[1001,1,null],[1002,2,null],[1003,3,"
		    "null],[1004,4,null],[1005,5,null],[1006,6,null],[1007,7,null],[1008,"
		    "8,1.7e+308]]");
	series_release(&set);
}

static const struct series_point *find(const struct series *s, double value)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->points[i].value == value)
			return &s->points[i];
	return NULL;
}

TEST(peaks_survive_thinning)
{
	struct series_set set = { 0 };
	char text[32];

	for (int i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "%d",
			 i == 7777    ? 1000000
			 : i == 33333 ? -1000000
				      : i % 100);
		report(&set, i, text, (uint64_t)i + 1, true);
		assert_true(set.first->n <= SERIES_POINTS);
	}
	assert_true(set.first->n > SERIES_POINTS / 3);
	assert_true(set.bytes < 300000);
	assert_non_null(find(set.first, 1000000));
	assert_true(find(set.first, 1000000)->step == 7777);
	assert_non_null(find(set.first, -1000000));
	assert_true(set.first->points[0].step == 0);
	assert_true(set.first->points[set.first->n - 1].step == 49999);
	for (size_t i = 1; i < set.first->n; i++)
		assert_true(set.first->points[i - 1].ms < set.first->points[i].ms);
	check_print(&set, 0, 50000, 60000, "");
	series_release(&set);
}

/* A curve over steps needs the names that restarts and goodput are counted by. */
TEST(steps_have_several_names)
{
	static const char *const names[] = { "current_step", "global_step", "step",
					     "steps",        "iteration",   "epoch" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		cleanup_json cJSON *job = cJSON_CreateObject();
		cJSON *m = cJSON_CreateObject();
		struct series_set set = { 0 };

		json_put_str(m, names[i], "name");
		json_put_str(m, "7", "value");
		cJSON_AddItemToArray(json_list(job, "status", "trainerStatus", "metrics"),
				     m);
		series_add(&set, job, 1000, 1, true);
		assert_true(set.first->points[0].step == 7);
		series_release(&set);
	}
}

static int64_t reported(struct series_set *set, const char *at, int64_t now_ms)
{
	cleanup_json cJSON *job = cJSON_CreateObject();

	json_put_str(job, at, "status", "trainerStatus", "lastUpdatedTime");
	json_put_int(job, (int64_t)set->n * 2 + now_ms % 50, "status", "trainerStatus",
		     "progressPercentage");
	series_add(set, job, now_ms, 1, true);
	return set->first->points[set->first->n - 1].ms;
}

/* A pod's clock is not this machine's: mixed, a curve has a leap, or stands still. */
TEST(the_time_of_a_report_is_its_own)
{
	struct series_set set = { 0 };
	const int64_t day = 86400000; /* 1970-01-02 */

	assert_int_equal(reported(&set, "1970-01-02T00:00:00Z", 17), day);
	assert_int_equal(reported(&set, "1970-01-02T00:00:03Z", 3 * day + 1), day + 3000);
	assert_int_equal(reported(&set, "1970-01-02T00:00:04Z", day + 4321), day + 4321);
	assert_int_equal(reported(&set, "1970-01-02T00:00:04Z", day + 4400), day + 4400);
	assert_int_equal(reported(&set, "1970-01-02T00:00:05Z", day + 6000), day + 5000);
	assert_int_equal(reported(&set, "never", day + 7000), day + 7000);
	series_release(&set);
}

TEST(what_came_before)
{
	struct series_set set = { 0 }, past = { 0 }, none = { 0 };

	report(&set, 5, "0.5", 1, true);
	report(&set, 6, "0.4", 2, true);
	report(&past, 2, "0.9", 0, true);
	series_join(&set, &none, 1005, 3);
	check_print(&set, 0, 2, 9, "");
	series_join(&set, &past, 1005, 3);
	check_print(&set, 0, 2, 9,
		    "\"loss\",true,[[1002,2,0.9],[1005,5,0.5],[1006,6,0.4]]");
	report(&set, 7, "0.3", 4, true);
	check_print(&set, 0, 3, 9, "\"loss\",false,[[1007,7,0.3]]");
	for (int i = 4; i < 7; i++) /* more than there was: the second look */
		report(&past, i, "0.8", 0, true);
	series_join(&set, &past, 1005, 5);
	check_print(&set, 0, 4, 9,
		    "\"loss\",true,[[1002,2,0.9],[1004,4,0.8],[1005,5,0.5],[1006,6,0.4],"
		    "[1007,7,0.3]]");
	series_join(&none, &past, INT64_MAX, 6);
	assert_int_equal(none.first->n, 4);
	series_release(&set);
	series_release(&past);
	series_release(&none);
}

TEST(all_that_came_before_has_its_limit)
{
	struct series_set set = { 0 }, past = { 0 };

	for (int i = 0; i < SERIES_POINTS; i++) {
		report(&past, i, "1", 0, true);
		report(&set, SERIES_POINTS + i, "2", 1, true);
	}
	series_join(&set, &past, 1000 + SERIES_POINTS, 2);
	assert_true(set.first->n <= SERIES_POINTS && set.first->cap <= SERIES_POINTS);
	assert_true(set.first->points[0].step == 0);
	assert_true(set.first->points[set.first->n - 1].step == 2 * SERIES_POINTS - 1);
	for (int i = 0; i < 10000; i++)
		report(&set, 2 * SERIES_POINTS + i, "3", 3, true);
	assert_true(set.first->n <= SERIES_POINTS && set.first->cap <= SERIES_POINTS);
	series_release(&set);
	series_release(&past);
	assert_int_equal(set.bytes, 0);
}

TEST(gaps_are_thinned_to_gaps)
{
	struct series_set set = { 0 };

	for (int i = 0; i < 10000; i++)
		report(&set, i, i >= 3000 && i < 6000 ? "NaN" : "1", (uint64_t)i + 1,
		       true);
	assert_true(set.first->n <= SERIES_POINTS);
	for (size_t i = 0; i < set.first->n; i++) {
		const struct series_point *p = &set.first->points[i];

		assert_true((p->value == 1) == (p->step < 3000 || p->step >= 6000));
	}
	series_release(&set);
}

TEST(ten_thousand_metrics_are_the_first_64)
{
	cleanup_json cJSON *job = cJSON_CreateObject();
	struct series_set set = { 0 };
	char name[16];

	for (int i = 0; i < 10000; i++) {
		cJSON *m = cJSON_CreateObject();

		snprintf(name, sizeof(name), "m%d", i);
		json_put_str(m, name, "name");
		json_put_str(m, "1", "value");
		cJSON_AddItemToArray(json_list(job, "status", "trainerStatus", "metrics"),
				     m);
	}
	assert_true(series_add(&set, job, 1, 1, true));
	assert_int_equal(set.n, SERIES_METRICS);
	assert_true(set.bytes < 64 * 1024);
	series_release(&set);
}

TEST(without_room_no_point_takes_memory)
{
	struct series_set set = { 0 };
	size_t bytes;

	report(&set, 0, "1", 1, true);
	bytes = set.bytes;
	for (int i = 1; i < 1000; i++)
		report(&set, i, "1", (uint64_t)i + 1, false);
	assert_int_equal(set.bytes, bytes);
	series_release(&set);
}

RUN_TESTS(NULL, NULL)
