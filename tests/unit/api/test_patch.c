/* Expected results: k8s.io/apimachinery v0.36 pkg/util/strategicpatch on the Go types. */

#include "api/patch.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"

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

TEST(test_order_of_lists)
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
		/* two of a key in the document stand together, where the first was */
		{ ENV("{name: A}, {name: B}, {name: A, value: x}"), ENV("{name: C}"),
		  ENV("{name: C}, {name: A}, {name: A, value: x}, {name: B}") },
		/* the first of the document stays before the second */
		{ ENV("{name: A}, {name: B}"), ENV("{name: B, value: x}"),
		  ENV("{name: A}, {name: B, value: x}") },
		{ ENV("{name: A}, {name: B}"), ENV("{name: A, value: x}"),
		  ENV("{name: A, value: x}, {name: B}") },
		{ ENV("{name: A}"), ENV(""), ENV("{name: A}") },
	};

	RUN(rows, PATCH_POD_TEMPLATE);
}

TEST(test_merge_keys)
{
	static const struct row rows[] = {
		{ "{spec: {containers: [{name: n, volumeMounts: [{name: v, "
		  "mountPath: /a}]}]}}",
		  "{spec: {containers: [{name: n, volumeMounts: [{name: v, "
		  "mountPath: /b}]}]}}",
		  "{spec: {containers: [{name: n, volumeMounts: [{name: v, "
		  "mountPath: /b}, {name: v, mountPath: /a}]}]}}" },
		{ "{spec: {containers: [{name: n, ports: [{containerPort: "
		  "80, name: a}]}]}}",
		  "{spec: {containers: [{name: n, ports: [{containerPort: "
		  "80, name: b}]}]}}",
		  "{spec: {containers: [{name: n, ports: [{containerPort: "
		  "80, name: b}]}]}}" },
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

	RUN(rows, PATCH_POD_TEMPLATE);
}

TEST(test_maps_merge_deep_and_null_deletes)
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

	RUN(rows, PATCH_POD_TEMPLATE);
}

TEST(test_directives)
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
		{ "{metadata: {}}",
		  "{metadata: {$deleteFromPrimitiveList/finalizers: [b]}}",
		  "{metadata: {}}" },
		{ "{metadata: {finalizers: [a]}}",
		  "{metadata: {$deleteFromPrimitiveList/finalizers: a}}", NULL },
		{ "{metadata: {finalizers: [a]}}", "{metadata: {finalizers: [{}]}}",
		  NULL },
		{ "{metadata: {finalizers: [a]}}", "{metadata: {finalizers: [[]]}}",
		  NULL },
		{ "{metadata: {finalizers: [a]}}", "{metadata: {finalizers: [1]}}",
		  "{metadata: {finalizers: [1, a]}}" },
		/* an order for a list that nobody has, for what is none, that is none */
		{ SPEC(""), SPEC("$setElementOrder/containers: [{name: A}]"), SPEC("") },
		{ SPEC("volumes: [{name: v}]"), SPEC("$setElementOrder/tolerations: []"),
		  NULL },
		{ SPEC("volumes: [{name: v}]"), SPEC("$setElementOrder/volumes: v"),
		  NULL },
		{ SPEC("volumes: [{name: v}]"),
		  SPEC("$setElementOrder/volumes: [{name: v}], volumes: v"), NULL },
		/* one that the patch deletes need not be in the order */
		{ SPEC("containers: [{name: A}, {name: B}, {name: C}]"),
		  SPEC("$setElementOrder/containers: [{name: C}, {name: B}], containers: "
		       "[{name: A, $patch: delete}, {name: B, image: i}]"),
		  SPEC("containers: [{name: C}, {name: B, image: i}]") },
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

	RUN(rows, PATCH_POD_TEMPLATE);
}

