/*
 * Reading a job's lines while the API server comes and goes.
 */
#include "client/logs.h"

#include <pthread.h>

#include "api/meta.h"
#include "tests/unit/kube/apiserver.h"

#define TRAINER "trainer.kubeflow.org/v1alpha1"
#define JOBSET  "jobset.x-k8s.io/v1alpha2"

static const char job_text[] = "{'metadata':{'name':'j','namespace':'a'},"
			       "'spec':{'runtimeRef':{'name':'rt'}},'status':{}}";
static const char jobset_text[] =
	"{'metadata':{'name':'j','namespace':'a'},'spec':{'replicatedJobs':["
	"{'name':'node','replicas':1,'template':{'metadata':{'labels':"
	"{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},"
	"'spec':{'completions':1,'parallelism':1,'template':{'spec':{'containers':["
	"{'name':'node'}]}}}}}]}}";
#define POD(log, phase, state)                                                   \
	"{'metadata':{'name':'j-node-0-0-x','namespace':'a','annotations':"      \
	"{'log':'" log "'},'labels':{'jobset.sigs.k8s.io/jobset-name':'j',"      \
	"'jobset.sigs.k8s.io/replicatedjob-name':'node',"                        \
	"'batch.kubernetes.io/job-completion-index':'0'},'ownerReferences':["    \
	"{'apiVersion':'batch/v1','kind':'Job','name':'j-node-0','uid':'o',"     \
	"'controller':true}]},"                                                  \
	"'spec':{'containers':[{'name':'node'}]},'status':{'phase':'" phase "'," \
	"'containerStatuses':[{'name':'node','restartCount':0,'state':{" state "}}]}}"
#define HELLO "2026-01-31T10:00:00.1Z hello\\n"
static const char running_text[] =
	POD(HELLO, "Running", "'running':{'startedAt':'2026-01-31T10:00:00Z'}");
static const char pod_text[] = POD(HELLO "2026-01-31T10:00:01.1Z bye\\n", "Succeeded",
				   "'terminated':{'exitCode':0}");
static const char done_text[] =
	"{'status':{'conditions':[{'type':'Complete','status':'True'}]}}";

static cJSON *object(const char *api_version, const char *kind, const char *text)
{
	char json[2048];
	size_t i = 0;
	cJSON *ret;

	for (; text[i] && i + 1 < sizeof(json); i++)
		json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	json[i] = 0;
	ret = doc_of(json);
	json_put_str(ret, api_version, "apiVersion");
	json_put_str(ret, kind, "kind");
	return ret;
}

static void create(struct kube *k, const char *api_version, const char *kind,
		   const char *text)
{
	cleanup_json cJSON *obj = object(api_version, kind, text);
	struct error err = { 0 };

	if (kube_create(k, obj, &(struct kube_write){ 0 }, NULL, &err))
		fail_msg("%s", err.msg);
}

static void patch_pod(struct apiserver *s, const char *text)
{
	struct kube_ref pod = { "v1", "Pod", "a", "j-node-0-0-x" };
	cleanup_json cJSON *patch = object("v1", "Pod", text);
	struct error err = { 0 };

	assert_int_equal(kube_merge_patch(s->kube, &pod, patch, &(struct kube_write){ 0 },
					  NULL, &err),
			 0);
}

static void patch_status(struct apiserver *s, const char *status)
{
	struct kube_ref job = { TRAINER, "TrainJob", "a", "j" };
	cleanup_json cJSON *patch = object(TRAINER, "TrainJob", status);
	struct error err = { 0 };

	assert_int_equal(kube_merge_patch(s->kube, &job, patch, &(struct kube_write){ 0 },
					  NULL, &err),
			 0);
}

/* The pod is made, and the API server cuts off whoever asks for the JobSet then. */
static void *go_on(void *ctx)
{
	struct apiserver *s = ctx;

	EVENTUALLY(apiserver_seen(s, "watch pods") == 1);
	apiserver_do(s, "{'op':'fail','n':6,'status':0,'of':'GET jobsets'}");
	create(s->kube, "v1", "Pod", pod_text);
	EVENTUALLY(apiserver_seen(s, "GET jobsets") > 6);
	patch_status(s, done_text);
	return NULL;
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct buf *lines = ctx;

	buf_printf(lines, "%s%.*s;", prefix ? prefix : "", (int)len, line);
}

static void on_note(void *ctx, const char *text)
{
}

static void no_line(void *ctx, const char *prefix, const char *line, size_t len)
{
}

