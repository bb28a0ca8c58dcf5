/* Rules: upstream trainjob_controller.go and jobset.go (Status); meta.SetStatusCondition. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

#define NOW   "2026-01-02T03:04:05Z"
#define LATER "2026-01-02T04:00:00Z"

TEST(test_suspend_and_resume)
{
	cleanup_json cJSON *status = doc("{}");
	cleanup_json cJSON *off = doc("{spec: {suspend: true}}");
	cleanup_json cJSON *on = doc("{spec: {suspend: false}}");

	status_suspend(status, on, NOW);
	assert_doc(status, "{}"); /* never suspended: no condition */
	status_suspend(status, off, NOW);
	status_suspend(status, off, LATER);
	assert_doc(status,
		   "{conditions: [{type: Suspended, status: 'True', reason: "
		   "Suspended, message: TrainJob is suspended, lastTransitionTime: '" NOW
		   "'}]}");
	status_suspend(status, on, LATER);
	assert_doc(status,
		   "{conditions: [{type: Suspended, status: 'False', reason: Resumed, "
		   "message: TrainJob is resumed, lastTransitionTime: '" LATER "'}]}");
}

TEST(test_from_the_jobset)
{
	cleanup_json cJSON *status = doc("{trainerStatus: {progressPercentage: 5}}");
	cleanup_json cJSON *jobset = doc("{status: {conditions: [{type: Suspended, "
					 "status: 'True'}, {type: Failed, "
					 "status: 'False'}, {type: Completed, status: "
					 "'True', reason: AllJobsCompleted, "
					 "message: done, lastTransitionTime: '" NOW
					 "', observedGeneration: 3}], "
					 "replicatedJobsStatus: [{name: node, ready: 1, "
					 "succeeded: 2}, {name: a}]}}");

	status_of_jobset(status, jobset);
	assert_doc(
		status,
		"{trainerStatus: {progressPercentage: 5}, conditions: [{type: Complete, "
		"status: 'True', reason: AllJobsCompleted, message: done, "
		"lastTransitionTime: '" NOW
		"', observedGeneration: 3}], jobsStatus: [{name: node, "
		"ready: 1, succeeded: 2, failed: 0, active: 0, suspended: "
		"0}, {name: a, ready: 0, succeeded: 0, failed: 0, active: "
		"0, suspended: 0}]}");
}

TEST(test_blocked)
{
	static const char blocked[] =
		"{conditions: [{type: ResourcesCreated, status: 'False', reason: R, "
		"message: m, lastTransitionTime: '" NOW "'}]}";
	cleanup_json cJSON *status = doc("{}");
	cleanup_json cJSON *off = doc("{spec: {suspend: true}}");

	status_unblock(status);
	assert_doc(status, "{}");
	status_block(status, "R", "m", NOW);
	status_block(status, "R", "m", LATER);
	assert_doc(status, blocked);
	status_unblock(status);
	assert_doc(status, "{}"); /* no condition is left */
	status_suspend(status, off, NOW);
	status_block(status, "R", "m", NOW);
	status_unblock(status);
	assert_doc(status,
		   "{conditions: [{type: Suspended, status: 'True', reason: "
		   "Suspended, message: TrainJob is suspended, lastTransitionTime: '" NOW
		   "'}]}");
}

TEST(test_active)
{
	static const struct {
		const char *status;
		bool active;
	} row[] = {
		{ "{}", false },
		{ "{jobsStatus: []}", false },
		{ "{jobsStatus: [{name: a, active: 0}, {name: b}]}", false },
		{ "{jobsStatus: [{name: a, active: 0}, {name: b, active: 2}]}", true },
	};

	assert_false(status_is_active(NULL));
	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		cleanup_json cJSON *status = doc(row[i].status);

		assert_int_equal(status_is_active(status), row[i].active);
		status_idle(status);
		assert_false(status_is_active(status));
	}
}

TEST(test_deadline_survives)
{
	static const char *const ends[] = {
		"{status: {conditions: [{type: Failed, status: 'True', reason: FailedJobs, "
		"message: m}]}}",
		"{status: {conditions: [{type: Completed, status: 'True', reason: "
		"AllJobsCompleted, message: m}]}}",
	};

	for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
		cleanup_json cJSON *status = doc("{}");
		cleanup_json cJSON *jobset = doc(ends[i]);

		status_exceed_deadline(status, NOW);
		status_of_jobset(status, jobset);
		assert_string_equal(
			json_str(status_condition(status, "Failed"), "reason"),
			"DeadlineExceeded");
		assert_true(status_finished(status));
		assert_false(status_is_true(status, "Complete"));
	}
}