TEST(test_jobset)
{
	static const struct row rows[] = {
		{ "{replicatedJobs: [{name: a, replicas: 1}, {name: b}], network: "
		  "{subdomain: s}}",
		  "{replicatedJobs: [{name: b, template: {spec: {template: {spec: {"
		  "containers: [{name: node, env: [{name: X, value: '1'}]}]}}}}}],"
		  " network: {enableDNSHostnames: true}}",
		  "{replicatedJobs: [{name: a, replicas: 1}, {name: b, "
		  "template: {spec: {template: {spec: {containers: [{name: "
		  "node, env: [{name: X, value: '1'}]}]}}}}}], network: "
		  "{subdomain: s, enableDNSHostnames: true}}" },
		{ "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: Ready}]}]}",
		  "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: "
		  "Complete}]}]}",
		  "{replicatedJobs: [{name: b, dependsOn: [{name: a, status: "
		  "Complete}]}]}" },
		{ "{successPolicy: {operator: All, targetReplicatedJobs: [a]}}",
		  "{successPolicy: {targetReplicatedJobs: [b]}}",
		  "{successPolicy: {operator: All, targetReplicatedJobs: [b]}}" },
	};

	RUN(rows, PATCH_JOBSET_SPEC);
}

/* RFC 7386, appendix A: the rows whose documents are objects. */
TEST(test_merge_patch)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *have = doc(rows[i].doc);
		cleanup_json cJSON *patch = doc(rows[i].patch);
		cleanup_json cJSON *want = doc(rows[i].want);

		patch_merge(have, patch);
		if (!json_equal(have, want))
			fail_msg("%s with %s", rows[i].doc, rows[i].patch);
	}
}

/* A list of maps that is merged has a row, with its key. */
TEST(test_every_list)
{
	static const struct {
		enum patch_type type;
		const char *before, *list, *key, *after;
	} rows[] = {
		{ PATCH_JOBSET_SPEC, "{", "replicatedJobs", "name", "}" },
		{ PATCH_JOBSET_SPEC, "{replicatedJobs: [{name: j, ", "dependsOn", "name",
		  "}]}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "volumes", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "initContainers", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "containers", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "ephemeralContainers", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "imagePullSecrets", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "hostAliases", "ip", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "topologySpreadConstraints",
		  "topologyKey", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "schedulingGates", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {", "resourceClaims", "name", "}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {containers: [{name: c, ", "ports",
		  "containerPort", "}]}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {initContainers: [{name: c, ", "env",
		  "name", "}]}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {ephemeralContainers: [{name: c, ",
		  "volumeMounts", "mountPath", "}]}}" },
		{ PATCH_POD_TEMPLATE, "{spec: {containers: [{name: c, ", "volumeDevices",
		  "devicePath", "}]}}" },
		{ PATCH_POD_TEMPLATE, "{metadata: {", "ownerReferences", "uid", "}}" },
		{ PATCH_JOBSET_SPEC, "{replicatedJobs: [{name: j, template: {metadata: {",
		  "ownerReferences", "uid", "}}}]}" },
		{ PATCH_JOBSET_SPEC,
		  "{replicatedJobs: [{name: j, template: {spec: {template: {spec: {",
		  "volumes", "name", "}}}}}]}" },
		{ PATCH_OBJECT, "{metadata: {", "ownerReferences", "uid", "}}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *k = rows[i].key;
		const struct row row = {
			arena_printf(&a, "%s%s: [{%s: x, old: 1}, {%s: y}]%s",
				     rows[i].before, rows[i].list, k, k, rows[i].after),
			arena_printf(&a, "%s%s: [{%s: x, new: 2}]%s", rows[i].before,
				     rows[i].list, k, rows[i].after),
			arena_printf(&a, "%s%s: [{%s: x, old: 1, new: 2}, {%s: y}]%s",
				     rows[i].before, rows[i].list, k, k, rows[i].after),
		};

		run(&row, 1, rows[i].type);
	}
}

TEST(test_no_objects)
{
	static const struct row rows[] = { { "[]", "{}", NULL },
					   { "{}", "[]", NULL },
					   { "1", "{}", NULL } };

	RUN(rows, PATCH_OBJECT);
}

TEST(test_long_lists)
{
	for (int n = 10000; n <= 10001; n++) {
		cleanup_json cJSON *have = doc("{metadata: {finalizers: [x]}}");
		cleanup_json cJSON *patch = doc("{metadata: {finalizers: []}}");
		struct error err = { 0 };

		for (int i = 0; i < n; i++)
			cJSON_AddItemToArray(json_get(patch, "metadata", "finalizers"),
					     cJSON_CreateNumber(i));
		assert_int_equal(patch_strategic(have, patch, PATCH_OBJECT, &err),
				 n > 10000 ? -1 : 0);
		if (n > 10000)
			assert_string_equal(err.msg,
					    "metadata: finalizers: over 10000 elements");
	}
}

RUN_TESTS(NULL, NULL)