static int on_pause(void *ctx, struct error *err)
{
	return 0;
}

static const struct logs_want follow = {
	.ns = "a", .job = "j", .rank = -1, .tail = -1, .follow = true
};

/* Follows the job while `world` happens to it. */
static void follow_while(void *(*world)(void *s), const struct logs_out *on)
{
	struct apiserver s;
	struct error err = { 0 };
	pthread_t thread;

	apiserver_start(&s);
	create(s.kube, TRAINER, "TrainJob", job_text);
	create(s.kube, JOBSET, "JobSet", jobset_text);
	assert_int_equal(pthread_create(&thread, NULL, world, &s), 0);
	if (logs_run(s.kube, &follow, on, &err))
		fail_msg("%s", err.msg);
	pthread_join(thread, NULL);
	apiserver_stop(&s);
}

/* Whose a line is was said of a job with one container, for the JobSet was not to be had. */
TEST(test_a_pod_while_the_api_server_goes)
{
	cleanup_buf struct buf lines = { .max = 1000 };

	follow_while(go_on, &(struct logs_out){ .on_line = on_line,
						.on_note = on_note,
						.on_pause = on_pause,
						.ctx = &lines });
	check_text("lines", (char *)lines.data, "hello;bye;");
}

/* The API server starts anew: the log is cut off, and rights are unknown for a moment. */
static void *start_anew(void *ctx)
{
	struct apiserver *s = ctx;
	int64_t asked;

	create(s->kube, "v1", "Pod", running_text);
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 1); /* the first was answered */
	apiserver_do(s, "{'op':'deny','on':true,'plural':'pods'}");
	asked = apiserver_seen(s, "GET pods");
	EVENTUALLY(apiserver_seen(s, "GET pods") > asked + 1);
	apiserver_do(s, "{'op':'deny','on':false,'plural':'pods'}");
	patch_pod(s, pod_text);
	patch_status(s, done_text);
	return NULL;
}

/* Its requests are denied after the first (kubernetes#121635). */
static void *deny_log(void *ctx)
{
	struct apiserver *s = ctx;
	int64_t asked;

	create(s->kube, "v1", "Pod", running_text);
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 0);
	asked = apiserver_seen(s, "GET pods/log");
	apiserver_do(s, "{'op':'fail','n':2,'status':403,'of':'GET pods/log'}");
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > asked + 2);
	patch_pod(s, pod_text);
	patch_status(s, done_text);
	return NULL;
}

/* The kubelet was restarted: it does not know the pod yet (kubernetes#38178). */
static void *forget_pod(void *ctx)
{
	struct apiserver *s = ctx;
	int64_t asked;

	create(s->kube, "v1", "Pod", running_text);
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 0);
	asked = apiserver_seen(s, "GET pods/log");
	apiserver_do(s, "{'op':'fail','n':2,'status':404,'of':'GET pods/log'}");
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > asked + 2);
	patch_pod(s, pod_text);
	patch_status(s, done_text);
	return NULL;
}

TEST(test_a_node_that_does_not_know_its_pod)
{
	cleanup_buf struct buf lines = { .max = 1000 };

	follow_while(forget_pod, &(struct logs_out){ .on_line = on_line,
						     .on_note = on_note,
						     .on_pause = on_pause,
						     .ctx = &lines });
	check_text("lines", (char *)lines.data, "hello;bye;");
}

static void *delete_pod(void *ctx)
{
	struct kube_ref pod = { "v1", "Pod", "a", "j-node-0-0-x" };
	struct apiserver *s = ctx;
	struct error err = { 0 };

	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 0);
	assert_int_equal(kube_delete(s->kube, &pod, "Background", NULL, &err), 0);
	return NULL;
}

/* Without --follow: it answers late, not at all, or the pod has gone. */
TEST(test_logs_that_are_not_found)
{
	static const struct {
		int times;
		bool gone;
		const char *lines;
		int rc;
	} rows[] = {
		{ 1, false, "hello;bye;", 0 },
		{ 100, false, "", -1 },
		{ 100, true, "", 0 },
	};
	struct logs_want want = follow;
	pthread_t thread;

	want.follow = false;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf lines = { .max = 1000 };
		const struct logs_out on = { .on_line = on_line,
					     .on_note = on_note,
					     .on_pause = on_pause,
					     .ctx = &lines };
		struct apiserver s;
		struct error err = { 0 };
		char op[100];

		apiserver_start(&s);
		create(s.kube, TRAINER, "TrainJob", job_text);
		create(s.kube, JOBSET, "JobSet", jobset_text);
		create(s.kube, "v1", "Pod", pod_text);
		snprintf(op, sizeof(op),
			 "{'op':'fail','n':%d,'status':404,'of':'GET pods/log'}",
			 rows[i].times);
		apiserver_do(&s, op);
		if (rows[i].gone)
			assert_int_equal(pthread_create(&thread, NULL, delete_pod, &s),
					 0);
		check_int("rc", logs_run(s.kube, &want, &on, &err), rows[i].rc);
		if (rows[i].gone)
			pthread_join(thread, NULL);
		check_text("lines", lines.data ? (char *)lines.data : "", rows[i].lines);
		apiserver_stop(&s);
	}
}

