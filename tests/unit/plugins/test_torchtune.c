/* Rules: upstream pkg/runtime/framework/plugins/torch/torchtune.go, KEP-2401. */
#include "tests/unit/plugins/build.h"

/* A job of the runtime torchtune-NAME. */
static cJSON *tune_job(const char *name, const char *trainer)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *tj = job(arena_printf(&a, "{trainer: %s}", trainer));

	json_put_str(tj, arena_printf(&a, "torchtune-%s", name), "spec", "runtimeRef",
		     "name");
	json_put(tj, doc("[tune, run]"), "spec", "trainer", "command");
	return tj;
}

static void assert_command(const char *trainer, const char *resources, const char *want)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = tune_job("llama3.2-1b", trainer);
	cleanup_json cJSON *rt = runtime(arena_printf(
		&a,
		"{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: "
		"[{name: node, template: {" TRAINS
		" spec: {template: {spec: {containers: [{name: node, "
		"command: [tune, run, x, output_dir=/o, tokenizer.path=/t, other=1], "
		"resources: %s}]}}}}}]}}}",
		resources));
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&offline, tj, rt, &err);
	cleanup_buf struct buf words = { .max = 4096 };
	const cJSON *word;

	assert_non_null(o);
	json_each(word, json_get(container(o, "node", "node"), "command"))
		buf_printf(&words, "%s%s", words.len ? " " : "", word->valuestring);
	assert_string_equal(words.data, want);
}

#define RDZV    "--rdzv_endpoint=tj-node-0-0.tj:29500 "
#define CONF    " --config llama3_2/1B"
#define TAIL    " output_dir=/o tokenizer.path=/t"
#define GPUS(n) "{limits: {nvidia.com/gpu: " n "}}"
#define ARGS(a) "{args: [" a "]}"

TEST(test_recipe_and_config)
{
	static const struct {
		const char *trainer, *resources, *want;
	} rows[] = {
		/* one node, one device */
		{ "{}", GPUS("1"),
		  "full_finetune_single_device" CONF "_full_single_device" },
		{ "{numProcPerNode: 1}", GPUS("4"),
		  "full_finetune_single_device" CONF "_full_single_device" },
		{ ARGS("model.lora_attn_modules=q"), GPUS("1"),
		  "lora_finetune_single_device" CONF "_lora_single_device" },
		{ ARGS("model.quantize_base=True"), GPUS("1"),
		  "lora_finetune_single_device" CONF "_qlora_single_device" },
		{ ARGS("model.quantize_base=False, model.lora_attn_modules=q"), GPUS("1"),
		  "lora_finetune_single_device" CONF "_lora_single_device" },
		/* DoRA is LoRA, not QLoRA */
		{ ARGS("model.quantize_base=true, \"model.use_dora= TRUE \", "
		       "model.lora_attn_modules=q"),
		  GPUS("1"), "lora_finetune_single_device" CONF "_lora_single_device" },
		/* Defect 19: upstream counts the job's resources alone. */
		{ "{resourcesPerNode: {limits: {memory: 64Gi}}}", GPUS("1"),
		  "full_finetune_single_device" CONF "_full_single_device" },
		{ "{resourcesPerNode: {requests: {cpu: 1}}}", GPUS("2"),
		  RDZV "full_finetune_distributed" CONF "_full" },
		/* one node, more devices */
		{ "{}", GPUS("2"), RDZV "full_finetune_distributed" CONF "_full" },
		{ "{numProcPerNode: 2}", GPUS("4"),
		  RDZV "full_finetune_distributed" CONF "_full" },
		{ ARGS("model.lora_attn_modules=q"), GPUS("2"),
		  RDZV "lora_finetune_distributed" CONF "_lora" },
		{ ARGS("model.quantize_base=True"), GPUS("2"),
		  RDZV "lora_finetune_distributed" CONF "_qlora" },
		/* no GPU: the CPUs are the processes */
		{ "{}", "{requests: {cpu: 3}}",
		  RDZV "full_finetune_distributed" CONF "_full" },
		{ "{}", "{}", "full_finetune_single_device" CONF "_full_single_device" },
		/* more nodes: full, whatever the arguments say */
		{ "{numNodes: 2}", GPUS("1"),
		  RDZV "full_finetune_distributed" CONF "_full_multinode" },
		{ "{numNodes: 2, args: [model.lora_attn_modules=q]}", GPUS("1"),
		  RDZV "full_finetune_distributed" CONF "_full_multinode" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };

		assert_command(rows[i].trainer, rows[i].resources,
			       arena_printf(&a, "tune run %s" TAIL, rows[i].want));
	}
}

