/*
 * What is wrong with an object: paths, types and wording as the API server has
 * them (kube-openapi pkg/validation, apimachinery pkg/api/validation); every
 * fault at once, in the order of the document.
 */
#include "tests/unit/api/schema_fixture.h"

#define TJ "spec: {runtimeRef: {name: rt}, "
#define TR "spec: "

static const struct row {
	const char *what, *kind, *body, *want;
} rows[] = {
	{ "the least", "TrainJob", TJ "}", "" },
	{ "no runtimeRef", "TrainJob", "spec: {}", "spec.runtimeRef: Required value\n" },
	{ "no name of it", "TrainJob", "spec: {runtimeRef: {}}",
	  "spec.runtimeRef.name: Required value\n" },
	{ "null is absent", "TrainJob", "spec: {runtimeRef: {name: null}, suspend: null}",
	  "spec.runtimeRef.name: Required value\n" },
	{ "too short", "TrainJob", "spec: {runtimeRef: {name: ''}}",
	  "spec.runtimeRef.name: Invalid value: \"\": "
	  "spec.runtimeRef.name in body should be at least 1 chars long\n" },
	{ "a number as text", "TrainJob", TJ "trainer: {numNodes: '2'}}",
	  "spec.trainer.numNodes: Invalid value: \"string\": "
	  "spec.trainer.numNodes in body must be of type integer: "
	  "\"string\"; write it without quotes\n" },
	{ "a word of torchrun", "TrainJob", TJ "trainer: {numProcPerNode: auto}}",
	  "spec.trainer.numProcPerNode: Invalid value: \"string\": "
	  "spec.trainer.numProcPerNode in body must be of type integer: \"string\"; "
	  "remove it; it is the default\n" },
	{ "a field that was, and its word", "TrainingRuntime",
	  "spec: {mlPolicy: {torch: {numProcPerNode: cpu}}}",
	  "spec.mlPolicy.torch.numProcPerNode: Unknown field: remove it; without GPUs, "
	  "the default is a process for each CPU\n" },
	{ "... another value", "TrainingRuntime",
	  "spec: {mlPolicy: {torch: {numProcPerNode: 2}}}",
	  "spec.mlPolicy.torch.numProcPerNode: Unknown field: use "
	  "spec.trainer.numProcPerNode of the TrainJob\n" },
	{ "a fraction", "TrainJob", TJ "trainer: {numNodes: 1.5}}",
	  "spec.trainer.numNodes: Invalid value: \"number\": "
	  "spec.trainer.numNodes in body must be of type integer: "
	  "\"number\"\n" },
	{ "a whole number however it is written", "TrainJob",
	  TJ "trainer: {numNodes: 2.0}}", "" },
	{ "no nodes", "TrainJob", TJ "trainer: {numNodes: 0}}",
	  "spec.trainer.numNodes: Invalid value: 0: "
	  "spec.trainer.numNodes in body should be greater than or "
	  "equal to 1\n" },
	{ "a runtime without nodes", "TrainingRuntime", "spec: {mlPolicy: {numNodes: 0}}",
	  "spec.mlPolicy.numNodes: Invalid value: 0: "
	  "spec.mlPolicy.numNodes in body should be greater than or "
	  "equal to 1\n" },
	{ "fewer than none", "TrainJob", TJ "trainer: {numNodes: -1}}",
	  "spec.trainer.numNodes: Invalid value: -1: "
	  "spec.trainer.numNodes in body should be greater than or "
	  "equal to 1\n" },
	{ "beyond int32", "TrainJob", TJ "trainer: {numNodes: 99999999999}}",
	  "spec.trainer.numNodes: Invalid value: 99999999999: must "
	  "be from 1 to 2147483647\n" },
	{ "beyond int64", "TrainJob", TJ "trainer: {numNodes: 99999999999999999999}}",
	  "spec.trainer.numNodes: Invalid value: \"number\": "
	  "spec.trainer.numNodes in body must be of type integer: "
	  "\"number\"\n" },
	{ "no processes", "TrainJob", TJ "trainer: {numProcPerNode: 0}}",
	  "spec.trainer.numProcPerNode: Invalid value: 0: must be 1 or more\n" },
	{ "no time", "TrainJob", TJ "activeDeadlineSeconds: 0}",
	  "spec.activeDeadlineSeconds: Invalid value: 0: "
	  "spec.activeDeadlineSeconds in body should be greater than "
	  "or equal to 1\n" },
	{ "too long a name", "TrainJob",
	  TJ
	  "trainer: {image: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}}",
	  "spec.trainer.image: Too long: may not be more than 500 bytes\n" },
	{ "unknown, near", "TrainJob", TJ "trainer: {numNode: 2}}",
	  "spec.trainer.numNode: Unknown field: did you mean 'numNodes'?\n" },
	{ "unknown, far", "TrainJob", TJ "somethingElse: 2}",
	  "spec.somethingElse: Unknown field: the fields are runtimeRef, trainer, "
	  "initializer, runtimePatches, suspend, activeDeadlineSeconds, "
	  "ttlSecondsAfterFinished, managedBy\n" },
	{ "what was", "TrainJob", TJ "podTemplateOverrides: []}",
	  "spec.podTemplateOverrides: Unknown field: use runtimePatches; "
	  "'kftrainer convert' translates it\n" },
	{ "of a runtime, or of the trainer", "TrainJob",
	  TJ "mlPolicy: {}, podGroupPolicy: {}, numNodes: 2, image: x}",
	  "spec.mlPolicy: Unknown field: use trainer.numNodes and "
	  "trainer.numProcPerNode; a runtime has mlPolicy\n"
	  "spec.podGroupPolicy: Unknown field: use a runtime with podGroupPolicy; "
	  "a TrainJob has none\n"
	  "spec.numNodes: Unknown field: use trainer.numNodes\n"
	  "spec.image: Unknown field: use trainer.image\n" },
	{ "unknown, near to what people expect there", "TrainJob",
	  TJ "trainer: {enviroment: [], nproc: 2}}",
	  "spec.trainer.enviroment: Unknown field: use env\n"
	  "spec.trainer.nproc: Unknown field: use numProcPerNode\n" },
	{ "a resource that has another name", "TrainJob",
	  TJ "trainer: {resourcesPerNode: {limits: {gpu: 1, cpu: 2, mem: 1x}}}}",
	  "spec.trainer.resourcesPerNode.limits.gpu: Invalid value: \"gpu\": use "
	  "nvidia.com/gpu\n"
	  "spec.trainer.resourcesPerNode.limits.mem: Invalid value: \"mem\": use memory\n"
	  "spec.trainer.resourcesPerNode.limits.mem: Invalid value: \"1x\": must "
	  "be a quantity, such as 500m, 2 or 16Gi\n" },
	{ "a command as one text", "TrainJob", TJ "trainer: {command: python  a.py}}",
	  "spec.trainer.command: Invalid value: \"string\": spec.trainer.command in "
	  "body must be of type array: \"string\"; write it as a list: "
	  "[\"python\",\"a.py\"]\n" },
	{ "a command that a shell shall read", "TrainJob",
	  TJ "trainer: {command: 'a > \"b c\"'}}",
	  "spec.trainer.command: Invalid value: \"string\": spec.trainer.command in "
	  "body must be of type array: \"string\"; write it as a list: "
	  "[\"sh\",\"-c\",\"a > \\\"b c\\\"\"]\n" },
	{ "a text for a mapping: its fields", "TrainJob",
	  "spec: {runtimeRef: torch-distributed}",
	  "spec.runtimeRef: Invalid value: \"string\": spec.runtimeRef in body must be of "
	  "type object: \"string\"; the fields are name, kind, apiGroup\n" },
	{ "... a variable", "TrainJob", TJ "trainer: {env: [A=b]}}",
	  "spec.trainer.env[0]: Invalid value: \"string\": spec.trainer.env[0] in body must "
	  "be of type object: \"string\"; the fields are name, value, valueFrom\n" },
	{ "a mapping for a list of them", "TrainJob", TJ "trainer: {env: {A: b}}}",
	  "spec.trainer.env: Invalid value: \"object\": spec.trainer.env in body must be of "
	  "type array: \"object\"; begin each item with '- '\n" },
	{ "... which has no space after its colon", "TrainJob",
	  TJ "trainer: 'numNodes:2'}",
	  "spec.trainer: Invalid value: \"string\": spec.trainer in body must be of type "
	  "object: \"string\"; write a space after the ':'\n" },
	{ "fields that are not indented", "TrainJob", TJ "}\ntrainer: {}",
	  "trainer: Unknown field: it belongs in spec: indent it\n" },
	{ "a number with a space of no width behind it", "TrainJob",
	  TJ "trainer: {numNodes: 2\xe2\x80\x8b}}",
	  "spec.trainer.numNodes: Invalid value: \"string\": spec.trainer.numNodes in body "
	  "must be of type integer: \"string\"; it has the character U+200B, which is no "
	  "digit\n" },
	{ "a quantity with a point", "TrainJob",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 0.5}}}}",
	  "spec.trainer.resourcesPerNode.limits.cpu: Invalid value: \"number\": "
	  "spec.trainer.resourcesPerNode.limits.cpu in body must be of type "
	  "integer,string: \"number\"; write it in quotes\n" },
	{ "resources without limits", "TrainJob",
	  TJ "trainer: {resourcesPerNode: {cpu: 2}, gpus: 1, cmd: [a]}}",
	  "spec.trainer.resourcesPerNode.cpu: Unknown field: use limits.cpu\n"
	  "spec.trainer.gpus: Unknown field: use resourcesPerNode.limits with "
	  "nvidia.com/gpu\n"
	  "spec.trainer.cmd: Unknown field: use command\n" },
	{ "one variable without a name", "TrainJob", TJ "trainer: {env: [{value: x}]}}",
	  "spec.trainer.env[0].name: Required value\n" },
	{ "variables without names are not duplicates", "TrainJob",
	  TJ "trainer: {env: [{name: A}, {value: x}, {value: x}, {name: A}]}}",
	  "spec.trainer.env[1].name: Required value\n"
	  "spec.trainer.env[2].name: Required value\n"
	  "spec.trainer.env[3]: Duplicate value: {\"name\":\"A\"}\n" },
	{ "a pattern", "TrainJob",
	  TJ "}\n"
	     "status: {conditions: [{type: A, status: 'True', reason: 'a b', message: "
	     "'', lastTransitionTime: '2026-01-31T23:59:59Z'}]}",
	  "status.conditions[0].reason: Invalid value: \"a b\": "
	  "status.conditions[0].reason in "
	  "body should match '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'\n" },
	{ "unknown at the root", "TrainJob", TJ "}\nSpec: {}",
	  "Spec: Unknown field: did you mean 'spec'?\n" },
	{ "a field of V1", "TrainingRuntime", TR "{mlPolicy: {jax: {x: 1}}}",
	  "spec.mlPolicy.jax.x: Unknown field\n" },
	{ "several at once, in their order", "TrainJob",
	  "spec: {trainer: {numNodes: x, args: [1], image: [], env: [{value: 1}]}, "
	  "suspend: 'yes'}",
	  "spec.trainer.numNodes: Invalid value: \"string\": spec.trainer.numNodes "
	  "in body must be of type integer: \"string\"\n"
	  "spec.trainer.args[0]: Invalid value: \"integer\": spec.trainer.args[0] "
	  "in body must be of type string: \"integer\"; write it in quotes\n"
	  "spec.trainer.image: Invalid value: \"array\": spec.trainer.image in "
	  "body must be of type string: \"array\"\n"
	  "spec.trainer.env[0].value: Invalid value: \"integer\": "
	  "spec.trainer.env[0].value in body must be of type string: \"integer\"; "
	  "write it in quotes\n"
	  "spec.trainer.env[0].name: Required value\n"
	  "spec.suspend: Invalid value: \"string\": spec.suspend in body must be "
	  "of type boolean: \"string\"\n"
	  "spec.runtimeRef: Required value\n" },
	{ "a null in a list", "TrainJob", TJ "trainer: {args: [null]}}",
	  "spec.trainer.args[0]: Invalid value: \"null\": "
	  "spec.trainer.args[0] in body must be of type string: \"null\"\n" },
	{ "keys twice, three times", "TrainJob",
	  TJ "trainer: {env: [{name: A}, {name: A, value: x}, {name: B}, {name: A}]}}",
	  "spec.trainer.env[1]: Duplicate value: {\"name\":\"A\"}\n" },
	{ "keys by default", "TrainingRuntime",
	  TR "{template: {spec: {replicatedJobs: [{name: a, template: "
	     "{spec: {template: {spec: {containers: [{name: c, ports: "
	     "[{containerPort: 1}, {containerPort: 1, protocol: TCP}, "
	     "{containerPort: 1, protocol: UDP}]}]}}}}}]}}}",
	  "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].ports[1]: Duplicate value: {\"containerPort\":1,\"protocol\":\"TCP\"}\n" },
	{ "a quantity", "TrainJob",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 1x, memory: "
	     "1Gi, a: 2, b: .5, c: 1e3, d: true}}}}",
	  "spec.trainer.resourcesPerNode.limits.cpu: Invalid value: \"1x\": must "
	  "be a quantity, such as 500m, 2 or 16Gi\n"
	  "spec.trainer.resourcesPerNode.limits.b: Invalid value: \"number\": "
	  "spec.trainer.resourcesPerNode.limits.b in body must be of type "
	  "integer,string: \"number\"; write it in quotes\n"
	  "spec.trainer.resourcesPerNode.limits.d: Invalid value: \"boolean\": "
	  "spec.trainer.resourcesPerNode.limits.d in body must be of type "
	  "integer,string: \"boolean\"\n" },
	{ "managedBy", "TrainJob", TJ "managedBy: me}",
	  "spec.managedBy: Invalid value: \"me\": must be "
	  "trainer.kubeflow.org/trainjob-controller "
	  "or kueue.x-k8s.io/multikueue\n" },
	{ "storageUri", "TrainJob",
	  TJ "initializer: {dataset: {storageUri: 'hf://a/b'}, model: {storageUri: ''}}}",
	  "" },
	{ "no scheme", "TrainJob",
	  TJ "initializer: {dataset: {storageUri: a/b}, model: {storageUri: 'hf://'}}}",
	  "spec.initializer.dataset.storageUri: Invalid value: \"a/b\": must be "
	  "empty or a URI with a scheme, such as hf://org/name\n"
	  "spec.initializer.model.storageUri: Invalid value: \"hf://\": must be "
	  "empty or a URI with a scheme, such as hf://org/name\n" },
	{ "a date", "TrainJob", TJ "runtimePatches: [{manager: a/b, time: tomorrow}]}",
	  "spec.runtimePatches[0].time: Invalid value: \"tomorrow\": "
	  "spec.runtimePatches[0].time "
	  "in body must be of type date-time, such as 2026-01-31T23:59:59Z\n" },
	{ "all of it", "TrainJob",
	  TJ "}\n"
	     "status: {trainerStatus: {progressPercentage: 100, lastUpdatedTime: "
	     "'2026-01-31T23:59:59Z'}}",
	  "" },
	{ "trainerStatus", "TrainJob",
	  TJ "}\nstatus: {trainerStatus: {progressPercentage: 101}}",
	  "status.trainerStatus.progressPercentage: Invalid value: 101: "
	  "status.trainerStatus.progressPercentage in body should be less than or "
	  "equal to 100\n"
	  "status.trainerStatus: Invalid value: \"object\": must have lastUpdatedTime\n" },
	{ "an empty status", "TrainJob", TJ "}\nstatus: {}",
	  "status: Invalid value: 0: status in body should have at "
	  "least 1 properties\n" },
	{ "what Go writes for an unset time and status", "TrainingRuntime",
	  TR
	  "{mlPolicy: {torch: {}}, template: {metadata: {creationTimestamp: null}, "
	  "spec: {replicatedJobs: [{name: node, template: {metadata: "
	  "{creationTimestamp: null}, spec: {template: {metadata: {creationTimestamp: "
	  "null}, spec: {containers: [{name: node, resources: {}}]}}}}}]}}}\nstatus: {}",
	  "" },
	{ "a time that is set, and another null", "TrainingRuntime",
	  TR "{template: {metadata: {creationTimestamp: '2026-01-31T23:59:59Z', x: "
	     "null}}}\nstatus: {a: 1}",
	  "spec.template.metadata.creationTimestamp: Unknown field: the fields are "
	  "annotations, finalizers, labels, name, namespace\n"
	  "spec.template.metadata.x: Unknown field: the fields are annotations, "
	  "finalizers, labels, name, namespace\n"
	  "status: Unknown field: the fields are apiVersion, kind, metadata, spec\n" },
	{ "an empty spec", "TrainingRuntime", TR "{}",
	  "spec: Invalid value: 0: spec in body should have at least 1 properties\n" },
	{ "only unknown fields count as none", "TrainingRuntime", TR "{template: {x: 1}}",
	  "spec.template: Invalid value: 0: spec.template in body should have at "
	  "least 1 properties\n"
	  "spec.template.x: Unknown field: the fields are metadata, spec\n" },
	{ "MPI implementation", "TrainingRuntime",
	  TR "{mlPolicy: {mpi: {mpiImplementation: Mpich}}}",
	  "spec.mlPolicy.mpi.mpiImplementation: Unsupported value: "
	  "\"Mpich\": supported values: \"OpenMPI\", \"Intel\", "
	  "\"MPICH\", \"\"\n" },
	{ "Intel MPI", "TrainingRuntime",
	  TR "{mlPolicy: {mpi: {mpiImplementation: Intel}}}", "" },
	{ "MPICH", "ClusterTrainingRuntime",
	  TR "{mlPolicy: {mpi: {mpiImplementation: MPICH}}}", "" },
	{ "empty means OpenMPI", "TrainingRuntime",
	  TR "{mlPolicy: {mpi: {mpiImplementation: ''}}}", "" },
	{ "two policies", "ClusterTrainingRuntime", TR "{mlPolicy: {torch: {}, jax: {}}}",
	  "spec.mlPolicy: Invalid value: \"object\": at most one of "
	  "torch, mpi, jax, xgboost and flux can be set\n" },
	{ "one policy and a null", "TrainingRuntime",
	  TR "{mlPolicy: {torch: {}, jax: null}}", "" },
	{ "flux", "TrainingRuntime", TR "{mlPolicy: {flux: {numProcPerNode: 0}}}",
	  "spec.mlPolicy.flux.numProcPerNode: Invalid value: 0: must be 1 or more\n" },
	{ "env injection into the trainer", "TrainingRuntime",
	  TR "{mlPolicy: {torch: {envInjection: {targets: [{jobName: a, "
	     "containerNames: [b, node]}]}}}}",
	  "spec.mlPolicy.torch.envInjection.targets[0].containerNames: Invalid value: \"array\": must not name the container node, which has the PET_ variables anyway\n" },
	{ "too many, a set", "TrainingRuntime",
	  TR "{mlPolicy: {torch: {envInjection: {targets: [{jobName: x, containerNames: "
	     "[a, b, c, d, e, f, g, h, a]}]}}}}",
	  "spec.mlPolicy.torch.envInjection.targets[0].containerNames: Too many: "
	  "9: must have at most 8 items\n"
	  "spec.mlPolicy.torch.envInjection.targets[0].containerNames[8]: "
	  "Duplicate value: \"a\"\n" },
	{ "too few", "TrainingRuntime",
	  TR "{mlPolicy: {torch: {envInjection: {targets: [{jobName: x, "
	     "containerNames: []}]}}}}",
	  "spec.mlPolicy.torch.envInjection.targets[0].containerNames: Invalid value: 0: spec.mlPolicy.torch.envInjection.targets[0].containerNames in body should have at least 1 items\n" },
	{ "start in order or depend", "TrainingRuntime",
	  TR "{template: {spec: {startupPolicy: {startupPolicyOrder: "
	     "InOrder}, replicatedJobs: [{name: a, dependsOn: [], "
	     "template: {}}]}}}",
	  "spec.template.spec: Invalid value: \"object\": "
	  "startupPolicy InOrder and dependsOn exclude each other\n" },
	{ "no namespace of a claim", "TrainingRuntime",
	  TR "{template: {spec: {volumeClaimPolicies: [{templates: [{metadata: "
	     "{namespace: a}}]}]}}}",
	  "spec.template.spec.volumeClaimPolicies[0]: Invalid value: "
	  "\"object\": the templates must not have a namespace\n" },
	{ "in order without jobs", "TrainingRuntime",
	  TR "{template: {spec: {startupPolicy: {startupPolicyOrder: InOrder}}}}",
	  "spec.template.spec: Invalid value: \"object\": startupPolicy InOrder and "
	  "dependsOn exclude each other\n" },
	{ "any order, and depending", "TrainingRuntime",
	  TR "{template: {spec: {startupPolicy: {startupPolicyOrder: AnyOrder}, "
	     "replicatedJobs: [{name: a, dependsOn: [], template: {}}]}}}",
	  "" },
	{ "in order, depending on nothing", "TrainingRuntime",
	  TR "{template: {spec: {startupPolicy: {startupPolicyOrder: InOrder}, "
	     "replicatedJobs: [{name: a, template: {}}]}}}",
	  "" },
	{ "a claim without metadata, and no claims", "TrainingRuntime",
	  TR "{template: {spec: {volumeClaimPolicies: [{templates: [{metadata: {name: "
	     "a, namespace: ''}}]}, {templates: [{spec: {}}]}, {}]}}}",
	  "spec.template.spec.volumeClaimPolicies[1]: Invalid value: \"object\": "
	  "the templates must not have a namespace\n"
	  "spec.template.spec.volumeClaimPolicies[2]: Invalid value: \"object\": "
	  "the templates must not have a namespace\n" },
	{ "a scheme that begins with a digit, and one with signs", "TrainJob",
	  TJ "initializer: {dataset: {storageUri: '1s://a'}, model: {storageUri: "
	     "\"a+b.c-1://x\"}}}",
	  "spec.initializer.dataset.storageUri: Invalid value: \"1s://a\": must be empty "
	  "or a URI with a scheme, such as hf://org/name\n" },
	{ "an address of two lines", "TrainJob",
	  TJ "initializer: {dataset: {storageUri: \"s3://a\\nb\"}}}",
	  "spec.initializer.dataset.storageUri: Invalid value: \"s3://a\\nb\": "
	  "must be empty or a URI with a scheme, such as hf://org/name\n" },
	{ "Kueue's manager", "TrainJob", TJ "managedBy: kueue.x-k8s.io/multikueue}", "" },
	{ "a list where an object belongs", "TrainingRuntime", TR "[1]",
	  "spec: Invalid value: \"array\": spec in body must be of "
	  "type object: \"array\"\n" },
};

