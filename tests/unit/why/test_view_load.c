#include "api/meta.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "tests/unit/kube/apiserver.h"
#include "trainer/api.h"
#include "why/devices.h"
#include "why/foreign.h"
#include "why/view.h"

enum { N = 501 }; /* two pages */
#define PODS "/api/v1/namespaces/a/pods/"

static void put(struct apiserver *s, const char *yaml)
{
	const struct kube_write plain = { 0 };
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;

	if (yaml_parse(&docs, yaml, strlen(yaml), &err) ||
	    kube_create(s->kube, docs->child, &plain, NULL, &err))
		fail_msg("%s: %s", yaml, err.msg);
}

/* N documents of that text, whose one %03d is their number. */
static void put_all(struct apiserver *s, const char *text)
{
	const char *at = strstr(text, "%03d");

	for (int i = 0; i < N; i++) {
		cleanup_arena struct arena arena = { 0 };

		put(s, arena_printf(&arena, "%s%03d%s",
				    str_slice(&arena, text, (size_t)(at - text)), i,
				    at + strlen("%03d")));
	}
}

static int64_t counted(const struct view *v, const char *resource, bool used)
{
	struct quantity all, have;

	assert_true(node_has(v->nodes->child, resource, &all, &have));
	return (int64_t)((used ? have.nano : all.nano) / 1000000000);
}

static void start(struct apiserver *s)
{
	apiserver_start(s);
	put(s, "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
	       "metadata: {name: j, namespace: a}\nspec: {runtimeRef: {name: r}}\n");
	put(s,
	    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j-node-0, namespace: a, "
	    "uid: u, ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: "
	    "JobSet, name: j, uid: x, controller: true}]}\nspec: {parallelism: 1}\n");
	put(s, "apiVersion: v1\nkind: Node\nmetadata: {name: w1}\nstatus: {allocatable: "
	       "{cpu: 4, pods: 1000}}\n");
}

/* Lists whose pages expire are read again: nothing is in the view, or counted, twice. */
TEST(test_a_list_that_begins_again_counts_each_once)
{
	static const struct {
		const char *expires;
		int pods, used;
	} rows[] = {
		{ "{'op':'expire','forget':'" PODS "p007'}", N - 1, N - 1 },
		{ "{'op':'expire','after':1,'forget':'" PODS "p007'}", N, N - 1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct apiserver s = { 0 };
		struct view v;
		struct error err = { 0 };

		start(&s);
		put_all(&s,
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p%03d, namespace: a, "
			"labels: {jobset.sigs.k8s.io/jobset-name: j, "
			"jobset.sigs.k8s.io/replicatedjob-name: node, "
			"jobset.sigs.k8s.io/job-index: '0'}, ownerReferences: "
			"[{apiVersion: batch/v1, kind: Job, name: j-node-0, uid: u, "
			"controller: true}]}\nspec: {nodeName: w1}\nstatus: {phase: "
			"Running, conditions: [{type: PodScheduled, status: 'False', "
			"reason: Unschedulable, message: 0/1}]}\n");
		apiserver_do(&s, rows[i].expires);
		if (view_load(&v, s.kube, "a", "j", &err))
			fail_msg("%s", err.msg);
		assert_int_equal(cJSON_GetArraySize(v.pods), rows[i].pods);
		assert_int_equal(cJSON_GetArraySize(v.jobs), 1);
		assert_int_equal(cJSON_GetArraySize(v.nodes), 1);
		assert_int_equal(counted(&v, "pods", true), rows[i].used);
		view_release(&v);
		apiserver_stop(&s);
	}
}

TEST(test_devices_of_a_list_that_begins_again_are_counted_once)
{
	struct apiserver s = { 0 };
	struct view v;
	struct error err = { 0 };
	cJSON *node;

	start(&s);
	put_all(&s,
		"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: "
		"s%03d}\nspec: {driver: d, nodeName: w1, pool: {name: p}, devices: "
		"[{name: x}]}\n");
	put_all(&s,
		"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: "
		"c%03d, namespace: a}\nstatus: {allocation: {devices: {results: [{driver: "
		"d, pool: p}]}}}\n");
	view_init(&v, "a", "j");
	node = meta_new("v1", "Node", NULL, "w1");
	json_put_str(node, "4", "status", "allocatable", "cpu");
	view_add(&v, node);
	apiserver_do(&s, "{'op':'expire','forget':"
			 "'/apis/resource.k8s.io/v1/resourceslices/s007'}");
	assert_int_equal(devices_load(&v, s.kube, &err), 0);
	assert_int_equal(counted(&v, "devices of d", false), N - 1);
	assert_int_equal(counted(&v, "devices of d", true), N);
	nodes_forget(v.nodes, "", true);
	nodes_forget(v.nodes, "devices", false);
	apiserver_do(&s, "{'op':'expire','forget':'/apis/resource.k8s.io/v1/namespaces/a/"
			 "resourceclaims/c007'}");
	assert_int_equal(devices_load(&v, s.kube, &err), 0);
	assert_int_equal(counted(&v, "devices of d", false), N - 1);
	assert_int_equal(counted(&v, "devices of d", true), N - 1);
	assert_int_equal(counted(&v, "cpu", false), 4);
	view_release(&v);
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
