/* What a plugin cannot read or make stops the build of the whole job, with its cause. */
#include "tests/unit/plugins/build.h"

#define CACHED(jobs)                                                              \
	"{template: {metadata: {annotations: {kftrainer.io/cache: pods}}, spec: " \
	"{replicatedJobs: [" jobs "]}}}"
#define DATASET_JOB                                              \
	RJOB("dataset-initializer", ROLE("dataset-initializer"), \
	     ONE("dataset-initializer"))
#define GANG(policy)                                                              \
	"{mlPolicy: {torch: {}}, podGroupPolicy: {" policy "}, template: {spec: " \
	"{replicatedJobs: [" RJOB("node", TRAINS, ONE("node")) "]}}}"
#define MPI_RUNTIME                                                       \
	"{mlPolicy: {mpi: {}}, template: {spec: {replicatedJobs: [" RJOB( \
		"launcher", "", ONE("node")) ", " RJOB("node", TRAINS,    \
						       ONE("node")) "]}}}"

static const struct {
	const char *what, *spec, *runtime;
	size_t requests; /* one for the JobSet, others for what is made only once */
} jobs[] = {
	{ "plain", "{}", RUNTIME("torch: {}", PLAIN_NODE), 1 },
	{ "mpi", "{}", MPI_RUNTIME, 2 },
	{ "flux", "{}", RUNTIME("flux: {}", PLAIN_NODE), 2 },
	{ "coscheduling", "{}", GANG("coscheduling: {}"), 2 },
	{ "volcano", "{}", GANG("volcano: {}"), 2 },
};

TEST(test_a_cluster_that_does_not_answer)
{
	for (size_t i = 0; i < N_ELEMENTS(jobs); i++) {
		cleanup_json cJSON *tj = job(jobs[i].spec);
		cleanup_json cJSON *rt = runtime(jobs[i].runtime);

		for (size_t n = 0; n <= jobs[i].requests; n++) {
			struct failing cluster = { .answers = n };
			const struct plugin_env env = failing_cluster(&cluster);
			struct error err = { 0 };
			cleanup_json cJSON *objects = build_with(&env, tj, rt, &err);

			if (!objects != (n < jobs[i].requests))
				fail_msg("%s, %zu answers: %s", jobs[i].what, n, err.msg);
			if (!objects && !strstr(err.msg, "no answer"))
				fail_msg("%s: %s", jobs[i].what, err.msg);
			assert_int_equal(cluster.asked, objects ? n : n + 1);
		}
	}
}

static int no_ssh(void *ctx, struct arena *arena, const char **ret_private_pem,
		  const char **ret_authorized_key, struct error *err)
{
	return error_set(err, ERR_IO, "no entropy");
}

static int no_curve(void *ctx, struct arena *arena, char ret_public_z85[41],
		    char ret_secret_z85[41], struct error *err)
{
	return error_set(err, ERR_IO, "no entropy");
}

TEST(test_keys_that_cannot_be_made)
{
	static const struct key_source broken = { no_ssh, no_curve, NULL };
	static const struct {
		const char *runtime;
		const struct key_source *keys;
		const char *message;
	} rows[] = {
		{ MPI_RUNTIME, NULL, "no source of ssh keys" },
		{ MPI_RUNTIME, &broken, "ssh key: no entropy" },
		{ RUNTIME("flux: {}", PLAIN_NODE), NULL, "no source of CURVE keys" },
		{ RUNTIME("flux: {}", PLAIN_NODE), &broken, "curve key: no entropy" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct plugin_env env = { .keys = rows[i].keys };
		cleanup_json cJSON *tj = job("{}"), *rt = runtime(rows[i].runtime);
		struct error err = { 0 };
		cleanup_json cJSON *objects = build_with(&env, tj, rt, &err);

		assert_null(objects);
		if (!strstr(err.msg, rows[i].message))
			fail_msg("row %zu: %s", i, err.msg);
	}
}

TEST(test_requests_that_are_none)
{
#define BAD_CPU WITH("node", "resources: {requests: {cpu: many}}")
	static const struct {
		const char *runtime;
	} rows[] = {
		{ "{mlPolicy: {torch: {}}, podGroupPolicy: {coscheduling: {}}, template: "
		  "{spec: {replicatedJobs: [" RJOB("node", TRAINS, BAD_CPU) "]}}}" },
		{ "{mlPolicy: {torch: {}}, podGroupPolicy: {volcano: {}}, template: "
		  "{spec: {replicatedJobs: [" RJOB("node", TRAINS, BAD_CPU) "]}}}" },
		{ "{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS, "schedulerName: yunikorn, " BAD_CPU) "]}}}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_build_fails("{}", rows[i].runtime, "many");
}

/* A pod with larger annotations cannot be created, and each of the jobs has all groups. */
TEST(test_task_groups_that_no_pod_can_have)
{
	cleanup_arena struct arena arena = { 0 };
	char *value = arena_alloc(&arena, 300 * 1024 + 1);

	memset(value, 'v', 300 * 1024);
	value[300 * 1024] = 0;
	assert_build_fails(
		"{}",
		arena_printf(
			&arena,
			"{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: "
			"[" RJOB("node", TRAINS,
				 "schedulerName: yunikorn, nodeSelector: {a: %s}, " ONE(
					 "node")) "]}}}",
			value),
		"YuniKorn's task groups");
}

TEST(test_a_cache_without_its_job)
{
	static const struct {
		const char *runtime;
	} rows[] = {
		{ CACHED(RJOB("node", TRAINS, ONE("node"))) },
		{ CACHED(RJOB("dataset-initializer", ROLE("dataset-initializer"),
			      ONE("other")) ", " RJOB("node", TRAINS, ONE("node"))) },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_build_fails("{}", rows[i].runtime,
				   "has no job labelled dataset-initializer with a "
				   "container of that name");
		assert_errors("{}", rows[i].runtime,
			      ERRORS("spec.runtimeRef: |has no job labelled "
				     "dataset-initializer"));
	}
}

TEST(test_a_cache_of_no_size)
{
	static const char *const sizes[] = { "0", "many", "100000" };
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(sizes); i++)
		assert_build_fails(
			arena_printf(
				&arena,
				"{initializer: {dataset: {storageUri: 'cache://a/b', "
				"env: [{name: CLUSTER_SIZE, value: '%s'}]}}}",
				sizes[i]),
			CACHED(DATASET_JOB ", " RJOB("node", TRAINS, ONE("node"))),
			"CLUSTER_SIZE");
}

TEST(test_no_status_server)
{
	const struct plugin_env env = { .keys = &keys_placeholder,
					.status_server = true };
	cleanup_json cJSON *tj = job("{}"),
			   *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	struct error err = { 0 };
	cleanup_json cJSON *objects = build_with(&env, tj, rt, &err);

	assert_null(objects);
	assert_non_null(strstr(err.msg, "the status server has no address"));
}

RUN_TESTS(NULL, NULL)
