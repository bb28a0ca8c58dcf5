/*
 * Whose lines they are, which are wanted, and which of a container's runs has a log.
 */

#include "base/cleanup.h"
#include "base/str.h"
#include "client/events.h"
#include "client/logs_pod.h"
#include "tests/unit/base/base_test.h"
#include "tests/unit/unit.h"

/* With ' for ". */
static cJSON *quoted(const char *text)
{
	char json[4096];
	size_t i = 0;

	for (; text[i] && i + 1 < sizeof(json); i++)
		json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	json[i] = 0;
	return doc_of(json);
}

#define CONTAINERS "{'spec':{'containers':[{'name':'node'},{'name':'side'}]}}"
#define JOBSET                                                                          \
	"{'metadata':{'name':'j'},'spec':{'replicatedJobs':["                           \
	"{'name':'dataset-initializer','template':{'spec':{'completions':1,'template':" \
	"{'spec':{'containers':[{'name':'dataset-initializer'}]}}}}},"                  \
	"{'name':'node','template':{'metadata':{'labels':"                              \
	"{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},"                   \
	"'spec':{'parallelism':2,'completions':2,'template':" CONTAINERS "}}}]}}"

/* Pod, container, place and prefix; with the JobSet and without. */
static const struct {
	const char *pod, *container, *with, *without;
	int rank;
	bool ranked;
} places[] = {
	{ "{'metadata':{'name':'j-node-0-1-abcde','labels':{"
	  "'jobset.sigs.k8s.io/replicatedjob-name':'node',"
	  "'batch.kubernetes.io/job-completion-index':'1'}},"
	  "'spec':{'containers':[{'name':'node'},{'name':'side'}]}}",
	  "node", "node-1", "node-1", 1, true },
	{ "{'metadata':{'name':'j-node-0-1-abcde','labels':{"
	  "'jobset.sigs.k8s.io/replicatedjob-name':'node',"
	  "'batch.kubernetes.io/job-completion-index':'1'}},"
	  "'spec':{'containers':[{'name':'node'},{'name':'side'}]}}",
	  "side", "node-1/side", "node-1/side", 1, true },
	{ "{'metadata':{'name':'j-dataset-initializer-0-0-abcde','labels':{"
	  "'jobset.sigs.k8s.io/replicatedjob-name':'dataset-initializer',"
	  "'batch.kubernetes.io/job-completion-index':'0'}},"
	  "'spec':{'containers':[{'name':'dataset-initializer'}]}}",
	  "dataset-initializer", "dataset-initializer", "dataset-initializer", 0, false },
};

TEST(prefix_and_rank_of_a_pod)
{
	cleanup_json cJSON *jobset = quoted(JOBSET);

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *pod = quoted(places[i].pod);
		struct log_origin with =
			log_origin_of(&arena, jobset, pod, places[i].container);
		struct log_origin without =
			log_origin_of(&arena, NULL, pod, places[i].container);

		assert_string_equal(with.prefix, places[i].with);
		assert_string_equal(without.prefix, places[i].without);
		assert_int_equal(with.rank, places[i].rank);
		assert_int_equal(without.rank, places[i].rank);
		assert_true(with.ranked == places[i].ranked);
		assert_true(without.ranked == places[i].ranked);
	}
}

/* How many containers are meant of that JobSet. */
TEST(counted)
{
	static const struct {
		struct logs_want want;
		int64_t n;
	} rows[] = {
		{ { .rank = -1 }, 5 },
		{ { .rank = 1 }, 2 },
		{ { .rank = 1, .container = "node" }, 1 },
		{ { .rank = -1, .step = "node" }, 4 },
		{ { .rank = -1, .step = "initializer" }, 1 },
		{ { .rank = -1, .step = "dataset-initializer" }, 1 },
		{ { .rank = 2 }, 0 },
		{ { .rank = 0, .step = "initializer" }, 0 },
		{ { .rank = -1, .container = "none" }, 0 },
		{ { .rank = -1, .step = "launcher" }, 0 },
		{ { .rank = -1, .container = "side" }, 2 },
	};
	cleanup_json cJSON *jobset = quoted(JOBSET);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_int_equal(log_count(&rows[i].want, jobset), rows[i].n);
}

