#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "jobs/jobs.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"

static struct jobs *machine(const char *text)
{
	cleanup_json cJSON *jobset = parse(text);
	struct error err = { 0 };
	struct jobs *ret = NULL;

	if (jobs_new(&ret, jobset, &err))
		fail_msg("%s", err.msg);
	return ret;
}

#define TWO_NODES                                                                  \
	"{'metadata':{'name':'tj','namespace':'ns','uid':'u-1'},'spec':{"          \
	"'coordinator':{'replicatedJob':'node'},"                                  \
	"'replicatedJobs':[{'name':'init','template':{'spec':{'template':"         \
	"{'spec':{'containers':[{'name':'i'}]}}}}},"                               \
	"{'name':'node','replicas':2,'groupName':'g','template':{'spec':{"         \
	"'parallelism':2,'completions':2,'template':{'metadata':{'labels':"        \
	"{'mine':'1'}},'spec':{'initContainers':[{'name':'pre'}],'containers':"    \
	"[{'name':'node','env':[{'name':'A','value':'b'}]},{'name':'other','env':" \
	"[{'name':'JOB_COMPLETION_INDEX','value':'x'}]}]}}}}}]}}"

/* The last pod that a new machine makes: the second of the second Job of "node". */
static const cJSON *last_pod(struct jobs *j)
{
	const struct jobs_action *act;
	int64_t wake;
	size_t n = jobs_step(j, 1000, &act, &wake);

	assert_int_equal(n, 5);
	return act[n - 1].pod;
}

TEST(test_pod_has_the_controllers_marks)
{
	static const struct {
		const char *key, *value;
	} marks[] = {
		{ "jobset.sigs.k8s.io/jobset-name", "tj" },
		{ "jobset.sigs.k8s.io/jobset-uid", "u-1" },
		{ "jobset.sigs.k8s.io/replicatedjob-name", "node" },
		{ "jobset.sigs.k8s.io/restart-attempt", "0" },
		{ "jobset.sigs.k8s.io/replicatedjob-replicas", "2" },
		{ "jobset.sigs.k8s.io/global-replicas", "3" },
		{ "jobset.sigs.k8s.io/job-index", "1" },
		{ "jobset.sigs.k8s.io/job-global-index", "2" },
		{ "jobset.sigs.k8s.io/group-name", "g" },
		{ "jobset.sigs.k8s.io/group-replicas", "2" },
		{ "jobset.sigs.k8s.io/job-group-index", "1" },
		{ "jobset.sigs.k8s.io/coordinator", "tj-node-0-0.tj" },
		/* printf ns/tj-node-1 | sha1sum */
		{ "jobset.sigs.k8s.io/job-key",
		  "279274aa174d979f2d3e55cbc371ebdfd137b5af" },
		{ "batch.kubernetes.io/job-completion-index", "1" },
	};
	struct jobs *j = machine(TWO_NODES);
	const cJSON *pod = last_pod(j);

	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		const char *label = json_str(pod, "metadata", "labels", marks[i].key);
		const char *note = json_str(pod, "metadata", "annotations", marks[i].key);

		if (!str_eq(label, marks[i].value) || !str_eq(note, marks[i].value))
			fail_msg("%s: have %s and %s, want %s", marks[i].key, label, note,
				 marks[i].value);
	}
	assert_string_equal(json_str(pod, "metadata", "labels", "job-name"), "tj-node-1");
	assert_string_equal(
		json_str(pod, "metadata", "labels", "batch.kubernetes.io/job-name"),
		"tj-node-1");
	assert_string_equal(
		json_str(pod, "metadata", "labels", "controller-uid"),
		json_str(json_get(pod, "metadata", "ownerReferences")->child, "uid"));
	assert_string_equal(json_str(pod, "metadata", "labels", "mine"), "1");
	jobs_free(j);
}

