/* Rules: upstream pkg/webhooks, and what is said at the top of webhook.h. */
#include "assets/assets.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "manager/webhook.h"
#include "tests/unit/manager/standin.h"

#define BASE         "/apis/trainer.kubeflow.org/v1alpha1"
#define RUNTIME      BASE "/namespaces/ns/trainingruntimes/rt"
#define CLUSTER      BASE "/clustertrainingruntimes/rt"
#define SNAPSHOT     "/api/v1/namespaces/ns/configmaps/tj-runtime-snapshot"
#define JOBSET       "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/tj"
#define MUTATE       "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
#define VALIDATE     "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
#define VALIDATE_RT  "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime"
#define VALIDATE_CRT "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"

#define API          "apiVersion: trainer.kubeflow.org/v1alpha1"
#define TJ_AS(meta, kind, spec)                                                        \
	"{" API ", kind: TrainJob, metadata: {" meta "namespace: ns}, spec: "          \
	"{runtimeRef: {apiGroup: trainer.kubeflow.org, kind: " kind ", name: rt}" spec \
	"}}"
#define TJ(spec) TJ_AS("name: tj, uid: tj-uid, ", "TrainingRuntime", spec)

#define RJOB(container)                                                              \
	"[{name: node, template: {metadata: {labels: "                               \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: " \
	"{spec: {containers: [{name: " container ", image: i}]}}}}}]"
#define RT_AS(kind, labels, jobs)                                                \
	"{" API ", kind: " kind ", metadata: {name: rt, namespace: ns, labels: " \
	"{" labels "}}, spec: {mlPolicy: {torch: {}}, template: {spec: "         \
	"{replicatedJobs: " jobs "}}}}"
#define RT  RT_AS("TrainingRuntime", "", RJOB("node"))
#define OLD "trainer.kubeflow.org/support: deprecated"

#define PATCH(selector)                                                             \
	"{manager: a.b/c, trainingRuntimeSpec: {template: {spec: {replicatedJobs: " \
	"[{name: node, template: {spec: {template: {spec: {nodeSelector: {p: "      \
	"'" selector "'}}}}}}]}}}}"

static struct standin api;

static int start(void **state)
{
	standin_start(&api);
	return 0;
}

static int stop(void **state)
{
	standin_stop(&api);
	return 0;
}

static const struct standin_answer with_runtime[] = {
	{ RUNTIME, 200, RT },
	{ CLUSTER, 200, RT_AS("ClusterTrainingRuntime", OLD, RJOB("node")) },
	{ NULL, 0, NULL },
};

struct caller {
	struct webhook *w;
	pthread_t thread;
	char *body;
	const char *query;           /* NULL: none */
	struct httpd_stream *client; /* NULL: it stays */
	int status;                  /* that is expected */
	bool answered;               /* atomic */
};

static void post_as(const struct caller *c, const char *path, const char *type,
		    const char *body, struct httpd_response *resp)
{
	const struct httpd_header headers[] = { { "Content-Type", type },
						{ NULL, NULL } };
	const struct httpd_request req = {
		.method = "POST",
		.path = path,
		.query = c->query ? c->query : "",
		.body = (const unsigned char *)body,
		.body_len = strlen(body),
		.headers = headers,
		.client = c->client,
	};

	*resp = (struct httpd_response){ 0 };
	webhook_handle(c->w, &req, resp);
}

static void post_to(struct webhook *w, const char *path, const char *type,
		    const char *body, struct httpd_response *resp)
{
	post_as(&(struct caller){ .w = w }, path, type, body, resp);
}

static void post(struct kube *k, struct metrics *metrics, const char *path,
		 const char *type, const char *body, struct httpd_response *resp)
{
	const struct webhook_conf conf = { .kube = k, .metrics = metrics };
	struct webhook *w = webhook_new(&conf);

	post_to(w, path, type, body, resp);
	webhook_free(w);
}

/* The answer's `response` to such a request; documents are YAML, old NULL: CREATE. */
static cJSON *review(const char *path, const char *object, const char *old)
{
	cleanup_json cJSON *doc = cJSON_CreateObject(), *answer = NULL;
	cleanup_free char *text = NULL;
	struct httpd_response resp;
	struct error err = { 0 };

	json_put_str(doc, "admission.k8s.io/v1", "apiVersion");
	json_put_str(doc, "AdmissionReview", "kind");
	json_put_str(doc, "u-1", "request", "uid");
	json_put_str(doc, "ns", "request", "namespace");
	json_put_str(doc, old ? "UPDATE" : "CREATE", "request", "operation");
	json_put(doc, standin_doc(object), "request", "object");
	if (old)
		json_put(doc, standin_doc(old), "request", "oldObject");
	text = json_text(doc);
	post(api.kube, NULL, path, "application/json", text, &resp);
	assert_int_equal(resp.status, 200);
	assert_string_equal(resp.content_type, "application/json");
	if (json_parse(&answer, resp.body.data, resp.body.len, &err))
		fail_msg("%s", err.msg);
	buf_release(&resp.body);
	assert_string_equal(json_str(answer, "apiVersion"), "admission.k8s.io/v1");
	assert_string_equal(json_str(answer, "response", "uid"), "u-1");
	return cJSON_DetachItemFromObjectCaseSensitive(answer, "response");
}