TEST(test_faults)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = object(rows[i].kind, rows[i].body);
		cleanup_field_errors struct field_errors errs = { 0 };

		print_message("# %s\n", rows[i].what);
		schema_validate(*state, obj, NULL, &errs);
		assert_string_equal(errors_text(&text, &errs), rows[i].want);
	}
}

/* Rows: the whole object. */
static const struct whole {
	const char *text, *want;
} wholes[] = {
	{ "[]", "Invalid value: an object with apiVersion, kind, metadata "
		"and spec is wanted\n" },
	{ "{}",
	  "apiVersion: Required value: trainer.kubeflow.org/v1alpha1\n"
	  "kind: Required value: one of TrainJob, TrainingRuntime, ClusterTrainingRuntime\n" },
	{ "{apiVersion: kubeflow.org/v1, kind: PyTorchJob}",
	  "apiVersion: Invalid value: \"kubeflow.org/v1\": must be "
	  "trainer.kubeflow.org/v1alpha1\n"
	  "kind: Unsupported value: \"PyTorchJob\": must be one of TrainJob, "
	  "TrainingRuntime, ClusterTrainingRuntime\n" },
	{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: trainjob}",
	  "kind: Unsupported value: \"trainjob\": did you mean 'TrainJob'?\n" },
	{ "{apiVersion: trainer.kubeflow.org/v1, kind: TrainJob, "
	  "metadata: {name: a}, spec: {}}",
	  "apiVersion: Invalid value: \"trainer.kubeflow.org/v1\": must be "
	  "trainer.kubeflow.org/v1alpha1\n"
	  "spec.runtimeRef: Required value\n" },
	{ "{apiVersion: 1, kind: [], metadata: {name: a}}",
	  "apiVersion: Invalid value: 1: must be trainer.kubeflow.org/v1alpha1\n"
	  "kind: Unsupported value: []: must be one of TrainJob, TrainingRuntime, "
	  "ClusterTrainingRuntime\n" },
};

