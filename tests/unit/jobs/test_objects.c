/* What others see of a JobSet's machine: its Jobs, as objects, and events of changes. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "jobs/events.h"
#include "jobs/jobs.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"

/* ---- events ------------------------------------------------------------------------ */

static void append(void *ctx, const cJSON *e)
{
	struct buf *out = ctx;
	const char *first = json_str(e, "firstTimestamp");

	buf_printf(out, "%s%s %s %s/%s %s: %s", out->len ? "; " : "", json_str(e, "type"),
		   json_str(e, "source", "component"),
		   json_str(e, "involvedObject", "kind"),
		   json_str(e, "involvedObject", "name"), json_str(e, "reason"),
		   json_str(e, "message"));
	assert_true(str_starts(json_str(e, "metadata", "name"),
			       json_str(e, "involvedObject", "name")));
	assert_string_equal(json_str(e, "lastTimestamp"), first);
	assert_int_equal(json_int(e, 0, "count"), 1);
}

#define META(more) "'metadata':{'name':'p','namespace':'ns'" more "}"
#define OWNER(owner)                                                        \
	"{'kind':'Pod'," META(                                              \
		",'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job'" \
		",'controller':true" owner "}]") "}"
#define POD(status) \
	"{'kind':'Pod','spec':{'nodeName':'n'}," META("") ",'status':{" status "}}"
#define SCHEDULED(so)      "'conditions':[{'type':'PodScheduled','status':'" so "'}]"
#define CONTAINER(members) POD("'containerStatuses':[{'name':'c'," members "}]")
#define INIT(members)      POD("'initContainerStatuses':[{'name':'c'," members "}]")
#define STATE(state)       CONTAINER("'state':{" state "}")
#define WITH(kind, type, status, more)                                           \
	"{'kind':'" kind "'," META("") ",'status':{'conditions':[{'type':'" type \
				       "','status':'" status "'" more "}]}}"
#define WHY ",'reason':'R','message':'m'"

static const struct {
	const char *old, *now, *want;
} changes[] = {
	{ NULL, OWNER(",'name':'j','uid':'u'"),
	  "Normal job-controller Job/j SuccessfulCreate: Created pod: p" },
	{ OWNER(",'name':'j','uid':'u'"), OWNER(",'name':'j','uid':'u'"), "" },
	{ NULL, OWNER(",'uid':'u'"), "" },
	{ NULL, OWNER(",'name':'j'"), "" },
	{ NULL, POD(""), "" },
	{ POD(""), POD(SCHEDULED("True")),
	  "Normal default-scheduler Pod/p Scheduled: Successfully assigned ns/p to n" },
	{ POD(SCHEDULED("True")), POD(SCHEDULED("True")), "" },
	{ POD(""), POD(SCHEDULED("False") ",'message':'no GPU'"),
	  "Warning default-scheduler Pod/p FailedScheduling: no GPU" },
	{ POD(SCHEDULED("False")), POD(SCHEDULED("False")), "" },
	{ POD(""), STATE("'running':{}"),
	  "Normal kubelet Pod/p Started: Started container c" },
	{ POD(""), INIT("'state':{'running':{}}"),
	  "Normal kubelet Pod/p Started: Started container c" },
	{ POD(""), STATE("'terminated':{'reason':'Completed'}"),
	  "Normal kubelet Pod/p Started: Started container c" },
	{ STATE("'running':{}"), STATE("'terminated':{'reason':'Completed'}"), "" },
	{ STATE("'waiting':{}"), STATE("'waiting':{}"), "" },
	{ POD(""), STATE("'terminated':{'reason':'StartError','message':'none'}"),
	  "Warning kubelet Pod/p Failed: none" },
	{ POD(""), STATE("'terminated':{'reason':'StartError'}"),
	  "Warning kubelet Pod/p Failed: StartError" },
	{ STATE("'terminated':{'reason':'StartError'}"),
	  STATE("'terminated':{'reason':'StartError'}"), "" },
	{ CONTAINER("'restartCount':1"), CONTAINER("'restartCount':2"),
	  "Warning kubelet Pod/p BackOff: Back-off restarting failed container c" },
	{ CONTAINER("'restartCount':1"), CONTAINER("'restartCount':1"), "" },
	{ POD(""), "{'kind':'Pod'," META(",'deletionTimestamp':'x'") "}",
	  "Normal kubelet Pod/p Killing: Stopping all containers" },
	{ "{'kind':'Pod'," META(",'deletionTimestamp':'x'") "}",
	  "{'kind':'Pod'," META(",'deletionTimestamp':'x'") "}", "" },
	{ NULL, WITH("Job", "Complete", "True", WHY),
	  "Normal job-controller Job/p Completed: Job completed" },
	{ NULL, WITH("Job", "Failed", "True", WHY), "Warning job-controller Job/p R: m" },
	{ NULL, WITH("Job", "Suspended", "True", ""),
	  "Normal job-controller Job/p Suspended: Job suspended" },
	{ WITH("Job", "Suspended", "True", WHY), WITH("Job", "Suspended", "False", WHY),
	  "Normal job-controller Job/p Resumed: Job resumed" },
	{ NULL, WITH("Job", "Suspended", "False", WHY), "" },
	{ WITH("JobSet", "Suspended", "True", WHY),
	  WITH("JobSet", "Suspended", "False", WHY), "" },
	{ NULL, WITH("Job", "FailureTarget", "True", WHY), "" },
	{ NULL, WITH("Job", "SuccessCriteriaMet", "True", WHY), "" },
	{ NULL, WITH("JobSet", "Failed", "False", WHY), "" },
	{ WITH("JobSet", "Failed", "False", WHY), WITH("JobSet", "Failed", "True", WHY),
	  "Warning jobset JobSet/p R: m" },
	{ WITH("JobSet", "Failed", "True", WHY), WITH("JobSet", "Failed", "True", WHY),
	  "" },
	{ NULL, WITH("JobSet", "Complete", "True", WHY), "Normal jobset JobSet/p R: m" },
};