/* want: a piece of the refusal, NULL where it is allowed; warnings: how many. */
static void assert_review(const char *path, const char *object, const char *old,
			  const char *want, int warnings)
{
	cleanup_json cJSON *r = review(path, object, old);
	cleanup_free char *text = json_text(r);
	const char *message = json_str(r, "status", "message");

	if (json_bool(r, false, "allowed") != !want ||
	    (want && (!message || !strstr(message, want))) ||
	    cJSON_GetArraySize(json_get(r, "warnings")) != warnings)
		fail_msg("%s: wanted %s and %d warnings, got %s", object,
			 want ? want : "nothing", warnings, text);
	if (want)
		assert_int_equal(json_int(r, 0, "status", "code"), 403);
}

static void assert_patch(const char *object, const char *old, const char *want)
{
	cleanup_json cJSON *r = review(MUTATE, object, old);
	cleanup_buf struct buf patch = { .max = 65536 };
	const char *text = json_str(r, "patch");
	struct error err = { 0 };

	assert_true(json_bool(r, false, "allowed"));
	if (!want) {
		assert_null(text);
		assert_null(json_get(r, "patchType"));
		return;
	}
	assert_non_null(text);
	assert_int_equal(base64_decode(&patch, text, strlen(text), &err), 0);
	if (!strstr((const char *)patch.data, want))
		fail_msg("wanted %s, got %s", want, (const char *)patch.data);
}

#define PATCHES(list) TJ(", runtimePatches: [" list "]")
#define TIMED         "{manager: a.b/c, time: '2024-05-06T07:08:09Z'}"
#define FOUR          "{manager: a}, {manager: b}, {manager: c}, {manager: d}"

TEST(test_times_of_patches)
{
	standin_set(&api, NULL);
	assert_patch(TJ(""), NULL, NULL);
	assert_patch(PATCHES(TIMED), NULL, NULL);
	assert_patch(PATCHES(TIMED ", {manager: d.e/f}"), NULL,
		     "[{\"op\":\"add\",\"path\":\"/spec/runtimePatches/1/"
		     "time\",\"value\":\"20");
	assert_patch(PATCHES("{manager: a.b/c, time: null}"), NULL,
		     "[{\"op\":\"replace\",\"path\":\"/spec/runtimePatches/0/time\"");
	assert_patch(
		PATCHES("{manager: a.b/c}"), PATCHES(TIMED),
		"[{\"op\":\"add\",\"path\":\"/spec/runtimePatches/0/time\",\"value\":"
		"\"2024-05-06T07:08:09Z\"}]");
	assert_patch(PATCHES("{manager: a.b/c, time: '2023-01-01T00:00:00Z'}"),
		     PATCHES(TIMED),
		     "[{\"op\":\"replace\",\"path\":\"/spec/runtimePatches/0/time\","
		     "\"value\":\"2024-05-06T07:08:09Z\"}]");
	/* what Kueue drops that says nothing */
	assert_patch(TJ(", trainer: {env: [{name: A}]}"),
		     TJ(", suspend: true, trainer: {env: [{name: A, value: ''}]}"),
		     "[{\"op\":\"add\",\"path\":\"/spec/trainer/env/0/value\",\"value\":"
		     "\"\"}]");
	/* the schema refuses more than 16 */
	assert_patch(PATCHES(FOUR ", " FOUR ", " FOUR ", " FOUR), NULL, "/15/time");
	assert_patch(PATCHES(FOUR ", " FOUR ", " FOUR ", " FOUR ", {manager: a}"), NULL,
		     NULL);
	assert_patch(PATCHES(PATCH("x")), PATCHES(TIMED),
		     "[{\"op\":\"add\",\"path\":\"/spec/runtimePatches/0/"
		     "time\",\"value\":\"20");
	assert_string_equal((const char *)api.asked.data, "");
}

/* The schema says what is wrong, with its path: 422 instead of upstream's bare 400. */
TEST(test_correction_07_wrong_types_are_the_schemas)
{
	assert_patch(TJ(", trainer: {numNodes: '2'}"), NULL, NULL);
	assert_patch(TJ(", runtimePatches: {a: b}"), NULL, NULL);
	assert_patch(TJ(", runtimePatches: [1, null, [], x]"), NULL, NULL);
	assert_patch("{" API ", kind: TrainJob}", NULL, NULL);
	assert_patch("{" API ", kind: TrainJob, metadata: 1, spec: 2}", NULL, NULL);
}

#define RESERVED ", trainer: {env: [{name: PET_NNODES, value: '1'}]}"
#define LONG     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

