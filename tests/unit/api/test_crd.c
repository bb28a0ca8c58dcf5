/*
 * The CustomResourceDefinitions: complete, structural, small enough; and the
 * built-in runtimes, which must be good by the same schema.
 */
#include <glob.h>

#include "tests/unit/api/schema_fixture.h"

#include "base/str.h"

static const char *const kinds[] = { "TrainJob", "TrainingRuntime",
				     "ClusterTrainingRuntime", NULL };

enum { ALL_CRDS_MAX = 300 * 1000 };

TEST(test_size)
{
	size_t size = 0;

	for (size_t i = 0; kinds[i]; i++) {
		cleanup_json cJSON *crd = schema_crd(*state, kinds[i]);
		cleanup_free char *text = json_text(crd);

		print_message("# %s: %zu bytes\n", kinds[i], strlen(text));
		size += strlen(text);
	}
	assert_in_range(size, 150 * 1000, ALL_CRDS_MAX);
}

/* Rows: where, and the value there as JSON. */
static const struct fact {
	const char *kind, *path, *want;
} facts[] = {
	{ "TrainJob", "apiVersion", "\"apiextensions.k8s.io/v1\"" },
	{ "TrainJob", "kind", "\"CustomResourceDefinition\"" },
	{ "TrainJob", "metadata", "{\"name\":\"trainjobs.trainer.kubeflow.org\"}" },
	{ "TrainJob", "spec/group", "\"trainer.kubeflow.org\"" },
	{ "TrainJob", "spec/scope", "\"Namespaced\"" },
	{ "TrainJob", "spec/names",
	  "{\"kind\":\"TrainJob\",\"listKind\":\"TrainJobList\",\"plural\":\"trainjobs\","
	  "\"singular\":\"trainjob\"}" },
	{ "TrainJob", "version/name", "\"v1alpha1\"" },
	{ "TrainJob", "version/served", "true" },
	{ "TrainJob", "version/storage", "true" },
	{ "TrainJob", "version/subresources", "{\"status\":{}}" },
	{ "TrainJob", "version/additionalPrinterColumns",
	  "[{\"name\":\"State\",\"type\":\"string\",\"jsonPath\":\".status.state\"},"
	  "{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata."
	  "creationTimestamp\"}]" },
	{ "TrainJob", "schema/type", "\"object\"" },
	{ "TrainJob", "schema/properties/metadata", "{\"type\":\"object\"}" },
	{ "TrainJob", "schema/properties/spec/required", "[\"runtimeRef\"]" },
	{ "TrainJob", "schema/properties/spec/properties/suspend/default", "false" },
	{ "TrainJob", "schema/properties/spec/properties/managedBy/default",
	  "\"trainer.kubeflow.org/trainjob-controller\"" },
	{ "TrainJob", "schema/properties/spec/properties/trainer/properties/env/maxItems",
	  "128" },
	{ "TrainJob",
	  "schema/properties/spec/properties/trainer/properties/env/"
	  "x-kubernetes-list-map-keys",
	  "[\"name\"]" },
	{ "TrainJob",
	  "schema/properties/spec/properties/runtimeRef/properties/kind/default",
	  "\"ClusterTrainingRuntime\"" },
	{ "TrainJob", "schema/properties/status/properties/state/enum",
	  "[\"Created\",\"Suspended\",\"Running\",\"Complete\",\"Failed\"]" },
	{ "TrainJob",
	  "schema/properties/spec/properties/trainer/x-kubernetes-validations",
	  "[{\"rule\":\"self == oldSelf\",\"message\":\"field is immutable\"}]" },
	{ "TrainingRuntime", "metadata/name",
	  "\"trainingruntimes.trainer.kubeflow.org\"" },
	{ "TrainingRuntime", "spec/scope", "\"Namespaced\"" },
	{ "TrainingRuntime", "version/subresources", NULL },
	{ "TrainingRuntime", "version/additionalPrinterColumns", NULL },
	{ "TrainingRuntime", "schema/properties/spec/minProperties", "1" },
	{ "TrainingRuntime",
	  "schema/properties/spec/properties/mlPolicy/properties/mpi/properties/"
	  "mpiImplementation/enum",
	  "[\"OpenMPI\",\"Intel\",\"MPICH\",\"\"]" },
	{ "TrainingRuntime",
	  "schema/properties/spec/properties/podGroupPolicy/properties/coscheduling/properties/scheduleTimeoutSeconds/default",
	  "60" },
	{ "ClusterTrainingRuntime", "metadata/name",
	  "\"clustertrainingruntimes.trainer.kubeflow.org\"" },
	{ "ClusterTrainingRuntime", "spec/scope", "\"Cluster\"" },
	{ "ClusterTrainingRuntime", "spec/names/listKind",
	  "\"ClusterTrainingRuntimeList\"" },
};