TEST(test_whole_objects)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };

	for (size_t i = 0; i < N_ELEMENTS(wholes); i++) {
		cleanup_json cJSON *obj = yaml_doc(wholes[i].text);
		cleanup_field_errors struct field_errors errs = { 0 };

		schema_validate(*state, obj, NULL, &errs);
		assert_string_equal(errors_text(&text, &errs), wholes[i].want);
	}
}

#define SUBDOMAIN                                                                     \
	"must consist of lower case letters, digits, '-' and '.', and start and end " \
	"with "                                                                       \
	"a letter or a digit\n"
#define LABEL1035                                                                     \
	"metadata.name must be a DNS label of RFC 1035, a letter first, as Services " \
	"and "                                                                        \
	"Pods are named after it\n"

/* Rows: kind and metadata. */
static const struct meta {
	const char *kind, *metadata, *want;
} metas[] = {
	{ "TrainJob", "{name: a-1}", "" },
	{ "TrainJob", "{generateName: a-}", "" },
	{ "TrainJob", "{name: a-1, namespace: team-a}", "" },
	{ "TrainJob", "{}",
	  "metadata.name: Required value: name or generateName is required\n" },
	{ "TrainJob", "null",
	  "metadata.name: Required value: name or generateName is required\n" },
	{ "TrainJob", "{name: ''}",
	  "metadata.name: Required value: name or generateName is required\n" },
	{ "TrainJob", "{name: Foo}",
	  "metadata.name: Invalid value: \"Foo\": " SUBDOMAIN },
	{ "TrainJob", "{name: a.b}",
	  "metadata.name: Invalid value: \"a.b\": " LABEL1035 },
	{ "TrainJob", "{name: 1a}", "metadata.name: Invalid value: \"1a\": " LABEL1035 },
	{ "TrainJob",
	  "{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
	  "metadata.name: Invalid value: "
	  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": metadata.name may have 63 characters at most\n" },
	{ "TrainJob",
	  "{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
	  "" }, /* 63 */
	{ "TrainingRuntime", "{name: 1.b}", "" },
	{ "TrainJob", "{generateName: A-}",
	  "metadata.generateName: Invalid value: \"A-\": " SUBDOMAIN },
	{ "ClusterTrainingRuntime", "{name: a, namespace: b}",
	  "metadata.namespace: Forbidden: a ClusterTrainingRuntime "
	  "belongs to no namespace\n" },
	{ "TrainJob", "{name: a, namespace: b.c}",
	  "metadata.namespace: Invalid value: \"b.c\": must not contain dots\n" },
	{ "TrainJob", "{name: a, labels: {a.b/c: d, e: ''}, annotations: {A.b/C: d e}}",
	  "" },
	{ "TrainJob", "{name: a, labels: {A.b/C: d}}",
	  "metadata.labels: Invalid value: \"A.b/C\": must have a "
	  "DNS subdomain before the '/', of 253 characters at most\n" },
	{ "TrainJob", "{name: a, labels: {b: '-'}}",
	  "metadata.labels: Invalid value: \"-\": must be empty or "
	  "consist of letters, digits, '-', '_' and '.', and start "
	  "and end with a letter or a digit\n" },
	{ "TrainJob", "{name: a, annotations: {'': x}}",
	  "metadata.annotations: Invalid value: \"\": must consist "
	  "of letters, digits, '-', '_' and '.', start and end with "
	  "a letter or a digit, and may have a DNS subdomain and '/' "
	  "before it\n" },
	{ "TrainJob", "{name: a, labels: {b: 1}}",
	  "metadata.labels.b: Invalid value: \"integer\": "
	  "metadata.labels.b in body must be of type string: "
	  "\"integer\"; write it in quotes\n" },
	{ "TrainJob", "{name: 7}",
	  "metadata.name: Invalid value: \"integer\": metadata.name "
	  "in body must be of type string: \"integer\"; write it in "
	  "quotes\n" },
	{ "TrainJob", "[a]",
	  "metadata: Invalid value: \"array\": metadata in body must "
	  "be of type object: \"array\"\n" },
	{ "TrainJob", "{name: a, lables: {}}",
	  "metadata.lables: Unknown field: did you mean 'labels'?\n" },
};