TEST(test_trainjobs_that_are_created)
{
	standin_set(&api, with_runtime);
	assert_review(VALIDATE, TJ(""), NULL, NULL, 0);
	assert_non_null(strstr((const char *)api.asked.data, "GET " RUNTIME "\n"));
	assert_review(VALIDATE, TJ_AS("name: tj, ", "ClusterTrainingRuntime", ""), NULL,
		      NULL, 1);
	assert_review(VALIDATE, TJ(RESERVED), NULL,
		      "spec.trainer.env: Invalid value: ", 0);
	/* rules of our CRDs, for where upstream's are */
	assert_review(VALIDATE, TJ(", trainer: {numProcPerNode: 0}"), NULL,
		      "spec.trainer.numProcPerNode: Invalid value: 0: must be 1 or more",
		      0);
	assert_review(VALIDATE, TJ(", trainer: {numProcPerNode: -1}"), NULL,
		      "spec.trainer.numProcPerNode: Invalid value: -1", 0);
	assert_review(VALIDATE, TJ(", trainer: {numProcPerNode: 0}"),
		      TJ(", trainer: {numProcPerNode: 0}, suspend: true"), NULL, 0);
	assert_review(VALIDATE, TJ_AS("name: tj, ", "Other", ""), NULL,
		      "unsupported runtime: Other.trainer.kubeflow.org", 0);
	assert_review(VALIDATE, "{" API ", kind: TrainJob, metadata: {name: tj}}", NULL,
		      "spec: Required value", 0);
	/* upstream admits these, too, and says nothing */
	assert_review(VALIDATE, TJ_AS("name: " LONG ", ", "TrainingRuntime", ""), NULL,
		      NULL, 1);
	standin_set(&api, NULL);
	assert_review(VALIDATE, TJ(""), NULL,
		      "spec.runtimeRef: Invalid value: "
		      "{\"name\":\"rt\",\"apiGroup\":\"trainer.kubeflow.org\",\"kind\":"
		      "\"TrainingRuntime\"}: ",
		      0);
	assert_review(VALIDATE, TJ_AS("name: tj, ", "ClusterTrainingRuntime", ""), NULL,
		      "spec.RuntimeRef: ", 0);
}

#define ODD                                                                     \
	"{" API ", kind: TrainJob, metadata: {name: tj, namespace: ns}, spec: " \
	"{runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, " \
	"name: ../x}}}"

/* Not a 500 with what the API server says of another path. */
TEST(test_a_runtime_whose_name_is_a_path_is_not_there)
{
	standin_set(&api, with_runtime);
	assert_review(VALIDATE, ODD, NULL, "spec.runtimeRef: Invalid value: ", 0);
	assert_string_equal((const char *)api.asked.data, "");
}

TEST(test_several_errors_are_one_list)
{
	cleanup_json cJSON *r = NULL;
	const char *message;

	standin_set(&api, with_runtime);
	r = review(VALIDATE,
		   TJ(", initializer: {dataset: {}, model: {}}, runtimePatches: "
		      "[{manager: x}, {manager: x}]"),
		   NULL);
	message = json_str(r, "status", "message");
	assert_string_equal(json_str(r, "status", "reason"), "Forbidden");
	assert_int_equal(message[0], '[');
	assert_int_equal(message[strlen(message) - 1], ']');
	assert_non_null(strstr(message, "dataset-initializer"));
	assert_non_null(strstr(message, ", spec.runtimeRef: "));
	message = strstr(message, "spec.runtimePatches.manager");
	assert_non_null(message); /* and once */
	assert_null(strstr(message + 1, "spec.runtimePatches.manager"));
}

#define GATED   PATCHES(PATCH("a"))
#define CHANGED TJ(", suspend: true, runtimePatches: [" PATCH("b") "]")
#define STORED  TJ(", suspend: true, runtimePatches: [" PATCH("a") "]")

TEST(test_trainjobs_that_are_changed)
{
	static const struct standin_answer running[] = {
		{ RUNTIME, 200, RT },
		{ JOBSET, 200,
		  "{status: {replicatedJobsStatus: [{name: node, active: 1}]}}" },
		{ NULL, 0, NULL },
	};

	standin_set(&api, with_runtime);
	assert_review(VALIDATE, CHANGED, STORED, NULL, 0);
	assert_review(VALIDATE, GATED, TJ(""), "spec.runtimePatches: Forbidden: ", 0);
	assert_review(VALIDATE, TJ(RESERVED), TJ(""), "spec.trainer.env", 0);
	standin_set(&api, running);
	assert_review(VALIDATE, CHANGED, STORED, "spec.runtimePatches: Forbidden: ", 0);
}