static const cJSON *at_path(const cJSON *crd, const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *version = json_get(crd, "spec", "versions")->child;

	if (str_after(path, "version/"))
		return json_at(version,
			       (const char *const *)str_split(
				       &arena, str_after(path, "version/"), '/', NULL));
	if (str_after(path, "schema/"))
		return json_at(json_get(version, "schema", "openAPIV3Schema"),
			       (const char *const *)str_split(
				       &arena, str_after(path, "schema/"), '/', NULL));
	return json_at(crd, (const char *const *)str_split(&arena, path, '/', NULL));
}

TEST(crd_has_these_nodes)
{
	for (size_t i = 0; i < N_ELEMENTS(facts); i++) {
		cleanup_json cJSON *crd = schema_crd(*state, facts[i].kind);
		const cJSON *node = at_path(crd, facts[i].path);
		cleanup_free char *text = node ? json_text(node) : NULL;

		print_message("# %s %s\n", facts[i].kind, facts[i].path);
		if (!facts[i].want)
			assert_null(node);
		else
			assert_string_equal(text ? text : "", facts[i].want);
	}
	assert_null(schema_crd(*state, "OptimizationJob"));
}

/*
 * Rows: a path of a pod template, and the type there. What is not in a schema
 * the API server drops without a word: spot checks of all corners.
 */
static const struct field {
	const char *path, *type;
} fields[] = {
	{ "containers[].name", "string" },
	{ "containers[].command[]", "string" },
	{ "containers[].env[].valueFrom.fieldRef.fieldPath", "string" },
	{ "containers[].env[].valueFrom.fileKeyRef.optional", "boolean" },
	{ "containers[].envFrom[].configMapRef.name", "string" },
	{ "containers[].ports[].containerPort", "integer" },
	{ "containers[].resources.limits{}", "int-or-string" },
	{ "containers[].resources.claims[].request", "string" },
	{ "containers[].readinessProbe.tcpSocket.port", "int-or-string" },
	{ "containers[].startupProbe.httpGet.httpHeaders[].value", "string" },
	{ "containers[].lifecycle.preStop.sleep.seconds", "integer" },
	{ "containers[].lifecycle.stopSignal", "string" },
	{ "containers[].securityContext.seccompProfile.localhostProfile", "string" },
	{ "containers[].securityContext.capabilities.add[]", "string" },
	{ "containers[].volumeMounts[].recursiveReadOnly", "string" },
	{ "containers[].restartPolicyRules[].exitCodes.values[]", "integer" },
	{ "initContainers[].restartPolicy", "string" },
	{ "ephemeralContainers[].targetContainerName", "string" },
	{ "volumes[].emptyDir.sizeLimit", "int-or-string" },
	{ "volumes[].projected.sources[].serviceAccountToken.expirationSeconds",
	  "integer" },
	{ "volumes[].projected.sources[].podCertificate.userAnnotations{}", "string" },
	{ "volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests{}",
	  "int-or-string" },
	{ "volumes[].csi.volumeAttributes{}", "string" },
	{ "volumes[].image.reference", "string" },
	{ "volumes[].downwardAPI.items[].resourceFieldRef.divisor", "int-or-string" },
	{ "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]."
	  "podAffinityTerm.labelSelector.matchExpressions[].values[]",
	  "string" },
	{ "topologySpreadConstraints[].maxSkew", "integer" },
	{ "tolerations[].tolerationSeconds", "integer" },
	{ "dnsConfig.options[].value", "string" },
	{ "hostAliases[].hostnames[]", "string" },
	{ "schedulingGates[].name", "string" },
	{ "overhead{}", "int-or-string" },
	{ "resourceClaims[].resourceClaimTemplateName", "string" },
	{ "setHostnameAsFQDN", "boolean" },
	{ "terminationGracePeriodSeconds", "integer" },
};

static const cJSON *step(const cJSON *node, const char *name, char end)
{
	node = json_get(node, "properties", name);
	if (end == ']')
		node = json_get(node, "items");
	if (end == '}')
		node = json_get(node, "additionalProperties");
	return node;
}

static const cJSON *field_at(const cJSON *node, const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	char **parts = str_split(&arena, path, '.', NULL);

	for (; *parts && node; parts++) {
		size_t len = strlen(*parts);
		char end = (*parts)[len - 1];

		if (end == ']' || end == '}')
			(*parts)[len - 2] = 0;
		node = step(node, *parts, end);
	}
	return node;
}

