/* Rules: upstream pkg/runtime/framework/core (the order of the extension points). */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/framework.h"
#include "trainer/pipeline.h"

/* Each step of a plugin leaves its letter in a label of the JobSet. */
static void leave(struct info *info, char letter)
{
	const char *before = json_str(info->labels, "trace");

	json_put_str(info->labels,
		     arena_printf(&info->arena, "%s%c", before ? before : "", letter),
		     "trace");
}

#define EDIT(name, letter)                                               \
	static int name(const struct plugin_env *env, struct info *info, \
			const cJSON *tj, struct error *err)              \
	{                                                                \
		(void)env;                                               \
		(void)tj;                                                \
		(void)err;                                               \
		leave(info, letter);                                     \
		return 0;                                                \
	}
EDIT(ml_a, 'a')
EDIT(ml_b, 'b')
EDIT(group_a, 'c')
EDIT(pod_a, 'd')
EDIT(sync_b, 'e')

static int give_up(const struct plugin_env *env, struct info *info, const cJSON *tj,
		   struct error *err)
{
	return error_set(err, ERR_INVALID, "no way");
}

static int build_trace(const struct plugin_env *env, struct info *info, const cJSON *tj,
		       cJSON *objects, struct error *err)
{
	cJSON_AddItemToArray(objects, json_dup(info->labels));
	return 0;
}

static const struct plugin a = {
	.name = "A",
	.edit[ENFORCE_POD_SPEC] = pod_a,
	.edit[ENFORCE_POD_GROUP_POLICY] = group_a,
	.edit[ENFORCE_ML_POLICY] = ml_a,
};
static const struct plugin b = {
	.name = "B",
	.edit[PRE_BUILD_SYNC] = sync_b,
	.edit[ENFORCE_ML_POLICY] = ml_b,
	.build = build_trace,
};
static const struct plugin broken = { .name = "C", .edit[ENFORCE_POD_SPEC] = give_up };

static int run(const struct plugin *const *list, cJSON **ret, struct error *err)
{
	static const struct plugin_env env = { .keys = &keys_placeholder };
	struct pipeline p = { list, &env };
	cleanup_json cJSON *tj =
		doc("{metadata: {name: a}, spec: {runtimeRef: {name: r}}}");
	cleanup_json cJSON *rt = doc("{spec: {template: {}}}");

	return pipeline_build(&p, tj, rt, ret, err);
}

TEST(test_phase_by_phase_in_the_order_of_the_list)
{
	static const struct plugin *const list[] = { &a, &b, NULL };
	static const struct plugin *const turned[] = { &b, &a, NULL };
	struct error err = { 0 };
	cleanup_json cJSON *one = NULL, *two = NULL;

	assert_int_equal(run(list, &one, &err), 0);
	assert_int_equal(run(turned, &two, &err), 0);
	assert_doc(one, "[{trace: abcde}]");
	assert_doc(two, "[{trace: bacde}]");
}

TEST(test_a_failure_says_where)
{
	static const struct plugin *const list[] = { &a, &broken, &b, NULL };
	struct error err = { 0 };
	cJSON *objects = NULL;

	assert_int_equal(run(list, &objects, &err), -1);
	assert_null(objects);
	assert_string_equal(err.msg, "C EnforcePodSpec: no way");
}

TEST(test_what_only_a_cluster_can_do)
{
	static const struct plugin here = { .name = "A", .policy = "a" };
	static const struct plugin there = { .name = "B",
					     .policy = "b",
					     .cluster_only = true };
	static const struct plugin *const list[] = { &here, &there, NULL };
	cleanup_json cJSON *one = doc("{a: {}}"), *both = doc("{a: {}, b: {}}");

	assert_null(framework_cluster_only(list, one));
	assert_null(framework_cluster_only(list, NULL));
	assert_string_equal(framework_cluster_only(list, both), "B");
}

RUN_TESTS(NULL, NULL)
