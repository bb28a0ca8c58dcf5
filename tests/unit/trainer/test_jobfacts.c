/* Events from pods, and which failed first: trainer/jobfacts.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/jobfacts.h"

/* A pod of "node" with that completion index, which ended so, then. */
static cJSON *failed(int index, const char *reason, int code, const char *at)
{
	cleanup_arena struct arena a = { 0 };

	return doc(arena_printf(&a,
				"{metadata: {name: j-node-0-%d-abcde, labels: "
				"{jobset.sigs.k8s.io/jobset-name: j, "
				"jobset.sigs.k8s.io/replicatedjob-name: node, "
				"batch.kubernetes.io/job-completion-index: '%d'}}, spec: "
				"{nodeName: n%d}, status: "
				"{phase: Failed, containerStatuses: [{name: node, state: "
				"{terminated: {exitCode: "
				"%d, reason: %s, finishedAt: '%s'}}}]}}",
				index, index, index, code, reason, at));
}

static void tell(void *ctx, enum pod_cause cause, const char *message)
{
	buf_printf(ctx, "%s: %s;", pod_causes[cause].reason, message);
}

static void take(struct job_facts *j, const cJSON *old, const cJSON *now,
		 struct buf *told)
{
	const struct fact_sink sink = { tell, told };
	struct pod_change c;

	pod_change_of(&c, old, now);
	buf_clear(told);
	job_facts_change(j, &c, &sink);
}

static void expect(const struct buf *told, const char *want)
{
	assert_string_equal((char *)told->data, want);
}

static void expect_first(const struct job_facts *j, const char *pod_and_code)
{
	size_t brief;
	const char *first = job_facts_first(j, &brief);

	if (!first || !strstr(first, pod_and_code))
		fail_msg("wanted %s, got %s", pod_and_code, first ? first : "none");
	assert_memory_equal(first + brief, " on n", 5);
}

/* Pods of one cause share an event; one that is gone is not counted. */
TEST(test_they_are_counted)
{
	struct job_facts *j = job_facts_new();
	cleanup_buf struct buf told = { .max = 10000 };
	cleanup_json cJSON *a = failed(0, "Error", 3, "2026-01-01T00:00:02Z");
	cleanup_json cJSON *b = failed(1, "Error", 3, "2026-01-01T00:00:03Z");

	assert_true(job_facts_is_empty(j));
	take(j, NULL, a, &told);
	expect(&told, "ContainerFailed: j-node-0-0-abcde, node-0 (node rank 0): "
		      "container node: exit "
		      "code 3 on n0;");
	assert_false(job_facts_is_empty(j));
	take(j, a, a, &told);
	expect(&told, "");
	take(j, NULL, b, &told);
	expect(&told,
	       "ContainerFailed: 2 pods, first j-node-0-0-abcde, node-0 (node rank 0): "
	       "container node: exit "
	       "code 3 on n0;");
	take(j, b, NULL, &told);
	expect(&told, "");
	take(j, a, NULL, &told);
	take(j, NULL, b, &told);
	expect(&told, "ContainerFailed: j-node-0-1-abcde, node-1 (node rank 1): "
		      "container node: exit "
		      "code 3 on n1;");
	job_facts_free(j);
	job_facts_free(NULL);
}

/* The earliest, unless it was killed from outside or deleted since. */
TEST(test_the_first)
{
	struct job_facts *j = job_facts_new();
	cleanup_buf struct buf told = { .max = 10000 };
	cleanup_json cJSON *killed = failed(0, "Error", 143, "2026-01-01T00:00:01Z");
	cleanup_json cJSON *late = failed(1, "Error", 5, "2026-01-01T00:00:04Z");
	cleanup_json cJSON *early = failed(2, "Error", 4, "2026-01-01T00:00:02Z");
	cleanup_json cJSON *next = failed(3, "Error", 6, "2026-01-01T00:00:09Z");
	size_t brief;

	assert_null(job_facts_first(j, &brief));
	take(j, NULL, killed, &told);
	expect_first(j, "exit code 143");
	take(j, NULL, late, &told);
	expect_first(j, "exit code 5");
	job_facts_add_failed(j, early);
	expect_first(j, "exit code 4");
	take(j, NULL, next, &told);
	expect_first(j, "exit code 4");
	job_facts_deleted(j, next);
	expect_first(j, "exit code 4");
	job_facts_deleted(j, early);
	job_facts_add_failed(j, next);
	expect_first(j, "exit code 6");
	job_facts_free(j);
}

/* A container that cannot be started at all is why the job failed, too. */
TEST(test_never_started)
{
	struct job_facts *j = job_facts_new();
	cleanup_json cJSON *pod = failed(0, "StartError", 128, "2026-01-01T00:00:02Z");

	job_facts_add_failed(j, pod);
	expect_first(j, "does not start: StartError");
	job_facts_free(j);
}

/* When the job has finished, nothing new is told or kept. */
TEST(test_after_the_end)
{
	struct job_facts *j = job_facts_new();
	cleanup_json cJSON *a = failed(0, "Error", 3, "2026-01-01T00:00:02Z");
	struct pod_change c;

	pod_change_of(&c, NULL, a);
	assert_true(pod_change_has_new(&c));
	job_facts_change(j, &c, NULL);
	assert_true(job_facts_is_empty(j));
	pod_change_of(&c, a, a);
	assert_false(pod_change_has_new(&c));
	pod_change_of(&c, a, NULL);
	assert_false(pod_change_has_new(&c));
	job_facts_free(j);
}

RUN_TESTS(NULL, NULL)
