#include "manager/pods.h"

#include "api/meta.h"
#include "tests/unit/kube/apiserver.h"

/* Pods come as an informer would bring them; what is told is read off the server. */
struct world {
	struct apiserver server;
	struct event_recorder *events;
	struct pod_facts *facts;
	bool ended, gone;
};

static cJSON *trainjob(void *ctx, const char *ns, const char *name)
{
	struct world *w = ctx;
	cJSON *tj;

	if (w->gone)
		return NULL;
	tj = meta_new("trainer.kubeflow.org/v1alpha1", "TrainJob", ns, name);
	if (w->ended)
		json_put(tj, doc_of("[{\"type\":\"Failed\",\"status\":\"True\"}]"),
			 "status", "conditions");
	return tj;
}

static void begin(struct world *w)
{
	struct error err = { 0 };

	*w = (struct world){ 0 };
	apiserver_start(&w->server);
	if (event_recorder_new(&w->events,
			       &(struct event_recorder_conf){ .kube = w->server.kube,
							      .component = "trainer" },
			       &err))
		fail_msg("%s", err.msg);
	w->facts = pod_facts_new(w->events, trainjob, w);
}

/* What was told, the caller's. */
static cJSON *end(struct world *w)
{
	cJSON *ret;

	event_recorder_free(w->events, 60 * 1000);
	pod_facts_free(w->facts);
	ret = apiserver_ctl(&w->server, "{'op':'objects','plural':'events'}");
	apiserver_stop(&w->server);
	return ret;
}

/* The pod of rank n, with that status (' for "). */
static cJSON *new_pod(int n, const char *status)
{
	char name[32], rank[16], text[4096];
	cJSON *ret = meta_new("v1", "Pod", "a", "");
	size_t i = 0;

	snprintf(name, sizeof(name), "bert-node-0-%d-abcde", n);
	snprintf(rank, sizeof(rank), "%d", n);
	for (; status[i] && i + 1 < sizeof(text); i++)
		text[i] = (char)(status[i] == '\'' ? '"' : status[i]);
	text[i] = 0;
	meta_set_name(ret, name);
	meta_set_label(ret, POD_JOBSET_LABEL, "bert");
	meta_set_label(ret, "jobset.sigs.k8s.io/replicatedjob-name", "node");
	meta_set_label(ret, "jobset.sigs.k8s.io/job-index", "0");
	meta_set_label(ret, "batch.kubernetes.io/job-completion-index", rank);
	meta_set_label(ret, "app", "of no interest");
	json_put(ret,
		 doc_of("[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
			"\"bert-node-0\",\"uid\":\"o\",\"controller\":true}]"),
		 "metadata", "ownerReferences");
	json_put_str(ret, "gpu-7", "spec", "nodeName");
	json_put(ret, doc_of(text), "status");
	if (strstr(text, "deleted"))
		json_put_str(ret, "2026-01-01T00:00:00Z", "metadata",
			     "deletionTimestamp");
	return ret;
}

/* The same, as it is kept; NULL when it is not. */
static cJSON *pod(int n, const char *status)
{
	cJSON *ret = new_pod(n, status);

	if (!pod_facts_keep(ret)) {
		cJSON_Delete(ret);
		return NULL;
	}
	return ret;
}

static void show(struct world *w, int n, const char *was, const char *is)
{
	cleanup_json cJSON *before = was ? pod(n, was) : NULL;
	cleanup_json cJSON *after = is ? pod(n, is) : NULL;

	if (before || after)
		pod_facts_event(w->facts, before, after);
}

static void check_failure(struct world *w, const char *row, const char *want)
{
	cleanup_json cJSON *tj = meta_new("t/v1", "TrainJob", "a", "bert");
	size_t brief;
	cleanup_free char *got = pod_facts_first_failure(w->facts, NULL, tj, &brief);

	check_text(row, got, want);
	if (got)
		check_text(row, got + brief, strstr(got, " on gpu-7"));
}

#define PENDING   "{'phase':'Pending'}"
#define RUNNING   "{'phase':'Running'}"
#define SUCCEEDED "{'phase':'Succeeded'}"
#define WAITS(reason, message)                                                           \
	"{'phase':'Pending','containerStatuses':[{'name':'node','image':'img:1',"        \
	"'restartCount':0,'state':{'waiting':{'reason':'" reason "','message':'" message \
	"'}}}]}"
#define ENDED_AT(code, reason, message, time)                                     \
	"{'phase':'Failed','containerStatuses':[{'name':'node','restartCount':0," \
	"'state':{'terminated':{'exitCode':" code ",'reason':'" reason            \
	"','message':'" message "','finishedAt':'2026-01-01T00:00:" time "Z'}}}]}"
