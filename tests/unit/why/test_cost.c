/* The work of an explanation grows as the job does (tests/unit/cost.h). */
#include "tests/unit/cost.h"
#include "tests/unit/why/why_test.h"

#define TWO_JOBS(policy)                                                        \
	"{'kind':'TrainJob','metadata':{'name':'bert','namespace':'a'},'spec':" \
	"{'runtimeRef':{'name':'r'}},'status':{}},"                             \
	"{'kind':'JobSet','metadata':{'name':'bert','namespace':'a'},'spec':{"  \
	"'startupPolicy':{'startupPolicyOrder':'" policy "'},"                  \
	"'replicatedJobs':[{'name':'node'},{'name':'launcher'}]},'status':{}}"
#define LABELS                                                               \
	"'namespace':'a','labels':{'jobset.sigs.k8s.io/jobset-name':'bert'," \
	"'jobset.sigs.k8s.io/replicatedjob-name':'node'}"
#define JOBS_WITH_PODS(meta, status)                                            \
	",<{'kind':'Job','metadata':{'name':'bert-node-#'," LABELS "},'spec':{" \
	"'parallelism':1},'status':{'active':1}}>,"                             \
	"<{'kind':'Pod','metadata':{'name':'bert-node-#-0-x'," LABELS meta "}," \
	"'spec':{'nodeName':'n1','containers':[{'name':'node'}]},"              \
	"'status':{'phase':'Running'" status "}}>"
#define SINCE(time)                                        \
	",'conditions':[{'type':'Ready','status':'False'," \
	"'lastTransitionTime':'2026-01-01T" time "'}]"

static const struct cost_row {
	const char *what, *docs;
} rows[] = {
	{ "pods before a job, started just now",
	  TWO_JOBS("InOrder") JOBS_WITH_PODS("", SINCE("00:59:50Z")) },
	{ "pods that are not ready, before no job",
	  TWO_JOBS("AnyOrder") JOBS_WITH_PODS("", SINCE("00:50:00Z")) },
	{ "pods that go", TWO_JOBS("InOrder") JOBS_WITH_PODS(
				  ",'deletionTimestamp':'2026-01-01T00:00:00Z'", "") },
};

static uint64_t cost(const void *ctx, size_t n)
{
	const struct cost_row *row = ctx;
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *docs = cost_doc(arena_printf(&a, "[%s]", row->docs), n);
	cleanup_json cJSON *why = NULL;
	cleanup_view struct view v = view_of("{}");
	uint64_t start;

	while (docs->child)
		view_add(&v, cJSON_DetachItemFromArray(docs, 0));
	start = cost_now();
	why = why_explain(&v);
	return cost_now() - start;
}

TEST(test_cost)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost, &rows[i], 50);
	assert_true(linear);
}

RUN_TESTS(NULL, NULL)
