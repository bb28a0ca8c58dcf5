/* Rules: upstream pkg/runtime/core/trainingruntime.go (newRuntimeInfo, mergeRuntimePatches). */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/pipeline.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/shape.h"

static void assert_merge(const char *template, const char *patches, const char *want)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *rt =
		doc(arena_printf(&a, "{spec: {template: %s}}", template));
	cleanup_json cJSON *tj =
		doc(arena_printf(&a, "{spec: {runtimePatches: %s}}", patches));
	cleanup_json cJSON *have = cJSON_CreateObject();
	struct runtime_template t = { 0 };
	struct error err = { 0 };

	if (runtime_merge(&t, rt, tj, &err))
		fail_msg("%s: %s", patches, err.msg);
	json_put(have, t.labels, "labels");
	json_put(have, t.annotations, "annotations");
	json_put(have, t.jobset_spec, "spec");
	assert_doc(have, want);
}

#define P(template) "{manager: m, trainingRuntimeSpec: {template: " template "}}"

TEST(test_metadata_is_an_overlay)
{
	assert_merge(
		"{metadata: {labels: {a: '1', b: '1'}}}",
		"[" P("{metadata: {labels: {b: '2', c: '2'}, annotations: {x: q}}}") ", " P(
			"{metadata: {labels: {c: '3'}}}") "]",
		"{labels: {a: '1', b: '2', c: '3'}, annotations: {x: q}, spec: {}}");
}

TEST(test_jobs_keep_their_order)
{
	assert_merge(
		"{spec: {replicatedJobs: [{name: a}, {name: b}, {name: c}]}}",
		"[" P("{spec: {replicatedJobs: [{name: c, groupName: g}, {name: a, "
		      "groupName: h}]}}") "]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: [{name: a, "
		"groupName: h, template: {spec: {template: {}}}}, {name: b, template: "
		"{spec: {template: {}}}}, {name: c, groupName: g, template: {spec: "
		"{template: {}}}}]}}");
}

#define SPEC_OF(pod)                                                                 \
	"{spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: " pod \
	"}}}}]}}"

static void assert_pod(const char *pod, const char *want)
{
	cleanup_arena struct arena a = { 0 };

	assert_merge(
		arena_printf(&a, SPEC_OF("%s"), pod), "[]",
		arena_printf(&a,
			     "{labels: {}, annotations: {}, spec: {replicatedJobs: "
			     "[{name: a, template: {spec: {template: {spec: %s}}}}]}}",
			     want));
}

TEST(test_quantities_are_canonical)
{
	assert_pod("{overhead: {cpu: 0.25}, volumes: [{name: v, emptyDir: "
		   "{sizeLimit: 1024Mi}}]}",
		   "{overhead: {cpu: 250m}, volumes: [{name: v, emptyDir: "
		   "{sizeLimit: 1Gi}}]}");
	assert_pod("{containers: [{name: c, resources: {limits: {cpu: 2000m, "
		   "memory: 1.5Gi, divisor: 1}}, env: [{name: E, valueFrom: "
		   "{resourceFieldRef: {divisor: 1000m}}}]}]}",
		   "{containers: [{name: c, resources: {limits: {cpu: '2', "
		   "memory: 1536Mi, divisor: '1'}}, env: [{name: E, "
		   "valueFrom: {resourceFieldRef: {divisor: '1'}}}]}]}");
}

