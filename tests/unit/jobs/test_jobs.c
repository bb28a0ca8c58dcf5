/*
 * Plays scripts of pod events against the machine of jobs.h.
 *
 * A row is a JobSet and steps. A step's events, separated by spaces:
 *
 *     @1500        the time, in ms (else: as before)
 *     w-0-1=run    the newest pod of that host name (less the JobSet's "t-")
 *         run, ready, ok, fail:CODE, cond:TYPE (failed with that condition),
 *         restart:N (running, N container restarts), gone
 *     suspend, resume
 *
 * and the actions it must give: "+w-0-1" a pod is made, "-w-0-1" deleted,
 * "wake:1500" when it wants to be called again.
 */

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "jobs/jobs.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"

struct step {
	const char *events, *actions;
};

struct row {
	const char *name, *jobset; /* JSON with ' for " */
	struct step steps[14];
	const char *conditions; /* "Type:Reason", with ! in front: False */
	const char *counts;     /* "name ready/succeeded/failed/active/suspended" */
	int restarts;
};

/* clang-format off */
#define POD(policy) "'template':{'spec':{'restartPolicy':'" policy "','containers':[{'name':'c'}]}}"
#define RJOB_(name, replicas, n, rest, job, policy)                                 \
	"{'name':'" name "','replicas':" replicas "," rest "'template':{'spec':{"    \
	"'parallelism':" n ",'completions':" n "," job POD(policy) "}}}"
/* A replicatedJob: name, replicas, pods a Job; `job` is more of the Job's spec. */
#define RJOB(name, replicas, n, job) RJOB_(name, replicas, n, "", job, "Never")
#define ON_FAILURE(name, n, job) RJOB_(name, "1", n, "", job, "OnFailure")
#define AFTER(name, n, on, status) \
	RJOB_(name, "1", n, "'dependsOn':[{'name':'" on "','status':'" status "'}],", "", "Never")
#define JOBSET(spec, rjobs) \
	"{'metadata':{'name':'t','namespace':'ns'},'spec':{" spec "'replicatedJobs':[" rjobs "]}}"
/* clang-format on */

/* ---- the player ------------------------------------------------------------------ */

enum { MAX_PODS = 64 };

struct game {
	struct jobs *jobs;
	int64_t now;
	char *pods[MAX_PODS]; /* names, in the order of creation */
	size_t n;
};

/* "t-w-0-1-abcde" is "w-0-1" */
static size_t host_of(const char *pod, const char **ret)
{
	*ret = pod + 2;
	return (size_t)(strrchr(pod, '-') - pod) - 2;
}

static const char *newest(const struct game *g, const char *host, size_t len)
{
	for (size_t i = g->n; i--;) {
		const char *name;
		size_t n = host_of(g->pods[i], &name);

		if (n == len && !strncmp(name, host, len))
			return g->pods[i];
	}
	fail_msg("no pod %.*s", (int)len, host);
	return NULL;
}

static cJSON *status_of(const char *state, int n)
{
	cleanup_arena struct arena a = { 0 };

	if (str_eq(state, "run"))
		return parse("{'phase':'Running'}");
	if (str_eq(state, "ready"))
		return parse("{'phase':'Running','conditions':"
			     "[{'type':'Ready','status':'True'}]}");
	if (str_eq(state, "ok"))
		return parse("{'phase':'Succeeded'}");
	if (str_starts(state, "fail"))
		return parse(
			arena_printf(&a,
				     "{'phase':'Failed','containerStatuses':[{'name':'c',"
				     "'state':{'terminated':{'exitCode':%d}}}]}",
				     n));
	if (str_starts(state, "restart"))
		return parse(arena_printf(&a,
					  "{'phase':'Running','containerStatuses':"
					  "[{'name':'c','restartCount':%d}]}",
					  n));
	if (str_starts(state, "cond"))
		return parse(arena_printf(
			&a,
			"{'phase':'Failed','conditions':[{'type':'%s','status':'True'}]}",
			state + 5));
	fail_msg("what is %s?", state);
	return NULL;
}

static void happen(struct game *g, const char *event)
{
	const char *state = strchr(event, '='), *number, *pod;
	cleanup_json cJSON *status = NULL;

	if (*event == '@') {
		g->now = strtoll(event + 1, NULL, 10);
	} else if (str_eq(event, "suspend") || str_eq(event, "resume")) {
		jobs_set_suspend(g->jobs, str_eq(event, "suspend"));
	} else if (state) {
		pod = newest(g, event, (size_t)(state++ - event));
		number = strchr(state, ':');
		if (!str_eq(state, "gone"))
			status = status_of(
				state, number ? (int)strtol(number + 1, NULL, 10) : 1);
		jobs_pod_status(g->jobs, pod, status, g->now);
	}
}