TEST(test_metadata)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };

	for (size_t i = 0; i < N_ELEMENTS(metas); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_field_errors struct field_errors errs = { 0 };
		cleanup_json cJSON *obj = yaml_doc(
			arena_printf(&arena,
				     "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
				     "%s, metadata: %s}",
				     metas[i].kind, metas[i].metadata));

		print_message("# %s\n", metas[i].metadata);
		schema_validate(*state, obj, NULL, &errs);
		assert_string_equal(errors_text(&text, &errs), metas[i].want);
	}
}

TEST(test_annotations_have_a_limit)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *obj = object("TrainJob", TJ "}");
	char *large = calloc(1, 256 * 1024 + 1);

	memset(large, 'x', 256 * 1024);
	json_put_str(obj, large, "metadata", "annotations", "a");
	free(large);
	schema_validate(*state, obj, NULL, &errs);
	assert_int_equal(errs.n, 1);
	assert_int_equal(errs.list[0].type, FIELD_TOO_LONG);
	assert_string_equal(errs.list[0].path, "metadata.annotations");
}

/* Rows: a TrainJob's spec before and after. */
#define CLAIMS "resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]"
#define PATCHED(pod)                                                              \
	"runtimePatches: [{manager: a/b, trainingRuntimeSpec: {template: {spec: " \
	"{replicatedJobs: [{name: job, template: {spec: {template: {spec: {" pod  \
	"}}}}}]}}}}]"