/* What typed clients leave out, so that a JobSet made by one can be resumed by the other. */
TEST(test_what_says_nothing_is_left_out)
{
	assert_pod("{nodeSelector: {}, hostNetwork: false, tolerations: [], "
		   "dnsConfig: null, containers: [{name: c, args: [], tty: "
		   "false, image: null, resources: {limits: {}}, "
		   "volumeMounts: [{name: v, mountPath: /v, readOnly: "
		   "false}]}], volumes: [{name: v, emptyDir: {}}], "
		   "automountServiceAccountToken: false}",
		   "{containers: [{name: c, resources: {}, volumeMounts: "
		   "[{name: v, mountPath: /v}]}], volumes: [{name: v, "
		   "emptyDir: {}}], automountServiceAccountToken: false}");
	/* Fields that are pointers in Go are sent, and keys of a map are the user's. */
	assert_pod("{serviceAccountName: '', priorityClassName: '', restartPolicy: '', "
		   "runtimeClassName: '', terminationGracePeriodSeconds: 0, "
		   "nodeSelector: {hostname: '', group: ''}, imagePullSecrets: [{name: "
		   "''}], securityContext: {seLinuxOptions: {level: '', type: ''}}, "
		   "containers: [{name: c, image: '', workingDir: '', restartPolicy: '', "
		   "ports: [{containerPort: 1, hostPort: 0, protocol: ''}], "
		   "livenessProbe: {initialDelaySeconds: 0, httpGet: {path: '', port: "
		   "1}}, securityContext: {runAsUser: 0, privileged: false}}], volumes: "
		   "[{name: v, csi: {driver: d, readOnly: false, fsType: ''}}, {name: w, "
		   "hostPath: {path: /, type: ''}}, {name: x, nfs: {server: s, path: '', "
		   "readOnly: false}}]}",
		   "{runtimeClassName: '', terminationGracePeriodSeconds: 0, "
		   "nodeSelector: {hostname: '', group: ''}, imagePullSecrets: [{}], "
		   "securityContext: {seLinuxOptions: {}}, containers: [{name: c, "
		   "restartPolicy: '', ports: [{containerPort: 1}], livenessProbe: "
		   "{httpGet: {port: 1}}, securityContext: {runAsUser: 0, privileged: "
		   "false}}], volumes: [{name: v, csi: {driver: d, readOnly: false, "
		   "fsType: ''}}, {name: w, hostPath: {path: /, type: ''}}, {name: x, "
		   "nfs: {server: s, path: ''}}]}");
	assert_merge("{spec: {coordinator: {replicatedJob: a, jobIndex: 0, podIndex: 0}, "
		     "failurePolicy: {maxRestarts: 0}, ttlSecondsAfterFinished: 0}}",
		     "[]",
		     "{labels: {}, annotations: {}, spec: {coordinator: {replicatedJob: "
		     "a}, failurePolicy: {}, ttlSecondsAfterFinished: 0}}");
	assert_merge("{spec: {network: null, replicatedJobs: [{name: a, "
		     "replicas: 0, dependsOn: [], template: {spec: "
		     "{backoffLimit: 0, template: {}}}}]}}",
		     "[]",
		     "{labels: {}, annotations: {}, spec: {replicatedJobs: "
		     "[{name: a, template: {spec: {backoffLimit: 0, template: {}}}}]}}");
}

TEST(test_later_patches_win)
{
#define POD(x)                                                                       \
	P("{spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: " x \
	  "}}}}]}}")
	assert_merge(
		"{spec: {replicatedJobs: [{name: a, template: {spec: "
		"{template: {spec: {nodeSelector: {k: '0'}}}}}}]}}",
		"[" POD("{nodeSelector: {k: '1', l: '1'}, tolerations: [{key: x}], "
			"serviceAccountName: s}") ", " POD("{nodeSelector: {k: '2'}, tolerations: [{key: z}]}") "]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: "
		"[{name: a, template: {spec: {template: {spec: "
		"{nodeSelector: {k: '2', l: '1'}, tolerations: [{key: z}], "
		"serviceAccountName: s}}}}}]}}");
}