static void step(struct game *g, const char *events, struct buf *out)
{
	cleanup_arena struct arena a = { 0 };
	char **words = str_split(&a, events, ' ', NULL);
	const struct jobs_action *act;
	int64_t wake;
	size_t n;

	for (; *words; words++)
		happen(g, *words);
	n = jobs_step(g->jobs, g->now, &act, &wake);
	for (size_t i = 0; i < n; i++) {
		bool made = act[i].type == JOBS_CREATE_POD;
		const char *host;
		size_t len = host_of(act[i].pod_name, &host);

		buf_printf(out, "%s%c%.*s", out->len ? " " : "", made ? '+' : '-',
			   (int)len, host);
		if (made) {
			assert_true(g->n < MAX_PODS);
			g->pods[g->n++] = strdup(act[i].pod_name);
		}
	}
	if (wake >= 0)
		buf_printf(out, "%swake:%lld", out->len ? " " : "", (long long)wake);
}

static void print_conditions(struct buf *out, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions"))
		buf_printf(out, "%s%s%s:%s", out->len ? " " : "",
			   str_eq(json_str(c, "status"), "True") ? "" : "!",
			   json_str(c, "type"), json_str(c, "reason"));
}

static void print_counts(struct buf *out, const cJSON *status)
{
	static const char *const keys[] = { "ready", "succeeded", "failed", "active",
					    "suspended" };
	const cJSON *r;

	json_each(r, json_get(status, "replicatedJobsStatus")) {
		buf_printf(out, "%s%s ", out->len ? ", " : "", json_str(r, "name"));
		for (int i = 0; i < 5; i++)
			buf_printf(out, "%s%d", i ? "/" : "",
				   (int)json_int(r, -1, keys[i]));
	}
}

static void expect(const struct row *row, const char *what, const struct buf *have,
		   const char *want)
{
	const char *text = have->data ? (const char *)have->data : "";

	if (!str_eq(text, want))
		fail_msg("%s: %s\n  have: %s\n  want: %s", row->name, what, text, want);
}

static void expect_status(const struct row *row, struct jobs *jobs)
{
	const cJSON *status = jobs_status(jobs);
	cleanup_buf struct buf conditions = { .max = 4096 }, counts = { .max = 4096 };

	print_conditions(&conditions, status);
	expect(row, "conditions", &conditions, row->conditions ? row->conditions : "");
	print_counts(&counts, status);
	if (row->counts)
		expect(row, "counts", &counts, row->counts);
	if (json_int(status, 0, "restarts") != row->restarts)
		fail_msg("%s: restarts: have %d, want %d", row->name,
			 (int)json_int(status, 0, "restarts"), row->restarts);
}

static void play(const struct row *row)
{
	struct game g = { 0 };
	struct error err = { 0 };
	cleanup_json cJSON *jobset = parse(row->jobset);

	if (jobs_new(&g.jobs, jobset, &err))
		fail_msg("%s: %s", row->name, err.msg);
	jobs_set_backoff(g.jobs, 1000, 60000);
	for (size_t i = 0; i < 14 && row->steps[i].events; i++) {
		cleanup_buf struct buf have = { .max = 4096 };

		step(&g, row->steps[i].events, &have);
		expect(row, row->steps[i].events, &have, row->steps[i].actions);
	}
	expect_status(row, g.jobs);
	jobs_free(g.jobs);
	for (size_t i = 0; i < g.n; i++)
		free(g.pods[i]);
}

#define PLAY(rows)                                                     \
	for (size_t i_ = 0; i_ < sizeof(rows) / sizeof(*(rows)); i_++) \
	play(&(rows)[i_])

#define W1       RJOB("w", "1", "1", "")
#define W2       RJOB("w", "1", "2", "")
#define NO_RETRY "'backoffLimit':0,"
#define DONE     "Completed:AllJobsCompleted"

/* ---- Jobs: parallelism, completions, indexes ---------------------------------------- */

