/* Expected results: k8s.io/apimachinery v0.36 pkg/util/strategicpatch on the Go types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/patch.h"
#include "base/cleanup.h"
#include "base/yaml.h"

/* YAML keeps the rows readable. */
static cJSON *doc(const char *text)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

struct row {
	const char *doc, *patch, *want; /* want NULL: refused */
};

static void run(const struct row *rows, size_t n, enum patch_type type)
{
	for (size_t i = 0; i < n; i++) {
		struct error err = { 0 };
		cleanup_json cJSON *have = doc(rows[i].doc);
		cleanup_json cJSON *patch = doc(rows[i].patch);
		cleanup_json cJSON *want = doc(rows[i].want ? rows[i].want : rows[i].doc);
		cleanup_free char *text = NULL;

		if (!patch_strategic(have, patch, type, &err) != !!rows[i].want)
			fail_msg("%s: %s", rows[i].patch, err.msg);
		text = json_text(have);
		if (!json_equal(have, want))
			fail_msg("%s with %s: wanted %s, got %s", rows[i].doc,
				 rows[i].patch, rows[i].want, text);
	}
}
#define RUN(rows, type) run(rows, sizeof(rows) / sizeof(*(rows)), type)

#define ENV(list)       "{spec: {containers: [{name: node, env: [" list "]}]}}"
#define SPEC(rest)      "{spec: {" rest "}}"

static void test_order_of_lists(void **state)
{
	static const struct row rows[] = {
		/* new before the untouched */
		{ ENV("{name: A}, {name: B}"), ENV("{name: C}"),
		  ENV("{name: C}, {name: A}, {name: B}") },
		{ ENV("{name: A}, {name: B}"), ENV("{name: A, value: x}, {name: C}"),
		  ENV("{name: A, value: x}, {name: C}, {name: B}") },
		{ ENV("{name: A}, {name: B}"), ENV("{name: C}, {name: B, value: x}"),
		  ENV("{name: C}, {name: A}, {name: B, value: x}") },
		/* the patch's order wins among what it names */
		{ ENV("{name: A}, {name: B}, {name: C}"), ENV("{name: C}, {name: A}"),
		  ENV("{name: B}, {name: C}, {name: A}") },
		{ ENV(""), ENV("{name: B}, {name: A}"), ENV("{name: B}, {name: A}") },
		{ ENV("{name: A}"), ENV(""), ENV("{name: A}") },
	};

	(void)state;
	RUN(rows, PATCH_POD_TEMPLATE);
}

static void test_merge_keys(void **state)
{
	static const struct row rows[] = {
		{ "{spec: {containers: [{name: n, volumeMounts: [{name: v, mountPath: "
		  "/a}]}]}}",
		  "{spec: {containers: [{name: n, volumeMounts: [{name: v, mountPath: "
		  "/b}]}]}}",
		  "{spec: {containers: [{name: n, volumeMounts: [{name: v, mountPath: "
		  "/b},"
		  " {name: v, mountPath: /a}]}]}}" },
		{ "{spec: {containers: [{name: n, ports: [{containerPort: 80, name: "
		  "a}]}]}}",
		  "{spec: {containers: [{name: n, ports: [{containerPort: 80, name: "
		  "b}]}]}}",
		  "{spec: {containers: [{name: n, ports: [{containerPort: 80, name: "
		  "b}]}]}}" },
		{ "{spec: {volumes: [{name: v, emptyDir: {}}]}}",
		  "{spec: {volumes: [{name: v, configMap: {name: c}}]}}",
		  "{spec: {volumes: [{name: v, emptyDir: {}, configMap: {name: c}}]}}" },
		{ "{spec: {volumes: [{name: v, emptyDir: {}}]}}",
		  "{spec: {volumes: [{name: v, $retainKeys: [name, configMap], "
		  "configMap: {name: c}}]}}",
		  "{spec: {volumes: [{name: v, configMap: {name: c}}]}}" },
		{ "{spec: {volumes: [{name: v, configMap: {name: c}, emptyDir: {}}]}}",
		  "{spec: {volumes: [{name: v, $retainKeys: [configMap, name]}]}}",
		  "{spec: {volumes: [{name: v, configMap: {name: c}}]}}" },
		{ SPEC("tolerations: [{key: a}, {key: b}]"),
		  SPEC("tolerations: [{key: c}]"), SPEC("tolerations: [{key: c}]") },
		{ SPEC("imagePullSecrets: [{name: a}]"),
		  SPEC("imagePullSecrets: [{name: b}]"),
		  SPEC("imagePullSecrets: [{name: b}, {name: a}]") },
		{ SPEC("schedulingGates: [{name: a}]"),
		  SPEC("schedulingGates: [{name: a}]"),
		  SPEC("schedulingGates: [{name: a}]") },
		{ SPEC("hostAliases: [{ip: a, hostnames: [x]}]"),
		  SPEC("hostAliases: [{ip: a, hostnames: [y]}]"),
		  SPEC("hostAliases: [{ip: a, hostnames: [y]}]") },
		{ SPEC("topologySpreadConstraints: [{topologyKey: z, maxSkew: 1}]"),
		  SPEC("topologySpreadConstraints: [{topologyKey: z, minDomains: 2}]"),
		  SPEC("topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, "
		       "minDomains: 2}]") },
		{ SPEC("initContainers: [{name: a, image: i}]"),
		  SPEC("initContainers: [{name: a, command: [x]}]"),
		  SPEC("initContainers: [{name: a, image: i, command: [x]}]") },
		{ SPEC("containers: [{name: a, command: [x, y]}]"),
		  SPEC("containers: [{name: a, command: [z]}]"),
		  SPEC("containers: [{name: a, command: [z]}]") },
		{ "{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [c, a]}}",
		  "{metadata: {finalizers: [c, a, b]}}" },
		{ SPEC("containers: [{name: a}]"), SPEC("containers: [{image: i}]"),
		  NULL },
		{ SPEC("containers: [{name: a}]"), SPEC("containers: [text]"), NULL },
	};

	(void)state;
	RUN(rows, PATCH_POD_TEMPLATE);
}

