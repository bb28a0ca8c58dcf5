/* What is read off a pod's status: trainer/podcause.h. */
#include "api/meta.h"
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/podcause.h"

#define JOB(kind, name, more)                                                            \
	"ownerReferences: [{apiVersion: batch/v1, kind: " kind ", name: " name ", uid: " \
	"o, " more "}]"
#define OWNED(owner, phase, status)                                                     \
	"{metadata: {name: p, namespace: ns, labels: {jobset.sigs.k8s.io/jobset-name: " \
	"j, a: b}, uid: u, " owner "}, spec: {nodeName: n}, status: {phase: " phase     \
	", " status "}}"
#define POD(phase, status) \
	OWNED(JOB("Job", "j-node-0", "controller: true"), phase, status)
#define SPOOFED(owner) OWNED(owner, "Failed", "containerStatuses: [" EXITED "]")
#define EXITED         "{name: node, state: {terminated: {exitCode: 3, finishedAt: t1}}}"
#define FINE           "{name: node, state: {running: {}}}"

TEST(test_what_is_kept)
{
	static const struct {
		const char *pod;
		bool kept;
	} rows[] = {
		{ POD("Running", "containerStatuses: [" FINE "]"), false },
		{ POD("Pending", "containerStatuses: []"), true },
		{ POD("Running", "containerStatuses: [" EXITED "]"), true },
		{ POD("Running", "reason: NodeLost"), true },
		{ POD("Failed", "containerStatuses: [" EXITED "]"), true },
		{ POD("Succeeded", "containerStatuses: [" EXITED "]"), false },
		{ "{metadata: {name: p}, status: {phase: Failed}}", false },
		/* anybody can give a pod the job's label */
		{ SPOOFED("ownerReferences: []"), false },
		{ SPOOFED(JOB("Job", "j-node-0", "controller: false")), false },
		{ SPOOFED(JOB("ReplicaSet", "j-node-0", "controller: true")), false },
		{ SPOOFED(JOB("Job", "k-node-0", "controller: true")), false },
		{ SPOOFED(JOB("Job", "j", "controller: true")), false },
		{ SPOOFED(JOB("Job", "j2-node-0", "controller: true")), false },
		{ SPOOFED("ownerReferences: [{apiVersion: apps/v1, kind: Job, name: "
			  "j-node-0, uid: o, controller: true}]"),
		  false },
		{ SPOOFED("ownerReferences: [{apiVersion: batch/v1, kind: Job, name: "
			  "j-node-0, controller: true}]"),
		  false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *pod = doc(rows[i].pod);

		if (pod_facts_keep(pod) != rows[i].kept)
			fail_msg("%s", rows[i].pod);
		assert_string_equal(meta_name(pod), "p");
		if (rows[i].kept)
			assert_null(json_get(pod, "metadata", "uid"));
	}
}

static size_t facts_in(const char *statuses)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *pod =
		doc(arena_printf(&a, POD("Failed", "containerStatuses: [%s]"), statuses));
	struct pod_fact_list facts;

	pod_facts_of(pod, &facts);
	return facts.n;
}

#define DEAD(name, at) \
	"{name: " name ", state: {terminated: {exitCode: 3, finishedAt: " at "}}}"
#define AGAIN(at, before)                                                               \
	"{name: a, state: {terminated: {exitCode: 3, finishedAt: " at "}}, lastState: " \
	"{terminated: {exitCode: 3, finishedAt: " before "}}}"
#define LOOPING(now, before) "{name: a, state: {" now "}, lastState: {" before "}}"

/* One of a run of a container, whichever place of the status it is in. */
TEST(one_fact_per_run_of_a_container)
{
	assert_int_equal(facts_in(""), 0);
	assert_int_equal(facts_in(DEAD("a", "t1")), 1);
	assert_int_equal(facts_in(DEAD("a", "t1") ", " DEAD("b", "t1")), 2);
	assert_int_equal(facts_in(AGAIN("t2", "t1")), 2);
	assert_int_equal(facts_in(AGAIN("t1", "t1")), 1);
	/* it could not be started, and waits to be tried again */
	assert_int_equal(facts_in(LOOPING("waiting: {reason: StartError}",
					  "waiting: {reason: StartError}")),
			 1);
	assert_int_equal(
		facts_in(LOOPING("waiting: {reason: StartError}",
				 "terminated: {exitCode: 128, reason: StartError}")),
		2);
}

#define ENDED(code, reason)                                                   \
	"containerStatuses: [{name: a, restartCount: 2, state: {terminated: " \
	"{exitCode: " code ", reason: " reason "}}}]"