#define ENDED(code) ENDED_AT(code, "Error", "", "30")
#define UNSCHEDULABLE                                                               \
	"{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False'," \
	"'reason':'Unschedulable','message':'0/3 nodes are available: no GPU.'}]}"

TEST(test_causes)
{
	static const struct {
		const char *status, *reason, *type, *message, *failure;
	} rows[] = {
		{ UNSCHEDULABLE, "Unschedulable", "Warning",
		  "cannot be scheduled on gpu-7: 0/3 nodes are available: no GPU.",
		  NULL },
		{ "{'conditions':[{'type':'PodScheduled','status':'False',"
		  "'reason':'SchedulingGated','message':'by gates'}]}",
		  "SchedulingGated", "Normal",
		  "waits for its scheduling gates on gpu-7: by gates", NULL },
		{ WAITS("ErrImagePull", "not found"), "ImagePullFailed", "Warning",
		  "container node: image img:1: ErrImagePull on gpu-7: not found", NULL },
		{ WAITS("ImagePullBackOff", ""), "ImagePullFailed", "Warning",
		  "container node: image img:1: ImagePullBackOff on gpu-7", NULL },
		{ WAITS("CreateContainerConfigError", "no secret"),
		  "ContainerStartFailed", "Warning",
		  "container node does not start: CreateContainerConfigError "
		  "on gpu-7: no secret",
		  NULL },
		{ ENDED_AT("128", "StartError", "no such file", "01"),
		  "ContainerStartFailed", "Warning",
		  "container node does not start: StartError on gpu-7: no such file",
		  "container node does not start: StartError on gpu-7: no such file" },
		{ ENDED_AT("137", "OOMKilled", "", "01"), "OOMKilled", "Warning",
		  "container node: exit code 137 (SIGKILL), out of memory on gpu-7",
		  "container node: exit code 137 (SIGKILL), out of memory on gpu-7" },
		{ ENDED("3"), "ContainerFailed", "Warning",
		  "container node: exit code 3 on gpu-7",
		  "container node: exit code 3 on gpu-7" },
		{ ENDED_AT("139", "Error", "last words\\n\\u001b[0m\\n\\u0007x", "01"),
		  "ContainerFailed", "Warning",
		  "container node: exit code 139 (SIGSEGV) on gpu-7: last "
		  "words\n\n\\x07x",
		  "container node: exit code 139 (SIGSEGV) on gpu-7: last "
		  "words\n\n\\x07x" },
		{ "{'phase':'Running','containerStatuses':[{'name':'node',"
		  "'restartCount':2,'state':{'running':{}},'lastState':{'terminated':{"
		  "'exitCode':1,'finishedAt':'2026-01-01T00:00:01Z'}}}]}",
		  "ContainerFailed", "Warning",
		  "container node: exit code 1, restarted 2 times on gpu-7",
		  "container node: exit code 1, restarted 2 times on gpu-7" },
		{ "{'phase':'Running','conditions':[{'type':'DisruptionTarget',"
		  "'status':'True','reason':'PreemptionByScheduler',"
		  "'message':'default-scheduler: preempting'}]}",
		  "PodDisrupted", "Warning",
		  "disrupted: PreemptionByScheduler on gpu-7: "
		  "default-scheduler: preempting",
		  "disrupted: PreemptionByScheduler on gpu-7: "
		  "default-scheduler: preempting" },
		{ "{'phase':'Failed','reason':'Evicted','message':'low on memory'}",
		  "PodDisrupted", "Warning", "disrupted: Evicted on gpu-7: low on memory",
		  "disrupted: Evicted on gpu-7: low on memory" },
		{ "{'phase':'Failed','reason':'Terminated','message':'node shutdown'}",
		  "PodDisrupted", "Warning",
		  "disrupted: Terminated on gpu-7: node shutdown",
		  "disrupted: Terminated on gpu-7: node shutdown" },
		{ "{'phase':'Failed','reason':'UnexpectedAdmissionError','message':'x'}",
		  "PodFailed", "Warning", "failed: UnexpectedAdmissionError on gpu-7: x",
		  "failed: UnexpectedAdmissionError on gpu-7: x" },
		/* Nothing to tell. */
		{ WAITS("ContainerCreating", ""), NULL, NULL, NULL, NULL },
		{ WAITS("CrashLoopBackOff", "x"), NULL, NULL, NULL, NULL },
		{ ENDED("0"), NULL, NULL, NULL, NULL },
		{ SUCCEEDED, NULL, NULL, NULL, NULL },
		{ "{'deleted':1,'phase':'Failed','containerStatuses':[{'name':'node',"
		  "'state':{'terminated':{'exitCode':143}}}]}",
		  NULL, NULL, NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char want[512];
		struct world w;
		cleanup_json cJSON *told = NULL;
		const cJSON *e;

		begin(&w);
		show(&w, 1, PENDING, rows[i].status);
		snprintf(want, sizeof(want), "node-1 (node rank 1): %s",
			 rows[i].failure ? rows[i].failure : "");
		check_failure(&w, rows[i].status, rows[i].failure ? want : NULL);
		told = end(&w);
		e = json_get((const cJSON *)told, "items")->child;
		check_text(rows[i].status, json_str(e, "reason"), rows[i].reason);
		check_text(rows[i].status, json_str(e, "type"), rows[i].type);
		snprintf(want, sizeof(want),
			 "bert-node-0-1-abcde, node-1 (node rank 1): %s",
			 rows[i].message ? rows[i].message : "");
		check_text(rows[i].status, json_str(e, "message"),
			   rows[i].message ? want : NULL);
		if (e) {
			check_text("on", json_str(e, "involvedObject", "kind"),
				   "TrainJob");
			check_text("on", json_str(e, "involvedObject", "name"), "bert");
		}
	}
}

/* Eight pods with one cause are one event; its number is of those that have it now. */
TEST(test_many_pods)
{
	struct world w;
	cleanup_json cJSON *told = NULL;
	const cJSON *e;

	begin(&w);
	for (int i = 0; i < 10; i++)
		show(&w, i, i % 2 ? PENDING : NULL, UNSCHEDULABLE);
	show(&w, 3, UNSCHEDULABLE, RUNNING);
	show(&w, 4, UNSCHEDULABLE, NULL);
	show(&w, 5, UNSCHEDULABLE, UNSCHEDULABLE);
	show(&w, 3, RUNNING, UNSCHEDULABLE);
	told = end(&w);
	e = json_get((const cJSON *)told, "items")->child;
	assert_null(e->next);
	check_text("message", json_str(e, "message"),
		   "9 pods, first bert-node-0-0-abcde, node-0 (node rank 0): cannot be "
		   "scheduled on gpu-7: 0/3 nodes are available: no GPU.");
	check_int("count", json_int(e, 0, "count"), 11);
}

#define FIRST  "{'exitCode':1,'finishedAt':'2026-01-01T00:00:01Z'}"
#define SECOND "{'exitCode':2,'finishedAt':'2026-01-01T00:00:02Z'}"

/* The same trouble in other words is told once, each crash of a container once. */
TEST(test_one_pod_over_time)
{
	struct world w;
	cleanup_json cJSON *told = NULL;
	const cJSON *e;
	static const char *const life[] = {
		PENDING,
		WAITS("ErrImagePull", "x"),
		WAITS("ImagePullBackOff", "y"),
		WAITS("ErrImagePull", "x"),
		RUNNING,
		"{'containerStatuses':[{'name':'node','restartCount':0,"
		"'state':{'terminated':" FIRST "}}]}",
		"{'containerStatuses':[{'name':'node','restartCount':1,"
		"'state':{'running':{}},'lastState':{'terminated':" FIRST "}}]}",
		"{'containerStatuses':[{'name':'node','restartCount':1,"
		"'state':{'terminated':" SECOND "},'lastState':{'terminated':" FIRST
		"}}]}",
		"{'containerStatuses':[{'name':'node','restartCount':1,'state':{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{'terminated':" SECOND
		"}}]}",
	};

	begin(&w);
	show(&w, 0, NULL, life[0]);
	for (size_t i = 1; i < N_ELEMENTS(life); i++)
		show(&w, 0, life[i - 1], life[i]);
	told = end(&w);
	e = json_get((const cJSON *)told, "items")->child;
	check_text("first", json_str(e, "reason"), "ImagePullFailed");
	check_int("first", json_int(e, 0, "count"), 1);
	check_text("second", json_str(e->next, "reason"), "ContainerFailed");
	check_text("second", json_str(e->next, "message"),
		   "bert-node-0-0-abcde, node-0 (node rank 0): container node: exit code "
		   "2, restarted 1 time on gpu-7");
	check_int("second", json_int(e->next, 0, "count"), 2);
	assert_null(e->next->next);
}

/* Which of the failures explains the job's. */
TEST(test_first_failure)
{
	struct world w;

	begin(&w);
	check_failure(&w, "none yet", NULL);
	show(&w, 0, RUNNING, ENDED_AT("143", "Error", "", "10"));
	check_failure(&w, "killed",
		      "node-0 (node rank 0): container node: exit code 143 "
		      "(SIGTERM) on gpu-7");
	show(&w, 1, RUNNING, ENDED_AT("4", "Error", "", "30"));
	check_failure(&w, "one of its own making",
		      "node-1 (node rank 1): container node: exit code 4 on gpu-7");
	show(&w, 2, RUNNING, ENDED_AT("5", "Error", "", "20"));
	check_failure(&w, "an earlier one, seen later",
		      "node-2 (node rank 2): container node: exit code 5 on gpu-7");
	show(&w, 3, RUNNING, ENDED_AT("6", "Error", "", "20"));
	check_failure(&w, "of the same second",
		      "node-2 (node rank 2): container node: exit code 5 on gpu-7");
	show(&w, 2, ENDED_AT("5", "Error", "", "20"), NULL);
	check_failure(&w, "its pod is gone, and still the last known",
		      "node-2 (node rank 2): container node: exit code 5 on gpu-7");
	show(&w, 0, RUNNING, ENDED_AT("7", "Error", "", "50"));
	check_failure(&w, "the next attempt's",
		      "node-0 (node rank 0): container node: exit code 7 on gpu-7");
	pod_facts_forget(w.facts, "a", "bert");
	check_failure(&w, "forgotten", NULL);
	cJSON_Delete(end(&w));
}

/* No watch has shown them: those in the API server count, but for those of an earlier job. */
TEST(test_failures_that_are_listed)
{
	static const struct {
		const char *created, *jobset;
		bool counts;
	} rows[] = {
		{ "2026-01-01T00:00:04Z", "bert", false },
		{ "2026-01-01T00:00:05Z", "other", false },
		{ NULL, "bert", false },
		{ "2026-01-01T00:00:05Z", "bert", true },
	};
	cleanup_json cJSON *tj = meta_new("t/v1", "TrainJob", "a", "bert");
	struct world w;

	begin(&w);
	json_put_str(tj, "2026-01-01T00:00:05Z", "metadata", "creationTimestamp");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *failed = new_pod((int)i, ENDED("4"));
		struct error err = { 0 };
		char *got;
		size_t brief;

		meta_set_label(failed, POD_JOBSET_LABEL, rows[i].jobset);
		if (rows[i].created)
			json_put_str(failed, rows[i].created, "metadata",
				     "creationTimestamp");
		assert_int_equal(
			kube_create(w.server.kube, failed, &kube_plain, NULL, &err), 0);
		got = pod_facts_first_failure(w.facts, w.server.kube, tj, &brief);
		check_text(rows[i].jobset, got,
			   rows[i].counts ? "node-3 (node rank 3): container node: exit "
					    "code 4 on gpu-7"
					  : NULL);
		free(got);
	}
	cJSON_Delete(end(&w));
}