static void test_maps_merge_deep_and_null_deletes(void **state)
{
	static const struct row rows[] = {
		{ SPEC("nodeSelector: {a: '1', b: '2'}"),
		  SPEC("nodeSelector: {b: '3', c: '4'}"),
		  SPEC("nodeSelector: {a: '1', b: '3', c: '4'}") },
		{ SPEC("securityContext: {runAsUser: 1, fsGroup: 2}"),
		  SPEC("securityContext: {runAsUser: null}"),
		  SPEC("securityContext: {fsGroup: 2}") },
		{ SPEC("serviceAccountName: a"), SPEC("serviceAccountName: null"),
		  "{spec: {}}" },
		{ "{}", SPEC("securityContext: {runAsUser: null, fsGroup: 1}"),
		  SPEC("securityContext: {fsGroup: 1}") },
		{ SPEC("affinity: {podAffinity: {a: 1}}"),
		  SPEC("affinity: {nodeAffinity: {b: 1}}"),
		  SPEC("affinity: {podAffinity: {a: 1}, nodeAffinity: {b: 1}}") },
		{ SPEC("securityContext: text"), SPEC("securityContext: {fsGroup: 1}"),
		  SPEC("securityContext: {fsGroup: 1}") },
	};

	(void)state;
	RUN(rows, PATCH_POD_TEMPLATE);
}