static const struct {
	const char *status; /* of the container */
	bool started, ended;
	int64_t number;
	const char *waiting_reason;
} runs[] = {
	{ "{'name':'node'}", false, false, 0, NULL },
	{ "{'name':'other','restartCount':3,'state':{'running':{}}}", false, false, 0,
	  NULL },
	{ "{'name':'node','restartCount':0,'state':{'waiting':{'reason':'W'}}}", false,
	  false, 0, "W" },
	{ "{'name':'node','restartCount':2,'state':{'running':{}}}", true, false, 2,
	  NULL },
	{ "{'name':'node','restartCount':1,'state':{'terminated':{'exitCode':0}}}", true,
	  true, 1, NULL },
	/* CrashLoopBackOff: the log is that of the run which has ended */
	{ "{'name':'node','restartCount':1,'state':{'waiting':{'reason':'C'}},"
	  "'lastState':{'terminated':{'exitCode':1}}}",
	  true, true, 1, "C" },
	{ "{'name':'node','restartCount':'x','state':[]}", false, false, 0, NULL },
};

TEST(run_of)
{
	for (size_t i = 0; i < N_ELEMENTS(runs); i++) {
		cleanup_json cJSON *pod = quoted("{'metadata':{'name':'p'},'status':{}}");
		struct log_run run;

		cJSON_AddItemToArray(json_list(pod, "status", "containerStatuses"),
				     quoted(runs[i].status));
		log_pod_slim(pod);
		run = log_run_of(pod, "node");
		assert_true(run.started == runs[i].started);
		assert_true(run.ended == runs[i].ended);
		assert_int_equal(run.number, runs[i].number);
		assert_true(str_eq(run.waiting_reason, runs[i].waiting_reason));
	}
}

/* ---- whose an event is ---------------------------------------------------------------- */

#define JOBS                                                                  \
	"[{'metadata':{'name':'a','namespace':'n','creationTimestamp':"       \
	"'2026-01-01T00:00:10Z'}},{'metadata':{'name':'a-b','namespace':'n'," \
	"'creationTimestamp':'2026-01-01T00:00:10Z'}}]"

static const struct {
	const char *ns, *kind, *name, *time, *owner;
} events[] = {
	{ "n", "TrainJob", "a", "2026-01-01T00:00:10Z", "a" },
	{ "n", "TrainJob", "a", "2026-01-01T00:00:09Z", NULL }, /* of an older one */
	{ "m", "TrainJob", "a", "2026-01-01T00:00:10Z", NULL },
	{ "n", "TrainJob", "a-node", "2026-01-01T00:00:10Z", NULL },
	{ "n", "Job", "a-node-0", "2026-01-01T00:00:11Z", "a" },
	{ "n", "Pod", "a-b-node-0-0-abcde", "2026-01-01T00:00:11Z", "a-b" },
	{ "n", "JobSet", "a-b", "2026-01-01T00:00:11Z", "a-b" },
	{ "n", "Pod", "ab-node-0-0-abcde", "2026-01-01T00:00:11Z", NULL },
	{ "n", "Workload", "trainjob-a-12345", "2026-01-01T00:00:11Z", "a" },
	{ "n", "Node", "a", "2026-01-01T00:00:11Z", NULL },
};

TEST(owner_of_an_event)
{
	cleanup_json cJSON *jobs = quoted(JOBS);

	for (size_t i = 0; i < N_ELEMENTS(events); i++) {
		cleanup_json cJSON *event = cJSON_CreateObject();
		const cJSON *owner;

		json_put_str(event, events[i].ns, "metadata", "namespace");
		json_put_str(event, events[i].kind, "involvedObject", "kind");
		json_put_str(event, events[i].name, "involvedObject", "name");
		json_put_str(event, events[i].time, "lastTimestamp");
		owner = event_owner(jobs, event);
		assert_true(str_eq(json_str(owner, "metadata", "name"), events[i].owner));
	}
}

RUN_TESTS(NULL, NULL)