/* clang-format off */
static const struct row completions[] = {
	{ "one pod succeeds", JOBSET("", W1),
	  { { "", "+w-0-0" }, { "w-0-0=run", "" }, { "w-0-0=ok", "" } },
	  DONE, "w 0/1/0/0/0", 0 },
	{ "a pod that is pending is active, not ready", JOBSET("", W1),
	  { { "", "+w-0-0" } }, "", "w 0/0/0/1/0", 0 },
	{ "a Job is ready when all its pods are", JOBSET("", W2),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=ready", "" } }, "", "w 0/0/0/1/0", 0 },
	{ "a pod that succeeded counts for readiness", JOBSET("", W2),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=ok w-0-1=ready", "" } },
	  "", "w 1/0/0/1/0", 0 },
	{ "both indexes must succeed", JOBSET("", W2),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-1=ok", "" }, { "w-0-0=ok", "" } },
	  DONE, "w 0/1/0/0/0", 0 },
	{ "replicas are Jobs of their own", JOBSET("", RJOB("w", "2", "1", "")),
	  { { "", "+w-0-0 +w-1-0" }, { "w-1-0=ok", "" }, { "w-0-0=ok", "" } },
	  DONE, "w 0/2/0/0/0", 0 },
	{ "more completions than parallelism: the next index when one ends",
	  JOBSET("", "{'name':'w','template':{'spec':{'parallelism':2,'completions':4,"
	    POD("Never") "}}}"),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-1=ok", "+w-0-2" }, { "w-0-0=ok", "+w-0-3" },
	    { "w-0-2=ok w-0-3=ok", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "fewer completions than parallelism: no more pods than completions",
	  JOBSET("", "{'name':'w','template':{'spec':{'parallelism':4,'completions':2,"
	    POD("Never") "}}}"),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=ready w-0-1=ready", "" } },
	  "", "w 1/0/0/1/0", 0 },
	{ "neither: one pod",
	  JOBSET("", "{'name':'w','template':{'spec':{" POD("Never") "}}}"),
	  { { "", "+w-0-0" }, { "w-0-0=ok", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "no completions: complete at once", JOBSET("", RJOB("w", "1", "0", "")),
	  { { "", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "NonIndexed with completions",
	  JOBSET("", RJOB("w", "1", "2", "'completionMode':'NonIndexed',")),
	  { { "", "+w-0 +w-0" }, { "w-0=ok", "" } }, "", "w 0/0/0/1/0", 0 },
	{ "NonIndexed without completions: one success, then the others end",
	  JOBSET("", "{'name':'w','template':{'spec':{'completionMode':'NonIndexed',"
	    "'parallelism':1," POD("Never") "}}}"),
	  { { "", "+w-0" }, { "w-0=ok", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "a pod that vanished is replaced", JOBSET("", W1),
	  { { "", "+w-0-0" }, { "w-0-0=gone", "wake:1000" } }, "", "w 0/0/0/0/0", 0 },
	{ "a terminal phase is final", JOBSET("", W1),
	  { { "", "+w-0-0" }, { "w-0-0=ok w-0-0=fail:1", "" } }, DONE, "w 0/1/0/0/0", 0 },
};
/* clang-format on */

TEST(test_completions)
{
	PLAY(completions);
}

/* ---- Jobs: failures ------------------------------------------------------------------ */

#define FAILED "Failed:FailedJobs"

/* clang-format off */
static const struct row failures[] = {
	{ "backoffLimit 0: the first failure ends the Job",
	  JOBSET("", RJOB("w", "1", "1", NO_RETRY)),
	  { { "", "+w-0-0" }, { "w-0-0=fail:3", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "the other pods of a failed Job are deleted, and it fails when they are gone",
	  JOBSET("", RJOB("w", "1", "2", NO_RETRY)),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-1=fail:3", "-w-0-0" } },
	  "", "w 0/0/0/0/0", 0 },
	{ "then it is failed", JOBSET("", RJOB("w", "1", "2", NO_RETRY)),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-1=fail:3", "-w-0-0" }, { "w-0-0=gone", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "a replacement waits, the delay doubles",
	  JOBSET("", RJOB("w", "1", "1", "'backoffLimit':2,")),
	  { { "@100", "+w-0-0" }, { "@200 w-0-0=fail:1", "wake:1200" },
	    { "@1199", "wake:1200" }, { "@1200", "+w-0-0" },
	    { "@1300 w-0-0=fail:1", "wake:3300" }, { "@3300", "+w-0-0" },
	    { "@3400 w-0-0=fail:1", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "a success after failures",
	  JOBSET("", RJOB("w", "1", "1", "'backoffLimit':1,")),
	  { { "@1", "+w-0-0" }, { "@2 w-0-0=fail:1", "wake:1002" }, { "@1002", "+w-0-0" },
	    { "w-0-0=ok", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "a success of another index takes the delay back",
	  JOBSET("", RJOB("w", "1", "2", "'backoffLimit':5,")),
	  { { "@1", "+w-0-0 +w-0-1" }, { "@2 w-0-0=fail:1", "wake:1002" },
	    { "@3 w-0-1=ok", "+w-0-0" } }, "", "w 0/0/0/1/0", 0 },
	{ "... and so does one in the moment of the failure",
	  JOBSET("", RJOB("w", "1", "2", "'backoffLimit':5,")),
	  { { "@1", "+w-0-0 +w-0-1" }, { "@2 w-0-0=fail:1 w-0-1=ok", "+w-0-0" } },
	  "", "w 0/0/0/1/0", 0 },
	{ "the default is six failures", JOBSET("", W1),
	  { { "@0", "+w-0-0" }, { "@1 w-0-0=fail:1", "wake:1001" } },
	  "", "w 0/0/0/0/0", 0 },
	{ "OnFailure: restarts of containers count",
	  JOBSET("", ON_FAILURE("w", "1", "'backoffLimit':3,")),
	  { { "", "+w-0-0" }, { "w-0-0=restart:2", "" }, { "w-0-0=restart:3", "-w-0-0" },
	    { "w-0-0=gone", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "OnFailure, backoffLimit 0: not one restart",
	  JOBSET("", ON_FAILURE("w", "1", NO_RETRY)),
	  { { "", "+w-0-0" }, { "w-0-0=restart:1", "-w-0-0" }, { "w-0-0=gone", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "OnFailure: restarts of all pods together",
	  JOBSET("", ON_FAILURE("w", "2", "'backoffLimit':3,")),
	  { { "", "+w-0-0 +w-0-1" },
	    { "w-0-0=restart:1 w-0-1=restart:2", "-w-0-0 -w-0-1" } },
	  "", "w 0/0/0/0/0", 0 },
	{ "Never: restarts do not count", JOBSET("", RJOB("w", "1", "1", NO_RETRY)),
	  { { "", "+w-0-0" }, { "w-0-0=restart:9", "" } }, "", "w 0/0/0/1/0", 0 },
	{ "a pod that vanished failed", JOBSET("", RJOB("w", "1", "1", NO_RETRY)),
	  { { "", "+w-0-0" }, { "w-0-0=gone", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "activeDeadlineSeconds",
	  JOBSET("", RJOB("w", "1", "1", "'activeDeadlineSeconds':2,")),
	  { { "@500", "+w-0-0 wake:2500" }, { "@2499 w-0-0=run", "wake:2500" },
	    { "@2500", "-w-0-0" }, { "w-0-0=gone", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "no time at all, and restarts for ever: it does not go round without end",
	  JOBSET("'failurePolicy':{'rules':[{'action':'RestartJobSetAndIgnoreMaxRestarts'}]},",
	    RJOB("w", "1", "1", "'activeDeadlineSeconds':0,")),
	  { { "@0", "wake:1000" } },
	  "RestartingJobSet:FailurePolicy_failurePolicyRule0", NULL, 333 },
	{ "done before the deadline",
	  JOBSET("", RJOB("w", "1", "1", "'activeDeadlineSeconds':2,")),
	  { { "@0", "+w-0-0 wake:2000" }, { "@1999 w-0-0=ok", "" } },
	  DONE, "w 0/1/0/0/0", 0 },
};
/* clang-format on */

TEST(test_failures)
{
	PLAY(failures);
}

/* ---- Jobs: podFailurePolicy, limits per index, successPolicy ------------------------- */

#define EXIT_RULE(action, op, codes)                      \
	"'podFailurePolicy':{'rules':[{'action':'" action \
	"','onExitCodes':{'operator':'" op "','values':[" codes "]}}]},"
#define COND_RULE(action)                                                        \
	"'podFailurePolicy':{'rules':[{'action':'" action "','onPodConditions':" \
	"[{'type':'DisruptionTarget'}]}]},"
#define PER_INDEX(n) "'backoffLimitPerIndex':" n ","

/* clang-format off */
static const struct row policies[] = {
	{ "FailJob on an exit code",
	  JOBSET("", RJOB("w", "1", "2", EXIT_RULE("FailJob", "In", "42"))),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=fail:42", "-w-0-1" },
	    { "w-0-1=gone", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "FailJob of two at once",
	  JOBSET("", RJOB("w", "1", "2", EXIT_RULE("FailJob", "In", "42"))),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=fail:42 w-0-1=fail:42", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "another exit code is a failure like any",
	  JOBSET("", RJOB("w", "1", "1", EXIT_RULE("FailJob", "In", "42"))),
	  { { "@0", "+w-0-0" }, { "w-0-0=fail:1", "wake:1000" } }, "", "w 0/0/0/0/0", 0 },
	{ "NotIn", JOBSET("", RJOB("w", "1", "1", EXIT_RULE("FailJob", "NotIn", "1,2"))),
	  { { "", "+w-0-0" }, { "w-0-0=fail:3", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "NotIn, listed",
	  JOBSET("", RJOB("w", "1", "1", EXIT_RULE("FailJob", "NotIn", "1,2"))),
	  { { "@0", "+w-0-0" }, { "w-0-0=fail:2", "wake:1000" } }, "", "w 0/0/0/0/0", 0 },
	{ "Ignore does not count against backoffLimit",
	  JOBSET("", RJOB("w", "1", "1", NO_RETRY EXIT_RULE("Ignore", "In", "7"))),
	  { { "@0", "+w-0-0" }, { "w-0-0=fail:7", "wake:1000" }, { "@1000", "+w-0-0" },
	    { "w-0-0=ok", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "Count counts",
	  JOBSET("", RJOB("w", "1", "1", NO_RETRY EXIT_RULE("Count", "In", "7"))),
	  { { "", "+w-0-0" }, { "w-0-0=fail:7", "" } }, FAILED, "w 0/0/1/0/0", 0 },
	{ "onPodConditions", JOBSET("", RJOB("w", "1", "1", COND_RULE("FailJob"))),
	  { { "", "+w-0-0" }, { "w-0-0=cond:DisruptionTarget", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "onPodConditions, another condition",
	  JOBSET("", RJOB("w", "1", "1", COND_RULE("FailJob"))),
	  { { "@0", "+w-0-0" }, { "w-0-0=cond:Other", "wake:1000" } },
	  "", "w 0/0/0/0/0", 0 },
	{ "the container's name is part of the rule",
	  JOBSET("", RJOB("w", "1", "1",
	    "'podFailurePolicy':{'rules':[{'action':'FailJob','onExitCodes':"
	    "{'containerName':'other','operator':'In','values':[1]}}]},")),
	  { { "@0", "+w-0-0" }, { "w-0-0=fail:1", "wake:1000" } }, "", "w 0/0/0/0/0", 0 },
	{ "an index fails for good, the others go on",
	  JOBSET("", RJOB("w", "1", "2", PER_INDEX("0"))),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=fail:1", "" }, { "w-0-1=ok", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "an index is tried again after its own delay",
	  JOBSET("", RJOB("w", "1", "2", PER_INDEX("1"))),
	  { { "@0", "+w-0-0 +w-0-1" }, { "@5 w-0-0=fail:1", "wake:1005" },
	    { "@1005", "+w-0-0" }, { "w-0-0=ok w-0-1=ok", "" } },
	  DONE, "w 0/1/0/0/0", 0 },
	{ "maxFailedIndexes",
	  JOBSET("", RJOB("w", "1", "3", PER_INDEX("0") "'maxFailedIndexes':1,")),
	  { { "", "+w-0-0 +w-0-1 +w-0-2" }, { "w-0-0=fail:1", "" },
	    { "w-0-1=fail:1", "-w-0-2" } }, "", "w 0/0/0/0/0", 0 },
	{ "FailIndex",
	  JOBSET("", RJOB("w", "1", "2", PER_INDEX("5") EXIT_RULE("FailIndex", "In",
	    "9"))),
	  { { "", "+w-0-0 +w-0-1" }, { "w-0-0=fail:9", "" }, { "w-0-1=ok", "" } },
	  FAILED, "w 0/0/1/0/0", 0 },
	{ "Ignore with limits per index: tried again",
	  JOBSET("", RJOB("w", "1", "1", PER_INDEX("0") EXIT_RULE("Ignore", "In", "9"))),
	  { { "@0", "+w-0-0" }, { "w-0-0=fail:9", "wake:1000" }, { "@1000", "+w-0-0" } },
	  "", "w 0/0/0/1/0", 0 },
	{ "successPolicy: one index is enough, the others are deleted",
	  JOBSET("", RJOB("w", "1", "3",
	    "'successPolicy':{'rules':[{'succeededIndexes':'0'}]},")),
	  { { "", "+w-0-0 +w-0-1 +w-0-2" }, { "w-0-1=ok", "" }, { "w-0-0=ok", "-w-0-2" },
	    { "w-0-2=gone", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "successPolicy: a count",
	  JOBSET("", RJOB("w", "1", "3",
	    "'successPolicy':{'rules':[{'succeededCount':2}]},")),
	  { { "", "+w-0-0 +w-0-1 +w-0-2" }, { "w-0-2=ok", "" }, { "w-0-1=ok", "-w-0-0" },
	    { "w-0-0=gone", "" } }, DONE, "w 0/1/0/0/0", 0 },
	{ "successPolicy: so many of those indexes",
	  JOBSET("", RJOB("w", "1", "4", "'successPolicy':{'rules':[{'succeededIndexes':"
	    "'1-3','succeededCount':2}]},")),
	  { { "", "+w-0-0 +w-0-1 +w-0-2 +w-0-3" }, { "w-0-0=ok w-0-1=ok", "" },
	    { "w-0-3=ok", "-w-0-2" } }, "", "w 0/0/0/0/0", 0 },
};
/* clang-format on */

TEST(test_job_policies)
{
	PLAY(policies);
}

/* ---- JobSet: order of start -------------------------------------------------------- */

#define IN_ORDER "'startupPolicy':{'startupPolicyOrder':'InOrder'},"
#define A1       RJOB("a", "1", "1", NO_RETRY)
#define B1       RJOB("b", "1", "1", NO_RETRY)

/* clang-format off */
static const struct row start_order[] = {
	{ "AnyOrder: all at once", JOBSET("", A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" } }, "", "b 0/0/0/1/0, a 0/0/0/1/0", 0 },
	{ "dependsOn Complete waits", JOBSET("", A1 "," AFTER("b", "1", "a", "Complete")),
	  { { "", "+a-0-0" }, { "a-0-0=ready", "" }, { "a-0-0=ok", "+b-0-0" },
	    { "b-0-0=ok", "" } }, DONE, "b 0/1/0/0/0, a 0/1/0/0/0", 0 },
	{ "dependsOn Ready", JOBSET("", A1 "," AFTER("b", "1", "a", "Ready")),
	  { { "", "+a-0-0" }, { "a-0-0=run", "" }, { "a-0-0=ready", "+b-0-0" } },
	  "", "b 0/0/0/1/0, a 1/0/0/1/0", 0 },
	{ "dependsOn Ready: complete will do",
	  JOBSET("", A1 "," AFTER("b", "1", "a", "Ready")),
	  { { "", "+a-0-0" }, { "a-0-0=ok", "+b-0-0" } },
	  "", "b 0/0/0/1/0, a 0/1/0/0/0", 0 },
	{ "dependsOn all replicas",
	  JOBSET("", RJOB("a", "2", "1", "") "," AFTER("b", "1", "a", "Complete")),
	  { { "", "+a-0-0 +a-1-0" }, { "a-1-0=ok", "" }, { "a-0-0=ok", "+b-0-0" } },
	  "", "b 0/0/0/1/0, a 0/2/0/0/0", 0 },
	{ "a chain",
	  JOBSET("", A1 "," AFTER("b", "1", "a", "Complete") "," AFTER("c", "1", "b",
	    "Complete")),
	  { { "", "+a-0-0" }, { "a-0-0=ok", "+b-0-0" }, { "b-0-0=ok", "+c-0-0" } },
	  "", "c 0/0/0/1/0, b 0/1/0/0/0, a 0/1/0/0/0", 0 },
	{ "what it depends on fails: it never starts",
	  JOBSET("", A1 "," AFTER("b", "1", "a", "Complete")),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "" } },
	  FAILED, "b 0/0/0/0/0, a 0/0/1/0/0", 0 },
	{ "InOrder: the first only", JOBSET(IN_ORDER, A1 "," B1),
	  { { "", "+a-0-0" } },
	  "StartupPolicyInProgress:InOrderStartupPolicyInProgress",
	  "b 0/0/0/0/0, a 0/0/0/1/0", 0 },
	{ "InOrder: ready, the next", JOBSET(IN_ORDER, A1 "," B1),
	  { { "", "+a-0-0" }, { "a-0-0=run", "" }, { "a-0-0=ready", "+b-0-0" } },
	  "StartupPolicyInProgress:InOrderStartupPolicyInProgress",
	  "b 0/0/0/1/0, a 1/0/0/1/0", 0 },
	{ "InOrder: all ready", JOBSET(IN_ORDER, A1 "," B1),
	  { { "", "+a-0-0" }, { "a-0-0=ready", "+b-0-0" }, { "b-0-0=ready", "" } },
	  "!StartupPolicyInProgress:InOrderStartupPolicyInProgress "
	  "StartupPolicyCompleted:InOrderStartupPolicyCompleted",
	  "b 1/0/0/1/0, a 1/0/0/1/0", 0 },
	{ "InOrder: one that completes has started", JOBSET(IN_ORDER, A1 "," B1),
	  { { "", "+a-0-0" }, { "a-0-0=ok", "+b-0-0" }, { "b-0-0=ok", "" } },
	  "StartupPolicyInProgress:InOrderStartupPolicyInProgress " DONE,
	  "b 0/1/0/0/0, a 0/1/0/0/0", 0 },
};
/* clang-format on */

TEST(test_start_order)
{
	PLAY(start_order);
}

/* ---- JobSet: success and failure policies ------------------------------------------- */

#define SUCCESS(op, targets) \
	"'successPolicy':{'operator':'" op "','targetReplicatedJobs':[" targets "]},"
#define POLICY(max, more)  "'failurePolicy':{'maxRestarts':" max more "},"
#define RULE(action, more) "'rules':[{'name':'r0','action':'" action "'" more "}]"
#define BLOCKING           ",'restartStrategy':'BlockingRecreate'"
#define RESTARTING         "RestartingJobSet:DefaultFailurePolicy"

/* clang-format off */
static const struct row outcome[] = {
	{ "successPolicy All: every Job", JOBSET("", A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=ok", "" } },
	  "", "b 0/0/0/1/0, a 0/1/0/0/0", 0 },
	{ "successPolicy All of a target, the others are deleted",
	  JOBSET(SUCCESS("All", "'a'"), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=ok", "-b-0-0" }, { "b-0-0=gone", "" } },
	  DONE, "b 0/0/0/0/0, a 0/1/0/0/0", 0 },
	{ "successPolicy Any", JOBSET(SUCCESS("Any", ""), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "b-0-0=ok", "-a-0-0" } },
	  DONE, "b 0/1/0/0/0, a 0/0/0/0/0", 0 },
	{ "successPolicy Any of a target: another does not count",
	  JOBSET(SUCCESS("Any", "'a'"), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "b-0-0=ok", "" } },
	  "", "b 0/1/0/0/0, a 0/0/0/1/0", 0 },
	{ "one Job fails: the JobSet fails, the others are deleted",
	  JOBSET("", A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "b-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "" } },
	  FAILED, "b 0/0/1/0/0, a 0/0/0/0/0", 0 },
	{ "failure comes before success", JOBSET(SUCCESS("Any", ""), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=ok b-0-0=fail:1", "" } },
	  FAILED, "b 0/0/1/0/0, a 0/1/0/0/0", 0 },
	{ "maxRestarts 0", JOBSET(POLICY("0", ""), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "" } },
	  "Failed:ReachedMaxRestarts", "a 0/0/1/0/0", 0 },
	{ "a restart recreates everything, each Job when its old one is gone",
	  JOBSET(POLICY("1", ""), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=fail:1", "-a-0-0 -b-0-0" },
	    { "a-0-0=gone", "+a-0-0" }, { "b-0-0=gone", "+b-0-0" } },
	  RESTARTING, "b 0/0/0/1/0, a 0/0/0/1/0", 1 },
	{ "the restart is over when all are ready", JOBSET(POLICY("1", ""), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "+a-0-0" },
	    { "a-0-0=ready", "" } }, "!RestartingJobSet:JobsReady", "a 1/0/0/1/0", 1 },
	{ "and complete", JOBSET(POLICY("1", ""), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "+a-0-0" },
	    { "a-0-0=ok", "" } },
	  "!RestartingJobSet:JobSetCompleted " DONE, "a 0/1/0/0/0", 1 },
	{ "the last restart fails", JOBSET(POLICY("1", ""), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "+a-0-0" },
	    { "a-0-0=fail:2", "" } },
	  "!RestartingJobSet:JobSetFailed Failed:ReachedMaxRestarts", "a 0/0/1/0/0", 1 },
	{ "BlockingRecreate: none before all old ones are gone",
	  JOBSET(POLICY("1", BLOCKING), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=fail:1", "-a-0-0 -b-0-0" },
	    { "a-0-0=gone", "" }, { "b-0-0=gone", "+a-0-0 +b-0-0" } },
	  RESTARTING, "b 0/0/0/1/0, a 0/0/0/1/0", 1 },
	{ "InPlaceRestart is treated as Recreate",
	  JOBSET(POLICY("1", ",'restartStrategy':'InPlaceRestart'"), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "+a-0-0" } },
	  RESTARTING, "a 0/0/0/1/0", 1 },
	{ "rule FailJobSet", JOBSET(POLICY("5", "," RULE("FailJobSet", "")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "" } },
	  "Failed:FailJobSetFailurePolicyAction", "a 0/0/1/0/0", 0 },
	{ "rule for another target: the default restarts",
	  JOBSET(POLICY("5", "," RULE("FailJobSet", ",'targetReplicatedJobs':['b']")), A1
	    "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=fail:1", "-a-0-0 -b-0-0" } },
	  RESTARTING, "b 0/0/0/0/0, a 0/0/0/0/0", 1 },
	{ "rule for a reason",
	  JOBSET(POLICY("5", "," RULE("FailJobSet",
	    ",'onJobFailureReasons':['PodFailurePolicy']")), RJOB("a", "1", "1",
	    EXIT_RULE("FailJob", "In", "42"))),
	  { { "", "+a-0-0" }, { "a-0-0=fail:42", "" } },
	  "Failed:FailJobSetFailurePolicyAction", "a 0/0/1/0/0", 0 },
	{ "rule for another reason",
	  JOBSET(POLICY("5", "," RULE("FailJobSet",
	    ",'onJobFailureReasons':['DeadlineExceeded']")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" } },
	  RESTARTING, "a 0/0/0/0/0", 1 },
	{ "rule for a message",
	  JOBSET(POLICY("5", "," RULE("FailJobSet", ",'onJobFailureMessagePatterns':"
	    "['^never$','backoff l.mit']")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "" } },
	  "Failed:FailJobSetFailurePolicyAction", "a 0/0/1/0/0", 0 },
	{ "rule for another message",
	  JOBSET(POLICY("5", "," RULE("FailJobSet", ",'onJobFailureMessagePatterns':"
	    "['^never$']")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" } },
	  RESTARTING, "a 0/0/0/0/0", 1 },
	{ "rule RestartJobSet counts",
	  JOBSET(POLICY("0", "," RULE("RestartJobSet", "")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "" } },
	  "Failed:ReachedMaxRestarts", "a 0/0/1/0/0", 0 },
	{ "the rule's name is the reason",
	  JOBSET(POLICY("1", "," RULE("RestartJobSet", "")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" } },
	  "RestartingJobSet:FailurePolicy_r0", "a 0/0/0/0/0", 1 },
	{ "RestartJobSetAndIgnoreMaxRestarts",
	  JOBSET(POLICY("0", "," RULE("RestartJobSetAndIgnoreMaxRestarts", "")), A1),
	  { { "", "+a-0-0" }, { "a-0-0=fail:1", "-a-0-0" }, { "a-0-0=gone", "+a-0-0" },
	    { "a-0-0=fail:1", "-a-0-0" } },
	  "RestartingJobSet:FailurePolicy_r0", "a 0/0/0/0/0", 2 },
	{ "RestartJob: only that Job",
	  JOBSET(POLICY("1", "," RULE("RestartJob", "")), A1 "," B1),
	  { { "", "+a-0-0 +b-0-0" }, { "a-0-0=fail:1", "-a-0-0" },
	    { "a-0-0=gone", "+a-0-0" }, { "a-0-0=fail:1", "-b-0-0" } },
	  "Failed:ReachedMaxRestarts", "b 0/0/0/0/0, a 0/0/1/0/0", 0 },
	{ "a restart with dependsOn begins at the beginning",
	  JOBSET(POLICY("1", ""), A1 "," RJOB_("b", "1", "1",
	    "'dependsOn':[{'name':'a','status':'Complete'}],", NO_RETRY, "Never")),
	  { { "", "+a-0-0" }, { "a-0-0=ok", "+b-0-0" },
	    { "b-0-0=fail:1", "-a-0-0 -b-0-0" }, { "b-0-0=gone", "" },
	    { "a-0-0=gone", "+a-0-0" } }, RESTARTING, "b 0/0/0/0/0, a 0/0/0/1/0", 1 },
};
/* clang-format on */

TEST(test_outcome)
{
	PLAY(outcome);
}

/* ---- suspend ----------------------------------------------------------------------- */

#define SUSPEND "'suspend':true,"

/* clang-format off */
static const struct row suspended[] = {
	{ "suspended: Jobs without pods", JOBSET(SUSPEND, A1),
	  { { "", "" } }, "Suspended:SuspendedJobs", "a 0/0/0/0/1", 0 },
	{ "resumed", JOBSET(SUSPEND, A1),
	  { { "", "" }, { "resume", "+a-0-0" } },
	  "!Suspended:ResumeJobs", "a 0/0/0/1/0", 0 },
	{ "suspended while it runs: pods are deleted and none counts as failed",
	  JOBSET("", RJOB("a", "1", "2", NO_RETRY)),
	  { { "", "+a-0-0 +a-0-1" }, { "suspend", "-a-0-0 -a-0-1" },
	    { "a-0-0=fail:143 a-0-1=gone", "" }, { "a-0-0=gone", "" } },
	  "Suspended:SuspendedJobs", "a 0/0/0/0/1", 0 },
	{ "what had succeeded stays so", JOBSET("", RJOB("a", "1", "2", NO_RETRY)),
	  { { "", "+a-0-0 +a-0-1" }, { "a-0-0=ok", "" }, { "suspend", "-a-0-1" },
	    { "a-0-1=gone", "" }, { "resume", "+a-0-1" }, { "a-0-1=ok", "" } },
	  "!Suspended:ResumeJobs " DONE, "a 0/1/0/0/0", 0 },
	{ "the deadline's clock restarts",
	  JOBSET(SUSPEND, RJOB("a", "1", "1", "'activeDeadlineSeconds':2,")),
	  { { "@0", "" }, { "@5000 resume", "+a-0-0 wake:7000" } },
	  "!Suspended:ResumeJobs", "a 0/0/0/1/0", 0 },
	{ "InOrder: all Jobs exist while suspended, then start in order",
	  JOBSET(SUSPEND IN_ORDER, A1 "," B1),
	  { { "", "" }, { "resume", "+a-0-0" }, { "a-0-0=ready", "+b-0-0" } },
	  "Suspended:SuspendedJobs "
	  "StartupPolicyInProgress:InOrderStartupPolicyInProgress",
	  "b 0/0/0/1/0, a 1/0/0/1/0", 0 },
	{ "replacement beside a pod that is still ending", JOBSET("", A1),
	  { { "", "+a-0-0" }, { "suspend", "-a-0-0" }, { "resume", "+a-0-0" } },
	  "!Suspended:ResumeJobs", "a 0/0/0/1/0", 0 },
	{ "podReplacementPolicy Failed waits for it",
	  JOBSET("", RJOB("a", "1", "1", "'podReplacementPolicy':'Failed',")),
	  { { "", "+a-0-0" }, { "suspend", "-a-0-0" }, { "resume", "" },
	    { "a-0-0=gone", "+a-0-0" } }, "!Suspended:ResumeJobs", "a 0/0/0/1/0", 0 },
};
/* clang-format on */

TEST(test_suspended)
{
	PLAY(suspended);
}

RUN_TESTS(NULL, NULL)