TEST(test_time_changes_with_the_status_only)
{
	cleanup_json cJSON *status =
		doc("{conditions: [{type: Failed, status: 'True', reason: "
		    "a, message: b, lastTransitionTime: '" NOW "'}]}");

	status_set_condition(status,
			     doc("{type: Failed, status: 'True', reason: c, message: d, "
				 "lastTransitionTime: '" LATER "'}"),
			     LATER);
	assert_doc(status,
		   "{conditions: [{type: Failed, status: 'True', reason: c, message: "
		   "d, lastTransitionTime: '" NOW "'}]}");
}

TEST(test_deadline_starts)
{
	cleanup_json cJSON *tj =
		doc("{metadata: {creationTimestamp: '" NOW
		    "'}, status: {conditions: [{type: Suspended, status: "
		    "'True', lastTransitionTime: '" LATER "'}]}}");

	assert_string_equal(status_deadline_start(tj), NOW);
	json_put_str((cJSON *)status_condition(tj_status(tj), "Suspended"), "False",
		     "status");
	assert_string_equal(status_deadline_start(tj), LATER);
}

#define FAILED_SAYS(message)                                                         \
	"{conditions: [{type: Failed, status: 'True', reason: r, message: '" message \
	"'}]}"

TEST(test_the_failed_condition_ends_with_who_was_first)
{
	static const struct {
		const char *is, *was;
		bool kept;
		const char *want;
	} rows[] = {
		{ FAILED_SAYS("gave up"), "{}", false, FAILED_SAYS("gave up; first: x") },
		{ FAILED_SAYS("gave up"), FAILED_SAYS("gave up; first: y"), true,
		  FAILED_SAYS("gave up; first: y") },
		{ FAILED_SAYS("gave up"), FAILED_SAYS("gave up"), true,
		  FAILED_SAYS("gave up") },
		{ FAILED_SAYS("gave up"), FAILED_SAYS("gave up not"), false,
		  FAILED_SAYS("gave up; first: x") },
		{ FAILED_SAYS("gave up"), FAILED_SAYS("other; first: y"), false,
		  FAILED_SAYS("gave up; first: x") },
		{ "{}", "{}", true, "{}" },
		{ "{conditions: []}", FAILED_SAYS("x"), true, "{conditions: []}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *is = doc(rows[i].is), *was = doc(rows[i].was);

		assert_int_equal(status_keep_first_failure(is, was), rows[i].kept);
		if (!rows[i].kept)
			status_append_first_failure(is, "x");
		assert_doc(is, rows[i].want);
	}
}

TEST(test_the_failed_condition_has_the_first_exit_code)
{
	static const struct {
		const char *is;
		int64_t want;
	} rows[] = {
		{ FAILED_SAYS("gave up; first: node-0 (node rank 0): container node: "
			      "exit code 3 on n1"),
		  3 },
		{ FAILED_SAYS(
			  "gave up: exit code 4; first: node-0: exit code 137 (SIGKILL)"),
		  137 },
		{ FAILED_SAYS("gave up; first: node-0: evicted"), 0 },
		{ FAILED_SAYS("gave up: exit code 4"), 0 },
		{ "{}", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *is = doc(rows[i].is);

		assert_int_equal(status_first_exit_code(is), rows[i].want);
	}
}

TEST(test_one_word)
{
	static const struct {
		const char *status, *want;
	} rows[] = {
		{ "{}", "Created" },
		{ "{jobsStatus: [{name: a, active: 0, ready: 0}]}", "Created" },
		{ "{jobsStatus: [{name: a, active: 0, ready: 0}, {name: b, active: 1}]}",
		  "Created" },
		{ "{jobsStatus: [{name: a, active: 1, ready: 1}, {name: b, active: 1}]}",
		  "Running" },
		{ "{jobsStatus: [{name: a, succeeded: 1}, {name: b, active: 1}]}",
		  "Running" },
		{ "{state: Running, jobsStatus: [{name: a, active: 1}]}", "Running" },
		{ "{state: Running, jobsStatus: [{name: a, active: 0}]}", "Created" },
		{ "{conditions: [{type: Suspended, status: 'True'}], "
		  "jobsStatus: [{name: a, active: 1}]}",
		  "Suspended" },
		{ "{conditions: [{type: Suspended, status: 'False'}], "
		  "jobsStatus: [{name: a, ready: 1}]}",
		  "Running" },
		{ "{conditions: [{type: Suspended, status: 'True'}, {type: "
		  "Complete, status: 'True'}]}",
		  "Complete" },
		{ "{conditions: [{type: Complete, status: 'True'}, {type: "
		  "Failed, status: 'True'}]}",
		  "Failed" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *status = doc(rows[i].status);

		assert_string_equal(status_state(status), rows[i].want);
		status_set_state(status);
		assert_string_equal(json_str(status, "state"), rows[i].want);
	}
}

static void list_event(void *ctx, bool warning, const char *reason, const char *message)
{
	buf_printf(ctx, "%s%s: %s; ", warning ? "!" : "", reason, message);
}

/* What became of a condition is an event, once. */
TEST(test_events)
{
	static const struct {
		const char *before, *now, *more, *want; /* NULL: there was none */
	} rows[] = {
		{ "{}", "{jobsStatus: [{name: a}]}", NULL, "" },
		{ "{}", "{conditions: [{type: Suspended, status: 'True', message: m}]}",
		  NULL, "Suspended: m; " },
		{ NULL, "{conditions: [{type: Suspended, status: 'True', message: m}]}",
		  NULL, "" },
		{ "{conditions: [{type: Suspended, status: 'True'}]}",
		  "{conditions: [{type: Suspended, status: 'False', message: m}]}", NULL,
		  "Resumed: m; " },
		{ NULL, "{conditions: [{type: Complete, status: 'True', message: m}]}",
		  "more", "Completed: m; " },
		{ "{}",
		  "{conditions: [{type: Failed, status: 'True', reason: R, "
		  "message: m}]}",
		  " on gpu-7", "!Failed: R: m on gpu-7; " },
		{ "{}", "{conditions: [{type: Failed, status: 'True'}]}", NULL,
		  "!Failed: Failed: ; " },
		{ "{conditions: [{type: Failed, status: 'True'}]}",
		  "{conditions: [{type: Failed, status: 'True', message: another}]}",
		  NULL, "" },
		{ "{conditions: [{type: Suspended, status: 'True'}]}",
		  "{conditions: [{type: Suspended, status: 'False', message: m}, {type: "
		  "Complete, status: 'True', message: k}]}",
		  NULL, "Resumed: m; Completed: k; " },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *before = rows[i].before ? doc(rows[i].before) : NULL;
		cleanup_json cJSON *now = doc(rows[i].now);
		cleanup_buf struct buf said = { .max = 4096 };

		buf_adds(&said, "");
		status_events(before, now, rows[i].more,
			      &(struct status_sink){ list_event, &said });
		assert_string_equal((const char *)said.data, rows[i].want);
	}
}

TEST(test_when_it_ended)
{
	static const struct {
		const char *status, *want;
	} rows[] = {
		{ "{}", NULL },
		{ "{conditions: [{type: Suspended, status: 'True', "
		  "lastTransitionTime: t}]}",
		  NULL },
		{ "{conditions: [{type: Complete, status: 'False', "
		  "lastTransitionTime: t}]}",
		  NULL },
		{ "{conditions: [{type: Suspended, status: 'True', lastTransitionTime: "
		  "s}, {type: Complete, status: 'True', lastTransitionTime: t}]}",
		  "t" },
		{ "{conditions: [{type: Failed, status: 'True', lastTransitionTime: t}]}",
		  "t" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *status = doc(rows[i].status);
		const char *have = status_end_time(status);

		if (!str_eq(have, rows[i].want) || !have != !rows[i].want)
			fail_msg("%s: %s", rows[i].status, have ? have : "(none)");
	}
}

TEST(test_how_long_it_ran)
{
	static const struct {
		const char *status;
		int64_t want;
	} rows[] = {
#define RUNS(type, time) \
	"{conditions: [{type: " type ", status: 'True', lastTransitionTime: '" time "'}]"
		/* Of controllers without these times: from the creation. */
		{ "{}", 100 },
		{ RUNS("Complete", "2026-01-01T00:00:30Z") "}", 30 },
		{ RUNS("Suspended", "2026-01-01T00:00:30Z") "}", -1 },
		{ "{startTime: '2026-01-01T00:01:00Z'}", 40 },
		{ RUNS("Failed",
		       "2026-01-01T00:01:05Z") ", startTime: '2026-01-01T00:01:00Z'}",
		  5 },
		{ RUNS("Failed", "2025-01-01T00:00:00Z") "}", 0 }, /* clocks differ */
		{ "{startTime: tomorrow}", 100 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj =
			doc("{metadata: {creationTimestamp: '2026-01-01T00:00:00Z'}}");

		json_put(tj, doc(rows[i].status), "status");
		if (status_duration(tj, 1767225700) != rows[i].want)
			fail_msg("%s: %lld", rows[i].status,
				 (long long)status_duration(tj, 1767225700));
	}
}

RUN_TESTS(NULL, NULL)
