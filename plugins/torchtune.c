/*
 * torchtune.c - give `tune run` the recipe and config of the job (trainer/plugin.h).
 *
 * Follows upstream's plugins/torch (torchtune.go) and KEP-2401. The runtime's name
 * contains the model: torchtune-llama3.2-1b is llama3_2/1B.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "plugins/torch.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define LLAMA_1B  "llama3_2/1B"
#define LLAMA_3B  "llama3_2/3B"
#define LLAMA_70B "llama3_3/70B"
#define QWEN      "qwen2_5/1.5B"

static const char *const models[] = { LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN, NULL };

/* Set by the runtime's command; a job may not set them. */
static const char *const fixed_configs[] = {
	"output_dir",
	"tokenizer.path",
	"tokenizer.merges_file",
	"checkpointer.checkpoint_dir",
	NULL,
};

/* How the weights are tuned. */
enum method { FULL, LORA, QLORA };
static const char *const method_recipe[] = { "full_finetune", "lora_finetune",
					     "lora_finetune" };
static const char *const method_suffix[] = { "_full", "_lora", "_qlora" };

struct tune {
	const char *model, *recipe, *suffix; /* in the arena */
	enum method method;
	bool one_device, many_nodes;
};

static const char *model_of(struct arena *arena, const cJSON *tj)
{
	size_t n;
	char **part = str_split(arena, tj_runtime_ref(tj).name, '-', &n);

	if (n != 3)
		return "";
	for (char *c = part[1]; *c; c++)
		if (*c == '.')
			*c = '_';
	for (char *c = part[2]; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return arena_printf(arena, "%s/%s", part[1], part[2]);
}

/* Is there an argument KEY=VALUE whose key contains `config` and whose value is true? */
static bool switched_on(struct arena *arena, const cJSON *args, const char *config)
{
	const cJSON *arg;

	json_each(arg, args) {
		const char *eq = strchr(arg->valuestring, '=');
		const char *key;

		if (!eq)
			continue;
		key = str_slice(arena, arg->valuestring, (size_t)(eq - arg->valuestring));
		if (strstr(key, config) && !strcasecmp(str_trim(arena, eq + 1), "true"))
			return true;
	}
	return false;
}

static bool mentioned(const cJSON *args, const char *config)
{
	const cJSON *arg;

	json_each(arg, args)
		if (strstr(arg->valuestring, config))
			return true;
	return false;
}

static enum method method_of(struct arena *arena, const cJSON *args)
{
	if (!switched_on(arena, args, "model.use_dora") &&
	    switched_on(arena, args, "model.quantize_base"))
		return QLORA;
	return mentioned(args, "model.lora_attn_modules") ? LORA : FULL;
}

static struct tune tune_of(struct arena *arena, const cJSON *tj,
			   const struct torch_plan *plan)
{
	struct tune t = {
		.model = model_of(arena, tj),
		.method = method_of(arena, tj_args(tj)),
		.one_device = plan->nodes == 1 && (plan->procs == 1 || plan->gpus == 1),
		.many_nodes = plan->nodes > 1,
	};
	/* LoRA supports a single node; validation refuses more. */
	enum method m = plan->nodes == 1 ? t.method : FULL;
	const char *devices = t.one_device ? "_single_device" : "";

	t.recipe = arena_printf(arena, "%s%s", method_recipe[m],
				t.one_device ? devices : "_distributed");
	t.suffix = arena_printf(arena, "%s%s", method_suffix[m],
				t.many_nodes ? "_multinode" : devices);
	return t;
}

static const char *config_key(struct arena *arena, const char *arg)
{
	return str_slice(arena, arg, strcspn(arg, "="));
}

/* ---- admission ---- */

/* Add an error at spec.trainer[key]. */
static void refuse(struct field_errors *errs, const cJSON *tj, const char *key,
		   const char *detail)
{
	field_error_add(errs, FIELD_INVALID, field_child(errs, "spec.trainer", key),
			tj_trainer_member(tj, key), "%s", detail);
}

static void refuse_model(struct field_errors *errs, const cJSON *tj, const char *detail)
{
	cleanup_json cJSON *name = cJSON_CreateString(tj_runtime_ref(tj).name);

	field_error_add(errs, FIELD_INVALID, "spec.runtimeRef.name", name, "%s", detail);
}

static void validate_args(struct field_errors *errs, const cJSON *args)
{
	const cJSON *arg;
	size_t i = 0;

	json_each(arg, args) {
		const char *key = config_key(&errs->arena, arg->valuestring);

		if (str_in(key, fixed_configs))
			field_error_add(errs, FIELD_INVALID,
					field_index(errs, "spec.trainer.args", i), arg,
					"%s is set by the runtime", key);
		i++;
	}
}

static void validate_qlora(struct field_errors *errs, const cJSON *tj,
			   const struct tune *t)
{
	bool small = str_eq(t->model, LLAMA_1B) || str_eq(t->model, LLAMA_3B);

	if (str_eq(t->model, QWEN))
		refuse_model(
			errs, tj,
			arena_printf(&errs->arena, "no QLoRA config for %s", t->model));
	if (small && !t->one_device) {
		refuse(errs, tj, "numProcPerNode",
		       arena_printf(
			       &errs->arena,
			       "must be 1, or absent with one GPU, for QLoRA with %s",
			       t->model));
		refuse(errs, tj, "resourcesPerNode",
		       arena_printf(&errs->arena, "must have one GPU for QLoRA with %s",
				    t->model));
	}
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	struct torch_plan plan = torch_plan(info, tj);
	struct tune t;

	if (!torch_is_torchtune(tj))
		return;
	plan.nodes = tj_num_nodes(tj) == ABSENT ? 1 : tj_num_nodes(tj);
	/* As upstream: a number counted from CPUs does not make QLoRA admissible. */
	plan.procs = tj_num_proc_per_node(tj) == ABSENT ? 0 : tj_num_proc_per_node(tj);
	t = tune_of(&errs->arena, tj, &plan);
	if (!str_in(t.model, models))
		refuse_model(
			errs, tj,
			arena_printf(
				&errs->arena,
				"names no model that torchtune has a config for: \"%s\"",
				t.model));
	if (plan.nodes > 1 && !str_eq(t.model, LLAMA_70B))
		refuse(errs, tj, "numNodes",
		       arena_printf(&errs->arena, "must be 1 for %s", t.model));
	if (plan.nodes == 1 && t.method == QLORA)
		validate_qlora(errs, tj, &t);
	if (plan.nodes > 1 && t.method != FULL)
		refuse(errs, tj, "numNodes",
		       "must be 1 for LoRA: torchtune has no recipe "
		       "for more nodes");
	validate_args(errs, tj_args(tj));
}

/* ---- build ---- */

static void add_word(cJSON *command, const char *word)
{
	cJSON_AddItemToArray(command, cJSON_CreateString(word));
}

static void add_runtime_configs(struct info *info, cJSON *command)
{
	const cJSON *word;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (!str_eq(ps->ancestor, ANCESTOR_TRAINER))
			continue;
		json_each(word, container_command(pod_container(ps->pod_spec, NODE))) {
			const char *key = config_key(&info->arena, word->valuestring);

			if (str_in(key, fixed_configs))
				add_word(command, word->valuestring);
		}
	}
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct torch_plan plan;
	struct tune t;
	cJSON *command;

	if (!torch_is_torchtune(tj) || !info_trainer_container(info))
		return 0;
	plan = torch_plan(info, tj);
	t = tune_of(&info->arena, tj, &plan);
	command = json_dup(tj_command(tj));
	info_set_command(info, command);
	if (plan.nodes > 1 || plan.procs > 1 || (!plan.procs && plan.gpus > 1))
		add_word(command, arena_printf(&info->arena, "--rdzv_endpoint=%s:%d",
					       info_lead_host(info), TRAINER_PORT));
	add_word(command, t.recipe);
	add_word(command, "--config");
	add_word(command, arena_printf(&info->arena, "%s%s", t.model, t.suffix));
	add_runtime_configs(info, command);
	return 0;
}

const struct plugin plugin_torchtune = {
	.name = "TorchTune",
	.policy = "torch",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