/* Upstream reads a patch into typed structs and writes it again before it merges. */
TEST(test_what_says_nothing_takes_nothing_away)
{
	assert_merge(
		SPEC_OF("{nodeSelector: {k: '0'}, tolerations: [{key: x}], "
			"containers: [{name: c, env: [{name: A, value: '1'}], "
			"volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}"),
		"[" POD("{nodeSelector: {}, tolerations: [], containers: [{name: c, env: "
			"[{name: A, value: ''}], volumeMounts: [{name: v, mountPath: /v, "
			"readOnly: false}]}]}") "]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: "
		"[{name: a, template: {spec: {template: {spec: "
		"{nodeSelector: {k: '0'}, tolerations: [{key: x}], "
		"containers: [{name: c, env: [{name: A, value: '1'}], "
		"volumeMounts: [{name: v, mountPath: /v, readOnly: "
		"true}]}]}}}}}]}}");
	assert_merge(
		SPEC_OF("{containers: [{name: c, env: [{name: A, valueFrom: "
			"{configMapKeyRef: {name: cm, key: k}}}]}]}"),
		"[" POD("{containers: [{name: c, env: [{name: A, valueFrom: "
			"{configMapKeyRef: {name: '', key: l}}}]}]}") "]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: [{name: a, "
		"template: {spec: {template: {spec: {containers: [{name: c, env: [{name: "
		"A, valueFrom: {configMapKeyRef: {name: cm, key: l}}}]}]}}}}}]}}");
	assert_merge(
		SPEC_OF("{containers: [{name: c, livenessProbe: {httpGet: {port: 1, "
			"httpHeaders: [{name: h, value: ''}]}}}], securityContext: "
			"{sysctls: [{name: s, value: ''}]}}"),
		"[]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: [{name: a, "
		"template: {spec: {template: {spec: {containers: [{name: c, "
		"livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: h, value: "
		"''}]}}}], securityContext: {sysctls: [{name: s, value: ''}]}}}}}}]}}");
	assert_merge(SPEC_OF("{serviceAccountName: s, securityContext: {seLinuxOptions: "
			     "{level: l}}}"),
		     "[" POD("{serviceAccountName: '', securityContext: "
			     "{seLinuxOptions: {level: ''}}}") "]",
		     "{labels: {}, annotations: {}, spec: {replicatedJobs: [{name: a, "
		     "template: {spec: {template: {spec: {securityContext: "
		     "{seLinuxOptions: {level: l}}}}}}}]}}");
	/* A divisor is always sent. */
	assert_merge(
		SPEC_OF("{containers: [{name: c, env: [{name: A, valueFrom: "
			"{resourceFieldRef: {resource: a, divisor: 1Mi}}}]}]}"),
		"[" POD("{containers: [{name: c, env: [{name: A, valueFrom: "
			"{resourceFieldRef: {resource: b}}}]}]}") "]",
		"{labels: {}, annotations: {}, spec: {replicatedJobs: [{name: a, "
		"template: {spec: {template: {spec: {containers: [{name: c, env: [{name: "
		"A, valueFrom: {resourceFieldRef: {resource: b, divisor: "
		"'0'}}}]}]}}}}}]}}");
	assert_merge(SPEC_OF("{nodeSelector: {value: x}}"),
		     "[" POD("{nodeSelector: {value: ''}}") "]",
		     "{labels: {}, annotations: {}, spec: {replicatedJobs: "
		     "[{name: a, template: {spec: {template: {spec: "
		     "{nodeSelector: {value: ''}}}}}}]}}");
}

static const struct plugin *const no_plugins[] = { NULL };
static const struct plugin_env offline = { .keys = &keys_placeholder };

