/* What happened to a job, of documents as controllers, kubelets and schedulers write them. */
#include "tests/unit/why/why_test.h"

#include "why/foreign.h"
#include "why/timeline.h"

#define RUNS(from, more)                                                      \
	"phase: Running, conditions: [{type: Ready, status: 'True'}], "       \
	"containerStatuses: [{name: node, image: i, restartCount: 1, state: " \
	"{running: {startedAt: '2026-01-01T00:" from "Z'}}" more "}]"
#define OOM                                                             \
	", lastState: {terminated: {exitCode: 137, reason: OOMKilled, " \
	"startedAt: '2026-01-01T00:01:00Z', finishedAt: '2026-01-01T00:02:00Z'}}"
#define EVENT_AT(kind, reason, at, message)                                            \
	"kind: Event\nmetadata: {name: e, namespace: a}\ninvolvedObject: {kind: " kind \
	", name: bert}\nreason: " reason "\nmessage: " message                         \
	"\nlastTimestamp: '2026-01-01T00:" at "Z'\n---\n"
#define SUSPENDED(status, at)                                                         \
	"status: {conditions: [{type: Suspended, status: '" status                    \
	"', reason: S, message: by condition, lastTransitionTime: '2026-01-01T00:" at \
	"Z'}]}"

static const struct {
	const char *docs, *want;
} cases[] = {
	{ JOB("", ""), "0 queued created\n" },
	{ QUEUED, "0 queued created, in queue q\n" },
	{ JOB("", STATUS) JOBSET, "0 queued created\n0 starting its JobSet is made\n" },
	{ JOB("", STATUS) PLACED("0", READY),
	  "0 queued created\n0 starting 1 pod is made\n" },
	/* The first of two; what is wrong with one, in the words of `why`. */
	{ JOB("", STATUS) PLACED("0", RUNS("03:00", "")) PLACED("1", RUNS("04:00", OOM)),
	  "0 queued created\n0 starting 2 pods are made\n"
	  "60 training node-1 (node rank 1) runs, first of 2 pods, all of which have begun\n"
	  "120 restarted node-1 (node rank 1): container node: exit code 137 (SIGKILL), out of memory, restarted 1 time\n" },
	{ JOB("", FAILED) PLACED("0", ENDED("3", "Error", "09")),
	  "0 queued created\n0 starting 1 pod is made\n"
	  "9 failed node-0 (node rank 0): container node: exit code 3\n"
	  "1800 failed jobset failed.\n" },
	/* Each time of the events; the condition where they are gone. */
	{ JOB("", SUSPENDED("False", "20:00"))
		  EVENT_AT("TrainJob", "Resumed", "20:00", "goes on")
			  EVENT_AT("TrainJob", "Suspended", "10:00", "stops")
				  EVENT_AT("Pod", "Suspended", "11:00", "another"),
	  "0 queued created\n600 suspended stops\n1200 resumed goes on\n" },
	{ JOB("", SUSPENDED("True", "20:00")),
	  "0 queued created\n1200 suspended by condition\n" },
	{ JOB("", STATUS) EVENT_AT("JobSet", "Restarting", "05:00", "\"attempt\\n1\""),
	  "0 queued created\n300 restarted attempt\\x0a1\n" },
	/* Of a supervised job; those of a pod are another's. */
	{ JOB("", STATUS) EVENT_AT("TrainJob", "Stalled", "05:00", "no output")
		  EVENT_AT("TrainJob", "Restarted", "05:30", "restart 1")
			  EVENT_AT("TrainJob", "Rejoined", "06:00", "a pod was lost")
				  EVENT_AT("Pod", "Stalled", "07:00", "another"),
	  "0 queued created\n300 stalled no output\n330 restarted restart 1\n"
	  "360 restarted a pod was lost\n" },
	/* Of its run directory. */
	{ JOB("", STATUS) EVENT_AT("TrainJob", "Started", "01:00", "attempt 1")
		  EVENT_AT("TrainJob", "Supervisor", "02:00", "'stalled: no output'")
			  EVENT_AT("TrainJob", "Supervisor", "02:10", "rank 1 failed")
				  EVENT_AT("TrainJob", "Started", "02:20", "attempt 2"),
	  "0 queued created\n120 stalled stalled: no output\n140 restarted attempt 2\n" },
	{ JOB("", "status: {trainerStatus: {progressPercentage: 3, lastUpdatedTime: "
		  "'2026-01-01T00:30:00Z'}}"),
	  "0 queued created\n1800 stalled the last report of its progress\n" },
	{ JOB("", "status: {trainerStatus: {progressPercentage: 3, lastUpdatedTime: "
		  "'2026-01-01T00:59:00Z'}}"),
	  "0 queued created\n" },
};

static void load(struct view *v, const char *docs)
{
	cleanup_json cJSON *list = NULL;
	struct error err = { 0 };

	view_init(v, "a", "bert");
	v->now = foreign_time(NOW);
	assert_int_equal(yaml_parse(&list, docs, strlen(docs), &err), 0);
	while (list->child) {
		cJSON *doc = cJSON_DetachItemViaPointer(list, list->child);

		if (str_eq(json_str(doc, "kind"), "Pod"))
			pod_slim(doc);
		view_add(v, doc);
	}
}

TEST(timeline_of_documents)
{
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		cleanup_view struct view v = { 0 };
		cleanup_json cJSON *list = NULL;
		cleanup_buf struct buf text = { .max = 4096 };
		int64_t begin = foreign_time("2026-01-01T00:00:00Z");
		const cJSON *e;

		load(&v, cases[i].docs);
		list = timeline_of(&v);
		json_each(e, list)
			buf_printf(&text, "%lld %s %s\n",
				   (long long)(json_int(e, 0, "at") - begin),
				   json_str(e, "what"), json_str(e, "text"));
		assert_string_equal((char *)text.data, cases[i].want);
	}
}

TEST(of_a_thousand_failures_some)
{
	cleanup_view struct view v = { 0 };
	cleanup_json cJSON *list = NULL;
	const cJSON *last;

	load(&v, JOB("", STATUS));
	for (int i = 0; i < 1000; i++) {
		cleanup_json cJSON *docs = NULL;
		struct error err = { 0 };
		const char *doc = PLACED("0", ENDED("3", "Error", "09"));

		assert_int_equal(yaml_parse(&docs, doc, strlen(doc), &err), 0);
		view_add(&v, cJSON_DetachItemViaPointer(docs, docs->child));
	}
	list = timeline_of(&v);
	assert_in_range(cJSON_GetArraySize(list), TIMELINE_PROBLEMS,
			TIMELINE_PROBLEMS + 4);
	last = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
	assert_string_equal(json_str(last, "text"), "960 more");
}

RUN_TESTS(NULL, NULL)
