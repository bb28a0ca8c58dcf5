/* The work of a review and of a JobSet grows as the job does (tests/unit/cost.h). */

#include "api/meta.h"
#include "base/cleanup.h"
#include "plugins/plugins.h"
#include "tests/unit/cost.h"
#include "tests/unit/unit.h"
#include "trainer/jobset.h"
#include "trainer/pipeline.h"
#include "trainer/sdkcheck.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

#define API "'apiVersion':'trainer.kubeflow.org/v1alpha1',"
#define TJ(meta, spec)                                                            \
	"{" API                                                                   \
	"'kind':'TrainJob','metadata':{'name':'j','namespace':'n','uid':'u'" meta \
	"},'spec':{'runtimeRef':{'name':'r','kind':'ClusterTrainingRuntime',"     \
	"'apiGroup':'trainer.kubeflow.org'}" spec "}}"
#define TRAINER(spec) TJ("", ",'trainer':{" spec "}")
#define RUNTIME(policy, template, pod, container)                                      \
	"{" API "'kind':'ClusterTrainingRuntime','metadata':{'name':'r'},'spec':{"     \
	"'mlPolicy':{" policy                                                          \
	"},'template':{" template "'spec':{'replicatedJobs':[{"                        \
				  "'name':'node','template':{'metadata':{'labels':{"   \
				  "'trainer.kubeflow.org/"                             \
				  "trainjob-ancestor-step':'trainer'}},'spec':{'"      \
				  "template':"                                         \
				  "{'spec':{" pod                                      \
				  "'containers':[{'name':'node','image':'i'" container \
				  "}]}}}}}]}}}}"
#define PATCHED(template)                                                          \
	TJ("", ",'runtimePatches':[{'manager':'a.b/c','trainingRuntimeSpec':"      \
	       "{'template':{'spec':{'replicatedJobs':[{'name':'node','template':" \
	       "{'spec':{'template':{" template "}}}}]}}}}]")
#define TORCH RUNTIME("'numNodes':2,'torch':{}", "", "", "")

static const struct row {
	const char *what, *tj, *runtime;
} rows[] = {
	{ "labels", TJ(",'labels':{<'a#':'b'>}", ""), TORCH },
	{ "annotations", TJ(",'annotations':{<'a#':'b'>}", ""), TORCH },
	{ "resources",
	  TRAINER("'resourcesPerNode':{'limits':{<'a/r#':1>},'requests':"
		  "{<'a/s#':'1'>}}"),
	  RUNTIME("'numNodes':2,'torch':{}", "", "",
		  ",'resources':{'limits':{<'a/r^':'0.5'>}}") },
	{ "env", TRAINER("'env':[<{'name':'e#','value':'a'}>]"),
	  RUNTIME("'torch':{}", "", "", ",'env':[<{'name':'e^','value':'a'}>]") },
	{ "equal names in env", TRAINER("'env':[<{'name':'e','value':'a'}>]"),
	  RUNTIME("'mpi':{}", "", "", ",'env':[<{'name':'e','value':'a'}>]") },
	{ "arguments of torchtune", TRAINER("'command':['tune','run'],'args':[<'a#=b'>]"),
	  RUNTIME("'torch':{}", "", "", ",'command':['tune','run',<'x#=1'>]") },
	{ "commands of a script",
	  TRAINER("'numNodes':2,'command':['sh','-c','<;python3 a#;>']"), TORCH },
	{ "options of a script",
	  TRAINER("'numNodes':2,'command':['sh','-c','<;env -u A accelerate launch -a "
		  "a#;>']"),
	  TORCH },
	{ "initializer", TJ("", ",'initializer':{'dataset':{'env':[<{'name':'e#'}>]}}"),
	  TORCH },
	{ "patched env",
	  PATCHED("'spec':{'containers':[{'name':'x','env':[<{'name':'e#'}>]}]}"),
	  RUNTIME("'torch':{}", "", "", "},{'name':'x','env':[<{'name':'e^'}>]") },
	{ "patched volumes",
	  PATCHED("'spec':{'volumes':[<{'name':'v#','emptyDir':{}}>]}"),
	  RUNTIME("'jax':{}", "", "'volumes':[<{'name':'v^','emptyDir':{}}>],", "") },
	{ "patched tolerations", PATCHED("'spec':{'tolerations':[<{'key':'k#'}>]}"),
	  RUNTIME("'xgboost':{}", "", "'tolerations':[<{'key':'k^'}>],", "") },
	{ "patched labels", PATCHED("'metadata':{'labels':{<'a#':'b'>}},'spec':{}"),
	  RUNTIME("'flux':{}", "", "", "") },
	{ "patched containers", PATCHED("'spec':{'containers':[<{'name':'c#'}>]}"),
	  RUNTIME("'torch':{}", "", "", "},<{'name':'c^','image':'i'}>,{'name':'z'") },
	{ "unknown containers", PATCHED("'spec':{'containers':[<{'name':'c#'}>]}"),
	  TORCH },
	{ "init containers", PATCHED("'spec':{'initContainers':[<{'name':'c#'}>]}"),
	  RUNTIME("'torch':{}", "",
		  "'initContainers':[<{'name':'c^','image':'i','resources':{'limits':"
		  "{'a/r#':1}},'restartPolicy':'Always'}>],",
		  "") },
	{ "ports and mounts", TRAINER("'numNodes':1"),
	  RUNTIME("'mpi':{'mpiImplementation':'OpenMPI'}", "", "",
		  ",'ports':[<{'containerPort':1#}>],'volumeMounts':[<{'name':'v#',"
		  "'mountPath':'/#'}>]") },
	{ "annotations of the template", TJ("", ""),
	  RUNTIME("'torch':{}", "'metadata':{'annotations':{<'a#':'b'>}},", "", "") },
	{ "claims of the runtime",
	  TRAINER("'resourceClaimsPerNode':[{'name':'c',"
		  "'resourceClaimName':'x'}]"),
	  RUNTIME("'torch':{}", "", "'resourceClaims':[<{'name':'c#'}>],", "") },
};

