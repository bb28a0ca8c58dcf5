/* A job of `submit --local` in its own API: what its controller makes and says of it. */
#include "tests/unit/spec/spec_test.h"

#include "api/meta.h"
#include "base/clock.h"
#include "machine/local_job.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "trainer/workspace_spec.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct stage {
	struct job_set set;
	struct local_job *job;
	const struct local_controller *controller;
	struct local_pass last;
	struct error err;
	int rc;
};

static void clear_pass(struct local_pass *p)
{
	cJSON_Delete(p->trainjob);
	cJSON_Delete(p->events);
	*p = (struct local_pass){ 0 };
}

static void setup(struct stage *s, const char *text)
{
	const struct job_opts opts = { .file = "job.yaml" };
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };

	*s = (struct stage){ 0 };
	write_text("job.yaml", text);
	if (job_set_load(&s->set, &opts, NAMES_FIXED, &to, &s->err))
		fail_msg("%s%s", lines.text, s->err.msg);
	s->rc = local_job_new(&s->job, &s->set, &s->set.list[0], &s->err);
	if (!s->rc)
		s->controller = local_job_controller(s->job);
}

static void end(struct stage *s)
{
	clear_pass(&s->last);
	local_job_free(s->job);
	job_set_release(&s->set);
}

/* A pass with that status of the JobSet. */
static void pass(struct stage *s, const char *status)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	clear_pass(&s->last);
	assert_int_equal(json_parse(&doc, status, strlen(status), &err), 0);
	if (s->controller->pass(s->controller->ctx, doc, &s->last, &err))
		fail_msg("%s", err.msg);
}

/* The first of that kind whose name begins so. */
static const cJSON *find(const struct stage *s, const char *kind, const char *begin)
{
	const cJSON *obj;

	json_each(obj, local_job_objects(s->job))
		if (str_eq(meta_kind(obj), kind) && str_starts(meta_name(obj), begin))
			return obj;
	return NULL;
}

static const char *event_with(const struct stage *s, const char *reason)
{
	const cJSON *e;

	json_each(e, s->last.events)
		if (str_eq(json_str(e, "reason"), reason))
			return json_str(e, "message");
	return NULL;
}

#define JOB(spec)                                           \
	JOB_HEAD "metadata: {name: one, namespace: team}\n" \
		 "spec:\n  runtimeRef: {name: torch-distributed}\n" spec
#define COMMAND "  trainer: {numNodes: 2, command: [\"true\"]}\n"
#define ACTIVE                                                                       \
	"{\"replicatedJobsStatus\":[{\"name\":\"node\",\"ready\":1,\"succeeded\":0," \
	"\"failed\":0,\"active\":1,\"suspended\":0}]}"

TEST(test_objects)
{
	struct stage s;
	const cJSON *jobset, *tj;

	setup(&s, "apiVersion: v1\n"
		  "kind: ConfigMap\n"
		  "metadata: {name: used}\n"
		  "data: {k: v}\n"
		  "---\n"
		  "apiVersion: v1\n"
		  "kind: ConfigMap\n"
		  "metadata: {name: other}\n"
		  "---\n"
		  "apiVersion: trainer.kubeflow.org/v1alpha1\n"
		  "kind: TrainingRuntime\n"
		  "metadata: {name: gang}\n"
		  "spec:\n"
		  "  mlPolicy: {numNodes: 1}\n"
		  "  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 5}}\n"
		  "  template:\n"
		  "    spec:\n"
		  "      replicatedJobs:\n"
		  "      - name: node\n"
		  "        template:\n"
		  "          metadata:\n"
		  "            labels:\n"
		  "              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n"
		  "          spec:\n"
		  "            template:\n"
		  "              spec:\n"
		  "                containers:\n"
		  "                - {name: node, image: i, command: [\"true\"],\n"
		  "                   envFrom: [{configMapRef: {name: used}}]}\n"
		  "---\n" JOB_HEAD "metadata: {name: one, namespace: team}\n"
		  "spec:\n  managedBy: kueue.x-k8s.io/multikueue\n"
		  "  runtimeRef: {kind: TrainingRuntime, name: gang}\n");
	assert_int_equal(s.rc, 0);
	tj = local_job_trainjob(s.job);
	jobset = find(&s, "JobSet", "one");
	assert_non_null(jobset);
	assert_true(meta_is_controlled(jobset, tj)); /* by its uid */
	assert_non_null(meta_uid(jobset));
	assert_string_equal(meta_namespace(jobset), "team");
	assert_non_null(find(&s, "ConfigMap", "used"));
	assert_null(find(&s, "ConfigMap", "other"));
	/* where its pods report */
	assert_true(strstr(
		json_str(find(&s, "ConfigMap", "one-tls-config"), "data", "ca.crt"),
		"BEGIN CERTIFICATE"));
	assert_int_equal(strlen(local_job_pod_key(s.job)), 64);
	assert_true(local_job_controller(s.job)->wake_fd > 0);
	/* for nobody here; what the run tells of */
	assert_non_null(find(&s, "PodGroup", "one"));
	assert_true(tj_is_ours(tj));
	end(&s);
}