static void test_directives(void **state)
{
	static const struct row rows[] = {
		{ ENV("{name: A}, {name: B}"), ENV("{name: A, $patch: delete}"),
		  ENV("{name: B}") },
		{ ENV("{name: A}, {name: B}"), ENV("{name: C}, {$patch: replace}"),
		  ENV("{name: C}") },
		{ SPEC("securityContext: {fsGroup: 1}"),
		  SPEC("securityContext: {$patch: replace, runAsUser: 2}"),
		  SPEC("securityContext: {runAsUser: 2}") },
		{ "{spec: {containers: [{name: A}, {name: B}, {name: C}]}}",
		  "{spec: {$setElementOrder/containers: [{name: C}, {name: A}]}}",
		  "{spec: {containers: [{name: B}, {name: C}, {name: A}]}}" },
		/* an order that lacks one of the patch, or has another one */
		{ "{spec: {containers: [{name: A}]}}",
		  "{spec: {$setElementOrder/containers: [{name: A}], containers: "
		  "[{name: B, image: i}]}}",
		  NULL },
		{ "{spec: {containers: [{name: A}, {name: B}]}}",
		  "{spec: {$setElementOrder/containers: [{name: A}, {name: B}], "
		  "containers: [{name: B, image: i}, {name: A, image: i}]}}",
		  NULL },
		{ "{metadata: {finalizers: [a, b, c]}}",
		  "{metadata: {$deleteFromPrimitiveList/finalizers: [b]}}",
		  "{metadata: {finalizers: [a, c]}}" },
		{ ENV("{name: A}"), ENV("{name: A, $patch: explode}"), NULL },
		{ ENV("1"), ENV("{name: A}"), NULL },
		{ ENV("{name: A}"), ENV("1"), NULL },
		{ "{spec: {}}", "{spec: {$patch: explode}}", NULL },
		{ "{spec: {volumes: [{name: v}]}}",
		  "{spec: {volumes: [{name: v, $retainKeys: [name], emptyDir: {}}]}}",
		  NULL },
		/* the same in maps whose keys are the user's */
		{ SPEC("nodeSelector: {a: '1'}"),
		  SPEC("nodeSelector: {$patch: replace, b: '2'}"),
		  SPEC("nodeSelector: {b: '2'}") },
		{ "{metadata: {labels: {a: '1', b: '1'}}}",
		  "{metadata: {labels: {$retainKeys: [b], b: '2'}}}",
		  "{metadata: {labels: {b: '2'}}}" },
		{ "{metadata: {labels: {a: '1'}}}",
		  "{metadata: {labels: {$retainKeys: b}}}", NULL },
		{ "{metadata: {labels: {a: '1'}}}",
		  "{metadata: {labels: {$patch: delete}}}", "{metadata: {labels: {}}}" },
		{ "{metadata: {}}", "{metadata: {labels: {$patch: delete, a: '1'}}}",
		  "{metadata: {}}" },
		{ "{metadata: {}}", "{metadata: {labels: {$retainKeys: b, a: '1'}}}",
		  "{metadata: {labels: {a: '1'}}}" },
	};

	(void)state;
	RUN(rows, PATCH_POD_TEMPLATE);
}

static void test_jobset(void **state)
{
	static const struct row rows[] = {
		{ "{replicatedJobs: [{name: a, replicas: 1}, {name: b}], network: "
		  "{subdomain: s}}",
		  "{replicatedJobs: [{name: b, template: {spec: {template: {spec: {"
		  "containers: [{name: node, env: [{name: X, value: '1'}]}]}}}}}],"
		  " network: {enableDNSHostnames: true}}",
		  "{replicatedJobs: [{name: a, replicas: 1}, {name: b, template: {spec: "
		  "{template:"
		  " {spec: {containers: [{name: node, env: [{name: X, value: "
		  "'1'}]}]}}}}}],"
		  " network: {subdomain: s, enableDNSHostnames: true}}" },
		{ "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: Ready}]}]}",
		  "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: "
		  "Complete}]}]}",
		  "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: "
		  "Complete}]}]}" },
		{ "{successPolicy: {operator: All, targetReplicatedJobs: [a]}}",
		  "{successPolicy: {targetReplicatedJobs: [b]}}",
		  "{successPolicy: {operator: All, targetReplicatedJobs: [b]}}" },
	};

	(void)state;
	RUN(rows, PATCH_JOBSET_SPEC);
}

/* RFC 7386, appendix A: the rows whose documents are objects. */
static void test_merge_patch(void **state)
{
	static const struct row rows[] = {
		{ "{a: b}", "{a: c}", "{a: c}" },
		{ "{a: b}", "{b: c}", "{a: b, b: c}" },
		{ "{a: b}", "{a: null}", "{}" },
		{ "{a: [b]}", "{a: c}", "{a: c}" },
		{ "{a: c}", "{a: [b]}", "{a: [b]}" },
		{ "{a: {b: c}}", "{a: {b: d, c: null}}", "{a: {b: d}}" },
		{ "{a: [{b: c}]}", "{a: [1]}", "{a: [1]}" },
		{ "{e: null}", "{a: 1}", "{e: null, a: 1}" },
		{ "{}", "{a: {bb: {ccc: null}}}", "{a: {bb: {}}}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *have = doc(rows[i].doc);
		cleanup_json cJSON *patch = doc(rows[i].patch);
		cleanup_json cJSON *want = doc(rows[i].want);

		patch_merge(have, patch);
		if (!json_equal(have, want))
			fail_msg("%s with %s", rows[i].doc, rows[i].patch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_lists),
		cmocka_unit_test(test_merge_keys),
		cmocka_unit_test(test_maps_merge_deep_and_null_deletes),
		cmocka_unit_test(test_directives),
		cmocka_unit_test(test_jobset),
		cmocka_unit_test(test_merge_patch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
