/* Rules: upstream pkg/runtime/framework/plugins/jobset, trainjobstatus; JobSet's webhook. */
#include "tests/unit/plugins/build.h"
#include "trainer/framework.h"
#include "trainer/trainjob_status.h"

TEST(test_the_object)
{
	cleanup_json cJSON *o = build(
		"{trainer: {}, suspend: true}",
		"{mlPolicy: {torch: {}}, template: {metadata: {labels: {l: "
		"'1'}, annotations: {a: '2'}}, spec: {suspend: false, "
		"ttlSecondsAfterFinished: 5, replicatedJobs: [{name: node, "
		"replicas: 3, groupName: g, template: {" TRAINS
		" spec: {backoffLimit: 2, template: {spec: {" ONE("node") "}}}}}]}}}");
	const cJSON *jobset = object(o, "JobSet");

	assert_doc(json_get(jobset, "metadata"),
		   "{name: tj, namespace: ns, ownerReferences: [{apiVersion: "
		   "trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tj, uid: u-1, "
		   "controller: true, blockOwnerDeletion: true}], labels: {l: '1'}, "
		   "annotations: {a: '2'}}");
	assert_true(json_bool(jobset, false, "spec", "suspend"));
	assert_int_equal(json_int(jobset, 0, "spec", "ttlSecondsAfterFinished"), 5);
	/* a job with a role has one replica */
	assert_int_equal(json_int(rjob(o, "node"), 0, "replicas"), 1);
	assert_string_equal(json_str(rjob(o, "node"), "groupName"), "g");
	assert_int_equal(json_int(rjob(o, "node"), 0, "template", "spec", "backoffLimit"),
			 2);
}

TEST(test_no_owner_without_uid)
{
	cleanup_json cJSON *tj = job("{trainer: {}}");
	cleanup_json cJSON *rt = runtime(RUNTIME("mpi: {}", PLAIN_NODE));
	struct error err = { 0 };
	cleanup_json cJSON *o = NULL;
	const cJSON *obj;

	json_del(tj, JSON_PATH("metadata", "uid"));
	o = build_with(&offline, tj, rt, &err);
	json_each(obj, o)
		assert_null(json_get(obj, "metadata", "ownerReferences"));
}

TEST(test_order_of_objects)
{
	static const char *const want[] = { "ConfigMap", "ConfigMap", "Secret",
					    "PodGroup", "JobSet" };
	struct plugin_env env = { .keys = &keys_placeholder,
				  .status_server = true,
				  .status_server_url = "https://s.k.svc:10443",
				  .status_server_ca = "CA" };
	cleanup_json cJSON *tj = job("{trainer: {}}");
	cleanup_json cJSON *rt = runtime(
		"{mlPolicy: {mpi: {}}, podGroupPolicy: {volcano: {}}, template: {spec: "
		"{replicatedJobs: [" RJOB("node", TRAINS, ONE("node")) "]}}}");
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&env, tj, rt, &err);
	const cJSON *obj;
	size_t i = 0;

	json_each(obj, o)
		assert_string_equal(meta_kind(obj), want[i++]);
	assert_int_equal(i, 5);
}

TEST(test_two_runs_are_equal)
{
	static const char *const policies[] = { "torch: {}", "jax: {}",  "xgboost: {}",
						"mpi: {}",   "flux: {}", "numNodes: 1" };

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *rt = arena_printf(
			&a,
			"{mlPolicy: {%s}, podGroupPolicy: {coscheduling: {}}, "
			"template: {spec: {replicatedJobs: [" RJOB("node", TRAINS,
								   ONE("node")) "]}}}",
			policies[i]);
		const char *tj = "{trainer: {numNodes: 2, env: [{name: A, value: b}]}}";
		cleanup_json cJSON *one = build(tj, rt), *two = build(tj, rt);
		cleanup_free char *one_text = json_text(one), *two_text = json_text(two);

		assert_string_equal(one_text, two_text);
	}
}