TEST(test_events)
{
	cleanup_json cJSON *trainjob = parse("{'kind':'TrainJob'," META("") "}");
	cleanup_buf struct buf one = { .max = 1000 };
	const struct event_sink sink = { append, &one };

	event_of_trainjob(trainjob, true, "R", "m", &sink);
	buf_adds(&one, "");
	assert_string_equal(one.data,
			    "Warning trainer-trainjob-controller TrainJob/p R: m");
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		cleanup_buf struct buf have = { .max = 1000 };
		cleanup_json cJSON *now = parse(changes[i].now), *old = NULL;

		if (changes[i].old)
			old = parse(changes[i].old);
		events_of(old, now, &(struct event_sink){ append, &have });
		buf_adds(&have, "");
		if (!str_eq(have.data ? (char *)have.data : "", changes[i].want))
			fail_msg("%zu: %s: have %s, want %s", i, changes[i].now,
				 have.data, changes[i].want);
	}
}

/* ---- Jobs -------------------------------------------------------------------------- */

#define JOBSET(spec)                                                                       \
	"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'t'," \
	"'namespace':'ns','uid':'u'},'spec':{'replicatedJobs':[{'name':'w','template':{"   \
	"'metadata':{'labels':{'mine':'1'},'annotations':{'own':'2'}},'spec':{" spec       \
	",'backoffLimit':0,'template':{'spec':{'restartPolicy':'Never'}}}}}]}}"

struct scene {
	struct jobs *jobs;
	char *pods[8];
	int n;
	int64_t now;
};

static void step(struct scene *s)
{
	const struct jobs_action *act;
	int64_t wake;
	size_t n;

	s->now += 1000;
	n = jobs_step(s->jobs, s->now, &act, &wake);
	for (size_t i = 0; i < n; i++)
		if (act[i].type == JOBS_CREATE_POD)
			s->pods[s->n++] = strdup(act[i].pod_name);
}

static void begin(struct scene *s, const char *jobset)
{
	cleanup_json cJSON *doc = parse(jobset);
	struct error err = { 0 };

	*s = (struct scene){ 0 };
	if (jobs_new(&s->jobs, doc, &err))
		fail_msg("%s", err.msg);
	assert_non_null(json_get(jobs_status(s->jobs), "replicatedJobsStatus"));
	step(s);
}

static void end(struct scene *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->pods[i]);
	jobs_free(s->jobs);
}

/* Pod i has that status now (NULL: is gone). */
static void become(struct scene *s, int i, const char *status)
{
	cleanup_json cJSON *doc = status ? parse(status) : NULL;

	jobs_pod_status(s->jobs, s->pods[i], doc, s->now);
}