static const struct plugin_env env = {
	.keys = &keys_placeholder,
	.status_server = true,
	.status_server_url = "https://svc.ns.svc:10443",
	.status_server_ca = "CA",
};

static uint64_t cost_of(const void *ctx, size_t n)
{
	const struct pipeline pipeline = { plugins, &env };
	const struct row *row = ctx;
	cleanup_json cJSON *tj = cost_doc(row->tj, n),
			   *runtime = cost_doc(row->runtime, n);
	cleanup_json cJSON *warnings = cJSON_CreateArray(), *objects = NULL;
	cleanup_field_errors struct field_errors errs = { .max = 100 };
	struct error err = { 0 };
	uint64_t start = cost_now();

	pipeline_validate(&pipeline, NULL, tj, runtime, &errs, warnings);
	pipeline_validate(&pipeline, tj, tj, runtime, &errs, warnings);
	pipeline_validate_runtime(runtime, &errs, warnings);
	sdkcheck_runtime(runtime, warnings);
	if (!errs.n && pipeline_build(&pipeline, tj, runtime, &objects, &err))
		fail_msg("%s: %s", row->what, err.msg);
	tj_default_patch_times(tj, NULL, "2026-01-02T03:04:05Z");
	workspace_served(tj);
	return cost_now() - start;
}

TEST(test_jobs)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost_of, &rows[i], 200);
	assert_true(linear);
}

#define PODS(n)                                                                      \
	"{'spec':{'replicatedJobs':[{'name':'node','template':{'spec':{'template':{" \
	"'spec':{'nodeSelector':{<'a" n "':'b'>},'tolerations':[<{'key':'k" n        \
	"'}>]}}}}}]}}"

static uint64_t cost_of_placement(const void *ctx, size_t n)
{
	cleanup_json cJSON *before = cost_doc(PODS("#"), n),
			   *after = cost_doc(PODS("^"), n);
	uint64_t start = cost_now();

	assert_false(jobset_drops_placement(before, after));
	return cost_now() - start;
}

TEST(test_placement)
{
	assert_true(cost_is_linear("placement", cost_of_placement, NULL, 200));
}

RUN_TESTS(NULL, NULL)
