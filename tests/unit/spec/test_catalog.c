/* Which runtime a name means: of files before built-in ones, and what is said of none. */
#include "tests/unit/spec/spec_test.h"

#include "api/meta.h"
#include "spec/catalog.h"
#include "trainer/api.h"

#define RUNTIME(kind, rest)                                                           \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " kind "\nmetadata: {" rest \
	"}\nspec: {template: {spec: {}}}\n"

static const char file[] =
	RUNTIME("TrainingRuntime", "name: mine, namespace: a") "---\n" RUNTIME(
		"ClusterTrainingRuntime",
		"name: torch-distributed, labels: {own: 'yes'}");

static void read_file_into(struct input *in, struct schema **schema)
{
	struct error err = { 0 };

	write_text("runtimes.yaml", file);
	assert_int_equal(input_read(in, "runtimes.yaml", &err), 0);
	assert_int_equal(input_schema(schema, &err), 0);
}

TEST(test_by_name)
{
	static const struct {
		const char *name, *kind; /* NULL: none */
		const char *error;
	} rows[] = {
		{ "mine", RUNTIME_KIND, NULL },
		{ "trainingruntime/mine", RUNTIME_KIND, NULL },
		{ "clustertrainingruntime/mine", NULL, "TrainingRuntime 'mine'" },
		{ "jax-distributed", CLUSTER_RUNTIME_KIND, NULL },
		{ "trainingruntime/jax-distributed", NULL,
		  "ClusterTrainingRuntime 'jax-distributed'" },
		{ "torch-distribute", NULL, "did you mean 'torch-distributed'?" },
		{ "quite-another", NULL, "jax-distributed" },
	};
	cleanup_input struct input in = { 0 };
	cleanup_schema struct schema *schema = NULL;

	read_file_into(&in, &schema);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = NULL;
		struct error err = { 0 };
		int rc = runtime_by_name(&obj, &in, NULL, schema, rows[i].name, &err);

		assert_int_equal(rc, rows[i].kind ? 0 : -1);
		if (!rc)
			assert_string_equal(meta_kind(obj), rows[i].kind);
		else if (err.kind != ERR_NOT_FOUND || !strstr(err.msg, rows[i].error))
			fail_msg("%s: %s", rows[i].name, err.msg);
	}
}

TEST(test_scope)
{
	static const struct {
		struct runtime_name which;
		bool in_files, anywhere;
	} rows[] = {
		{ { RUNTIME_KIND, "a", "mine" }, true, true },
		{ { RUNTIME_KIND, "b", "mine" }, false, false },
		{ { CLUSTER_RUNTIME_KIND, "b", "torch-distributed" }, true, true },
		{ { CLUSTER_RUNTIME_KIND, "b", "jax-distributed" }, false, true },
		{ { RUNTIME_KIND, "b", "jax-distributed" }, false, false },
	};
	cleanup_input struct input in = { 0 };
	cleanup_schema struct schema *schema = NULL;

	read_file_into(&in, &schema);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(runtime_exists(&in, &rows[i].which, false),
				 rows[i].in_files);
		assert_int_equal(runtime_exists(&in, &rows[i].which, true),
				 rows[i].anywhere);
	}
}

static const cJSON *find(const cJSON *list, const char *name)
{
	const cJSON *obj;

	json_each(obj, list)
		if (str_eq(meta_name(obj), name))
			return obj;
	return NULL;
}

/* Sorted; a file's stands for the cluster's and the built-in one of its name. */
TEST(runtimes_are_sorted_and_files_come_first)
{
	cleanup_json cJSON *all = NULL, *cluster = cJSON_CreateArray();
	cleanup_input struct input in = { 0 };
	cleanup_schema struct schema *schema = NULL;
	struct error err = { 0 };

	read_file_into(&in, &schema);
	for (size_t i = 0; i < 2; i++) {
		cJSON *obj = meta_new(TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL,
				      i ? "torch-distributed" : "jax-distributed");

		meta_set_label(obj, "of", "cluster");
		cJSON_AddItemToArray(cluster, obj);
	}
	assert_int_equal(runtime_all(&all, &in, cluster, schema, &err), 0);
	for (const cJSON *obj = all->child; obj->next; obj = obj->next)
		assert_true(strcmp(meta_name(obj), meta_name(obj->next)) < 0);
	assert_string_equal(meta_label(find(all, "torch-distributed"), "own"), "yes");
	assert_string_equal(meta_label(find(all, "jax-distributed"), "of"), "cluster");
	assert_non_null(find(all, "mine"));
	assert_non_null(find(all, "xgboost-distributed"));
}

/* What the API server would name has none here that anyone could give. */
TEST(test_generated)
{
	cleanup_json cJSON *all = NULL, *api = cJSON_CreateArray();
	cleanup_input struct input in = { 0 };
	cleanup_schema struct schema *schema = NULL;
	struct error err = { 0 };

	write_text("generated.yaml", RUNTIME("TrainingRuntime", "generateName: mine-"));
	assert_int_equal(input_read(&in, "generated.yaml", &err), 0);
	assert_int_equal(input_schema(&schema, &err), 0);
	doc_check(in.docs, schema);
	assert_int_equal(in.docs->errs.n, 0);
	cJSON_AddItemToArray(
		api, meta_new(TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL, NULL));
	assert_int_equal(runtime_all(&all, &in, api, schema, &err), 0);
	for (const cJSON *obj = all->child; obj; obj = obj->next)
		assert_non_null(meta_name(obj));
}

/* One of an API: behind a file's, before a built-in one, and of no server any more. */
TEST(test_of_api)
{
	static const struct {
		const char *name;
		const char *of; /* its label; NULL: none is found */
		const char *error;
	} rows[] = {
		{ "jax-distributed", "api", NULL },
		{ "theirs", "api", NULL },
		{ "trainingruntime/theirs", NULL, "ClusterTrainingRuntime 'theirs'" },
		{ "torch-distributed", "file", NULL },
		{ "xgboost-distributed", "built-in", NULL },
		{ "their", NULL, "did you mean 'theirs'?" },
	};
	static const char *const names[] = { "jax-distributed", "theirs",
					     "torch-distributed" };
	cleanup_json cJSON *api = cJSON_CreateArray();
	cleanup_input struct input in = { 0 };
	cleanup_schema struct schema *schema = NULL;

	read_file_into(&in, &schema);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		cJSON *obj = meta_new(TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND, NULL,
				      names[i]);

		meta_set_label(obj, "of", "api");
		meta_set_uid(obj, "1");
		meta_set_version(obj, "1");
		cJSON_AddItemToArray(api, obj);
	}
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = NULL;
		struct error err = { 0 };
		int rc = runtime_by_name(&obj, &in, api, schema, rows[i].name, &err);
		const char *of = meta_label(obj, "of");

		assert_int_equal(rc, rows[i].of ? 0 : -1);
		if (rc) {
			if (err.kind != ERR_NOT_FOUND || !strstr(err.msg, rows[i].error))
				fail_msg("%s: %s", rows[i].name, err.msg);
			continue;
		}
		of = of ? of : meta_label(obj, "own") ? "file" : "built-in";
		assert_string_equal(of, rows[i].of);
		assert_null(meta_uid(obj));
		assert_null(meta_version(obj));
	}
}

RUN_TESTS(enter_folder, leave_folder)
