/* The work of patches, merges and checks grows as their input does (tests/unit/cost.h). */
#include "api/jsonpatch.h"
#include "api/managers.h"
#include "api/patch.h"
#include "api/selector.h"
#include "tests/unit/api/schema_fixture.h"
#include "tests/unit/cost.h"

/* JobSet's spec with a container that has these members. */
#define SPEC(members)                                                             \
	"{'replicatedJobs':[{'name':'j','template':{'spec':{'template':{'spec':{" \
	"'containers':[{'name':'c'," members "}]}}}}}]}"
#define POD(members) \
	"{'replicatedJobs':[{'name':'j','template':{'spec':{'template':" members "}}}]}"

struct pair {
	const char *what, *a, *b;
	enum patch_type type;
};

static uint64_t cost_of_strategic(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *doc = cost_doc(p->a, n), *patch = cost_doc(p->b, n);
	struct error err = { 0 };
	uint64_t start = cost_now();

	if (patch_strategic(doc, patch, p->type, &err))
		fail_msg("%s: %s", p->what, err.msg);
	return cost_now() - start;
}

TEST(test_strategic_merge)
{
	static const struct pair rows[] = {
		{ "equal lists", SPEC("'env':[<{'name':'e#','value':'a'}>]"),
		  SPEC("'env':[<{'name':'e#','value':'b'}>]"), 0 },
		{ "lists in reverse", SPEC("'env':[<{'name':'e#','value':'a'}>]"),
		  SPEC("'env':[<{'name':'e^','value':'b'}>]"), 0 },
		{ "other elements", SPEC("'env':[<{'name':'e#','value':'a'}>]"),
		  SPEC("'env':[<{'name':'f#','value':'b'}>]"), 0 },
		{ "numbers as keys", SPEC("'ports':[<{'containerPort':1#}>]"),
		  SPEC("'ports':[<{'containerPort':1^.0}>]"), 0 },
		{ "deletions", SPEC("'env':[<{'name':'e#','value':'a'}>]"),
		  SPEC("'env':[<{'name':'e^','$patch':'delete'}>]"), 0 },
		{ "an order of its own", SPEC("'env':[<{'name':'e#','value':'a'}>]"),
		  SPEC("'$setElementOrder/env':[<{'name':'e^'}>],"
		       "'env':[<{'name':'e^','value':'b'}>]"),
		  0 },
		{ "maps", SPEC("'resources':{'limits':{<'r#':'1'>}}"),
		  SPEC("'resources':{'limits':{<'r^':'2'>}}"), 0 },
		{ "other members", SPEC("'resources':{'limits':{<'r#':'1'>}}"),
		  SPEC("'resources':{'limits':{<'s^':'2'>}}"), 0 },
		{ "nulls", SPEC("'resources':{'limits':{<'r#':'1'>}}"),
		  SPEC("'resources':{'limits':{<'r^':null>}}"), 0 },
		{ "kept keys", SPEC("'resources':{'limits':{<'r#':'1'>}}"),
		  SPEC("'resources':{'limits':{'$retainKeys':[<'r^'>],<'r^':'2'>}}"), 0 },
		{ "a set", "{'metadata':{'finalizers':[<'a/f#'>]}}",
		  "{'metadata':{'finalizers':[<'a/f^'>]}}", PATCH_OBJECT },
		{ "deletions from a set", "{'metadata':{'finalizers':[<'a/f#'>]}}",
		  "{'metadata':{'$deleteFromPrimitiveList/finalizers':[<'a/f^'>]}}",
		  PATCH_OBJECT },
		{ "lists of one map", SPEC("'x':{<'m#':{'a':[1]}>}"),
		  SPEC("'x':{<'m^':{'a':[2]}>}"), 0 },
	};
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost_of_strategic, &rows[i], 100);
	assert_true(linear);
}

static uint64_t cost_of_merge(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *doc = cost_doc(p->a, n), *patch = cost_doc(p->b, n);
	uint64_t start = cost_now();

	patch_merge(doc, patch);
	return cost_now() - start;
}

