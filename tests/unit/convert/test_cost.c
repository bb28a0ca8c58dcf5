/* The work of a conversion grows as the job does (tests/unit/cost.h). */
#include "tests/unit/convert/convert_test.h"
#include "tests/unit/cost.h"

#define TRAINJOB(spec)                                                     \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob'," \
	"'metadata':{'name':'j'},'spec':{'runtimeRef':{'name':'r'}," spec "}}"
#define V1_JOB(kind, spec)                              \
	"{'apiVersion':'kubeflow.org/v1','kind':'" kind \
	"','metadata':{'name':'j'},'spec':{" spec "}}"
#define PYTORCH(pod)         \
	V1_JOB("PyTorchJob", \
	       "'pytorchReplicaSpecs':{'Master':{'template':{'spec':{" pod "}}}}")
#define CONTAINER(members) "'containers':[{'name':'pytorch','image':'a'" members "}]"

static const struct row {
	const char *what, *object;
} rows[] = {
	{ "overrides",
	  TRAINJOB("'podSpecOverrides':[<{'targetJobs':[{'name':'node'}]}>],"
		   "'podTemplateOverrides':[<{'targetJobs':[{'name':'node'}]}>]") },
	{ "jobs of an override",
	  TRAINJOB("'podSpecOverrides':[{'targetJobs':[<{'name':'n#'}>]}]") },
	{ "env", PYTORCH(CONTAINER(",'env':[<{'name':'A#','value':'x'}>]")) },
	{ "arguments", PYTORCH(CONTAINER(",'command':['a'],'args':[<'--a=#'>]")) },
	{ "ports", PYTORCH(CONTAINER(",'ports':[<{'name':'p#','containerPort':#}>]")) },
	{ "volumes",
	  PYTORCH(CONTAINER(
		  ",'volumeMounts':[<{'name':'v#','mountPath':'/#'}>]") ",'volumes':[<{'name':'v#','emptyDir':{}}>]") },
	{ "init containers",
	  PYTORCH(CONTAINER("") ",'initContainers':[<{'name':'i#','image':'a'}>]") },
	{ "containers", PYTORCH("'containers':[{'name':'pytorch','image':'a'},"
				"<{'name':'c#','image':'a'}>]") },
	{ "unknown fields", PYTORCH(CONTAINER("") ",<'field#':1>") },
	{ "unknown replicas",
	  V1_JOB("TFJob", "'tfReplicaSpecs':{<'W#':{'template':{'spec':{'containers':["
			  "{'name':'tensorflow','image':'a'}]}}}>}") },
};

static uint64_t cost(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_json cJSON *doc = cost_doc(row->object, n);
	cleanup_convert_result struct convert_result res = { 0 };
	uint64_t start = cost_now();

	if (convert_what(doc, &res.errs) == CONVERT_JOB)
		convert_job(&res, &conf, doc);
	else
		convert_trainer(&res, doc);
	return cost_now() - start;
}

TEST(test_cost)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost, &rows[i], 100);
	assert_true(linear);
}

RUN_TESTS(group_setup, group_teardown)
