/* Rules: upstream pkg/statusserver and UpdateTrainJobStatusRequest; sent as the SDK does. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/progress.h"

TEST(test_what_is_taken)
{
	static const struct {
		const char *body, *want; /* NULL: nothing is reported */
	} rows[] = {
		{ "{}", NULL },
		{ "{trainerStatus: null, other: 1}", NULL },
		{ "{trainerStatus: {}}", "{}" },
		{ "{trainerStatus: {progressPercentage: 40, more: [1]}, x: 1}",
		  "{progressPercentage: 40}" },
		{ "{trainerStatus: {progressPercentage: 101, "
		  "estimatedRemainingSeconds: -1}}",
		  "{progressPercentage: 101, estimatedRemainingSeconds: -1}" },
		{ "{trainerStatus: {progressPercentage: null, metrics: null, "
		  "lastUpdatedTime: null}}",
		  "{}" },
		{ "{trainerStatus: {metrics: []}}", "{}" },
		{ "{trainerStatus: {metrics: [{name: loss, value: '0.5', x: "
		  "y}, {name: a}, null]}}",
		  "{metrics: [{name: loss, value: '0.5'}, {name: a, value: ''}, {name: "
		  "'', value: ''}]}" },
		{ "{trainerStatus: {lastUpdatedTime: "
		  "'2026-11-21T04:48:17.123456+00:00'}}",
		  "{lastUpdatedTime: '2026-11-21T04:48:17Z'}" },
		{ "{trainerStatus: {lastUpdatedTime: '2026-11-21T06:48:17+02:00'}}",
		  "{lastUpdatedTime: '2026-11-21T04:48:17Z'}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *body = doc(rows[i].body), *progress = NULL;
		cleanup_json cJSON *echo = NULL, *tj = cJSON_CreateObject();
		struct error err = { 0 };

		if (progress_read(&progress, body, &err))
			fail_msg("%s: %s", rows[i].body, err.msg);
		echo = progress_echo(progress);
		if (!rows[i].want) {
			assert_null(progress);
			assert_doc(echo, "{}");
			continue;
		}
		assert_doc(progress, rows[i].want);
		assert_doc(json_get(echo, "trainerStatus"), rows[i].want);
		progress_put(tj, progress);
		assert_doc(json_get(tj, "status", "trainerStatus"), rows[i].want);
	}
}

TEST(test_what_a_local_run_reports)
{
	static const struct {
		int percent;
		int64_t left, now;
		const char *want;
	} rows[] = {
		{ 0, -1, 0,
		  "{progressPercentage: 0, lastUpdatedTime: '1970-01-01T00:00:00Z'}" },
		{ 40, 0, 1,
		  "{progressPercentage: 40, estimatedRemainingSeconds: 0, "
		  "lastUpdatedTime: '1970-01-01T00:00:01Z'}" },
		/* the API's field has 32 bits */
		{ 1, (int64_t)INT32_MAX + 1, 0,
		  "{progressPercentage: 1, estimatedRemainingSeconds: 2147483647, "
		  "lastUpdatedTime: '1970-01-01T00:00:00Z'}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *progress =
			progress_new(rows[i].percent, rows[i].left, rows[i].now);

		assert_doc(progress, rows[i].want);
	}
}

TEST(test_what_is_not)
{
	static const char *const rows[] = {
		"[]",
		"a",
		"7",
		"{trainerStatus: []}",
		"{trainerStatus: 'x'}",
		"{trainerStatus: {progressPercentage: '4'}}",
		"{trainerStatus: {progressPercentage: 4.5}}",
		"{trainerStatus: {progressPercentage: 2147483648}}",
		"{trainerStatus: {progressPercentage: -2147483649}}",
		"{trainerStatus: {progressPercentage: 99999999999999999999}}",
		"{trainerStatus: {estimatedRemainingSeconds: true}}",
		"{trainerStatus: {metrics: {}}}",
		"{trainerStatus: {metrics: [1]}}",
		"{trainerStatus: {metrics: [{name: 1}]}}",
		"{trainerStatus: {metrics: [{name: a, value: 0.5}]}}",
		"{trainerStatus: {lastUpdatedTime: 5}}",
		"{trainerStatus: {lastUpdatedTime: ''}}",
		"{trainerStatus: {lastUpdatedTime: 'yesterday'}}",
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *body = doc(rows[i]), *progress = NULL;
		struct error err = { 0 };

		if (!progress_read(&progress, body, &err))
			fail_msg("%s was taken", rows[i]);
		assert_null(progress);
		assert_true(err.msg[0]);
	}
}

TEST(test_the_rules_of_the_schema)
{
	static const struct {
		const char *body;
		bool right;
	} rows[] = {
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z'}", true },
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z', progressPercentage: 100, "
		  "estimatedRemainingSeconds: 0, metrics: [{name: a, value: NaN}]}",
		  true },
		{ "{progressPercentage: 1}", false },
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z', progressPercentage: 101}",
		  false },
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z', progressPercentage: -1}",
		  false },
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z', estimatedRemainingSeconds: "
		  "-1}",
		  false },
		{ "{lastUpdatedTime: '2026-11-21T04:48:17Z', metrics: [{name: a, value: "
		  "''}]}",
		  false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *progress = doc(rows[i].body);

		if (!progress_check(progress, IGNORED) != rows[i].right)
			fail_msg("%s", rows[i].body);
	}
}

RUN_TESTS(NULL, NULL)