static uint64_t cost_of_diff(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *doc = cost_doc(p->a, n), *patch = cost_doc(p->b, n);
	cleanup_json cJSON *ops = NULL;
	uint64_t start = cost_now();

	ops = jsonpatch_diff(doc, patch);
	return cost_now() - start;
}

static uint64_t cost_of_equal(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *doc = cost_doc(p->a, n), *patch = cost_doc(p->b, n);
	uint64_t start = cost_now();

	json_equal(doc, patch);
	return cost_now() - start;
}

TEST(test_merge_and_diff)
{
	static const struct pair rows[] = {
		{ "maps", "{'m':{<'a#':'1'>}}", "{'m':{<'a#':'2'>}}", 0 },
		{ "maps in reverse", "{'m':{<'a#':'1'>}}", "{'m':{<'a^':'1'>}}", 0 },
		{ "other members", "{'m':{<'a#':'1'>}}", "{'m':{<'b#':'1'>}}", 0 },
		{ "nulls", "{'m':{<'a#':'1'>}}", "{'m':{<'a^':null>}}", 0 },
	};
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		linear &= cost_is_linear(rows[i].what, cost_of_merge, &rows[i], 200);
		linear &= cost_is_linear(rows[i].what, cost_of_diff, &rows[i], 200);
		linear &= cost_is_linear(rows[i].what, cost_of_equal, &rows[i], 200);
	}
	assert_true(linear);
}