TEST(test_pod_has_its_place)
{
	struct jobs *j = machine(TWO_NODES);
	const cJSON *pod = last_pod(j), *containers = json_get(pod, "spec", "containers");
	const char *name = json_str(pod, "metadata", "name");
	const cJSON *env = json_get(containers->child, "env");

	assert_string_equal(json_str(pod, "spec", "hostname"), "tj-node-1-1");
	assert_string_equal(json_str(pod, "spec", "subdomain"), "tj");
	assert_true(cJSON_IsObject(json_get(pod, "spec", "securityContext")));
	assert_string_equal(json_str(pod, "spec", "restartPolicy"), "OnFailure");
	assert_string_equal(json_str(pod, "metadata", "namespace"), "ns");
	assert_int_equal(strlen(json_str(pod, "metadata", "uid")), 36);
	assert_true(str_starts(name, "tj-node-1-1-"));
	assert_int_equal(strlen(name), strlen("tj-node-1-1-abcde"));
	/* appended, unless it is there */
	assert_int_equal(cJSON_GetArraySize(env), 2);
	assert_string_equal(
		json_str(env->child->next, "valueFrom", "fieldRef", "fieldPath"),
		"metadata.labels['batch.kubernetes.io/job-completion-index']");
	assert_int_equal(cJSON_GetArraySize(json_get(containers->child->next, "env")), 1);
	assert_int_equal(cJSON_GetArraySize(json_get(
				 json_get(pod, "spec", "initContainers")->child, "env")),
			 1);
	jobs_free(j);
}

static void expect_names(const struct jobs *j, size_t i, const char *want)
{
	cleanup_arena struct arena a = { 0 };
	const char *pod, *const *names;

	assert_true(jobs_pod_names(j, i, &pod, &names));
	assert_string_equal(str_join(&a, names, " "), want);
}

TEST(test_names)
{
	struct jobs *j = machine(TWO_NODES), *k;
	const char *pod, *const *names;

	expect_names(j, 0,
		     "tj-init-0-0.tj tj-init-0-0.tj.ns tj-init-0-0.tj.ns.svc "
		     "tj-init-0-0.tj.ns.svc.cluster.local tj-init-0-0");
	expect_names(j, 4,
		     "tj-node-1-1.tj tj-node-1-1.tj.ns tj-node-1-1.tj.ns.svc "
		     "tj-node-1-1.tj.ns.svc.cluster.local tj-node-1-1");
	assert_false(jobs_pod_names(j, 5, &pod, &names));
	/* the name said beforehand is the one the pod gets */
	assert_true(jobs_pod_names(j, 4, &pod, &names));
	assert_string_equal(pod, json_str(last_pod(j), "metadata", "name"));
	jobs_free(j);

	k = machine("{'metadata':{'name':'s'},'spec':{'network':{'subdomain':'team'},"
		    "'replicatedJobs':[{'name':'w','template':{'spec':{'template':"
		    "{'spec':{}}}}}]}}");
	expect_names(k, 0,
		     "s-w-0-0.team s-w-0-0.team.default s-w-0-0.team.default.svc "
		     "s-w-0-0.team.default.svc.cluster.local s-w-0-0");
	jobs_free(k);
	k = machine("{'metadata':{'name':'s'},'spec':{'network':{'enableDNSHostnames':"
		    "false},'replicatedJobs':[{'name':'w','template':{'spec':{"
		    "'template':{'spec':{}}}}}]}}");
	expect_names(k, 0, "s-w-0-0");
	jobs_free(k);
}

#define ONE_JOB(spec, job)                                                        \
	"{'metadata':{'name':'t'},'spec':{" spec "'replicatedJobs':[{'name':'w'," \
	"'template':{'spec':{'backoffLimit':0," job "'template':{'spec':{"        \
	"'restartPolicy':'Never','containers':[{'name':'c'}]}}}}}]}}"

/* The condition of that type after the only pod ended so. */
static void expect_condition(const char *jobset, const char *pod_status, const char *type,
			     const char *want)
{
	struct jobs *j = machine(jobset);
	cleanup_json cJSON *status = parse(pod_status);
	cleanup_arena struct arena a = { 0 };
	const struct jobs_action *act;
	const cJSON *c;
	int64_t wake;

	assert_int_equal(jobs_step(j, 1700000000123, &act, &wake), 1);
	jobs_pod_status(j, act[0].pod_name, status, 1700000001999);
	jobs_step(j, 1700000001999, &act, &wake);
	c = json_find_const(json_get(jobs_status(j), "conditions"), "type", type);
	assert_string_equal(arena_printf(&a, "%s %s %s | %s",
					 json_str(c, "lastTransitionTime"),
					 json_str(c, "status"), json_str(c, "reason"),
					 json_str(c, "message")),
			    want);
	jobs_free(j);
}

