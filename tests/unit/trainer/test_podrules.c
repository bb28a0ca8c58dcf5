/*
 * Rules: kubernetes v1.37 pkg/apis/core/validation (ValidatePodTemplateSpec) and
 * pkg/apis/batch/validation (ValidateJobSpec), which a TrainJob's pods meet only when JobSet
 * creates their Jobs (kubeflow/trainer#2363, #3961; kubernetes-sigs/jobset#1056).
 */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/pipeline.h"
#include "trainer/validation.h"

static const struct plugin *const no_plugins[] = { NULL };
static const struct plugin_env offline = { .keys = &keys_placeholder,
					   .claims_off = true };

/* The errors of a TrainJob with `spec`, whose runtime has this pod and JobSet. */
static char *errors_of(const char *pod, const char *jobset, const char *spec,
		       cJSON *to_warnings)
{
	struct pipeline p = { no_plugins, &offline };
	cleanup_arena struct arena a = { 0 };
	struct field_errors errs = { 0 };
	cleanup_json cJSON *own = cJSON_CreateArray();
	cleanup_json cJSON *rt = doc(arena_printf(
		&a,
		"{kind: TrainingRuntime, metadata: {name: rt}, spec: {mlPolicy: {numNodes: "
		"1}, template: {spec: {%s replicatedJobs: [{name: node, template: "
		"{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
		"trainer}}, spec: {template: {spec: {%s}}}}}]}}}}",
		jobset, pod));
	cleanup_json cJSON *tj = doc(arena_printf(
		&a,
		"{metadata: {name: tj, namespace: ns}, spec: {runtimeRef: {name: rt, kind: "
		"TrainingRuntime, apiGroup: trainer.kubeflow.org} %s}}",
		spec));

	pipeline_validate(&p, NULL, tj, rt, &errs, to_warnings ? to_warnings : own);
	if (to_warnings)
		unstartable_to_warnings(&errs, to_warnings);
	return errors_text(&errs);
}

#define ONE(more) "containers: [{name: node" more "}]"
#define WITH_VOLUME(mount)                                         \
	ONE(", volumeMounts: [{name: v, mountPath: /v" mount "}]") \
	", volumes: [{name: "                                      \
	"v}]"