static void expect(const struct scene *s, const char *want)
{
	cleanup_json cJSON *list = jobs_objects(s->jobs), *status = parse(want);
	cleanup_free char *text = NULL;

	text = json_text(list->child ? json_get(list->child, "status") : list);
	if (!json_equal(list->child ? json_get(list->child, "status") : list, status))
		fail_msg("have %s\n  want %s", text, want);
}

#define OK    "{'phase':'Succeeded'}"
#define READY "{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}"
#define STATUS(members, conditions) \
	"{" members ",'uncountedTerminatedPods':{}" conditions "}"
#define CONDITION(type, time, reason, message)                                        \
	"{'type':'" type "','status':'True','lastProbeTime':'1970-01-01T00:00:0" time \
	"Z','lastTransitionTime':'1970-01-01T00:00:0" time "Z'" reason message "}"
#define START(n)        "'startTime':'1970-01-01T00:00:0" n "Z'"
#define AS(r, m)        ",'reason':'" r "'", ",'message':'" m "'"
#define REACHED         AS("CompletionsReached", "Reached expected number of succeeded pods")
#define LIMIT           AS("BackoffLimitExceeded", "Job has reached the specified backoff limit")
#define CONDITION_(...) CONDITION(__VA_ARGS__)

TEST(test_job_succeeds)
{
	struct scene s;

	begin(&s, JOBSET("'completions':8,'parallelism':8"));
	expect(&s, STATUS(START("1") ",'active':8,'ready':0,'terminating':0", ""));
	for (int i = 0; i < 8; i++)
		if (i != 3 && i != 6)
			become(&s, i, OK);
	become(&s, 3, READY);
	step(&s);
	expect(&s,
	       STATUS(START("1") ",'active':2,'succeeded':6,'ready':1,'terminating':0",
		      ",'completedIndexes':'0-2,4,5,7'"));
	become(&s, 3, OK);
	become(&s, 6, OK);
	step(&s);
	expect(&s,
	       STATUS(START("1") ",'succeeded':8,'ready':0,'terminating':0",
		      ",'completedIndexes':'0-7','completionTime':'1970-01-01T00:00:03Z'"
		      ",'conditions':[" CONDITION_(
			      "SuccessCriteriaMet", "3",
			      REACHED) "," CONDITION_("Complete", "3", REACHED) "]"));
	end(&s);
}

TEST(test_job_fails)
{
	struct scene s;

	begin(&s, JOBSET("'completions':2,'parallelism':2"));
	become(&s, 0, "{'phase':'Failed'}");
	step(&s);
	expect(&s, STATUS(START("1") ",'failed':1,'ready':0,'terminating':1",
			  ",'conditions':[" CONDITION_("FailureTarget", "1", LIMIT) "]"));
	become(&s, 1, NULL);
	step(&s);
	expect(&s, STATUS(START("1") ",'failed':1,'ready':0,'terminating':0",
			  ",'conditions':[" CONDITION_(
				  "FailureTarget", "3",
				  LIMIT) "," CONDITION_("Failed", "3", LIMIT) "]"));
	end(&s);
}

TEST(test_job_is_suspended)
{
	struct scene s;
	const cJSON *job;
	cleanup_json cJSON *list = NULL;

	begin(&s, JOBSET("'completionMode':'NonIndexed','parallelism':1"));
	jobs_set_suspend(s.jobs, true);
	step(&s);
	expect(&s, STATUS(START("1") ",'ready':0,'terminating':1",
			  ",'conditions':[" CONDITION_(
				  "Suspended", "2",
				  AS("JobSuspended", "Job suspended")) "]"));
	list = jobs_objects(s.jobs);
	job = list->child;
	assert_string_equal(json_str(job, "metadata", "name"), "t-w-0");
	assert_string_equal(json_str(job, "metadata", "namespace"), "ns");
	assert_string_equal(json_str(job, "metadata", "creationTimestamp"),
			    "1970-01-01T00:00:01Z");
	assert_string_equal(json_str(job, "metadata", "labels", "mine"), "1");
	assert_string_equal(json_str(job, "metadata", "annotations", "own"), "2");
	for (int i = 0; i < 2; i++)
		assert_string_equal(json_str(job, "metadata",
					     i ? "labels" : "annotations",
					     "jobset.sigs.k8s.io/jobset-name"),
				    "t");
	assert_string_equal(
		json_str(json_get(job, "metadata", "ownerReferences")->child, "uid"),
		"u");
	assert_true(json_bool(job, false, "spec", "suspend"));
	assert_string_equal(json_str(job, "spec", "selector", "matchLabels",
				     "batch.kubernetes.io/controller-uid"),
			    json_str(job, "metadata", "uid"));
	assert_int_equal(strlen(json_str(job, "metadata", "uid")), 36);
	become(&s, 0, NULL);
	jobs_set_suspend(s.jobs, false);
	step(&s);
	expect(&s, STATUS(START("3") ",'active':1,'ready':0,'terminating':0",
			  ",'conditions':[{'type':'Suspended','status':'False',"
			  "'lastProbeTime':'1970-01-01T00:00:03Z',"
			  "'lastTransitionTime':'1970-01-01T00:00:03Z',"
			  "'reason':'JobResumed','message':'Job resumed'}]"));
	end(&s);
}

