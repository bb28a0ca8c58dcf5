/* A TrainJob from options. */

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/job.h"
#include "tests/unit/trainer/yaml_doc.h"
#include "tests/unit/unit.h"

/* The name that a command line gives its job. */
TEST(test_names)
{
	static const struct {
		const char *command, *name;
	} rows[] = {
		{ "python3 train.py", "train" },
		{ "torchrun --x=1 a/Train_Big.v2.py --y b.py", "train-big-v2" },
		{ "./run.sh", "run" },
		{ "true", "true" },
		{ "/usr/bin/env", "env" },
		{ "3d-train", "d-train" },
		{ "___", "job" },
		{ "", "a-runtime" },
		{ "sh|-c|cd code && python3 -u ./My_Train.py --lr 1", "my-train" },
		{ "bash|-lc|echo hello; sleep 5", "echo" },
		{ "torchrun|-m|pkg.sub.train|--lr|1", "train" },
		{ "torchrun|--nproc_per_node|2|--module|pkg.train", "train" },
		{ "python|-m|torch.distributed.run|-m|pkg.finetune", "finetune" },
		{ "python3|-m|torch.distributed.run|train.py", "train" },
		{ "accelerate|launch|--num_processes|2|a/run_clm.py", "run-clm" },
		{ "tune|run|--nproc_per_node|2|lora_finetune_distributed|--config|x",
		  "lora-finetune-distributed" },
		{ "mpirun|-np|2|./a.out", "a" },
		{ "env|OMP_NUM_THREADS=1|trl|sft", "trl" },
		{ "python3|-c|import torch; print(torch.ones(1))", "python3" },
		{ "uv|run|train.py", "train" },
		{ "a__very--long_name_that_goes_on_and_on_and_on_and_on.py",
		  "a-very-long-name-that-goes-on-and-on-and" },
		{ "sh|-c|", "sh" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *job = NULL;
		struct error err = { 0 };
		struct job_opts opts = {
			.runtime = "a-runtime",
			.command =
				str_split(&arena, rows[i].command,
					  strchr(rows[i].command, '|') ? '|' : ' ', NULL),
		};

		if (!*rows[i].command)
			opts.command = NULL;
		assert_int_equal(job_from_opts(&job, &opts, &err), 0);
		assert_string_equal(json_str(job, "metadata", "name"), rows[i].name);
	}
}

/* Kubernetes makes "$" of "$$" and a variable's value of "$(NAME)": not of ours. */
TEST(test_verbatim)
{
	static const struct {
		const char *word, *in_the_pod;
	} rows[] = {
		{ "plain", "plain" }, { "$HOME", "$HOME" },      { "$", "$" },
		{ "$$", "$$$" },      { "$(date)", "$$(date)" }, { "a$$(x)", "a$$$$(x)" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *job = NULL;
		struct error err = { 0 };
		struct job_opts opts = {
			.runtime = "r",
			.command = (char *[]){ (char *)(uintptr_t)rows[i].word, NULL },
		};
		const cJSON *command;

		assert_int_equal(job_from_opts(&job, &opts, &err), 0);
		command = json_get((const cJSON *)job, "spec", "trainer", "command");
		assert_string_equal(command->child->valuestring, rows[i].in_the_pod);
	}
}

/* job_opts.get_runtime: the cluster's runtime has two arguments, or is not shown. */
static int get_runtime(void *ctx, const struct runtime_name *which, cJSON **ret,
		       struct error *err)
{
	if (str_eq(which->name, "denied"))
		return error_set(err, ERR_DENIED, "forbidden");
	if (!str_eq(which->name, "has"))
		return 0;
	*ret = doc("{spec: {template: {spec: {replicatedJobs: [{name: nodes, template: "
		   "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
		   "trainer}}, spec: {template: {spec: {containers: [{name: node, "
		   "args: [a, $(B)]}]}}}}}]}}}}");
	return 0;
}

/* --arg never loses arguments that the job would have without it. */
TEST(test_args)
{
	static const struct {
		const char *runtime, *trainer, *want; /* NULL: refused */
	} rows[] = {
		{ "has", "", "a|$(B)|$$(x)" },
		{ "has", "trainer: {numNodes: 2}", "a|$(B)|$$(x)" },
		{ "has", "trainer: {args: [own]}", "own|$$(x)" },
		{ "has", "trainer: {args: []}", "$$(x)" },
		{ "has", "trainer: {command: [own]}", "$$(x)" },
		{ "has",
		  "runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: "
		  "{replicatedJobs: [{name: nodes, template: {spec: {template: {spec: "
		  "{containers: [{name: node, args: [patched]}]}}}}}]}}}}]",
		  "patched|$$(x)" },
		{ "none", "", "$$(x)" },
		{ "denied", "", NULL },
		{ "denied", "trainer: {args: [own]}", "own|$$(x)" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *job = doc(arena_printf(
			&arena,
			"{metadata: {name: j}, spec: {runtimeRef: {name: %s}, %s}}",
			rows[i].runtime, rows[i].trainer));
		const char *words[] = { "$(x)" };
		const struct job_opts opts = { .args = { words, 1 },
					       .get_runtime = get_runtime };
		const struct input none = { 0 };
		struct error err = { 0 };
		cleanup_buf struct buf got = { .max = 1000 };
		const cJSON *word;

		assert_int_equal(job_add_args(job, &none, &opts, &err),
				 rows[i].want ? 0 : -1);
		if (!rows[i].want) {
			assert_non_null(strstr(err.msg, "--arg"));
			assert_non_null(strstr(err.msg, "after '--' instead: forbidden"));
			continue;
		}
		json_each(word, json_get(job, "spec", "trainer", "args"))
			buf_printf(&got, "|%s", word->valuestring);
		assert_string_equal((char *)got.data + 1, rows[i].want);
	}
}

RUN_TESTS(NULL, NULL)
