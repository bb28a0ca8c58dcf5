/* What supervisors tell, and its sum over the pods of rank 0. */
#include "trainer/supervision.h"

#include "tests/unit/trainer/yaml_doc.h"

#define SECONDS(p)                                         \
	"seconds: {queued: 0, starting: 1, productive: " p \
	", stalled: 2, repeated: 3, restarting: 4}"
#define TOLD(more) "{restarts: 2, lost: 0, stalls: 1, since: 1000, at: 1100, " more "}"

TEST(test_a_body)
{
	cleanup_buf struct buf out = { .max = 1000 };
	cleanup_json cJSON *body = doc("{supervision: " TOLD(
		"failed: {rank: 1, status: 137}, " SECONDS("90")) "}");
	cleanup_json cJSON *again = NULL;
	struct supervision s;
	bool any;

	assert_int_equal(supervision_read(&s, &any, body, IGNORED), 0);
	assert_true(any && s.failed);
	assert_int_equal(s.rank, 1);
	assert_int_equal(s.seconds[SUPERVISION_PRODUCTIVE], 90);
	supervision_body(&out, &s);
	again = doc((const char *)out.data);
	assert_true(json_equal(body, again));
}

TEST(test_what_is_none)
{
	static const char *const bad[] = {
		"[]",
		"7",
		"{}",
		TOLD("x: 1"),
		TOLD(SECONDS("-1")),
		TOLD(SECONDS("1.5")),
		TOLD(SECONDS("'1'")),
		TOLD(SECONDS("1000000000001")),
		TOLD("failed: {rank: 1}, " SECONDS("1")),
		TOLD("failed: 1, " SECONDS("1")),
		"{restarts: 2, " SECONDS("1") "}",
	};
	struct supervision s;
	bool any;

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		cleanup_json cJSON *body = cJSON_CreateObject();

		json_put(body, doc(bad[i]), "supervision");
		if (!supervision_read(&s, &any, body, IGNORED))
			fail_msg("%s was taken", bad[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		cleanup_json cJSON *body = doc(i ? "{supervision: null}" : "[1]");

		assert_int_equal(supervision_read(&s, &any, body, IGNORED), 0);
		assert_false(any);
	}
}

static void merge(const char *status, const char *pod, const char *want)
{
	cleanup_json cJSON *tj = cJSON_CreateObject(), *to = cJSON_CreateObject();
	cleanup_json cJSON *body = doc("{supervision: " TOLD(SECONDS("90")) "}");
	struct supervision s, before, all;
	bool any;

	assert_int_equal(supervision_read(&s, &any, body, IGNORED), 0);
	json_put_str(tj, "1970-01-01T00:16:30Z", "metadata", "creationTimestamp");
	json_put(tj, doc(status), "status");
	supervision_merge(to, tj, pod, &s, &before, &all);
	assert_doc(json_get(to, "status", "supervision"), want);
	json_put(tj, json_dup(json_get(to, "status")), "status");
	assert_true(supervision_of(&s, tj));
	assert_int_equal(s.restarts, all.restarts);
}

#define SUM(p)                                                               \
	"seconds: {queued: 10, starting: 1, productive: " p ", stalled: 2, " \
	"repeated: 3, restarting: 4}"

TEST(test_the_sum)
{
	static const char alone[] = "{restarts: 2, lost: 0, stalls: 1, since: 1000, at: "
				    "1100, " SUM("90") ", pod: p}";

	merge("{}", "p", alone);
	merge("{supervision: {restarts: x}}", "p", alone);
	merge("{supervision: [1]}", "p", alone);
	merge("{supervision: {restarts: 1, lost: 0, stalls: 0, since: 1000, at: 1050, pod: "
	      "p, " SUM("40") "}}",
	      "p", alone);
	/* Another pod has taken its place, ten seconds later. */
	merge("{supervision: {restarts: 1, lost: 0, stalls: 0, since: 995, at: 990, pod: o, "
	      "failed: {rank: 0, status: 3}, " SUM("40") "}}",
	      "p",
	      "{restarts: 3, lost: 1, stalls: 1, since: 995, at: 1100, seconds: {queued: 10, "
	      "starting: 2, productive: 130, stalled: 4, repeated: 6, restarting: 18}, "
	      "pod: p, before: {restarts: 1, lost: 1, stalls: 0, failed: {rank: 0, status: "
	      "3}, since: 995, at: 990, seconds: {queued: 10, starting: 1, productive: 40, "
	      "stalled: 2, repeated: 3, restarting: 14}}}");
	/* The job was suspended in between, from 00:16:30 to 00:16:35. */
	merge("{conditions: [{type: Suspended, status: 'False', lastTransitionTime: "
	      "'1970-01-01T00:16:35Z'}], supervision: {restarts: 1, lost: 0, stalls: 0, "
	      "since: 980, at: 990, pod: o, " SUM("40") "}}",
	      "p",
	      "{restarts: 3, lost: 0, stalls: 1, since: 980, at: 1100, seconds: {queued: "
	      "20, starting: 2, productive: 130, stalled: 4, repeated: 6, restarting: 8}, "
	      "pod: p, before: {restarts: 1, lost: 0, stalls: 0, since: 980, at: 990, "
	      "seconds: {queued: 20, starting: 1, productive: 40, stalled: 2, repeated: 3, "
	      "restarting: 4}}}");
	/* ... before the last pod started: this one was lost. */
	merge("{conditions: [{type: Suspended, status: 'False', lastTransitionTime: "
	      "'1970-01-01T00:16:25Z'}], supervision: {restarts: 1, lost: 0, stalls: 0, "
	      "since: 986, at: 990, pod: o, " SUM("40") "}}",
	      "p",
	      "{restarts: 3, lost: 1, stalls: 1, since: 986, at: 1100, seconds: {queued: "
	      "10, starting: 2, productive: 130, stalled: 4, repeated: 6, restarting: "
	      "18}, pod: p, before: {restarts: 1, lost: 1, stalls: 0, since: 986, at: 990, "
	      "seconds: {queued: 10, starting: 1, productive: 40, stalled: 2, repeated: 3, "
	      "restarting: 14}}}");
	/* It tells more: what was before it remains. */
	merge("{supervision: {restarts: 1, lost: 1, stalls: 0, since: 995, at: 990, pod: p, "
	      "before: {restarts: 7, lost: 1, stalls: 0, since: 900, at: 990, " SUM(
		      "5") "}, " SUM("6") "}}",
	      "p",
	      "{restarts: 9, lost: 1, stalls: 1, since: 900, at: 1100, seconds: {queued: 10, "
	      "starting: 2, productive: 95, stalled: 4, repeated: 6, restarting: 8}, pod: "
	      "p, before: {restarts: 7, lost: 1, stalls: 0, since: 900, at: 990, " SUM(
		      "5") "}}");
}

RUN_TESTS(NULL, NULL)
