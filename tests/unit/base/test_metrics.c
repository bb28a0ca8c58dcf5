#include "base/metrics.h"

#include <math.h>
#include <pthread.h>

#include "base/str.h"
#include "tests/unit/base/base_test.h"

static const double bounds[] = { 0.005, 1, 2.5 };
static const struct metric plain_total = { METRIC_COUNTER, "plain_total", "Counts.",
					   { NULL },       NULL,          0 };
static const struct metric by_kind = {
	METRIC_GAUGE, "by_kind", "A gauge\nof \\ two lines.", { "kind", "result", NULL },
	NULL,         0
};
static const struct metric seconds = { METRIC_HISTOGRAM, "t_seconds", "Times.",
				       { "who", NULL },  bounds,      3 };
static const struct metric bare_seconds = { METRIC_HISTOGRAM, "b_seconds", "Bare.",
					    { NULL },         bounds,      3 };
static const struct metric stranger = { METRIC_COUNTER, "stranger", "Not ours.",
					{ NULL },       NULL,       0 };
static const struct metric *const table[] = { &plain_total, &by_kind, &seconds,
					      &bare_seconds, NULL };

static void check_print(struct metrics *m, const char *want)
{
	cleanup_buf struct buf out = { .max = 100000 };

	metrics_print(&out, m);
	check_text("printed", (char *)out.data, want);
}

#define EMPTY_BARE                                                          \
	"# HELP b_seconds Bare.\n# TYPE b_seconds histogram\n"              \
	"b_seconds_bucket{le=\"0.005\"} 0\nb_seconds_bucket{le=\"1\"} 0\n"  \
	"b_seconds_bucket{le=\"2.5\"} 0\nb_seconds_bucket{le=\"+Inf\"} 0\n" \
	"b_seconds_sum 0\nb_seconds_count 0\n"

TEST(test_what_has_no_labels_is_there_at_once)
{
	struct metrics *m = metrics_new(table);

	check_print(m, "# HELP plain_total Counts.\n# TYPE plain_total counter\n"
		       "plain_total 0\n" EMPTY_BARE);
	metrics_free(m);
}

TEST(test_the_text)
{
	struct metrics *m = metrics_new(table);

	metrics_add(m, &plain_total, 1);
	metrics_add(m, &plain_total, 0.5);
	metrics_set(m, &by_kind, 3, "b", "say \"hi\"\n\\");
	metrics_set(m, &by_kind, 1e300, "a", "");
	metrics_add(m, &by_kind, -1, "b", "say \"hi\"\n\\");
	metrics_observe(m, &seconds, 0.005, "x");
	metrics_observe(m, &seconds, 2, "x");
	metrics_observe(m, &seconds, 99.5, "x");
	metrics_add(m, &stranger, 1);
	metrics_add(NULL, &plain_total, 1);
	check_print(m,
		    "# HELP plain_total Counts.\n# TYPE plain_total counter\n"
		    "plain_total 1.5\n"
		    "# HELP by_kind A gauge\\nof \\\\ two lines.\n# TYPE by_kind gauge\n"
		    "by_kind{kind=\"b\",result=\"say \\\"hi\\\"\\n\\\\\"} 2\n"
		    "by_kind{kind=\"a\",result=\"\"} 1e+300\n"
		    "# HELP t_seconds Times.\n# TYPE t_seconds histogram\n"
		    "t_seconds_bucket{who=\"x\",le=\"0.005\"} 1\n"
		    "t_seconds_bucket{who=\"x\",le=\"1\"} 1\n"
		    "t_seconds_bucket{who=\"x\",le=\"2.5\"} 2\n"
		    "t_seconds_bucket{who=\"x\",le=\"+Inf\"} 3\n"
		    "t_seconds_sum{who=\"x\"} 101.505\n"
		    "t_seconds_count{who=\"x\"} 3\n" EMPTY_BARE);
	metrics_free(m);
}

TEST(test_numbers)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 0.1, "0.1" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ -2, "-2" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
		{ 1700000000, "1700000000" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct metrics *m = metrics_new(table);
		cleanup_buf struct buf out = { .max = 10000 };
		char want[100];

		metrics_set(m, &by_kind, rows[i].value, "a", "b");
		metrics_print(&out, m);
		snprintf(want, sizeof(want), "{kind=\"a\",result=\"b\"} %s\n",
			 rows[i].text);
		if (!strstr((char *)out.data, want))
			fail_msg("%s is not in %s", want, out.data);
		metrics_free(m);
	}
}