/* What was wrong before is not held against an update of something else. */
TEST(test_updates_that_change_nothing_of_it)
{
	static const struct standin_answer failing[] = {
		{ RUNTIME, 403, "{kind: Status, message: no rights}" },
		{ NULL, 0, NULL },
	};

	for (int i = 0; i < 3; i++) {
		standin_set(&api, i == 0 ? NULL : i == 1 ? failing : with_runtime);
		assert_review(
			VALIDATE,
			TJ_AS("name: tj, labels: {a: b}, ", "TrainingRuntime", RESERVED),
			TJ(RESERVED), NULL, 0);
		assert_review(VALIDATE, TJ(RESERVED ", suspend: true"),
			      TJ(RESERVED ", suspend: false"), NULL, 0);
		assert_review(VALIDATE,
			      TJ_AS("name: tj, deletionTimestamp: "
				    "'2026-01-01T00:00:00Z', ",
				    "TrainingRuntime", RESERVED ", suspend: true"),
			      TJ_AS("name: tj, deletionTimestamp: "
				    "'2026-01-01T00:00:00Z', ",
				    "TrainingRuntime", ""),
			      NULL, 0);
	}
}

#define SNAPSHOT_OF(owner, runtime)                                                    \
	"{" API ", kind: ConfigMap, metadata: {name: tj-runtime-snapshot, namespace: " \
	"ns, ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "     \
	"TrainJob, name: tj, uid: " owner ", controller: true}]}, data: {runtime: "    \
	"\"" runtime "\"}}"

TEST(test_a_runtime_that_is_gone_has_a_snapshot)
{
	static const struct standin_answer snapshot[] = {
		{ SNAPSHOT, 200, SNAPSHOT_OF("tj-uid", RT) },
		{ NULL, 0, NULL },
	};
	static const struct standin_answer foreign[] = {
		{ SNAPSHOT, 200, SNAPSHOT_OF("other", RT) },
		{ NULL, 0, NULL },
	};

	standin_set(&api, snapshot);
	assert_review(VALIDATE, CHANGED, STORED, NULL, 0);
	assert_review(VALIDATE,
		      TJ(", suspend: true, runtimePatches: [{manager: a.b/c, "
			 "trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
			 "[{name: nope}]}}}}]"),
		      STORED, "no job \"nope\"", 0);
	assert_review(VALIDATE, CHANGED, NULL, "not found", 0); /* a new one needs it */
	standin_set(&api, foreign);
	assert_review(VALIDATE, CHANGED, STORED, "not found", 0);
	standin_set(&api, NULL);
	assert_review(VALIDATE, CHANGED, STORED, "not found", 0);
}

TEST(test_when_the_api_server_fails)
{
	static const struct standin_answer failing[] = {
		{ RUNTIME, 403, "{kind: Status, message: no rights}" },
		{ NULL, 0, NULL },
	};
	cleanup_json cJSON *r = NULL;

	standin_set(&api, failing);
	r = review(VALIDATE, TJ(""), NULL);
	assert_false(json_bool(r, true, "allowed"));
	assert_int_equal(json_int(r, 0, "status", "code"), 500);
	assert_non_null(strstr(json_str(r, "status", "message"), "no rights"));
}

#define BAD "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers"
#define SDK "trainer.kubeflow.org/framework: x"
#define AMD                                                                          \
	"[{name: node, template: {metadata: {labels: "                               \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: " \
	"{spec: {containers: [{name: node, image: i, resources: {limits: "           \
	"{amd.com/gpu: '1'}}}]}}}}}]"

#define MPI(labels, mpi, annotations)                                           \
	"{" API ", kind: TrainingRuntime, metadata: {name: rt, namespace: ns, " \
	"labels: {" labels "}}, spec: {mlPolicy: {mpi: {" mpi                   \
	"}}, template: {metadata: {annotations: {" annotations                  \
	"}}, spec: {replicatedJobs: " RJOB("node") "}}}}"
#define BY   "kftrainer.io/mpi: "
#define SSHD ", command: [/usr/sbin/sshd, -De]"
#define POLICY(operator, jobs) \
	"successPolicy: {operator: " operator", targetReplicatedJobs: [" jobs "]}, "
#define NODES(transport, labels, command, policy)                                      \
	"{" API ", kind: TrainingRuntime, metadata: {name: rt, namespace: ns, "        \
	"labels: {" labels "}}, spec: {mlPolicy: {mpi: {}}, template: {metadata: "     \
	"{annotations: {" BY transport "}}, spec: {" policy "replicatedJobs: [{name: " \
	"launcher, template: {metadata: {labels: "                                     \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: "   \
	"{spec: {containers: [{name: node, image: i}]}}}}}, {name: node, template: "   \
	"{spec: {template: {spec: {containers: [{name: node, image: i" command         \
	"}]}}}}}]}}}}"

#define ON_HOST(labels, policy, dns, network)                                                                                                                                 \
	"{" API                                                                                                                                                               \
	", kind: TrainingRuntime, metadata: {name: rt, namespace: ns, labels: {" labels                                                                                       \
	"}}, spec: {mlPolicy: {" policy ": {}}, template: {spec: {" network                                                                                                   \
	"replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {hostNetwork: true" dns \
	", containers: [{name: node, image: i}]}}}}}]}}}}"