/* A Job that is being deleted is no longer seen. */
TEST(test_job_is_deleted)
{
	struct scene s;
	const char *job, *reason, *message;

	begin(&s, "{'metadata':{'name':'t'},'spec':{'failurePolicy':{'maxRestarts':1},"
		  "'replicatedJobs':[{'name':'w','template':{'spec':{'completions':2,"
		  "'parallelism':2,'backoffLimit':0,'template':{'spec':{'restartPolicy':"
		  "'Never'}}}}}]}}");
	become(&s, 0, "{'phase':'Failed'}");
	step(&s);
	become(&s, 1, NULL);
	assert_false(jobs_first_failed(s.jobs, &job, &reason, &message));
	step(&s);
	expect(&s, "[]");
	become(&s, 0, NULL);
	step(&s);
	expect(&s, STATUS(START("4") ",'active':2,'ready':0,'terminating':0", ""));
	assert_int_equal(json_int(jobs_status(s.jobs), 0, "restartsCountTowardsMax"), 1);
	become(&s, 2, "{'phase':'Failed'}");
	become(&s, 3, OK);
	step(&s);
	assert_true(jobs_first_failed(s.jobs, &job, &reason, &message));
	assert_string_equal(job, "t-w-0");
	assert_string_equal(reason, "BackoffLimitExceeded");
	assert_string_equal(message, "Job has reached the specified backoff limit");
	end(&s);
}

/* Of each Job that was made again, alone; those that count are as many here. */
TEST(test_job_is_restarted)
{
	struct scene s;
	cleanup_json cJSON *want = parse(
		"[{'name':'w','ready':0,'succeeded':0,'failed':0,'active':2,'suspended':0,"
		"'jobRestarts':[1,0],'jobRestartsCountTowardsMax':[0,0]}]");

	begin(&s, "{'metadata':{'name':'t'},'spec':{'failurePolicy':{'rules':[{'action':"
		  "'RestartJobAndIgnoreMaxRestarts'}]},'replicatedJobs':[{'name':'w',"
		  "'replicas':2,'template':{'spec':{'completions':1,'backoffLimit':0,"
		  "'template':{'spec':{'restartPolicy':'Never'}}}}}]}}");
	become(&s, 0, "{'phase':'Failed'}");
	step(&s);
	become(&s, 0, NULL);
	step(&s);
	assert_true(
		json_equal(json_get(jobs_status(s.jobs), "replicatedJobsStatus"), want));
	assert_null(json_get(jobs_status(s.jobs), "restartsCountTowardsMax"));
	end(&s);
}

/* The names and labels of a pod, said before and after it is made. */
TEST(test_names_of_pods)
{
	struct scene s;
	const char *pod, *const *names;
	cleanup_json cJSON *labels = NULL;

	begin(&s, JOBSET("'completions':2,'parallelism':2"));
	for (int i = 0; i < 2; i++) {
		assert_true(jobs_pod_names(s.jobs, (size_t)i, &pod, &names));
		assert_string_equal(pod, s.pods[i]);
		assert_ptr_equal(jobs_names_of(s.jobs, s.pods[i]), names);
	}
	assert_null(jobs_names_of(s.jobs, "t-w-0-0-other"));
	labels = jobs_pod_labels(s.jobs, 1);
	assert_string_equal(json_str((const cJSON *)labels,
				     "batch.kubernetes.io/job-completion-index"),
			    "1");
	assert_null(jobs_pod_labels(s.jobs, 2));
	end(&s);
}

RUN_TESTS(NULL, NULL)