/* The job ends while its reader may read no more. */
static void *deny_for_good(void *ctx)
{
	struct apiserver *s = ctx;

	create(s->kube, "v1", "Pod", running_text);
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 1);
	apiserver_do(s, "{'op':'deny','on':true,'plural':'pods'}");
	patch_status(s, done_text);
	return NULL;
}

TEST(test_denied_for_good)
{
	cleanup_buf struct buf lines = { .max = 1000 };
	const struct logs_out on = { .on_line = on_line,
				     .on_note = on_note,
				     .on_pause = on_pause,
				     .ctx = &lines };
	struct apiserver s;
	struct error err = { 0 };
	pthread_t thread;

	apiserver_start(&s);
	create(s.kube, TRAINER, "TrainJob", job_text);
	create(s.kube, JOBSET, "JobSet", jobset_text);
	assert_int_equal(pthread_create(&thread, NULL, deny_for_good, &s), 0);
	assert_int_equal(logs_run(s.kube, &follow, &on, &err), -1);
	if (err.kind != ERR_DENIED && err.kind != ERR_IO)
		fail_msg("%s", err.msg);
	pthread_join(thread, NULL);
	check_text("lines", (char *)lines.data, "hello;");
	apiserver_stop(&s);
}

TEST(test_denied_while_the_api_server_starts)
{
	static void *(*const worlds[])(void *) = { start_anew, deny_log };

	for (size_t i = 0; i < N_ELEMENTS(worlds); i++) {
		cleanup_buf struct buf lines = { .max = 1000 };

		follow_while(worlds[i], &(struct logs_out){ .on_line = on_line,
							    .on_note = on_note,
							    .on_pause = on_pause,
							    .ctx = &lines });
		check_text("lines", (char *)lines.data, "hello;bye;");
	}
}

enum { LONG_MS = 16000 }; /* longer than failures are borne once the job is over */

/* The job has been over for long when a request for its logs fails for the first time. */
static void *fail_late(void *ctx)
{
	struct apiserver *s = ctx;
	int asked;

	create(s->kube, "v1", "Pod", running_text);
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > 0);
	patch_status(s, done_text);
	clock_sleep_ms(LONG_MS);
	asked = apiserver_seen(s, "GET pods/log");
	apiserver_do(s, "{'op':'fail','n':1,'status':500,'of':'GET pods/log'}");
	EVENTUALLY(apiserver_seen(s, "GET pods/log") > asked + 1);
	patch_pod(s, pod_text);
	return NULL;
}

/* A large job's logs take longer to read than that: one failure is not the end of a rank's. */
TEST(test_a_late_failure)
{
	cleanup_buf struct buf lines = { .max = 1000 };

	follow_while(fail_late, &(struct logs_out){ .on_line = on_line,
						    .on_note = on_note,
						    .on_pause = on_pause,
						    .ctx = &lines });
	check_text("lines", (char *)lines.data, "hello;bye;");
}

struct stopping {
	struct apiserver server;
	bool cancel;
};

static void *cancel(void *ctx)
{
	struct stopping *s = ctx;

	EVENTUALLY(apiserver_seen(&s->server, "GET pods") > 1);
	__atomic_store_n(&s->cancel, true, __ATOMIC_RELEASE);
	return NULL;
}

/* As the time of `submit --follow` is up while the API server does not show the pods. */
TEST(test_cancelled_before_the_first_list)
{
	struct stopping s = { .cancel = false };
	struct logs_want want = follow;
	struct error err = { 0 };
	pthread_t thread;

	want.cancel = &s.cancel;
	apiserver_start(&s.server);
	create(s.server.kube, TRAINER, "TrainJob", job_text);
	apiserver_do(&s.server, "{'op':'fail','n':1000000,'status':503,'of':'GET pods'}");
	assert_int_equal(pthread_create(&thread, NULL, cancel, &s), 0);
	assert_int_equal(logs_run(s.server.kube, &want,
				  &(struct logs_out){ .on_line = no_line,
						      .on_note = on_note,
						      .on_pause = on_pause },
				  &err),
			 -1);
	assert_int_equal(err.kind, ERR_STOPPED);
	pthread_join(thread, NULL);
	apiserver_stop(&s.server);
}