#define MANAGED(labels, manager)                                                 \
	"{" API ", kind: TrainingRuntime, metadata: {name: rt, namespace: ns, "  \
	"labels: {" labels "}}, spec: {mlPolicy: {torch: {}}, template: {spec: " \
	"{replicatedJobs: [{name: node, template: {metadata: {labels: "          \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: "        \
	"{managedBy: " manager ", template: {spec: {containers: [{name: node, "  \
	"image: i}]}}}}}]}}}}"

#define GANGS(labels, policy)                                                           \
	"{" API ", kind: TrainingRuntime, metadata: {name: rt, namespace: ns, "         \
	"labels: {" labels "}}, spec: {mlPolicy: {torch: {}}, podGroupPolicy: {" policy \
	"}, template: {"                                                                \
	"spec: {replicatedJobs: " RJOB("node") "}}}}"

/* Defect 15: upstream looks at no update of a TrainingRuntime, and never warns of one. */
TEST(test_runtimes)
{
	static const struct {
		const char *path, *object, *old, *want;
		int warnings;
	} rows[] = {
#define BOTH(path, kind)                                                               \
	{ path, RT_AS(kind, "", RJOB("node")), NULL, NULL, 0 },                        \
		{ path, RT_AS(kind, "", RJOB("main")), NULL, BAD, 0 },                 \
		{ path, RT_AS(kind, "", RJOB("main")), RT_AS(kind, "", RJOB("node")),  \
		  BAD, 0 },                                                            \
		{ path, RT_AS(kind, "a: b", RJOB("main")),                             \
		  RT_AS(kind, "", RJOB("main")), NULL, 0 },                            \
		{ path, RT_AS(kind, OLD, RJOB("node")), NULL, NULL, 1 },               \
		{ path, RT_AS(kind, OLD, RJOB("node")), RT_AS(kind, "", RJOB("node")), \
		  NULL, 0 },                                                           \
		{ path, RT_AS(kind, SDK, AMD), NULL, NULL, 1 },                        \
		{ path, RT_AS(kind, "", AMD), NULL, NULL, 0 },                         \
		{ path, RT_AS(kind, SDK, AMD), RT_AS(kind, SDK, RJOB("node")), NULL,   \
		  1 },                                                                 \
		{ path, RT_AS(kind, SDK ", a: b", AMD), RT_AS(kind, SDK, AMD), NULL,   \
		  0 },
		BOTH(VALIDATE_RT, "TrainingRuntime")
			BOTH(VALIDATE_CRT, "ClusterTrainingRuntime")

		/* Open MPI 5 runs on one node */
		{ VALIDATE_RT, MPI(SDK, "", ""), NULL, NULL, 1 },
		{ VALIDATE_RT, MPI(SDK, "", ""), MPI(SDK, "", BY "ssh"), NULL, 1 },
		{ VALIDATE_RT, MPI(SDK, "mpiImplementation: OpenMPI", ""), NULL, NULL,
		  1 },
		{ VALIDATE_RT, MPI(SDK, "", BY "ssh"), NULL, NULL, 0 },
		{ VALIDATE_RT, MPI(SDK, "", BY "worker"), NULL, NULL, 0 },
		{ VALIDATE_RT, MPI(SDK, "mpiImplementation: Intel", ""), NULL, NULL, 0 },
		{ VALIDATE_RT, MPI("", "", ""), NULL, NULL, 0 }, /* upstream's answer */

		/* its nodes run for ever */
		{ VALIDATE_RT, NODES("worker", SDK, "", ""), NULL, NULL, 1 },
		{ VALIDATE_RT, NODES("ssh", SDK, SSHD, ""), NULL, NULL, 1 },
		{ VALIDATE_RT, NODES("ssh", SDK, SSHD, POLICY("All", "launcher, node")),
		  NULL, NULL, 1 },
		{ VALIDATE_RT, NODES("ssh", SDK, SSHD, POLICY("Any", "node")), NULL, NULL,
		  1 },
		{ VALIDATE_RT, NODES("ssh", SDK, SSHD, POLICY("All", "launcher")), NULL,
		  NULL, 0 },
		{ VALIDATE_RT, NODES("ssh", SDK, SSHD, POLICY("Any", "")), NULL, NULL,
		  0 },
		{ VALIDATE_RT, NODES("ssh", SDK, ", command: [train]", ""), NULL, NULL,
		  0 },
		{ VALIDATE_RT, NODES("worker", "", "", ""), NULL, NULL, 0 },

		/* a gang for two schedulers (kubeflow/trainer#4060), and for none */
		{ VALIDATE_RT, GANGS(SDK, "coscheduling: {}, volcano: {}"), NULL, NULL,
		  1 },
		{ VALIDATE_RT, GANGS(SDK, "volcano: {}"), NULL, NULL, 1 },
		{ VALIDATE_RT, GANGS("", "volcano: {}"), NULL, NULL, 0 },
		{ VALIDATE_RT, GANGS(SDK, "coscheduling: {}"), NULL, NULL, 0 },
		{ VALIDATE_RT, GANGS("", "coscheduling: {}, volcano: {}"), NULL, NULL,
		  0 },

		/* pods that do not resolve each other's names */
		{ VALIDATE_RT, ON_HOST(SDK, "torch", "", ""), NULL, NULL, 1 },
		{ VALIDATE_RT, ON_HOST(SDK, "mpi", ", dnsPolicy: ClusterFirst", ""), NULL,
		  NULL, 2 }, /* and Open MPI 5 */
		{ VALIDATE_RT,
		  ON_HOST(SDK, "jax", ", dnsPolicy: ClusterFirstWithHostNet", ""), NULL,
		  NULL, 0 },
		{ VALIDATE_RT,
		  ON_HOST(SDK, "torch", ", dnsPolicy: None",
			  "network: {enableDNSHostnames: false}, "),
		  NULL, NULL, 1 },
		{ VALIDATE_RT, ON_HOST("", "torch", "", ""), NULL, NULL, 0 },

		/* a JobSet or Jobs of another controller */
		{ VALIDATE_RT, ON_HOST(SDK, "torch", "", "managedBy: a.b/c, "), NULL,
		  NULL, 2 }, /* and the host's network */
		{ VALIDATE_RT, MANAGED(SDK, "x.y/z"), NULL, NULL, 1 },
		{ VALIDATE_RT, MANAGED(SDK, "kubernetes.io/job-controller"), NULL, NULL,
		  0 },
		{ VALIDATE_RT, MANAGED("", "x.y/z"), NULL, NULL, 0 },

		{ VALIDATE_RT, MPI("", "", BY "sshd"), NULL,
		  "spec.template.metadata.annotations", 0 },
	};

	standin_set(&api, NULL);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_review(rows[i].path, rows[i].object, rows[i].old, rows[i].want,
			      rows[i].warnings);
	assert_string_equal((const char *)api.asked.data, "");
}