/* Whoever can choose a label's value cannot make the registry grow for ever. */
TEST(test_too_many_series)
{
	struct metrics *m = metrics_new(table);
	cleanup_buf struct buf out = { .max = 1000000 };
	size_t lines = 0;

	for (int i = 0; i < 2 * METRICS_MAX_SERIES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "n%d", i);
		metrics_add(m, &by_kind, 1, name, "x");
	}
	metrics_add(m, &by_kind, 1, "n0", "x"); /* those that are there still count */
	metrics_print(&out, m);
	for (const char *p = (char *)out.data; (p = strstr(p, "\nby_kind{")); p++)
		lines++;
	assert_int_equal(lines, METRICS_MAX_SERIES + 1);
	assert_non_null(
		strstr((char *)out.data, "by_kind{kind=\"n0\",result=\"x\"} 2\n"));
	assert_non_null(strstr((char *)out.data,
			       "by_kind{kind=\"other\",result=\"other\"} 1000\n"));
	metrics_free(m);
}

/* Names that come and go, as of a runtime for each commit, do not use the series up. */
TEST(test_a_gauges_zeros_make_room)
{
	struct metrics *m = metrics_new(table);
	cleanup_buf struct buf out = { .max = 1000000 };

	metrics_add(m, &by_kind, 1, "stays", "x");
	for (int i = 0; i < 3 * METRICS_MAX_SERIES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "n%d", i);
		metrics_add(m, &by_kind, 1, name, "x");
		metrics_add(m, &by_kind, -1, name, "x");
	}
	metrics_add(m, &by_kind, 1, "stays", "x");
	metrics_add(m, &by_kind, 1, "last", "x");
	metrics_print(&out, m);
	assert_non_null(strstr((char *)out.data, "{kind=\"stays\",result=\"x\"} 2\n"));
	assert_non_null(strstr((char *)out.data, "{kind=\"last\",result=\"x\"} 1\n"));
	assert_null(strstr((char *)out.data, "other"));
	metrics_free(m);
}

/* What was counted under "other" is taken off there. */
TEST(test_other_stays)
{
	struct metrics *m = metrics_new(table);
	cleanup_buf struct buf out = { .max = 1000000 };

	for (int by = 1; by >= -1; by -= 2) {
		for (int i = 0; i < 2 * METRICS_MAX_SERIES; i++) {
			char name[20];

			snprintf(name, sizeof(name), "n%d", i);
			metrics_add(m, &by_kind, by, name, "x");
		}
	}
	metrics_print(&out, m);
	assert_non_null(
		strstr((char *)out.data, "{kind=\"other\",result=\"other\"} 0\n"));
	assert_null(strstr((char *)out.data, "} -"));
	metrics_free(m);
}

TEST(test_long_values_are_cut)
{
	struct metrics *m = metrics_new(table);
	cleanup_buf struct buf out = { .max = 1000000 };
	char value[1000];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	metrics_add(m, &by_kind, 1, value, "x");
	metrics_print(&out, m);
	assert_true(out.len < 1500);
	metrics_free(m);
}

static void *add_many(void *ctx)
{
	for (int i = 0; i < 10000; i++)
		metrics_add(ctx, &by_kind, 1, i % 2 ? "odd" : "even", "x");
	return NULL;
}

TEST(test_threads)
{
	struct metrics *m = metrics_new(table);
	cleanup_buf struct buf out = { .max = 10000 };
	pthread_t threads[4];

	for (size_t i = 0; i < N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, add_many, m);
	for (size_t i = 0; i < N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	metrics_print(&out, m);
	assert_non_null(strstr((char *)out.data, "kind=\"odd\",result=\"x\"} 20000\n"));
	metrics_free(m);
}

static double value_of(const struct buf *out, const char *name)
{
	const char *line = strstr((char *)out->data, name);

	if (!line)
		fail_msg("%s is not there", name);
	return strtod(line + strlen(name), NULL);
}

TEST(test_the_process)
{
	cleanup_buf struct buf out = { .max = 10000 };
	double started;

	metrics_print_process(&out);
	assert_true(value_of(&out, "\nprocess_open_fds ") >= 3);
	assert_true(value_of(&out, "\nprocess_resident_memory_bytes ") > 1e5);
	assert_true(value_of(&out, "\nprocess_virtual_memory_bytes ") > 1e6);
	assert_true(value_of(&out, "\nprocess_max_fds ") >= 3);
	started = value_of(&out, "\nprocess_start_time_seconds ");
	assert_true(fabs(started - (double)time(NULL)) < 3600);
	assert_true(value_of(&out, "\nprocess_cpu_seconds_total ") < 3600);
}

RUN_TESTS(NULL, NULL)