TEST(test_passes)
{
	struct stage s;

	setup(&s, JOB(COMMAND));
	assert_int_equal(s.rc, 0);
	pass(&s, "{}");
	assert_string_equal(event_with(&s, "JobSetCreated"), "created the JobSet");
	assert_false(s.last.deleted || s.last.suspended);
	pass(&s, ACTIVE);
	assert_null(event_with(&s, "JobSetCreated")); /* once */
	assert_string_equal(json_str(tj_status(s.last.trainjob), "state"), "Running");
	assert_int_equal(
		json_int(json_get(tj_status(s.last.trainjob), "jobsStatus")->child, 0,
			 "active"),
		1);
	assert_int_equal(s.controller->suspend(s.controller->ctx, true, &s.err), 0);
	pass(&s, ACTIVE);
	assert_true(s.last.suspended && tj_suspend(s.last.trainjob));
	pass(&s, "{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\","
		 "\"reason\":\"SuspendedJobs\",\"message\":\"jobset is suspended\","
		 "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
	assert_true(status_is_true(tj_status(s.last.trainjob), COND_SUSPENDED));
	assert_int_equal(s.controller->suspend(s.controller->ctx, false, &s.err), 0);
	pass(&s, ACTIVE);
	assert_false(s.last.suspended || tj_suspend(s.last.trainjob));
	pass(&s,
	     "{\"terminalState\":\"Completed\",\"conditions\":[{\"type\":\"Completed\","
	     "\"status\":\"True\",\"reason\":\"AllJobsCompleted\",\"message\":\"m\","
	     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
	assert_true(status_is_true(tj_status(s.last.trainjob), COND_COMPLETE));
	assert_string_equal(event_with(&s, "Completed"), "m");
	end(&s);
}

/*
 * The deadline is the controller's, which deletes the JobSet then. On a busy machine the
 * job is made before it is over, too.
 */
TEST(test_deadline)
{
	struct stage s;

	setup(&s, JOB("  activeDeadlineSeconds: 10\n" COMMAND));
	assert_int_equal(s.rc, 0);
	for (pass(&s, ACTIVE); !s.last.deleted; pass(&s, ACTIVE)) {
		assert_in_range(s.last.after_ms, 1, 10000);
		usleep((useconds_t)s.last.after_ms * 1000);
	}
	assert_string_equal(
		json_str(status_condition(tj_status(s.last.trainjob), COND_FAILED),
			 "reason"),
		"DeadlineExceeded");
	end(&s);
}

/* What the pods say becomes events, and the first failure part of the status. */
TEST(test_pods)
{
	static const char pod[] =
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"one-node-0-1-x\",\"namespace\":\"team\",\"uid\":\"u\",\"creationTimestamp\":\"2099-01-01T00:00:00Z\",\"labels\":{\"jobset.sigs.k8s.io/jobset-name\":\"one\",\"jobset.sigs.k8s.io/replicatedjob-name\":\"node\",\"batch.kubernetes.io/job-completion-index\":\"1\"}},\"spec\":{\"nodeName\":\"here\",\"containers\":[{\"name\":\"node\"}]},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"node\",\"state\":{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\",\"finishedAt\":\"2099-01-01T00:00:01Z\"}}}]}}";
	cleanup_json cJSON *now = NULL;
	struct stage s;

	setup(&s, JOB(COMMAND));
	assert_int_equal(json_parse(&now, pod, strlen(pod), &s.err), 0);
	pass(&s, ACTIVE);
	s.controller->on_pod(s.controller->ctx, NULL, now);
	pass(&s, "{\"terminalState\":\"Failed\",\"conditions\":[{\"type\":\"Failed\","
		 "\"status\":\"True\",\"reason\":\"FailedJobs\",\"message\":\"m\","
		 "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
	assert_non_null(strstr(event_with(&s, "ContainerFailed"), "exit code 3"));
	assert_non_null(
		strstr(json_str(status_condition(tj_status(s.last.trainjob), COND_FAILED),
				"message"),
		       "first: node-1 (node rank 1): container node: exit code 3"));
	end(&s);
}

/* A workspace is found without its archive. */
TEST(test_workspace)
{
	struct stage s;
	const cJSON *map;

	setup(&s, JOB_HEAD "metadata:\n  name: one\n  namespace: team\n  annotations:\n"
			   "    " WORKSPACE_ANNOTATION ": sha256:" DIGEST "\n"
			   "spec:\n  runtimeRef: {name: torch-distributed}\n" COMMAND);
	assert_int_equal(s.rc, 0);
	map = find(&s, "ConfigMap", "one-workspace-");
	assert_non_null(map);
	assert_true(meta_is_controlled(map, local_job_trainjob(s.job)));
	end(&s);
}

/* In the API's or the controller's words, as in a cluster. */
TEST(test_refused)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		  "data: {\"a b\": c}\n---\n" JOB(COMMAND),
		  "ConfigMap \"a\" is invalid: data[a b]: Invalid value" },
		{ "apiVersion: v1\n"
		  "kind: ConfigMap\n"
		  "metadata: {name: one-runtime-snapshot}\n"
		  "---\n" JOB(COMMAND),
		  "ConfigMap one-runtime-snapshot exists and is not "
		  "controlled by TrainJob one" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct stage s;

		setup(&s, rows[i].text);
		assert_int_equal(s.rc, -1);
		if (!strstr(s.err.msg, rows[i].want))
			fail_msg("have: %s\nwant: %s", s.err.msg, rows[i].want);
		end(&s);
	}
}

RUN_TESTS(enter_folder, leave_folder)