TEST(test_what_runs_is_left_alone)
{
	static const struct {
		const char *job, *jobset;
		bool applied;
	} rows[] = {
		{ "{suspend: false}", "{suspend: false}", false },
		{ "{}", "{}", false },
		{ "{suspend: true}", "{suspend: false}", true },
		{ "{suspend: false}", "{suspend: true}", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *have = doc(arena_printf(
			&a,
			"[{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, "
			"metadata: {name: tj}, spec: %s}]",
			rows[i].jobset));
		cleanup_json cJSON *tj = job(rows[i].job);
		cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
		struct plugin_env env = cluster(have);
		struct error err = { 0 };
		cleanup_json cJSON *o = build_with(&env, tj, rt, &err);

		assert_int_equal(object(o, "JobSet") != NULL, rows[i].applied);
	}
}

#define INITIALIZERS                                                                           \
	"{template: {spec: {replicatedJobs: [" RJOB(                                           \
		"dataset-initializer", ROLE("dataset-initializer"),                            \
		WITH("dataset-initializer",                                                    \
		     "env: [{name: A, value: '1'}], envFrom: "                                 \
		     "[{configMapRef: {name: c}}], "                                           \
		     "volumeMounts: [{name: initializer, "                                     \
		     "mountPath: /w}]")) ", " RJOB("model-initializer",                        \
						   ROLE("model-initializer"),                  \
						   ONE("model-initializer")) ", " RJOB("node", \
										       TRAINS, \
										       ONE("node")) "]}}}"

TEST(test_initializers)
{
	cleanup_json cJSON *o = build(
		"{initializer: {dataset: {storageUri: hf://a/b, env: [{name: B, value: "
		"'2'}, {name: STORAGE_URI, value: mine}], secretRef: {name: s}}, model: "
		"{storageUri: ''}}}",
		INITIALIZERS);
	const cJSON *c = container(o, "dataset-initializer", "dataset-initializer");

	assert_env(c, "A=1 STORAGE_URI=mine B=2");
	assert_doc(json_get(c, "envFrom"),
		   "[{configMapRef: {name: c}}, {secretRef: {name: s}}]");
	assert_env(container(o, "model-initializer", "model-initializer"),
		   "STORAGE_URI=");
}

TEST(test_initializers_need_their_jobs)
{
	assert_errors(
		"{initializer: {dataset: {}, model: {}}}",
		RUNTIME("torch: {}", PLAIN_NODE),
		ERRORS("spec.runtimeRef: Invalid value: {\"name\":\"rt\",\"apiGroup\":"
		       "\"trainer.kubeflow.org\",\"kind\":\"TrainingRuntime\"}: "
		       "|job \"dataset-initializer\"",
		       "spec.runtimeRef: Invalid value: |job \"model-initializer\""));
	assert_errors(
		"{initializer: {dataset: {}, model: {}}}", INITIALIZERS,
		ERRORS("spec.runtimeRef: Invalid value: |volumeMount \"initializer\" in "
		       "container \"model-initializer\""));
}

/*
 * An emptied metadata that is still applied as {} becomes null in the API
 * server, which then refuses every further apply.
 */
TEST(test_correction_04_empty_metadata_is_left_out)
{
	cleanup_json cJSON *o =
		build("{runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: "
		      "{template: {spec: {replicatedJobs: [{name: node, "
		      "template: {metadata: {annotations: {}}, spec: {template: "
		      "{metadata: {labels: {}, annotations: null}}}}}]}}}}]}",
		      "{template: {metadata: {labels: {}}, spec: "
		      "{replicatedJobs: [{name: node, template: {spec: "
		      "{template: {metadata: {}, spec: {" ONE("node") "}}}}}]}}}");

	assert_null(json_get(object(o, "JobSet"), "metadata", "labels"));
	assert_false(
		cJSON_HasObjectItem(json_get(rjob(o, "node"), "template"), "metadata"));
	assert_false(cJSON_HasObjectItem(
		json_get(rjob(o, "node"), "template", "spec", "template"), "metadata"));
}

TEST(test_names_that_jobset_refuses)
{
	/* numNodes is the job's: a longer index makes a longer name */
	static const struct {
		const char *name, *rjob, *nodes;
		bool good;
	} rows[] = {
		/* name-node-0-0-abcde: 15 characters of its own */
		{ "a23456789012345678901234567890123456789012345678", "node", "1", true },
		{ "a234567890123456789012345678901234567890123456789", "node", "1",
		  false },
		{ "a23456789012345678901234567890123456789012345678", "node", "11",
		  false },
		{ "tj", "Node", "1", false },
		{ "tj", "n_1", "1", false },
		{ "1tj", "node", "1", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *tj =
			job(arena_printf(&a, "{trainer: {numNodes: %s}}", rows[i].nodes));
		cleanup_json cJSON *rt = runtime(
			arena_printf(&a,
				     "{mlPolicy: {torch: {}}, template: {spec: "
				     "{replicatedJobs: [{name: "
				     "'%s', template: {" TRAINS
				     " spec: {template: {spec: {" ONE("node") "}}}}}]}}}",
				     rows[i].rjob));
		cleanup_free char *text = NULL, *update = NULL;

		json_put_str(tj, rows[i].name, "metadata", "name");
		text = admission_with(&offline, NULL, tj, rt);
		update = admission_with(&offline, tj, tj, rt);
		if (str_starts(text, "metadata.name: Invalid value: ") == rows[i].good)
			fail_msg("%s: %s", rows[i].name, text);
		assert_string_equal(update, ""); /* it is there already */
	}
}

TEST(test_status_server)
{
	struct plugin_env env = { .keys = &keys_placeholder,
				  .status_server = true,
				  .status_server_url = "https://s.k.svc:10443" };
	cleanup_json cJSON *tj = job("{trainer: {env: [{name: U, value: u}]}}");
	cleanup_json cJSON *rt =
		runtime("{mlPolicy: {jax: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS,
			"initContainers: [{name: init}], containers: [{name: "
			"node}, {name: side}]") "]}}}");
	struct error err = { 0 };
	cleanup_json cJSON *o = NULL;

	assert_null(build_with(&env, tj, rt, &err)); /* no CA yet */
	env.status_server_ca = "CA";
	o = build_with(&env, tj, rt, &err);
#define SERVER                                                                         \
	"KUBEFLOW_TRAINER_SERVER_URL=https://s.k.svc:10443/apis/trainer.kubeflow.org/" \
	"v1alpha1/namespaces/ns/trainjobs/tj/status "                                  \
	"KUBEFLOW_TRAINER_SERVER_CA_CERT=/var/run/secrets/kubeflow/trainer/ca.crt "    \
	"KUBEFLOW_TRAINER_SERVER_TOKEN=/var/run/secrets/kubeflow/trainer/token"
	assert_env(container(o, "node", "side"), SERVER);
	assert_env(container(o, "node", "init"), "");
	/* after the policy's, before the job's */
	assert_env(container(o, "node", "node"),
		   "JAX_NUM_PROCESSES=1 JAX_PROCESS_ID<" INDEX
		   " JAX_COORDINATOR_ADDRESS=tj-node-0-0.tj:29500 " SERVER " U=u");
	assert_doc(json_get(pod(o, "node"), "volumes"),
		   "[{name: kubeflow-trainer-token, projected: {sources: "
		   "[{serviceAccountToken: {audience: "
		   "trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status, "
		   "expirationSeconds: 3600, path: token}}, {configMap: {name: "
		   "tj-tls-config, items: [{key: ca.crt, path: ca.crt}]}}]}}]");
	assert_doc(json_get(object(o, "ConfigMap"), "data"), "{ca.crt: CA}");
}

TEST(test_status)
{
	static const struct plugin *const none[] = { &plugin_torch, NULL };
	const struct plugin *p = framework_status_plugin(plugins);
	cleanup_json cJSON *status = cJSON_CreateObject();
	cleanup_json cJSON *tj = job("{}");
	cJSON *jobset = cJSON_CreateObject(), *c = cJSON_CreateObject();
	struct error err = { 0 };

	assert_ptr_equal(p, &plugin_jobset);
	assert_null(framework_status_plugin(none));
	json_put_str(c, "Completed", "type");
	json_put_str(c, "True", "status");
	cJSON_AddItemToArray(json_list(jobset, "status", "conditions"), c);
	assert_int_equal(p->status(&offline, tj, jobset, status, &err), 0);
	assert_true(status_is_true(status, COND_COMPLETE));
	cJSON_Delete(jobset);
}

TEST(test_the_list)
{
	size_t n = 0, with_status = 0;

	for (; plugins[n]; n++) {
		with_status += plugins[n]->status != NULL;
		for (size_t k = 0; k < n; k++)
			assert_string_not_equal(plugins[n]->name, plugins[k]->name);
	}
	assert_int_equal(n, 20);
	assert_int_equal(with_status, 1);
	assert_ptr_equal(plugins[n - 1], &plugin_jobset);
}

RUN_TESTS(NULL, NULL)