static void *report_progress(void *ctx)
{
	static const char *const reports[] = {
		"{'status':{'trainerStatus':{'progressPercentage':40}}}",
		"{'status':{'trainerStatus':{'estimatedRemainingSeconds':90}}}",
		"{'status':{'trainerStatus':{'progressPercentage':41}}}",
		done_text,
	};
	struct apiserver *s = ctx;

	EVENTUALLY(apiserver_seen(s, "watch trainjobs") == 1);
	for (size_t i = 0; i < N_ELEMENTS(reports); i++)
		patch_status(s, reports[i]);
	return NULL;
}

static void add_note(void *ctx, const char *text)
{
	if (strstr(text, "%"))
		buf_printf(ctx, "%s;", text);
}

/* A percentage is noted once, however often the time left changes. */
TEST(test_progress_is_noted)
{
	cleanup_buf struct buf notes = { .max = 1000 };

	follow_while(report_progress, &(struct logs_out){ .on_line = on_line,
							  .on_note = add_note,
							  .on_pause = on_pause,
							  .ctx = &notes });
	check_text("notes", (char *)notes.data, "running: 40 %;running: 41 %, 90s left;");
}

/* JobSet tells by an annotation of the pods that all of them were begun again. */
static void *begin_again(void *ctx)
{
	static const char *const attempts[] = {
		"{'metadata':{'annotations':{'jobset.sigs.k8s.io/execution-attempt':'0'}}}",
		"{'metadata':{'annotations':{'jobset.sigs.k8s.io/execution-attempt':'2'}}}",
		"{'metadata':{'annotations':{'jobset.sigs.k8s.io/execution-attempt':'x'}}}",
	};
	struct apiserver *s = ctx;

	EVENTUALLY(apiserver_seen(s, "watch pods") == 1);
	create(s->kube, "v1", "Pod", pod_text);
	for (size_t i = 0; i < N_ELEMENTS(attempts); i++)
		patch_pod(s, attempts[i]);
	patch_status(s, done_text);
	return NULL;
}

static void add_attempt(void *ctx, const char *text)
{
	if (strstr(text, "attempt"))
		buf_printf(ctx, "%s;", text);
}

TEST(test_an_attempt_is_named)
{
	cleanup_buf struct buf notes = { .max = 1000 };

	follow_while(begin_again, &(struct logs_out){ .on_line = no_line,
						      .on_note = add_attempt,
						      .on_pause = on_pause,
						      .ctx = &notes });
	check_text("notes", (char *)notes.data,
		   "execution attempt 2: the pods were started again;");
}

/* Its pods are in another cluster, which its Workload names once Kueue has chosen it. */
TEST(test_a_job_of_another_controller)
{
	static const char *const workloads[] = {
		NULL,
		"{'metadata':{'name':'w1','namespace':'a'}}",
		"{'metadata':{'name':'w2','namespace':'a','ownerReferences':[{'controller':true,'uid':'job','kind':'TrainJob','name':'j'}]},'status':{'clusterName':'east'}}",
	};
	const struct logs_out out = { 0 };
	struct apiserver s;
	struct error err = { 0 };

	apiserver_start(&s);
	create(s.kube, TRAINER, "TrainJob",
	       "{'metadata':{'name':'j','namespace':'a','uid':'job'},'spec':{'runtimeRef':{'name':'rt'},'managedBy':'kueue.x-k8s.io/multikueue'}}");
	for (size_t i = 0; i < N_ELEMENTS(workloads); i++) {
		if (workloads[i]) {
			apiserver_do(&s, "{\"op\":\"serve_kueue\"}");
			create(s.kube, "kueue.x-k8s.io/v1beta2", "Workload",
			       workloads[i]);
		}
		err = (struct error){ 0 };
		assert_int_equal(logs_run(s.kube, &follow, &out, &err), -1);
		assert_int_equal(err.kind, ERR_NOT_FOUND);
		assert_non_null(
			strstr(err.msg, i < 2 ? "spec.managedBy" : "cluster east"));
	}
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