TEST(test_pod_fields)
{
	cleanup_json cJSON *crd = schema_crd(*state, "TrainingRuntime");
	const cJSON *pod =
		field_at(at_path(crd, "schema/properties/spec"),
			 "template.spec.replicatedJobs[].template.spec.template.spec");

	assert_non_null(pod);
	for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
		const cJSON *node = field_at(pod, fields[i].path);
		const char *type = json_bool(node, false, "x-kubernetes-int-or-string")
					   ? "int-or-string"
					   : json_str(node, "type");

		if (!str_eq(type, fields[i].type))
			fail_msg("%s: %s", fields[i].path, type ? type : "not there");
	}
}

static bool has_word(const cJSON *words, const char *word)
{
	const cJSON *w;

	json_each(w, words)
		if (str_eq(w->valuestring, word))
			return true;
	return false;
}

/* Keys of a list that is a map are there, and required or with a default. */
static void check_keys(const cJSON *list, const char *name)
{
	const cJSON *items = json_get(list, "items"), *key, *field;
	bool is_map = str_eq(json_str(list, "x-kubernetes-list-type"), "map");

	if (is_map != (json_get(list, "x-kubernetes-list-map-keys") != NULL))
		fail_msg("%s: a map without keys, or keys without a map", name);
	json_each(key, json_get(list, "x-kubernetes-list-map-keys")) {
		field = json_get(items, "properties", key->valuestring);
		if (!field)
			fail_msg("%s: no key %s", name, key->valuestring);
		if (!json_get(field, "default") &&
		    !has_word(json_get(items, "required"), key->valuestring))
			fail_msg("%s: key %s may be absent", name, key->valuestring);
	}
}

/* Nothing of our own notation is left. */
static void check_notation(const cJSON *node, const char *name)
{
	const cJSON *rule;

	if (json_get(node, "$ref"))
		fail_msg("%s: has a reference", name);
	json_each(rule, json_get(node, "x-kubernetes-validations"))
		if (!json_str(rule, "rule") || !json_str(rule, "message") ||
		    json_get(rule, "id") || json_get(rule, "at"))
			fail_msg("%s: not a rule of a CRD", name);
}

/*
 * What apiextensions asks of a structural schema: a type everywhere but in
 * int-or-string, items in a list, good keys, no reference.
 */
static void check_structural(const cJSON *node, const char *name)
{
	const char *type = json_str(node, "type");
	const cJSON *items = json_get(node, "items"), *child;

	if (!type && !json_bool(node, false, "x-kubernetes-int-or-string"))
		fail_msg("%s: no type", name);
	if (str_eq(type, "array") != (items != NULL))
		fail_msg("%s: items of what is no list, or a list without", name);
	check_keys(node, name);
	check_notation(node, name);
	json_each(child, json_get(node, "properties"))
		check_structural(child, child->string);
	if (items)
		check_structural(items, name);
	if (json_get(node, "additionalProperties"))
		check_structural(json_get(node, "additionalProperties"), name);
}

TEST(test_structural)
{
	for (size_t i = 0; kinds[i]; i++) {
		cleanup_json cJSON *crd = schema_crd(*state, kinds[i]);

		check_structural(at_path(crd, "version/schema/openAPIV3Schema"),
				 kinds[i]);
	}
}

/* Two that an API server gets are the same, byte for byte. */
TEST(test_twice_the_same)
{
	cleanup_json cJSON *one = schema_crd(*state, "TrainJob");
	cleanup_json cJSON *two = schema_crd(*state, "TrainJob");
	cleanup_free char *a = json_text(one);
	cleanup_free char *b = json_text(two);

	assert_string_equal(a, b);
}

static void check_runtime(const struct schema *schema, const char *path)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };
	cleanup_buf struct buf lines = { .max = 1 << 20 };
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *obj = NULL;
	const char *name = path_base(path);

	read_file(&text, path);
	obj = yaml_doc((char *)text.data);
	schema_validate(schema, obj, NULL, &errs);
	if (errs.n)
		fail_msg("%s: %s", path, errors_text(&lines, &errs));
	assert_string_equal(json_str(obj, "kind"), "ClusterTrainingRuntime");
	assert_true(str_after(name, json_str(obj, "metadata", "name")) != NULL);
	assert_string_equal(str_after(name, json_str(obj, "metadata", "name")), ".yaml");
	assert_non_null(
		json_str(obj, "metadata", "labels", "trainer.kubeflow.org/framework"));
}

TEST(test_built_in_runtimes)
{
	glob_t found = { 0 };

	assert_int_equal(glob("core/assets/runtimes/*.yaml", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 14);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_runtime(*state, found.gl_pathv[i]);
	globfree(&found);
}

RUN_TESTS(group_setup, group_teardown)