TEST(test_nobody_to_tell)
{
	struct world w;
	cleanup_json cJSON *told = NULL;

	begin(&w);
	w.gone = true; /* a JobSet of somebody else */
	show(&w, 0, RUNNING, ENDED("1"));
	w.gone = false;
	w.ended = true;
	show(&w, 1, RUNNING, ENDED("1"));
	show(&w, 1, ENDED("1"), NULL);
	check_failure(&w, "ended", NULL);
	told = end(&w);
	assert_null(json_get((const cJSON *)told, "items")->child);
}

/* A pod without anything to report costs little, one that runs nothing; odd ones do no harm. */
TEST(pods_without_problems_are_reduced)
{
	static const char *const odd[] = {
		"7",
		"[]",
		"{'conditions':7,'containerStatuses':{},'phase':3}",
		"{'conditions':[7,null,{}],'containerStatuses':[1,{},{'state':4}]}",
		"{'containerStatuses':[{'state':{'terminated':{'exitCode':1e300}}}]}",
		"{'containerStatuses':[{'name':5,'restartCount':-1}]}",
		WAITS("ErrImagePull", "'}},'x':{'y':{'z':'"),
		"{'phase':'Failed','reason':7}",
	};
	struct world w;
	cleanup_json cJSON *pending = pod(3, PENDING);
	cleanup_free char *text = json_text(pending);

	assert_null(pod(3, SUCCEEDED));
	assert_null(pod(3, RUNNING));
	assert_true(strlen(text) < 160);
	begin(&w);
	for (size_t i = 0; i < N_ELEMENTS(odd); i++) {
		show(&w, 0, NULL, odd[i]);
		show(&w, 0, odd[i], RUNNING);
	}
	cJSON_Delete(end(&w));
	{
		cleanup_json cJSON *stranger = doc_of("{\"metadata\":{\"name\":\"x\"}}");

		assert_false(pod_facts_keep(stranger));
	}
}

RUN_TESTS(NULL, NULL)
