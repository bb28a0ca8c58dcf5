/* From files and options to TrainJobs with their objects, or to all that is wrong. */
#include "tests/unit/spec/spec_test.h"

#include "api/meta.h"
#include "spec/job.h"
#include "trainer/trainjob.h"

#define JOB(name)                               \
	JOB_HEAD "metadata: {name: " name "}\n" \
		 "spec: {runtimeRef: {name: torch-distributed}}\n"

TEST(test_a_file)
{
	struct job_opts opts = { .file = "job.yaml", .default_ns = "team" };
	cleanup_job_set struct job_set set = { 0 };
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };
	struct error err = { 0 };
	cleanup_json cJSON *config = NULL;
	const cJSON *obj;
	bool jobset = false;

	write_text("job.yaml", JOB("one") "---\napiVersion: v1\nkind: ConfigMap\n"
					  "metadata: {name: c}\n---\n"
					  "apiVersion: v1\nkind: Service\n"
					  "metadata: {name: s}\n");
	assert_int_equal(job_set_load(&set, &opts, NAMES_FIXED, &to, &err), 0);
	assert_int_equal(set.n, 1);
	assert_string_equal(set.list[0].name, "one");
	assert_string_equal(set.list[0].ns, "team");
	json_each(obj, set.list[0].objects)
		jobset |= str_eq(meta_kind(obj), "JobSet");
	assert_true(jobset);
	assert_int_equal(lines.n, 1); /* of the Service, which is ignored */
	assert_non_null(strstr(lines.text, "job.yaml:"));
	assert_non_null(strstr(lines.text, "Service s"));
	config = job_config(&set, &set.list[0]);
	assert_int_equal(cJSON_GetArraySize(config), 1);
	obj = config->child;
	assert_string_equal(meta_kind(obj), "ConfigMap");
	assert_string_equal(meta_namespace(obj), "team");
}

/* What is wrong is told all at once, each with its place. */
TEST(test_all_errors)
{
	struct job_opts opts = { .file = "bad.yaml" };
	cleanup_job_set struct job_set set = { 0 };
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };
	struct error err = { 0 };

	write_text("bad.yaml", JOB_HEAD
		   "metadata: {name: a}\n"
		   "spec:\n  runtimeRef: {name: torch-distributd}\n---\n" JOB_HEAD
		   "metadata: {name: b}\n"
		   "spec:\n  runtimeRef: {name: torch-distributed}\n"
		   "  trainer: {numNode: 1}\n");
	assert_int_equal(job_set_load(&set, &opts, NAMES_FIXED, &to, &err), 1);
	assert_int_equal(lines.n, 2);
	assert_non_null(strstr(lines.text, "bad.yaml:5:3: spec.runtimeRef: "));
	assert_non_null(strstr(lines.text, "did you mean 'torch-distributed'?"));
	assert_non_null(strstr(lines.text, "bad.yaml:12:13: spec.trainer.numNode: "));
}

TEST(test_names)
{
	static const struct {
		enum job_names names;
		const char *want; /* NULL: none; "": a random end */
	} rows[] = {
		{ NAMES_FIXED, "run-xxxxx" },
		{ NAMES_RANDOM, "" },
	};

	write_text("job.yaml", JOB("one"));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct job_opts opts = { .runtime = "torch-distributed",
					 .generate_name = "run-" };
		cleanup_job_set struct job_set set = { 0 };
		struct lines lines = { 0 };
		const struct reporter to = { add_line, &lines };
		struct error err = { 0 };

		write_text("gen.yaml",
			   JOB_HEAD "metadata: {generateName: x-}\n"
				    "spec: {runtimeRef: {name: torch-distributed}}\n");
		opts.runtime = NULL;
		opts.file = "gen.yaml";
		assert_int_equal(job_set_load(&set, &opts, rows[i].names, &to, &err), 0);
		if (*rows[i].want)
			assert_string_equal(set.list[0].name, rows[i].want);
		else
			assert_true(str_starts(set.list[0].name, "run-") &&
				    strlen(set.list[0].name) == strlen("run-xxxxx") &&
				    !str_ends(set.list[0].name, "xxxxx"));
	}
}

/* A mere name: the nearer scope counts, which the cluster is asked for. */
static int has(void *ctx, const struct runtime_name *which, cJSON **ret,
	       struct error *err)
{
	if (str_eq(ctx, "denied"))
		return error_set(err, ERR_DENIED, "forbidden");
	if (str_eq(ctx, "both") || str_eq(ctx, which->kind))
		*ret = cJSON_CreateObject();
	return 0;
}

TEST(test_which_kind)
{
	static const struct {
		const char *cluster, *want;
		size_t lines;
	} rows[] = {
		{ "both", "TrainingRuntime", 1 },
		{ "TrainingRuntime", "TrainingRuntime", 0 },
		{ "ClusterTrainingRuntime", "ClusterTrainingRuntime", 0 },
		{ "none", "ClusterTrainingRuntime", 0 },
		{ "denied", "ClusterTrainingRuntime", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct job_opts opts = {
			.runtime = "mine",
			.get_runtime = has,
			.ctx = (void *)(uintptr_t)rows[i].cluster
		};
		cleanup_job_set struct job_set set = { 0 };
		struct lines lines = { 0 };
		const struct reporter to = { add_line, &lines };
		struct error err = { 0 };

		assert_int_equal(job_set_read(&set, &opts, &to, &err), 0);
		assert_string_equal(tj_runtime_ref(set.input.docs[0].obj).kind,
				    rows[i].want);
		assert_int_equal(lines.n, rows[i].lines);
	}
}

/* A strict API server knows creationTimestamp in no template. */
TEST(test_sent_without_unset_times)
{
	const struct job_opts opts = { .file = "go.yaml" };
	cleanup_job_set struct job_set set = { 0 };
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };
	struct error err = { 0 };

	write_text("go.yaml", JOB_HEAD
		   "metadata: {name: a, creationTimestamp: null}\n"
		   "spec: {runtimeRef: {name: torch-distributed}, runtimePatches: "
		   "[{manager: a.b/c, trainingRuntimeSpec: {template: {metadata: "
		   "{creationTimestamp: null}}}}]}\n"
		   "status: {}\n");
	assert_int_equal(job_set_read(&set, &opts, &to, &err), 0);
	assert_int_equal(set.input.docs[0].errs.n, 0);
	for (int sent = 0; sent < 2; sent++) {
		cleanup_free char *text =
			json_text(sent ? set.input.docs[0].given : set.input.docs[0].obj);

		assert_null(strstr(text, "null"));
		assert_null(strstr(text, "status"));
	}
}

TEST(test_options_that_contradict)
{
	static const struct {
		struct job_opts opts;
		enum error_kind kind;
	} rows[] = {
		{ { .file = "two.yaml", .name = "x" }, ERR_USAGE },
		{ { .file = "job.yaml", .name = "x", .generate_name = "y" }, ERR_USAGE },
		{ { .file = "none.yaml" }, ERR_INVALID },
	};

	write_text("job.yaml", JOB("one"));
	write_text("two.yaml", JOB("one") "---\n" JOB("two"));
	write_text("none.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_job_set struct job_set set = { 0 };
		struct lines lines = { 0 };
		const struct reporter to = { add_line, &lines };
		struct error err = { 0 };

		assert_int_equal(
			job_set_load(&set, &rows[i].opts, NAMES_FIXED, &to, &err), -1);
		assert_int_equal(err.kind, rows[i].kind);
	}
}

RUN_TESTS(enter_folder, leave_folder)