TEST(test_words_of_the_conditions)
{
	const char *ok = "{'phase':'Succeeded'}", *bad = "{'phase':'Failed'}";

	expect_condition(ONE_JOB("", ""), ok, "Completed",
			 "2023-11-14T22:13:21Z True AllJobsCompleted | "
			 "jobset completed successfully");
	expect_condition(
		ONE_JOB("", ""), bad, "Failed",
		"2023-11-14T22:13:21Z True FailedJobs | jobset failed due to one "
		"or more job failures (first failed job: t-w-0)");
	expect_condition(
		ONE_JOB("'failurePolicy':{'maxRestarts':0},", ""), bad, "Failed",
		"2023-11-14T22:13:21Z True ReachedMaxRestarts | jobset failed due "
		"to reaching max number of restarts (first failed job: t-w-0)");
	expect_condition(
		ONE_JOB("'failurePolicy':{'rules':[{'action':'FailJobSet'}]},", ""), bad,
		"Failed",
		"2023-11-14T22:13:21Z True FailJobSetFailurePolicyAction | "
		"applying FailJobSet failure policy action (first failed "
		"job: t-w-0)");
	expect_condition(ONE_JOB("'failurePolicy':{'maxRestarts':1},", ""), bad,
			 "RestartingJobSet",
			 "2023-11-14T22:13:21Z True DefaultFailurePolicy | applying "
			 "RestartJobSet failure policy action (first failed job: t-w-0)");
	/* the message of podFailurePolicy is what patterns are matched against */
	expect_condition(
		ONE_JOB("'failurePolicy':{'maxRestarts':9,'rules':[{'action':'FailJobSet','onJobFailureMessagePatterns':['^Container c for pod default/t-w-0-0-[a-z0-9]+ failed with exit code 42 matching FailJob rule at index 0$']}]},",
			"'podFailurePolicy':{'rules':[{'action':'FailJob','onExitCodes':"
			"{'operator':'In','values':[42]}}]},"),
		"{'phase':'Failed','containerStatuses':[{'name':'c','state':{'terminated':{'exitCode':42}}}]}",
		"Failed",
		"2023-11-14T22:13:21Z True FailJobSetFailurePolicyAction | applying "
		"FailJobSet failure policy action (first failed job: t-w-0)");
}

TEST(test_terminal_state_and_restarts)
{
	struct jobs *j = machine(ONE_JOB("", ""));
	cleanup_json cJSON *ok = parse("{'phase':'Succeeded'}");
	const struct jobs_action *act;
	int64_t wake;

	assert_null(json_str(jobs_status(j), "terminalState"));
	assert_int_equal(jobs_step(j, 0, &act, &wake), 1);
	assert_int_equal(jobs_phase(j), JOBS_RUNNING);
	jobs_pod_status(j, act[0].pod_name, ok, 1);
	jobs_step(j, 1, &act, &wake);
	assert_int_equal(jobs_phase(j), JOBS_COMPLETED);
	assert_string_equal(json_str(jobs_status(j), "terminalState"), "Completed");
	assert_int_equal(json_int(jobs_status(j), -1, "restarts"), 0);
	jobs_free(j);
}

/* More of the JobSet's spec, of the replicatedJob and of the Job's spec. */
#define WITH(spec, rjob, job, policy)                                                  \
	"{'metadata':{'name':'t'},'spec':{" spec "'replicatedJobs':[{'name':'w'," rjob \
	"'template':{'spec':{" job "'template':{'spec':{'restartPolicy':'" policy      \
	"'}}}}}]}}"

#define TWO(spec, second)                                                              \
	"{'metadata':{'name':'t'},'spec':{" spec "'replicatedJobs':[{'name':'w'," BODY \
	"},{" second BODY "}]}}"
#define BODY "'template':{'spec':{'template':{'spec':{}}}}"

