/* What `wait --for` means, and when a job has come to it. */
#include "client/goal.h"

#include "base/str.h"
#include "tests/unit/base/base_test.h"

TEST(goals_are_parsed)
{
	static const struct {
		const char *text;
		int kind; /* -1: refused */
		const char *type, *status;
	} rows[] = {
		{ NULL, GOAL_COMPLETE, NULL, NULL },
		{ "complete", GOAL_COMPLETE, NULL, NULL },
		{ "Failed", GOAL_FAILED, NULL, NULL },
		{ "finished", GOAL_FINISHED, NULL, NULL },
		{ "running", GOAL_RUNNING, NULL, NULL },
		{ "suspended", GOAL_SUSPENDED, NULL, NULL },
		{ "delete", GOAL_DELETED, NULL, NULL },
		{ "deleted", GOAL_DELETED, NULL, NULL },
		{ "condition=Ready", GOAL_CONDITION, "Ready", "True" },
		{ "condition=Ready=False", GOAL_CONDITION, "Ready", "False" },
		{ "condition=", -1, NULL, NULL },
		{ "condition", -1, NULL, NULL },
		{ "completed", -1, NULL, NULL },
		{ "", -1, NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct goal goal = { 0 };
		struct error err = { 0 };
		int rc = goal_read(&goal, &arena, rows[i].text, &err);

		check_int(rows[i].text, rc, rows[i].kind < 0 ? -1 : 0);
		if (rc) {
			assert_int_equal(err.kind, ERR_USAGE);
			continue;
		}
		check_int(rows[i].text, (int)goal.kind, rows[i].kind);
		check_text(rows[i].text, goal.type, rows[i].type);
		check_text(rows[i].text, goal.status, rows[i].status);
	}
}

#define CONDITION(type) \
	"{\"status\":{\"conditions\":[{\"type\":\"" type "\",\"status\":\"True\"}]}}"
#define RUNNING \
	"{\"status\":{\"jobsStatus\":[{\"name\":\"node\",\"active\":1,\"ready\":1}]}}"

enum { NEW, RUNS, SUSPENDED, COMPLETE, FAILED, DELETED, N_STATES };
static const char *const jobs[N_STATES] = {
	[NEW] = "{}",
	[RUNS] = RUNNING,
	[SUSPENDED] = CONDITION("Suspended"),
	[COMPLETE] = CONDITION("Complete"),
	[FAILED] = CONDITION("Failed"),
};

TEST(test_judge)
{
	/* in the order of the states above */
	static const struct {
		const char *goal;
		enum goal_verdict want[N_STATES];
	} rows[] = {
		{ "complete",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "failed",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_MISSED, GOAL_REACHED,
		    GOAL_MISSED } },
		{ "finished",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_REACHED,
		    GOAL_MISSED } },
		{ "running",
		  { GOAL_PENDING, GOAL_REACHED, GOAL_PENDING, GOAL_MISSED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "suspended",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_MISSED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "deleted",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_PENDING,
		    GOAL_REACHED } },
		{ "condition=Suspended",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_MISSED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "condition=suspended=true",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_MISSED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "condition=complete",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_REACHED, GOAL_MISSED,
		    GOAL_MISSED } },
		{ "condition=Failed",
		  { GOAL_PENDING, GOAL_PENDING, GOAL_PENDING, GOAL_MISSED, GOAL_REACHED,
		    GOAL_MISSED } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct goal goal;

		assert_int_equal(goal_read(&goal, &arena, rows[i].goal, &err), 0);
		for (int k = 0; k < N_STATES; k++) {
			cleanup_json cJSON *job = jobs[k] ? doc_of(jobs[k]) : NULL;

			check_int(rows[i].goal, (int)goal_judge(&goal, job),
				  (int)rows[i].want[k]);
		}
	}
}

RUN_TESTS(NULL, NULL)
