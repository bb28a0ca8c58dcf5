/* A pod's place in its JobSet, by its name: trainer/podname.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/podname.h"

static const char jobset[] = "{metadata: {name: j}, spec: {replicatedJobs: ["
			     "{name: data, template: {spec: {template: {spec: "
			     "{containers: [{name: data}]}}}}}, "
			     "{name: node, replicas: 2, template: {metadata: {labels: "
			     "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, "
			     "spec: {completions: 3, parallelism: "
			     "2, template: {spec: {initContainers: [{name: init}], "
			     "containers: [{name: node}]}}}}}, "
			     "{name: node-b, template: {metadata: {labels: "
			     "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, "
			     "spec: {parallelism: 2, template: "
			     "{spec: {containers: [{name: x}]}}}}}, "
			     "{name: none, replicas: 3, template: {spec: {completions: "
			     "0, parallelism: 2}}}]}}";

TEST(test_names)
{
	static const struct {
		const char *pod, *container, *prefix; /* NULL: none of this JobSet */
		size_t number;
		int replica, index, rank;
	} rows[] = {
		{ "j-data-0-abcde", "data", "data", 0, 0, -1, -1 },
		{ "j-node-0-2-abcde", "node", "node-0-2", 1, 0, 2, 2 },
		{ "j-node-1-0-abcde", "init", "node-1-0/init", 1, 1, 0, 3 },
		{ "j-node-b-0-1-abcde", "x", "node-b-1", 2, 0, 1, 1 },
		{ "j-node-b-0-1-abcde", NULL, "node-b-1", 2, 0, 1, 1 },
		{ "j-none-2-1-abcde", NULL, "none-2-1", 3, 2, 1, 1 },
		{ "j-node-715827882-1-abcde", "node", "node-715827882-1", 1, 715827882, 1,
		  2147483647 },
		{ "j-node-715827882-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "j-node-2147483629-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "j-node-0-2-abcd", NULL, NULL, 0, 0, 0, 0 },
		{ "j-node-0-2-abcdef", NULL, NULL, 0, 0, 0, 0 },
		{ "j-node-0-2-ab-de", NULL, NULL, 0, 0, 0, 0 },
		{ "j-node-x-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "j-nodes-0-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "k-node-0-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "jnode-0-2-abcde", NULL, NULL, 0, 0, 0, 0 },
		{ "j", NULL, NULL, 0, 0, 0, 0 },
	};
	cleanup_json cJSON *js = doc(jobset);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct podname p;

		if (podname_parse(&p, js, rows[i].pod) != !!rows[i].prefix)
			fail_msg("%s", rows[i].pod);
		if (!rows[i].prefix)
			continue;
		assert_string_equal(podname_prefix(&a, &p, rows[i].container),
				    rows[i].prefix);
		assert_int_equal(p.number, rows[i].number);
		assert_int_equal(p.replica, rows[i].replica);
		assert_int_equal(p.index, rows[i].index);
		assert_int_equal(p.rank, rows[i].rank);
	}
}

RUN_TESTS(NULL, NULL)
