/* A TrainJob from options. */

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/job.h"
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

RUN_TESTS(NULL, NULL)