TEST(test_the_built_in_runtimes)
{
	size_t n = 0;

	for (const struct asset *a = assets; a->name; a++) {
		cleanup_json cJSON *docs = NULL;
		struct error err = { 0 };
		const cJSON *runtime;

		if (!str_starts(a->name, "runtimes/"))
			continue;
		assert_int_equal(yaml_parse(&docs, a->data, a->len, &err), 0);
		json_each(runtime, docs) {
			cleanup_free char *text = json_text(runtime);
			bool old = strstr(text, "deprecated");
			bool mpi = strstr(text, "\"mpi\":{"); /* as upstream's */

			assert_review(VALIDATE_CRT, text, NULL, NULL, old + mpi);
			n++;
		}
	}
	assert_true(n > 5);
}

TEST(test_objects_of_another_kind)
{
	static const char *const rows[] = {
		"{apiVersion: v1, kind: Pod}",
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: Other}",
		"{kind: TrainJob}",
		"{}",
		RT,
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *r = review(VALIDATE, rows[i], NULL);

		assert_false(json_bool(r, true, "allowed"));
		assert_int_equal(json_int(r, 0, "status", "code"), 400);
		assert_null(json_get(r, "status", "reason"));
	}
}

static void assert_http(const char *path, const char *type, const char *body, int status,
			int code)
{
	cleanup_json cJSON *doc = NULL;
	struct httpd_response resp;
	struct error err = { 0 };

	post(NULL, NULL, path, type, body, &resp);
	assert_int_equal(resp.status, status);
	if (status == 200) {
		if (json_parse(&doc, resp.body.data, resp.body.len, &err))
			fail_msg("%s", err.msg);
		assert_false(json_bool(doc, true, "response", "allowed"));
		assert_int_equal(json_int(doc, 0, "response", "status", "code"), code);
	}
	buf_release(&resp.body);
}

TEST(test_requests_that_are_none)
{
	cleanup_buf struct buf deep = { .max = 65536 }, many = { .max = 4000000 };
	cleanup_buf struct buf text = { .max = 4000000 };

	for (int i = 0; i < 1000; i++)
		buf_adds(&deep, "[");
	for (int i = 0; i < 100001; i++)
		buf_adds(&many, i ? ",1" : "[1");
	buf_adds(&text, "{\"a\":\"\\\"");
	for (int i = 0; i < 300000; i++)
		buf_adds(&text, "[1,");
	buf_adds(&text, "\"}");
	assert_http("/", "application/json", "{}", 404, 0);
	assert_http(MUTATE "/", "application/json", "{}", 404, 0);
	assert_http(MUTATE, "application/json; charset=utf-8", "{}", 200, 400);
	assert_http(MUTATE, "text/plain", "{}", 200, 400);
	assert_http(MUTATE, "application/jsonp", "{}", 200, 400);
	assert_http(MUTATE, "", "{}", 200, 400);
	assert_http(VALIDATE, "application/json", "", 200, 400);
	assert_http(VALIDATE, "application/json", "{", 200, 400);
	assert_http(VALIDATE, "application/json", "{}", 200, 400);
	assert_http(VALIDATE, "application/json", (const char *)deep.data, 200, 413);
	assert_http(VALIDATE_RT, "application/json", (const char *)many.data, 200, 413);
	assert_http(VALIDATE_RT, "application/json", (const char *)text.data, 200, 400);
}