TEST(test_json_patch)
{
	static const struct pair rows[] = {
		{ "adds members", "{'m':{}}", "[<{'op':'add','path':'/m/a#','value':1}>]",
		  0 },
		{ "replaces members", "{'m':{<'a#':0>}}",
		  "[<{'op':'replace','path':'/m/a#','value':1}>]", 0 },
		{ "moves", "{'m':{<'a#':0>},'n':{}}",
		  "[<{'op':'move','from':'/m/a#','path':'/n/a#'}>]", 0 },
		{ "inserts", "{'m':[]}", "[<{'op':'add','path':'/m/0','value':1}>]", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *patch = cost_doc(rows[i].b, 10000);
		cJSON *doc = cost_doc(rows[i].a, 10000);
		struct error err = { 0 };
		uint64_t start = cost_now();

		assert_int_equal(jsonpatch_apply(&doc, patch, &err), -1);
		assert_non_null(strstr(err.msg, "too many steps"));
		assert_true(cost_now() - start < 100000000);
		cJSON_Delete(doc);
	}
}

/* ---- managers ---------------------------------------------------------------------- */

#define HEAD "'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob',"
#define TJ(meta, spec)                         \
	"{" HEAD "'metadata':{'name':'a'" meta \
	"},'spec':{'runtimeRef':{'name':'r'}" spec "}}"

static const struct schema *schema;

static struct manager_of manager(const char *name)
{
	return (struct manager_of){
		.type = typed_of(schema, "trainer.kubeflow.org/v1alpha1", "TrainJob"),
		.manager = name,
		.api_version = "trainer.kubeflow.org/v1alpha1",
		.subresource = "",
		.now = "2026-01-01T00:00:00Z",
	};
}

/* Two managers apply it in turn, and update it. */
static uint64_t cost_of_apply(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *a = cost_doc(p->a, n), *b = cost_doc(p->b, n);
	cleanup_json cJSON *blank = cost_doc("{" HEAD "'metadata':{'name':'a'}}", 0);
	cleanup_json cJSON *first = NULL, *second = NULL, *causes = NULL;
	struct manager_of one = manager("one"), two = manager("two");
	struct error err = { 0 };
	uint64_t start = cost_now();

	two.force = true;
	if (managers_apply(&one, blank, a, &first, &causes, &err) ||
	    managers_apply(&two, first, b, &second, &causes, &err))
		fail_msg("%s: %s", p->what, err.msg);
	managers_update(&one, second, a);
	if (typed_check(one.type, a, false, &err))
		fail_msg("%s: %s", p->what, err.msg);
	return cost_now() - start;
}

static uint64_t cost_of_checks(const void *row, size_t n)
{
	const struct pair *p = row;
	cleanup_json cJSON *a = cost_doc(p->a, n), *b = cost_doc(p->b, n);
	cleanup_field_errors struct field_errors errs = { .max = 100 };
	uint64_t start = cost_now();

	schema_validate(schema, a, NULL, &errs);
	schema_validate(schema, a, b, &errs);
	schema_default(schema, a);
	schema_prune(schema, b);
	return cost_now() - start;
}

#define PATCHED(spec)                                                                    \
	",'runtimePatches':[{'manager':'a/"                                              \
	"b','trainingRuntimeSpec':{'template':{'spec':{"                                 \
	"'replicatedJobs':[{'name':'node','template':{'spec':{'template':{'spec':{" spec \
	"}}}}}]}}}}]"

static const struct pair trainjobs[] = {
	{ "labels", TJ(",'labels':{<'a#':'b'>}", ""), TJ(",'labels':{<'a^':'c'>}", ""),
	  0 },
	{ "annotations", TJ(",'annotations':{<'a#':'b'>}", ""),
	  TJ(",'annotations':{<'b#':'b'>}", ""), 0 },
	{ "finalizers", TJ(",'finalizers':[<'a/b#'>]", ""),
	  TJ(",'finalizers':[<'a/b^'>]", ""), 0 },
	{ "env", TJ("", ",'trainer':{'env':[<{'name':'e#','value':'a'}>]}"),
	  TJ("", ",'trainer':{'env':[<{'name':'e^','value':'b'}>]}"), 0 },
	{ "arguments", TJ("", ",'trainer':{'args':[<'a#'>]}"),
	  TJ("", ",'trainer':{'args':[<'b#'>]}"), 0 },
	{ "resources", TJ("", ",'trainer':{'resourcesPerNode':{'limits':{<'a/r#':1>}}}"),
	  TJ("", ",'trainer':{'resourcesPerNode':{'limits':{<'a/r^':2>}}}"), 0 },
	{ "claims",
	  TJ("",
	     ",'trainer':{'resourceClaimsPerNode':[<{'name':'c#','resourceClaimName':'x'}>]}"),
	  TJ("",
	     ",'trainer':{'resourceClaimsPerNode':[<{'name':'c^','resourceClaimName':'y'}>]}"),
	  0 },
	{ "node selectors", TJ("", PATCHED("'nodeSelector':{<'a#':'b'>}")),
	  TJ("", PATCHED("'nodeSelector':{<'a^':'b'>}")), 0 },
	{ "tolerations", TJ("", PATCHED("'tolerations':[<{'key':'a#'}>]")),
	  TJ("", PATCHED("'tolerations':[<{'key':'a^'}>]")), 0 },
	{ "volumes", TJ("", PATCHED("'volumes':[<{'name':'a#','emptyDir':{}}>]")),
	  TJ("", PATCHED("'volumes':[<{'name':'a^','emptyDir':{}}>]")), 0 },
	{ "containers", TJ("", PATCHED("'containers':[<{'name':'a#'}>]")),
	  TJ("", PATCHED("'containers':[<{'name':'a^'}>]")), 0 },
	{ "unknown fields", TJ("", ",<'u#':1>"), TJ("", ",<'u^':1>"), 0 },
};

TEST(test_server_side_apply)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(trainjobs); i++)
		linear &= cost_is_linear(trainjobs[i].what, cost_of_apply, &trainjobs[i],
					 60);
	assert_true(linear);
}

TEST(test_checks)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(trainjobs); i++)
		linear &= cost_is_linear(trainjobs[i].what, cost_of_checks, &trainjobs[i],
					 100);
	assert_true(linear);
}

static int load(void **state)
{
	int rc = group_setup(state);

	schema = *state;
	return rc;
}

RUN_TESTS(load, group_teardown)