static const struct row {
	const char *pod, *want; /* NULL: accepted */
} rows[] = {
	{ ONE(""), NULL },
	{ ONE(", resources: {limits: {cpu: '-1'}}"),
	  "containers[0].resources.limits.cpu: must be greater than or equal to 0" },
	{ ONE(", resources: {limits: {gpu: 1}}"),
	  "containers[0].resources.limits.gpu: is no resource: use cpu, memory," },
	{ ONE(", resources: {limits: {ephemeral-storage: 1, hugepages-2Mi: 2Mi}}"),
	  NULL },
	{ ONE(", resources: {limits: {a.b/c: 500m}}"),
	  "containers[0].resources.limits.a.b/c: must be an integer" },
	{ ONE(", resources: {limits: {cpu: 500m, memory: 1.5Gi, a.b/c: 2k}}"), NULL },
	{ ONE(", resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}"),
	  "containers[0].resources.requests.cpu: must be less than or equal to its limit 1" },
	{ ONE(", resources: {limits: {cpu: 1}, requests: {cpu: 1000m, memory: 1}}"),
	  NULL },
	{ ONE(", resources: {requests: {nvidia.com/gpu: 1}}"),
	  "containers[0].resources.requests.nvidia.com/gpu: needs a limit, too" },
	{ ONE(", resources: {limits: {a.b/c: 2}, requests: {a.b/c: 1}}"),
	  "containers[0].resources.requests.a.b/c: must be equal to its limit 2" },
	{ ONE(", resources: {requests: {hugepages-2Mi: 2Mi}}"),
	  "requests.hugepages-2Mi: needs a limit, too" },
	{ ONE(", resources: {limits: {a.b/c: 2}, requests: {a.b/c: '2.0'}}"), NULL },
	{ ONE(", resources: {claims: [{name: a}, {name: b}]}") ", resourceClaims: [{name: a, resourceClaimName: c}]",
	  "containers[0].resources.claims[1]: resourceClaims of the pod has no such claim" },
	{ ONE(", resources: {claims: [{name: a, request: b}]}") ", resourceClaims: [{name: a, resourceClaimName: c}]",
	  NULL },
	{ ONE("") ", restartPolicy: Always",
	  "restartPolicy: must be one of OnFailure, Never" },
	{ ONE("") ", restartPolicy: ''", NULL },
	{ ONE("") ", dnsPolicy: none", "dnsPolicy: must be one of ClusterFirst, " },
	{ ONE(", imagePullPolicy: always"),
	  "containers[0].imagePullPolicy: must be one of" },
	{ ONE("") ", tolerations: [{operator: Exists}, {key: a, operator: Equals}]",
	  "tolerations[1].operator: must be one of Exists, Equal" },
	{ ONE("") ", nodeSelector: {a.b/c: d e}",
	  "nodeSelector.a.b/c: must be empty or" },
	{ ONE("") ", nodeSelector: {a/b/c: d}", "nodeSelector.a/b/c: must" },
	{ ONE("") ", nodeSelector: {a.b/C_d: 'true', e: ''}", NULL },
	{ ONE(", env: [{name: a, value: b}, {name: c=d, value: e}]"),
	  "containers[0].env[1]: the name must not be empty or contain '='" },
	{ ONE(", env: [{name: a, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
	  "containers[0].env[0]: value and valueFrom exclude each other" },
	{ ONE(", env: [{name: a, value: '', valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
	  NULL },
	{ ONE(", env: [{name: a, valueFrom: {}}]"),
	  "env[0]: valueFrom must have one source" },
	{ ONE(", ports: [{containerPort: 65536}]"),
	  "containers[0].ports[0].containerPort: must be between 1 and 65535" },
	{ ONE(", ports: [{containerPort: 1, name: sixteen-letters-}]"),
	  "ports[0]: the name must be of at most 15" },
	{ ONE(", ports: [{containerPort: 1, name: '8080'}]"),
	  "ports[0]: the name must be" },
	{ ONE(", ports: [{containerPort: 1, name: fifteen-letters}]"), NULL },
	{ ONE(", volumeMounts: [{name: v, mountPath: /v}]"),
	  "containers[0].volumeMounts[0]: the pod has no such volume" },
	{ WITH_VOLUME(", subPath: a/../../b"),
	  "volumeMounts[0]: subPath must be relative, without '..'" },
	{ WITH_VOLUME(", subPath: /a"), "volumeMounts[0]: subPath must be relative" },
	{ WITH_VOLUME(", subPath: a..b/..c/..."), NULL },
	{ ONE("") ", volumes: [{name: v_w}]",
	  "volumes[0].name: must consist of lower case" },
	{ ONE("") ", volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]",
	  "volumes[0]: may not have more than one source" },
	{ ONE("") ", volumes: [{name: v, configMap: {name: c, defaultMode: 512}}]",
	  "volumes[0].configMap.defaultMode: must be between 0 and 0777" },
	{ ONE("") ", volumes: [{name: v, secret: {defaultMode: 0777, items: [{key: k, path: "
		  "p, mode: -1}]}}]",
	  "volumes[0].secret.items[0].mode: must be between" },
	{ ONE("") ", volumes: [{name: v, projected: {sources: [{configMap: {items: [{key: k, "
		  "path: p, mode: 700}, {key: l, path: q, mode: 511}]}}]}}]",
	  "volumes[0].projected.sources[0].configMap.items[0].mode: must be between" },
	{ ONE(", livenessProbe: {exec: {command: [a]}, grpc: {port: 1}}"),
	  "containers[0].livenessProbe: must have one of exec, " },
	{ ONE(", startupProbe: {periodSeconds: 1}"),
	  "startupProbe: must have one of exec, " },
	{ ONE(", readinessProbe: {exec: {command: [a]}, periodSeconds: -1}"),
	  "readinessProbe.periodSeconds: must be between 0 and" },
	{ "containers: [{name: node}], initContainers: [{name: a}, {name: node}]",
	  "containers[0]: an init container has the same name" },
	{ "containers: [{name: node}], initContainers: [{name: A}]",
	  "initContainers[0].name: must consist of lower case" },
};

TEST(test_rules)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *r = &rows[i];
		cleanup_free char *text = errors_of(r->pod, "", "", NULL);
		const char *at = strstr(text, ": pods of job node: ");

		if (r->want ? !str_starts(text, "spec.runtimeRef: Invalid value: ") ||
				      !at || !strstr(at, r->want) || strchr(text, '\n')[1]
			    : *text != 0)
			fail_msg("%s: wanted %s, got: %s", r->pod, r->want ? r->want : "",
				 text);
	}
}

TEST(test_the_field_to_correct)
{
	cleanup_free char *resources = errors_of(
		ONE(""), "", ", trainer: {resourcesPerNode: {limits: {cpu: -1}}}", NULL);
	cleanup_free char *claims =
		errors_of(ONE(""), "",
			  ", trainer: {resourcesPerNode: {claims: [{name: a}]}}", NULL);
	cleanup_free char *env =
		errors_of(ONE(", env: [{name: A, valueFrom: {}}]"), "",
			  ", trainer: {env: [{name: A, valueFrom: {}}]}", NULL);
	cleanup_free char *patches = errors_of(
		ONE(""), "",
		", runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: "
		"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {volumes: "
		"[{name: A}]}}}}}]}}}}]",
		NULL);

	if (!str_starts(resources, "spec.trainer.resourcesPerNode.limits.cpu: Invalid"))
		fail_msg("%s", resources);
	if (!str_starts(claims, "spec.trainer.resourcesPerNode.claims: Invalid"))
		fail_msg("%s", claims);
	if (!str_starts(env, "spec.trainer.env: Invalid value: {\"name\":\"A\","))
		fail_msg("%s", env);
	if (!str_starts(patches,
			"spec.runtimePatches: Invalid value: \"A\": pods of job"))
		fail_msg("%s", patches);
}