TEST(test_figures)
{
	struct metrics *metrics = metrics_new(webhook_metrics);
	cleanup_buf struct buf text = { .max = 65536 };
	struct httpd_response resp;

	post(NULL, metrics, MUTATE, "application/json", "{}", &resp);
	buf_release(&resp.body);
	metrics_print(&text, metrics);
	assert_non_null(
		strstr((const char *)text.data,
		       "controller_runtime_webhook_requests_total{webhook=\"" MUTATE
		       "\",code=\"200\"} 1\n"));
	assert_non_null(
		strstr((const char *)text.data,
		       "controller_runtime_webhook_requests_total{webhook=\"" VALIDATE
		       "\",code=\"500\"} 0\n"));
	assert_non_null(
		strstr((const char *)text.data,
		       "controller_runtime_webhook_requests_in_flight{webhook=\"" MUTATE
		       "\"} 0\n"));
	assert_non_null(strstr(
		(const char *)text.data,
		"controller_runtime_webhook_latency_seconds_count{webhook=\"" MUTATE
		"\"} 1\n"));
	metrics_free(metrics);
}

/* ---- what does not fit at once waits ---- */

static void *call(void *ctx)
{
	struct caller *c = ctx;
	struct httpd_response resp;

	post_as(c, VALIDATE, "application/json", c->body, &resp);
	assert_int_equal(resp.status, c->status);
	buf_release(&resp.body);
	__atomic_store_n(&c->answered, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static bool answered(struct caller *c)
{
	return __atomic_load_n(&c->answered, __ATOMIC_SEQ_CST);
}

/* A review of that kind, with so many values in it; the caller's. */
static char *review_with(const char *kind, size_t n)
{
	cleanup_buf struct buf body = { .max = 16 * 1024 * 1024 };

	buf_printf(&body,
		   "{\"request\":{\"uid\":\"u\",\"namespace\":\"ns\",\"operation\":"
		   "\"CREATE\",\"object\":{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1"
		   "\",\"kind\":\"%s\",\"metadata\":{\"name\":\"tj\"},\"spec\":{"
		   "\"runtimeRef\":{\"apiGroup\":\"trainer.kubeflow.org\",\"kind\":"
		   "\"TrainingRuntime\",\"name\":\"rt\"}},\"x\":[0",
		   kind);
	for (; n; n--)
		buf_adds(&body, ",0");
	buf_adds(&body, "]}}}");
	return (char *)STEAL(body.data);
}

static void call_with(struct caller *c, struct webhook *w, const char *kind, size_t n,
		      int status)
{
	struct error err = { 0 };

	c->w = w;
	c->body = review_with(kind, n);
	c->answered = false;
	c->status = status;
	assert_int_equal(thread_start(&c->thread, call, c, &err), 0);
}

static void join(struct caller *c)
{
	pthread_join(c->thread, NULL);
	assert_true(answered(c));
	free(c->body);
}

/* An API server shows users the reason only if the answer has the review's uid. */
TEST(test_a_review_of_too_many_values_gets_its_answer)
{
	cleanup_free char *body = review_with("TrainJob", 100001);
	struct httpd_response resp = { 0 };

	post(NULL, NULL, VALIDATE, "application/json", body, &resp);
	assert_int_equal(resp.status, 200);
	assert_non_null(
		strstr((char *)resp.body.data, "\"uid\":\"u\",\"allowed\":false"));
	assert_non_null(strstr((char *)resp.body.data, "more than 100000 values"));
	buf_release(&resp.body);
}

enum { MANY = 20, LARGE = 49000 }; /* so many values: as many as are looked at at once */

/* They wait for their runtimes as long as the API server is held. */
static void call_many(struct caller first[MANY], struct webhook *w)
{
	pthread_mutex_lock(&api.lock);
	api.calls = 0;
	for (int i = 0; i < MANY; i++)
		call_with(&first[i], w, "TrainJob", LARGE, 200);
	while (__atomic_load_n(&api.calls, __ATOMIC_SEQ_CST) < MANY)
		clock_sleep_ms(1);
}

TEST(test_what_is_too_much_at_once_waits)
{
	const struct webhook_conf conf = { .kube = api.kube, .wait_ms = 600 * 1000 };
	struct webhook *w = webhook_new(&conf);
	struct caller first[MANY] = { 0 }, large = { 0 }, small = { 0 };

	standin_set(&api, with_runtime);
	call_many(first, w);
	call_with(&large, w, "Other", 100000 - 100, 200);
	call_with(&small, w, "Other", 10000, 200);
	join(&small);
	clock_sleep_ms(300);
	assert_false(answered(&large));
	pthread_mutex_unlock(&api.lock);
	for (int i = 0; i < MANY; i++)
		join(&first[i]);
	join(&large);
	webhook_free(w);
}

/* The API server would have given up: a thread that waits for ever helps nobody. */
TEST(test_what_is_too_much_at_once_does_not_wait_for_ever)
{
	const struct webhook_conf conf = { .kube = api.kube, .wait_ms = 200 };
	struct webhook *w = webhook_new(&conf);
	struct caller first[MANY] = { 0 }, large = { 0 };

	standin_set(&api, with_runtime);
	call_many(first, w);
	call_with(&large, w, "Other", 100000 - 100, 503);
	join(&large);
	pthread_mutex_unlock(&api.lock);
	for (int i = 0; i < MANY; i++)
		join(&first[i]);
	webhook_free(w);
}

static bool is_gone(struct httpd_stream *s)
{
	return false;
}

/* One whose connection is closed, and one that waits for a second, as its query says. */
TEST(test_a_review_that_nobody_waits_for_is_dropped)
{
	const struct webhook_conf conf = { .kube = api.kube, .wait_ms = 600 * 1000 };
	struct webhook *w = webhook_new(&conf);
	struct httpd_stream gone = { .listens = is_gone };
	struct caller first[MANY] = { 0 }, late;

	standin_set(&api, with_runtime);
	call_many(first, w);
	late = (struct caller){ .query = "timeout=1s" };
	call_with(&late, w, "Other", 100000 - 100, 503);
	join(&late);
	late = (struct caller){ .client = &gone };
	call_with(&late, w, "Other", 10, 503);
	join(&late);
	pthread_mutex_unlock(&api.lock);
	for (int i = 0; i < MANY; i++)
		join(&first[i]);
	webhook_free(w);
}

static int code_of(struct webhook *w, const char *path,
		   const struct admission_request *req)
{
	cleanup_admission_answer struct admission_answer answer = {
		.warnings = cJSON_CreateArray()
	};

	assert_true(webhook_review(w, path, req, &answer));
	return answer.code;
}

/* What a webhook that is configured otherwise is asked; `tj` would be refused. */
static void check_reviews(struct webhook *w, cJSON *tj)
{
	cleanup_json cJSON *large = standin_doc(TJ(""));
	cJSON *list = json_list(large, "spec", "x");
	const struct {
		enum admission_operation operation;
		const char *subresource;
		cJSON *object;
		int want;
	} rows[] = {
		{ ADMISSION_UPDATE, "", tj, 403 },
		{ ADMISSION_DELETE, "", tj, 0 },
		{ ADMISSION_UPDATE, "status", tj, 0 },
		{ ADMISSION_CREATE, "", large, 413 },
	};

	for (int i = 0; i < 50000; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNull());
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct admission_request req = { .operation = rows[i].operation,
						       .ns = "ns",
						       .subresource = rows[i].subresource,
						       .object = rows[i].object };

		assert_int_equal(code_of(w, VALIDATE, &req), rows[i].want);
	}
}

#define GANG                                                                           \
	"{" API ", kind: TrainingRuntime, metadata: {name: rt, namespace: ns}, spec: " \
	"{scheduling: {}, mlPolicy: {torch: {}}, template: {spec: "                    \
	"{replicatedJobs: " RJOB("node") "}}}}"

TEST(test_a_gate_that_is_off)
{
	cleanup_json cJSON *runtime = standin_doc(GANG);
	const struct admission_request req = { .operation = ADMISSION_CREATE,
					       .ns = "ns",
					       .subresource = "",
					       .object = runtime };

	for (int off = 0; off < 2; off++) {
		const struct webhook_conf conf = { .scheduling_off = off };
		struct webhook *w = webhook_new(&conf);

		assert_int_equal(code_of(w, VALIDATE_RT, &req), off ? 403 : 0);
		webhook_free(w);
	}
}

/* As the API of one machine asks it, without HTTP. */
TEST(test_review_in_process)
{
	static const char *const paths[] = { VALIDATE, "/validate" };
	const struct webhook_conf conf = { .kube = api.kube };
	struct webhook *w = webhook_new(&conf);
	cleanup_json cJSON *tj = standin_doc(TJ(RESERVED));
	struct httpd_response resp;
	const struct admission_request req = {
		.operation = ADMISSION_CREATE, .ns = "ns", .subresource = "", .object = tj
	};

	standin_set(&api, with_runtime);
	for (int i = 0; i < 2; i++) {
		cleanup_admission_answer struct admission_answer answer = {
			.warnings = cJSON_CreateArray()
		};

		assert_int_equal(webhook_review(w, paths[i], &req, &answer), !i);
		assert_int_equal(answer.code, i ? 0 : 403);
	}
	check_reviews(w, tj);
	post_to(w, paths[1], "application/json", "{}", &resp);
	assert_int_equal(resp.status, 404);
	assert_string_equal((const char *)resp.body.data, "404 page not found\n");
	buf_release(&resp.body);
	webhook_free(w);
}

RUN_TESTS(start, stop)