/* Of the whole pod, and of what is kept of it. */
TEST(test_words)
{
	static const struct {
		const char *status, *want;
	} rows[] = {
		{ ENDED("3", "Error"),
		  "pod: container a: exit code 3, restarted 2 times" },
		{ ENDED("139", "Error"),
		  "pod: container a: exit code 139 (SIGSEGV), restarted 2 times" },
		{ ENDED("137", "OOMKilled"),
		  "pod: container a: exit code 137 (SIGKILL), out of memory, "
		  "restarted 2 times" },
		{ "conditions: [{type: DisruptionTarget, status: 'True', reason: "
		  "EvictionByEvictionAPI}]",
		  "pod: disrupted: EvictionByEvictionAPI" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *pod =
			doc(arena_printf(&a, POD("Failed", "%s"), rows[i].status));
		struct pod_fact_list facts;

		for (int kept = 0; kept < 2; kept++) {
			assert_true(!kept || pod_facts_keep(pod));
			pod_facts_of(pod, &facts);
			assert_int_equal(facts.n, 1);
			assert_string_equal(pod_fact_brief(&a, pod, &facts.list[0]),
					    rows[i].want);
		}
	}
}

TEST(test_as_many_as_there_is_room_for)
{
	cleanup_arena struct arena a = { 0 };
	const char *text = "";

	for (size_t i = 0; i < MAX_POD_FACTS + 4; i++)
		text = arena_printf(
			&a, "%s%s{name: c%zu, state: {terminated: {exitCode: 3}}}", text,
			i ? ", " : "", i);
	assert_int_equal(facts_in(text), MAX_POD_FACTS);
}

/* Many containers are kept up to a limit. */
TEST(test_many_containers)
{
	cleanup_buf struct buf text = { .max = 65536 };
	cleanup_json cJSON *pod = NULL;

	buf_adds(
		&text,
		"{metadata: {name: p, labels: "
		"{jobset.sigs.k8s.io/jobset-name: j}, " JOB(
			"Job", "j-node-0",
			"controller: true") "}, status: {phase: Failed, containerStatuses: [");
	for (int i = 0; i < 300; i++)
		buf_printf(&text,
			   "%s{name: c%d, state: {terminated: {exitCode: 3}}, lastState: "
			   "{terminated: {exitCode: 4}}}",
			   i ? ", " : "", i);
	buf_adds(&text, "]}}");
	pod = doc((char *)text.data);
	assert_true(pod_facts_keep(pod));
	assert_int_equal(cJSON_GetArraySize(json_get(pod, "status", "containerStatuses")),
			 100);
}

TEST(test_which_was_first)
{
	static const struct {
		struct pod_failure a, b;
		bool sooner, explains;
	} rows[] = {
		{ { false, "1", "p" }, { false, "2", "o" }, true, true },
		{ { false, "2", "o" }, { false, "1", "p" }, false, false },
		/* at the same second: by name */
		{ { false, "1", "a" }, { false, "1", "b" }, true, true },
		{ { false, "1", "b" }, { false, "1", "a" }, false, false },
		{ { false, "1", "a" }, { false, "1", "a" }, false, false },
		/* one whose time is known, before one whose time is not */
		{ { false, "1", "b" }, { false, NULL, "a" }, true, true },
		{ { false, NULL, "a" }, { false, "1", "b" }, false, false },
		{ { false, NULL, "a" }, { false, NULL, "b" }, true, true },
		{ { false, NULL, NULL }, { false, NULL, "b" }, false, false },
		{ { false, NULL, "b" }, { false, NULL, NULL }, false, false },
		/* what was killed explains less than what failed by itself */
		{ { true, "1", "a" }, { false, "2", "b" }, true, false },
		{ { false, "2", "b" }, { true, "1", "a" }, false, true },
		{ { true, "1", "a" }, { true, "2", "b" }, true, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (pod_failure_is_sooner(&rows[i].a, &rows[i].b) != rows[i].sooner ||
		    pod_failure_explains(&rows[i].a, &rows[i].b) != rows[i].explains)
			fail_msg("row %zu", i);
}

TEST(test_steps)
{
	static const struct {
		const char *labels, *want;
	} rows[] = {
		{ "{}", "pod" },
		{ "{jobset.sigs.k8s.io/replicatedjob-name: data}", "data" },
		{ "{jobset.sigs.k8s.io/replicatedjob-name: data, "
		  "jobset.sigs.k8s.io/job-index: '0'}",
		  "data" },
		{ "{jobset.sigs.k8s.io/replicatedjob-name: data, "
		  "jobset.sigs.k8s.io/job-index: '2', "
		  "batch.kubernetes.io/job-completion-index: '3'}",
		  "data-2" },
		{ "{jobset.sigs.k8s.io/replicatedjob-name: node, "
		  "batch.kubernetes.io/job-completion-index: '3'}",
		  "node-3 (node rank 3)" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *pod =
			doc(arena_printf(&a, "{metadata: {labels: %s}}", rows[i].labels));

		assert_string_equal(pod_step(&a, pod), rows[i].want);
	}
}

RUN_TESTS(NULL, NULL)