TEST(test_metadata)
{
	static const char patch[] =
		", runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: "
		"{replicatedJobs: [{name: node, template: {spec: {template: {metadata: "
		"{labels: {ok.io/A: b, 'c d': e, f: g h}, annotations: {X.io/A: 'b c', "
		"'d e': ''}}}}}}]}}}}]";
	cleanup_free char *text = errors_of(ONE(""), "", patch, NULL);

	assert_non_null(
		strstr(text, "pods of job node: metadata.labels.c d: must consist"));
	assert_non_null(
		strstr(text, "pods of job node: metadata.labels.f: must be empty or"));
	assert_non_null(strstr(text, "pods of job node: metadata.annotations.d e: must"));
	assert_null(strstr(text, "ok.io"));
	assert_null(strstr(text, "X.io"));
}

/* What an API server accepts, and no node starts. */
TEST(test_warnings_of_containers)
{
#define RESOURCES(list) ", resources: {" list "}"
#define TEN                                                            \
	"\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c" \
	"\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c"
	static const struct {
		const char *container, *want; /* NULL: no warning */
	} cases[] = {
		/* kubernetes/kubectl#1426: a half byte; the request is not said again */
		{ RESOURCES("limits: {memory: 500m}, requests: {memory: 500m}"),
		  "resources.limits.memory: 500m is no whole number of bytes: the suffix "
		  "for megabytes is M or Mi" },
		/* kubernetes/kubernetes#124841 */
		{ RESOURCES("limits: {memory: 16}"),
		  "resources.limits.memory: 16 is a number of bytes, too few to start: "
		  "the suffix for megabytes is M or Mi" },
		{ RESOURCES("limits: {memory: 0}"), NULL },
		{ RESOURCES("limits: {memory: 16Mi}, requests: {memory: 16}"), NULL },
		{ ", image: 'https://r.example/a:1'",
		  "image: \"https://r.example/a:1\" is no name of an image: it has a "
		  "scheme" },
		{ ", image: 'r.example/a :1'", "it has a space" },
		{ ", image: 'R.example/a/B:1'", "it has a capital before its tag" },
		{ ", image: 'B:1'", "it has a capital before its tag" },
		{ ", image: 'R.example:5000/a/b:V1'", NULL },
		{ ", image: 'Host/a@sha256:AB'", NULL },
		{ ", image: 'a:V1'", NULL },
		{ ", command: ['python3 a.py']",
		  "command[0]: \"python3 a.py\" is one word, the name of a program: make "
		  "each word an item of the list" },
		{ ", command: [sh, -c, 'a b']", NULL },
		{ ", command: [sh, -c, a], args: [b]",
		  "args[0]: the shell runs the one word after -c, which does not use "
		  "this one: make them one text" },
		{ ", command: [a, b], args: [c, $D]",
		  "args[1]: no shell replaces $D: write $(NAME) for a variable of env, "
		  "or start a shell, with sh -c 'COMMANDS'" },
		{ ", args: [$D]", NULL },
		/* kubeflow/sdk#89, PrefectHQ/prefect#5242 */
		{ ", env: [{name: A, value: a}, {name: PYTHONPATH, value: "
		  "'/lib:$PYTHONPATH'}, {name: B, value: $C}]",
		  "env[1]: no shell replaces $PYTHONPATH: write $(NAME) for a variable "
		  "before it in env; those of the image are known to a shell only, in sh "
		  "-c 'export PYTHONPATH=...; COMMANDS'" },
		{ ", env: [{name: A, value: '${HOME}/a:/b'}]",
		  "env[0]: no shell replaces ${HOME}/a:" },
		{ ", env: [{name: HF_HOME, value: $HOME/hf}, {name: A, value: "
		  "'$(B):a$C:$1:$c:${d.e}:$'}, {name: B}, {name: C, value: null}]",
		  NULL },
		{ ", command: ['/opt/my tools/a']", NULL },
		/* kubernetes/website#6835 */
		{ ", command: [a, '\xe2\x80\x9c"
		  "b\xe2\x80\x9d', 'c\xe2\x80\x9d']",
		  "command[1]: \xe2\x80\x9c"
		  "b\xe2\x80\x9d begins with a curly quote, which quotes nothing: use "
		  "\" or '" },
		{ ", args: ['\xe2\x80\x98']",
		  "args[0]: \xe2\x80\x98 begins with a curly" },
		{ ", args: ['\xe2\x80\x98', '\xe2\x80\x99']", /* one, of the first */
		  "args[0]: \xe2\x80\x98 begins with a curly" },
		{ ", args: ['--say=\xe2\x80\x98']", NULL },
		{ ", args: ['" TEN TEN TEN TEN TEN TEN TEN "']",
		  "args[0]: " TEN TEN TEN TEN TEN TEN
		  "\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c\xe2\x80\x9c"
		  "\xe2\x80\x9c begins with" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *warnings = cJSON_CreateArray();
		cleanup_free char *text =
			errors_of(arena_printf(&a, "containers: [{name: node%s}]",
					       cases[i].container),
				  "", "", warnings);
		const char *warning =
			cJSON_GetStringValue(cJSON_GetArrayItem(warnings, 0));

		if (*text || cJSON_GetArraySize(warnings) != !!cases[i].want ||
		    (cases[i].want && !strstr(warning, cases[i].want)))
			fail_msg("%s: %s%s", cases[i].container, text,
				 warning ? warning : "");
		assert_true(!warning ||
			    str_starts(warning, "pods of job node: containers[0]."));
	}
}

TEST(test_warnings_of_the_trainer)
{
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	cleanup_free char *text = errors_of(
		ONE(", env: [{name: D, value: $E}]"), "",
		", trainer: {image: A, command: ['b c'], env: [{name: D, value: $E}]}",
		warnings);
	cleanup_free char *all = json_text(warnings);

	assert_string_equal(text, "");
	assert_string_equal(
		all,
		"[\"spec.trainer.image: \\\"A\\\" is no name of an image: it has a "
		"capital before its tag\",\"spec.trainer.command[0]: \\\"b c\\\" is one "
		"word, the name of a program: make each word an item of the list\","
		"\"spec.trainer.env[0]: no shell replaces $E: write $(NAME) for a variable "
		"before it in env; those of the image are known to a shell only, in sh -c "
		"'export D=...; COMMANDS'\"]");
}

TEST(test_volumes_that_jobset_makes)
{
	cleanup_free char *text = errors_of(
		ONE(", volumeMounts: [{name: v, mountPath: /v}]"),
		"volumeClaimPolicies: [{templates: [{metadata: {name: v}}]}],", "", NULL);

	assert_string_equal(text, "");
}

/* NAME-RJOB-JOB-POD.SUBDOMAIN is a label's value; upstream's JobSet refuses it, too. */
TEST(test_coordinators)
{
#define S49 "sssssssssssssssssssssssssssssssssssssssssssssssss"
	cleanup_free char *fits =
		errors_of(ONE(""),
			  "coordinator: {replicatedJob: node, podIndex: 100}, "
			  "network: {subdomain: " S49 "},",
			  "", NULL);
	cleanup_free char *not =
		errors_of(ONE(""),
			  "coordinator: {replicatedJob: node, podIndex: 100}, "
			  "network: {subdomain: " S49 "s},",
			  "", NULL);

	assert_string_equal(fits, "");
	if (!str_starts(not, "metadata.name: Invalid value: \"tj\": the label with the "
			     "coordinator's address would be tj-node-0-100." S49
			     "s, 64 characters, where 63 are allowed"))
		fail_msg("%s", not );
}

/* kubernetes/kubernetes#125677; without a restartPolicy JobSet sets OnFailure. */
TEST(test_failure_policies)
{
#define POLICY "}}, podFailurePolicy: {rules: []}, x: {y: {"
	static const struct row policies[] = {
		{ ONE("") POLICY, "restartPolicy: must be Never, as the Job has a "
				  "podFailurePolicy" },
		{ ONE("") ", restartPolicy: OnFailure" POLICY,
		  "restartPolicy: must be Never" },
		{ ONE("") ", restartPolicy: Never" POLICY, NULL },
		{ ONE("") "}}, podFailurePolicy: null, x: {y: {", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		cleanup_free char *text = errors_of(policies[i].pod, "", "", NULL);
		const char *want = policies[i].want;

		if (want ? !strstr(text, want) : *text)
			fail_msg("row %zu: %s", i, text);
	}
}

/* Upstream's webhook has no such rules: ours admits the job, too, and warns. */
TEST(test_warnings)
{
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	cleanup_free char *text =
		errors_of(ONE("") ", restartPolicy: Always", "", "", warnings);

	assert_string_equal(text, "");
	assert_int_equal(cJSON_GetArraySize(warnings), 1);
	assert_string_equal(
		warnings->child->valuestring,
		"this TrainJob cannot start: pods of job node: restartPolicy: "
		"must be one of OnFailure, Never");
}

RUN_TESTS(NULL, NULL)