TEST(test_refused)
{
	static const struct {
		const char *jobset, *message;
	} rows[] = {
		{ "{'spec':{}}", "JobSet : the JobSet has no name" },
		{ "{'metadata':{'name':'t'},'spec':{'replicatedJobs':[{}]}}",
		  "JobSet t: replicatedJob has no name" },
		{ "{'metadata':{'name':'t'},'spec':{'replicatedJobs':[{'name':'w',"
		  "'template':{'spec':{'parallelism':2,'template':{'spec':{}}}}}]}}",
		  "JobSet t: replicatedJob w: template.spec.completions: Required value: "
		  "when completion mode is Indexed" },
		{ "{'metadata':{'name':'t'},'spec':{'replicatedJobs':[{'name':'w',"
		  "'template':{'spec':{'completions':-1,'template':{'spec':{}}}}}]}}",
		  "JobSet t: replicatedJob w: completions: want an integer "
		  "from 0 to 2147483647" },
		{ "{'metadata':{'name':'t'},'spec':{'replicatedJobs':[{'name':'w',"
		  "'template':{'spec':{'completions':20000,'template':{'spec':{}}}}}]}}",
		  "JobSet t: replicatedJob w: more than 10000 pods on one machine" },
		{ "{'metadata':{'name':'a-name-that-is-long-but-not-too-long-as-a-name-itself'},'spec':{'replicatedJobs':[{'name':'trainer','template':{'spec':{'completions':11,'template':{'spec':{}}}}}]}}",
		  "JobSet a-name-that-is-long-but-not-too-long-as-a-name-itself: name "
		  "too long: pods of replicatedJob trainer would have names of 72 "
		  "characters (at most 63)" },
		{ "{'metadata':{'name':'1t'},'spec':{'replicatedJobs':[{'name':'w',"
		  "'template':{'spec':{'template':{'spec':{}}}}}]}}",
		  "JobSet 1t: invalid pod name \"1t-w-0-0-abcde\": use lowercase "
		  "letters, digits and '-', a letter first" },
		{ WITH("", "", "'backoffLimitPerIndex':1,", "OnFailure"),
		  "JobSet t: replicatedJob w: restartPolicy: backoffLimitPerIndex "
		  "requires Never" },
		{ WITH("", "", "'podFailurePolicy':{},", "OnFailure"),
		  "JobSet t: replicatedJob w: restartPolicy: "
		  "podFailurePolicy requires Never" },
		{ WITH("", "", "", "Always"),
		  "JobSet t: replicatedJob w: restartPolicy: must be "
		  "OnFailure or Never, as in every Job" },
		{ WITH("", "", "'completionMode':'NonIndexed','backoffLimitPerIndex':1,",
		       "Never"),
		  "JobSet t: replicatedJob w: completionMode: backoffLimitPerIndex "
		  "requires Indexed" },
		{ WITH("", "", "'completionMode':'NonIndexed','successPolicy':{},",
		       "Never"),
		  "JobSet t: replicatedJob w: completionMode: successPolicy "
		  "requires Indexed" },
		{ WITH("", "", "'maxFailedIndexes':1,", "Never"),
		  "JobSet t: replicatedJob w: backoffLimitPerIndex: required with "
		  "maxFailedIndexes" },
		{ WITH("", "", "'podFailurePolicy':{'rules':[{'action':'FailIndex'}]},",
		       "Never"),
		  "JobSet t: replicatedJob w: backoffLimitPerIndex: required with the "
		  "action FailIndex" },
		{ WITH("'successPolicy':{'operator':'All','targetReplicatedJobs':['v']},",
		       "", "", "Never"),
		  "JobSet t: spec.successPolicy: targetReplicatedJobs: "
		  "replicatedJob \"v\" not found" },
		{ WITH("'failurePolicy':{'rules':[{'action':'FailJobSet',"
		       "'targetReplicatedJobs':['v']}]},",
		       "", "", "Never"),
		  "JobSet t: spec.failurePolicy.rules: targetReplicatedJobs: "
		  "replicatedJob \"v\" not found" },
		{ WITH("", "'dependsOn':[{'name':'v'}],", "", "Never"),
		  "JobSet t: replicatedJob: w cannot depend on replicatedJob: v" },
		{ WITH("", "'dependsOn':[{'name':'w'}],", "", "Never"),
		  "JobSet t: replicatedJob: w cannot depend on replicatedJob: w" },
		{ TWO("", "'name':'w',"), "JobSet t: duplicate replicatedJob name w" },
		{ TWO("'startupPolicy':{'startupPolicyOrder':'InOrder'},",
		      "'name':'v','dependsOn':[{'name':'w'}],"),
		  "JobSet t: spec: startupPolicy InOrder and dependsOn cannot be used "
		  "together" },
		{ WITH("'network':{'subdomain':'a.b'},", "", "", "Never"),
		  "JobSet t: namespace \"default\" and subdomain \"a.b\" must be DNS "
		  "labels" },
		{ "{'metadata':{'name':'t','namespace':'a.b'}}",
		  "JobSet t: namespace \"a.b\" and subdomain \"t\" must be DNS labels" },
		{ WITH("'failurePolicy':{'rules':[{'action':'FailJobSet',"
		       "'onJobFailureMessagePatterns':['a',1]}]},",
		       "", "", "Never"),
		  "JobSet t: spec.failurePolicy.rules: onJobFailureMessagePatterns: \"\": "
		  "not a string; use the syntax that POSIX extended and Go regular "
		  "expressions share" },
		{ WITH("", "'replicas':10001,", "'completions':0,'parallelism':0,",
		       "Never"),
		  "JobSet t: replicatedJob w: more than 10000 pods on one machine" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = parse(rows[i].jobset);
		struct error err = { 0 };
		struct jobs *j = NULL;

		if (!jobs_new(&j, doc, &err))
			fail_msg("accepted: %s", rows[i].jobset);
		assert_null(j);
		assert_string_equal(err.msg, rows[i].message);
	}
}

#define PATTERN(pattern)                                          \
	WITH("'failurePolicy':{'rules':[{'action':'FailJobSet',"  \
	     "'onJobFailureMessagePatterns':['" pattern "']}]},", \
	     "", "", "Never")

/* Go reads these differently, or not at all (go doc regexp/syntax). */
TEST(test_patterns_that_differ)
{
	static const struct {
		const char *jobset, *place;
	} rows[] = {
		{ PATTERN("\\\\AJob"), "'\\A'" },
		{ PATTERN("limit\\\\z"), "'\\z'" },
		{ PATTERN("\\\\Q.\\\\E"), "'\\Q'" },
		{ PATTERN("\\\\pL"), "'\\p'" },
		{ PATTERN("\\\\x4"), "'\\x'" },
		{ PATTERN("\\\\xyz"), "'\\x'" },
		{ PATTERN("(a)\\\\1"), "'\\1'" },
		{ PATTERN("\\\\<Job"), "'\\<'" },
		{ PATTERN("\\\\\xc3\xa9"), "\"\\\xc3\xa9\": '\\\xc3\xa9' is not" },
		{ PATTERN("code [\\\\d]+"), "'\\d'" },
		{ PATTERN("[^[:alpha:]\\\\s]"), "'\\s'" },
		{ PATTERN("(?i)oom"), "'(?'" },
		{ PATTERN("a**"), "'**'" },
		{ PATTERN("a+?b"), "'+?'" },
		{ PATTERN("a{2}{3}"), "'}{'" },
		{ PATTERN("[a]{2}?"), "'}?'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = parse(rows[i].jobset);
		struct error err = { 0 };
		struct jobs *j = NULL;

		if (!jobs_new(&j, doc, &err))
			fail_msg("accepted: %s", rows[i].jobset);
		if (!strstr(err.msg, rows[i].place))
			fail_msg("%s: %s", rows[i].jobset, err.msg);
	}
}

/* As many pods, as long a name, and the patterns, as there may be. */
TEST(test_accepted)
{
	static const char *const rows[] = {
		WITH("", "", "'completions':10000,'parallelism':1,", "Never"),
		WITH("", "'replicas':10000,", "'completions':0,'parallelism':0,",
		     "Never"),
		"{'metadata':{'name':'a23456789-123456789-123456789-123456789-123456789-1'"
		"},'spec':{'replicatedJobs':[{'name':'w'," BODY "}]}}",
		PATTERN("\\\\x4a+"),
		PATTERN(".*?(OOM|oom)?? in \\\\w+\\\\.\\\\b[]*+?[:digit:]-]{1,2}$"),
		PATTERN("\\\\\\\\[*]*\\\\*+|"),
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		jobs_free(machine(rows[i]));
}

RUN_TESTS(NULL, NULL)