static const struct update {
	const char *what, *before, *after, *want;
} updates[] = {
	{ "nothing", TJ "trainer: {numNodes: 1}}", TJ "trainer: {numNodes: 1}}", "" },
	{ "what is said by default", TJ "}",
	  "spec: {runtimeRef: {name: rt, kind: ClusterTrainingRuntime}, suspend: false}",
	  "" },
	{ "suspend", TJ "}", TJ "suspend: true}", "" },
	{ "another runtime", TJ "}", "spec: {runtimeRef: {name: other}}",
	  "spec.runtimeRef: Invalid value: \"object\": field is immutable\n" },
	{ "another number", TJ "trainer: {numNodes: 1}}", TJ "trainer: {numNodes: 2}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "the order of a map does not count",
	  TJ "trainer: {env: [{name: A}, {name: B}]}}",
	  TJ "trainer: {env: [{name: B}, {name: A}]}}", "" },
	{ "one more", TJ "trainer: {env: [{name: A}]}}",
	  TJ "trainer: {env: [{name: A}, {name: B}]}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "one argument less", TJ "trainer: {args: [a, b]}}", TJ "trainer: {args: [a]}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "as many, but another", TJ "trainer: {env: [{name: A}, {name: B}]}}",
	  TJ "trainer: {env: [{name: A}, {name: C}]}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "another value of the same name", TJ "trainer: {env: [{name: A, value: x}]}}",
	  TJ "trainer: {env: [{name: A, value: z}]}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "a value comes", TJ "trainer: {image: i}}",
	  TJ "trainer: {image: i, numNodes: 1}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "another limit", TJ "trainer: {resourcesPerNode: {limits: {cpu: 1}}}}",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 2}}}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "one more limit", TJ "trainer: {resourcesPerNode: {limits: {cpu: 1}}}}",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 1, memory: 1Gi}}}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "one limit less",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 1, memory: 1Gi}}}}",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 1}}}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "the order of limits does not count",
	  TJ "trainer: {resourcesPerNode: {limits: {cpu: 1, memory: 1Gi}}}}",
	  TJ "trainer: {resourcesPerNode: {limits: {memory: 1Gi, cpu: 1}}}}", "" },
	{ "the order of arguments does", TJ "trainer: {args: [a, b]}}",
	  TJ "trainer: {args: [b, a]}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "a deadline", TJ "activeDeadlineSeconds: 5}", TJ "activeDeadlineSeconds: 6}",
	  "spec.activeDeadlineSeconds: Invalid value: 6: field is immutable\n" },
	{ "managedBy", TJ "}", TJ "managedBy: kueue.x-k8s.io/multikueue}",
	  "spec.managedBy: Invalid value: "
	  "\"kueue.x-k8s.io/multikueue\": field is immutable\n" },
	/* Upstream's rules let these pass: they see a value on both sides only. */
	{ "a trainer comes", TJ "}", TJ "trainer: {numNodes: 2}}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "a trainer goes", TJ "trainer: {numNodes: 2}}", TJ "}",
	  "spec.trainer: Invalid value: \"object\": field is immutable\n" },
	{ "a deadline comes", TJ "}", TJ "activeDeadlineSeconds: 5}",
	  "spec.activeDeadlineSeconds: Invalid value: \"object\": field is immutable\n" },
	{ "a deadline and an initializer go",
	  TJ "activeDeadlineSeconds: 5, initializer: {}}", TJ "}",
	  "spec.initializer: Invalid value: \"object\": field is immutable\n"
	  "spec.activeDeadlineSeconds: Invalid value: \"object\": field is immutable\n" },
	{ "patches come and go", TJ "runtimePatches: [{manager: a/b}]}",
	  TJ "runtimePatches: [{manager: c/d}, {manager: e/f}]}", "" },
	{ "another manager's patch comes, with claims", TJ "}", TJ PATCHED(CLAIMS) "}",
	  "" },
	{ "a patch loses its claims, as clients drop fields that they do not know",
	  TJ PATCHED(CLAIMS) "}", TJ PATCHED("nodeSelector: {a: b}") "}",
	  "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0]."
	  "template.spec.template.spec.resourceClaims: Invalid value: \"object\": field "
	  "is immutable\n" },
	{ "in the patch of the same manager, the job of the same name",
	  TJ "runtimePatches: [{manager: a/b}, {manager: c/d, "
	     "trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
	     "[{name: job, template: {spec: {template: {spec: "
	     "{serviceAccountName: one, nodeSelector: {a: b}}}}}}]}}}}]}",
	  TJ "runtimePatches: [{manager: c/d, trainingRuntimeSpec: "
	     "{template: {spec: {replicatedJobs: [{name: m}, {name: "
	     "job, template: {spec: {template: {spec: "
	     "{serviceAccountName: two, nodeSelector: {a: c}}}}}}]}}}}]}",
	  "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[1].template.spec.template.spec.serviceAccountName: Invalid value: \"two\": field is immutable\n" },
};

TEST(test_updates)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };

	for (size_t i = 0; i < N_ELEMENTS(updates); i++) {
		cleanup_json cJSON *before = object("TrainJob", updates[i].before);
		cleanup_json cJSON *after = object("TrainJob", updates[i].after);
		cleanup_json cJSON *copy = json_dup(after);
		cleanup_field_errors struct field_errors errs = { 0 };

		print_message("# %s\n", updates[i].what);
		schema_validate(*state, after, before, &errs);
		assert_string_equal(errors_text(&text, &errs), updates[i].want);
		assert_true(json_equal(after, copy));
	}
}

TEST(test_updates_of_a_runtime)
{
	cleanup_json cJSON *before = object(
		"TrainingRuntime", "spec: {template: {spec: {network: {subdomain: a}}}}");
	cleanup_json cJSON *after = object(
		"TrainingRuntime", "spec: {template: {spec: {network: {subdomain: b}}}}");
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_buf struct buf text = { .max = 1000 };

	schema_validate(*state, after, before, &errs);
	assert_string_equal(errors_text(&text, &errs),
			    "spec.template.spec.network: Invalid value: \"object\": "
			    "field is immutable\n");
}

RUN_TESTS(group_setup, group_teardown)