TEST(test_wrong_types_are_named)
{
#define TJ "metadata: {name: a}, spec: {runtimeRef: {name: r}"
	static const struct {
		const char *tj, *runtime, *want;
	} rows[] = {
		{ "[]", "{}", "TrainJob: Invalid value: []: must be an object" },
		{ "{spec: {}}", "{}", "TrainJob: metadata: Required value" },
		{ "{metadata: {name: 1}, spec: {}}", "{}",
		  "TrainJob: metadata.name: Invalid value: 1: must be a string" },
		{ "{" TJ ", trainer: {numNodes: '2'}}}", "{}",
		  "TrainJob: spec.trainer.numNodes: Invalid value: \"2\": "
		  "must be an integer" },
		{ "{" TJ ", trainer: {numNodes: -1}}}", "{}",
		  "TrainJob: spec.trainer.numNodes: Invalid value: -1: must "
		  "be from 0 to 2147483647" },
		{ "{" TJ ", trainer: {env: {}}}}", "{}",
		  "TrainJob: spec.trainer.env: Invalid value: {}: must be a list" },
		{ "{" TJ ", trainer: {env: [{name: A}, x]}}}", "{}",
		  "TrainJob: spec.trainer.env[1]: Invalid value: \"x\": must "
		  "be an object" },
		{ "{" TJ ", trainer: {env: [{value: A}]}}}", "{}",
		  "TrainJob: spec.trainer.env[0].name: Required value" },
		{ "{" TJ ", trainer: {command: [a, 1]}}}", "{}",
		  "TrainJob: spec.trainer.command[1]: Invalid value: 1: must "
		  "be a string" },
		{ "{" TJ ", trainer: {resourcesPerNode: {limits: {cpu: lots}}}}}", "{}",
		  "TrainJob: spec.trainer.resourcesPerNode.limits[cpu]: "
		  "Invalid value: \"lots\": " },
		{ "{" TJ "}}", "{spec: 1}",
		  "runtime: spec: Invalid value: 1: must be an object" },
		{ "{" TJ "}}", "{spec: {mlPolicy: 1, template: {}}}",
		  "runtime: spec.mlPolicy: Invalid value: 1: must be an object" },
		{ "{" TJ "}}", "{spec: {template: {metadata: {labels: {a: 1}}}}}",
		  "runtime: spec.template.metadata.labels[a]: Invalid value: "
		  "1: must be a string" },
		{ "{" TJ "}}", "{spec: {template: {spec: {replicatedJobs: [{}]}}}}",
		  "runtime: spec.template.spec.replicatedJobs[0].name: Required value" },
		{ "{" TJ "}}",
		  "{spec: {template: {spec: {replicatedJobs: [{name: a, template: {spec: "
		  "{parallelism: 3000000000}}}]}}}}",
		  "runtime: spec.template.spec.replicatedJobs[0].template.spec.parallelism: Invalid value: 3000000000: " },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = doc(rows[i].tj), *rt = doc(rows[i].runtime);
		struct pipeline p = { no_plugins, &offline };
		struct error err = { 0 };
		cJSON *objects = NULL;

		assert_int_equal(pipeline_build(&p, tj, rt, &objects, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (!str_starts(err.msg, rows[i].want))
			fail_msg("wanted %s, got %s", rows[i].want, err.msg);
	}
}

TEST(test_too_many_jobs)
{
	cleanup_json cJSON *rt = doc("{spec: {template: {spec: {replicatedJobs: []}}}}");
	cleanup_json cJSON *tj = doc("{" TJ "}}");
	cJSON *jobs = json_get(rt, "spec", "template", "spec", "replicatedJobs");
	struct runtime_template t = { 0 };
	struct error err = { 0 };

	for (int i = 0; i < 1001; i++)
		cJSON_AddItemToArray(jobs, doc("{name: a}"));
	assert_int_equal(runtime_merge(&t, rt, tj, &err), -1);
	assert_non_null(strstr(err.msg, "must have at most 1000 items"));
}

/* Variables keep their places; of those with one name the last value counts. */
TEST(test_variables_are_merged_by_name)
{
	static const struct {
		const char *env, *given, *want;
	} rows[] = {
		{ "[]", "[]", "{env: []}" },
		{ "[{name: a, value: '1'}]", "[]", "{env: [{name: a, value: '1'}]}" },
		{ "[{name: a, value: '1'}, {name: b, value: '1'}]",
		  "[{name: c, value: '2'}, {name: a}]",
		  "{env: [{name: a, value: ''}, {name: b, value: '1'}, "
		  "{name: c, value: '2'}]}" },
		{ "[{name: a, value: '1'}, {name: a, value: '2'}]",
		  "[{name: a, value: '3'}]",
		  "{env: [{name: a, value: '3'}, {name: a, value: '2'}]}" },
		{ "[]", "[{name: a, value: '1'}, {name: b}, {name: a, value: '2'}]",
		  "{env: [{name: a, value: '2'}, {name: b, value: ''}]}" },
		{ "[{value: x}]", "[{value: y}]", "{env: [{value: x}, {value: y}]}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *c = cJSON_CreateObject(), *given = doc(rows[i].given);

		json_put(c, doc(rows[i].env), "env");
		container_merge_env(c, given);
		assert_doc(c, rows[i].want);
	}
}

/* A list is replaced as a whole: the version says of which one. */
TEST(test_finalizers_of_older_versions)
{
	cleanup_json cJSON *none = doc("{metadata: {finalizers: [a]}}");
	cleanup_json cJSON *rt = doc("{metadata: {resourceVersion: '7', finalizers: [a, "
				     "trainer.kubeflow.org/resource-in-use, b]}}");
	cleanup_json cJSON *patch = runtime_finalizer_patch(rt);

	assert_false(runtime_has_old_finalizer(none));
	assert_true(runtime_has_old_finalizer(rt));
	assert_doc(patch, "{metadata: {finalizers: [a, b], resourceVersion: '7'}}");
}

TEST(test_who_starts_mpi)
{
	cleanup_json cJSON *rt =
		doc("{spec: {template: {metadata: {annotations: {a: b}}}}}");

	runtime_use_mpi_worker(rt);
	assert_doc(rt, "{spec: {template: {metadata: {annotations: {a: b, "
		       "kftrainer.io/mpi: worker}}}}}");
}

RUN_TESTS(NULL, NULL)
