/*
 * Defaults and pruning, as apiextensions-apiserver's algorithms say: a default
 * of a field in an object that is not there is not filled in; a null where none
 * may be counts as absent; what is unknown goes.
 */
#include "tests/unit/api/schema_fixture.h"

static const struct row {
	const char *what, *kind, *body, *want;
} defaults[] = {
	{ "TrainJob", "TrainJob", "spec: {runtimeRef: {name: rt}}",
	  "spec: {runtimeRef: {name: rt, apiGroup: trainer.kubeflow.org, "
	  "kind: ClusterTrainingRuntime}, suspend: false, "
	  "managedBy: trainer.kubeflow.org/trainjob-controller}" },
	{ "what is given stays", "TrainJob",
	  "spec: {runtimeRef: {name: rt, kind: TrainingRuntime, "
	  "apiGroup: x}, suspend: true, managedBy: "
	  "kueue.x-k8s.io/multikueue}",
	  "spec: {runtimeRef: {name: rt, kind: TrainingRuntime, "
	  "apiGroup: x}, suspend: true, managedBy: "
	  "kueue.x-k8s.io/multikueue}" },
	{ "no spec, no defaults", "TrainJob", "", "" },
	{ "null becomes the default", "TrainJob",
	  "spec: {runtimeRef: {name: rt, kind: null}, suspend: null, managedBy: null, "
	  "trainer: null}",
	  "spec: {runtimeRef: {name: rt, apiGroup: trainer.kubeflow.org, "
	  "kind: ClusterTrainingRuntime}, suspend: false, "
	  "managedBy: trainer.kubeflow.org/trainjob-controller}" },
	{ "deep in lists", "TrainJob",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {env: [{name: A, "
	  "valueFrom: {secretKeyRef: {key: k}}}, {name: B, value: null}]}}",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {env: [{name: A, "
	  "valueFrom: {secretKeyRef: {key: k, name: ''}}}, {name: B}]}}" },
	{ "values of a map", "TrainJob",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {resourcesPerNode: "
	  "{limits: {cpu: 1, memory: null}}}}",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {resourcesPerNode: "
	  "{limits: {cpu: 1}}}}" },
	{ "a null in a list stays", "TrainJob",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {args: [null, x]}}",
	  "spec: {runtimeRef: {name: a, kind: b, apiGroup: c}, "
	  "suspend: true, managedBy: d, trainer: {args: [null, x]}}" },
	{ "policies that are there", "TrainingRuntime",
	  "spec: {mlPolicy: {mpi: {}}, podGroupPolicy: {coscheduling: {}, volcano: "
	  "{networkTopology: {}}}}",
	  "spec: {mlPolicy: {mpi: {mpiImplementation: OpenMPI, numProcPerNode: 1, "
	  "runLauncherAsNode: false, sshAuthMountPath: /root/.ssh}}, podGroupPolicy: "
	  "{coscheduling: {scheduleTimeoutSeconds: 60}, volcano: {networkTopology: "
	  "{mode: hard, highestTierAllowed: 1}}}}" },
	{ "policies that are not", "TrainingRuntime",
	  "spec: {mlPolicy: {torch: {}, jax: null}, podGroupPolicy: {volcano: {}}}",
	  "spec: {mlPolicy: {torch: {}}, podGroupPolicy: {volcano: {}}}" },
	{ "an empty MPI implementation is one", "TrainingRuntime",
	  "spec: {mlPolicy: {mpi: {mpiImplementation: '', numProcPerNode: 2, "
	  "runLauncherAsNode: true, sshAuthMountPath: /x}}}",
	  "spec: {mlPolicy: {mpi: {mpiImplementation: '', numProcPerNode: 2, "
	  "runLauncherAsNode: true, sshAuthMountPath: /x}}}" },
	{ "JobSet and pods", "ClusterTrainingRuntime",
	  "spec: {template: {spec: {failurePolicy: {}, "
	  "replicatedJobs: [{name: a, template: {spec: {template: "
	  "{spec: {containers: [{name: c, ports: [{containerPort: "
	  "1}], livenessProbe: {grpc: {port: 2}}}], volumes: [{name: "
	  "v, azureDisk: {diskName: d, diskURI: u}}]}}}}}]}}}",
	  "spec: {template: {spec: {failurePolicy: {restartStrategy: "
	  "Recreate}, replicatedJobs: [{name: a, groupName: default, "
	  "replicas: 1, template: {spec: {template: {spec: "
	  "{containers: [{name: c, ports: [{containerPort: 1, "
	  "protocol: TCP}], livenessProbe: {grpc: {port: 2, service: "
	  "''}}}], volumes: [{name: v, azureDisk: {diskName: d, "
	  "diskURI: u, fsType: ext4, readOnly: false}}]}}}}}]}}}" },
	{ "wrong types are left alone", "TrainJob", "spec: [1, {runtimeRef: {}}]",
	  "spec: [1, {runtimeRef: {}}]" },
};

static const struct row prunes[] = {
	{ "unknown fields, anywhere", "TrainJob",
	  "spec: {x: 1, runtimeRef: {name: rt, y: {}}, trainer: {env: [{name: A, z: 1}]}}\n"
	  "w: 2",
	  "spec: {runtimeRef: {name: rt}, trainer: {env: [{name: A}]}}" },
	{ "an object without fields", "TrainingRuntime",
	  "spec: {mlPolicy: {jax: {a: 1}}}", "spec: {mlPolicy: {jax: {}}}" },
	{ "maps keep their keys", "TrainJob",
	  "spec: {trainer: {resourcesPerNode: {limits: {any.thing/x: "
	  "1}, limit: {cpu: 1}}}}",
	  "spec: {trainer: {resourcesPerNode: {limits: {any.thing/x: 1}}}}" },
	{ "metadata inside is labels, annotations, finalizers, name, namespace",
	  "TrainingRuntime",
	  "spec: {template: {metadata: {name: a, namespace: b, "
	  "labels: {c: d}, uid: e, finalizers: [f], annotations: {g: "
	  "h}, generateName: i, creationTimestamp: null}}}",
	  "spec: {template: {metadata: {name: a, namespace: b, labels: {c: d}, "
	  "finalizers: [f], annotations: {g: h}}}}" },
	{ "an object where a list or a text belongs", "TrainJob",
	  "spec: {trainer: {args: {a: 1}, image: {b: 2}}}",
	  "spec: {trainer: {args: {}, image: {}}}" },
};

static void check(const struct schema *schema, const struct row *row,
		  void (*change)(const struct schema *, cJSON *))
{
	cleanup_json cJSON *got = object(row->kind, row->body);
	cleanup_json cJSON *want = object(row->kind, row->want);
	cleanup_free char *text = NULL;

	change(schema, got);
	text = json_text(got);
	if (!json_equal(got, want))
		fail_msg("%s: %s", row->what, text);
	change(schema, got); /* a second time changes nothing */
	assert_true(json_equal(got, want));
}

TEST(test_defaults)
{
	for (size_t i = 0; i < N_ELEMENTS(defaults); i++)
		check(*state, &defaults[i], schema_default);
}

TEST(test_pruning)
{
	for (size_t i = 0; i < N_ELEMENTS(prunes); i++)
		check(*state, &prunes[i], schema_prune);
}

TEST(test_metadata_of_the_root)
{
	cleanup_json cJSON *got = yaml_doc("{apiVersion: trainer.kubeflow.org/v1alpha1, "
					   "kind: TrainJob, metadata: {name: a, "
					   "creationTimestamp: null, managedFields: "
					   "[{fieldsV1: {'f:spec': {}}}], x: 1}}");

	schema_prune(*state, got);
	schema_default(*state, got);
	assert_null(json_get(got, "metadata", "x"));
	assert_non_null(
		cJSON_GetObjectItem(json_get(got, "metadata"), "creationTimestamp"));
	assert_non_null(json_get(json_get(got, "metadata", "managedFields")->child,
				 "fieldsV1", "f:spec"));
}

/* A default is filled in like what is given. */
TEST(test_defaults_of_a_default)
{
	static const char text[] =
		"group: g\n"
		"version: v1\n"
		"kinds:\n"
		"  Thing: {plural: things, scope: Namespaced, schema: {$ref: Thing}}\n"
		"definitions:\n"
		"  Thing:\n"
		"    type: object\n"
		"    properties:\n"
		"      o:\n"
		"        type: object\n"
		"        default: {}\n"
		"        properties: {x: {type: string, default: d}}\n";
	cleanup_json cJSON *none = yaml_doc("{apiVersion: g/v1, kind: Thing}");
	cleanup_json cJSON *null = yaml_doc("{apiVersion: g/v1, kind: Thing, o: null}");
	struct error err = { 0 };
	struct schema *schema = NULL;

	if (schema_load(&schema, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	schema_default(schema, none);
	schema_default(schema, null);
	schema_free(schema);
	assert_string_equal(json_str(none, "o", "x"), "d");
	assert_string_equal(json_str(null, "o", "x"), "d");
}

TEST(test_other_kinds_are_left_alone)
{
	cleanup_json cJSON *got = yaml_doc("{apiVersion: v1, kind: Pod, x: null}");
	cleanup_json cJSON *copy = json_dup(got);

	schema_default(*state, got);
	schema_prune(*state, got);
	assert_true(cJSON_Compare(got, copy, true));
}

RUN_TESTS(group_setup, group_teardown)