TEST(test_env_has_no_master)
{
	cleanup_json cJSON *tj = tune_job("llama3.2-1b", "{args: [a=b]}");
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", "args: [old]"));
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&offline, tj, rt, &err);
	const cJSON *node = container(o, "node", "node");

	assert_env(node, "PET_NNODES=1 PET_NPROC_PER_NODE=1 PET_NODE_RANK<" INDEX);
	assert_doc(json_get(node, "args"), "[a=b]");
	assert_doc(json_get(node, "ports"), "[{containerPort: 29500}]");
}

TEST(test_another_command_is_left_alone)
{
	cleanup_json cJSON *o = build("{trainer: {command: [tune, run, x]}}",
				      RUNTIME("torch: {}", PLAIN_NODE));

	assert_doc(json_get(container(o, "node", "node"), "command"), "[tune, run, x]");
}

static void assert_tune_errors(const char *name, const char *trainer,
			       const char *resources, const char *const *want)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = tune_job(name, trainer);
	cleanup_json cJSON *rt = runtime(
		arena_printf(&a,
			     "{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: "
			     "[{name: node, template: {" TRAINS
			     " spec: {template: {spec: {containers: [{name: node, "
			     "resources: %s}]}}}}}]}}}",
			     resources));
	cleanup_free char *text = admission_with(&offline, NULL, tj, rt);
	size_t n = 0;

	for (; want[n]; n++)
		if (!strstr(text, want[n]))
			fail_msg("%s: wanted %s in:\n%s", name, want[n], text);
	for (const char *c = text; *c; c++)
		n -= *c == '\n';
	if (n)
		fail_msg("%s %s: other errors:\n%s", name, trainer, text);
}

#define NODES "spec.trainer.numNodes: Invalid value: "
#define MODEL "spec.runtimeRef.name: Invalid value: "

TEST(test_admission)
{
	const char *qlora = "{args: [model.quantize_base=True]}";

	assert_tune_errors("llama3.2-1b", "{}", GPUS("2"), NO_ERRORS);
	assert_tune_errors("llama3.3-70b", "{numNodes: 2}", GPUS("2"), NO_ERRORS);
	assert_tune_errors("gemma-2b", "{}", GPUS("1"), ERRORS(MODEL));
	assert_tune_errors("x", "{}", GPUS("1"), ERRORS(MODEL));
	assert_tune_errors("llama3.2-3b", "{numNodes: 2}", GPUS("1"), ERRORS(NODES "2"));
	assert_tune_errors("qwen2.5-1.5b", qlora, GPUS("1"), ERRORS(MODEL));
	assert_tune_errors("llama3.2-1b", qlora, GPUS("1"), NO_ERRORS);
	assert_tune_errors("llama3.2-1b",
			   "{numProcPerNode: 1, args: [model.quantize_base=True]}",
			   GPUS("2"), NO_ERRORS);
	assert_tune_errors("llama3.2-1b",
			   "{numProcPerNode: 2, args: [model.quantize_base=True]}",
			   GPUS("2"),
			   ERRORS("spec.trainer.numProcPerNode: Invalid value: ",
				  "spec.trainer.resourcesPerNode: Invalid value: "));
	assert_tune_errors("llama3.2-1b", qlora, GPUS("2"),
			   ERRORS("spec.trainer.numProcPerNode: Invalid value: ",
				  "spec.trainer.resourcesPerNode: Invalid value: "));
	assert_tune_errors("llama3.3-70b",
			   "{numNodes: 2, args: [model.lora_attn_modules=q]}", GPUS("2"),
			   ERRORS(NODES "2"));
	assert_tune_errors(
		"llama3.2-1b", "{args: [a=1, output_dir=/x, tokenizer.path]}", GPUS("1"),
		ERRORS("spec.trainer.args[1]: Invalid value: \"output_dir=/x\"",
		       "spec.trainer.args[2]: Invalid value: \"tokenizer.path\""));
}

RUN_TESTS(NULL, NULL)
