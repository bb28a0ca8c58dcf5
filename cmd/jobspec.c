/*
 * jobspec.c - a TrainJob from options, for those who have no YAML.
 *
 * Writes the fields that trainer/trainjob.c reads. What a value must look like
 * is the schema's affair; here is only what the shell can get wrong.
 */
#include <ctype.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/job.h"
#include "trainer/api.h"

const char *job_opts_flag(const struct job_opts *opts)
{
	const struct {
		bool given;
		const char *name;
	} flags[] = {
		{ opts->runtime, "--runtime" },
		{ opts->nodes, "--nodes" },
		{ opts->nproc, "--nproc-per-node" },
		{ opts->env.n, "--env" },
		{ opts->labels.n, "--label" },
		{ opts->image, "--image" },
		{ opts->cpu, "--cpu" },
		{ opts->memory, "--memory" },
		{ opts->gpu, "--gpu" },
		{ opts->command, "a command" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].given)
			return flags[i].name;
	return NULL;
}

/* "KEY=VALUE" into its parts. */
static int split(struct arena *arena, const char *option, const char *text,
		 const char **ret_key, const char **ret_value, struct error *err)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text)
		return error_set(err, ERR_USAGE, "%s: '%s' is not KEY=VALUE", option,
				 text);
	*ret_key = str_slice(arena, text, (size_t)(eq - text));
	*ret_value = eq + 1;
	return 0;
}

static int put_env(cJSON *trainer, const struct opt_strs *env, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value;

	for (size_t i = 0; i < env->n; i++) {
		cJSON *var;

		if (split(&arena, "--env", env->list[i], &key, &value, err))
			return -1;
		var = cJSON_CreateObject();
		json_put_str(var, key, "name");
		json_put_str(var, value, "value");
		json_upsert(json_list(trainer, "env"), "name", var); /* the last counts */
	}
	return 0;
}

static int put_labels(cJSON *job, const struct opt_strs *labels, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value;

	for (size_t i = 0; i < labels->n; i++) {
		if (split(&arena, "--label", labels->list[i], &key, &value, err))
			return -1;
		json_put_str(job, value, "metadata", "labels", key);
	}
	return 0;
}

/* Limits and requests alike, as Kubeflow's SDK does. */
static void put_resource(cJSON *trainer, const char *resource, const char *quantity)
{
	if (!quantity)
		return;
	json_put_str(trainer, quantity, "resourcesPerNode", "limits", resource);
	json_put_str(trainer, quantity, "resourcesPerNode", "requests", resource);
}

/*
 * A pod's command has "$(NAME)" for a variable and "$$" for a dollar. The shell
 * has given us the words as they shall be, so every "$" in front of "$" or "("
 * becomes two.
 */
static cJSON *verbatim(const char *word)
{
	cleanup_buf struct buf text = { .max = SIZE_MAX };

	for (; *word; word++) {
		buf_add(&text, word, 1);
		if (*word == '$' && (word[1] == '$' || word[1] == '('))
			buf_adds(&text, "$");
	}
	return cJSON_CreateString(text.data ? (const char *)text.data : "");
}

static void put_command(cJSON *trainer, char **command)
{
	for (; command && *command; command++)
		cJSON_AddItemToArray(json_list(trainer, "command"), verbatim(*command));
}

/* What the command runs: its first argument that is a script, or itself. */
static const char *program_of(const struct job_opts *opts)
{
	for (char **arg = opts->command; arg && *arg; arg++)
		if (str_ends(*arg, ".py") || str_ends(*arg, ".sh"))
			return *arg;
	return opts->command && *opts->command ? *opts->command : opts->runtime;
}

/* A name that says what runs: of "torchrun train_big.py --x" it is "train-big". */
static const char *name_of(struct arena *arena, const struct job_opts *opts)
{
	char *name = arena_strdup(arena, path_base(program_of(opts)));
	char *end = strrchr(name, '.');

	if (end && end != name)
		*end = 0;
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
	while (*name && !islower((unsigned char)*name))
		name++;
	for (end = name + strlen(name); end > name && end[-1] == '-';)
		*--end = 0;
	return *name ? name : "job";
}

int job_from_opts(cJSON **ret, const struct job_opts *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *job =
		meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, NULL,
			 opts->name ? opts->name : name_of(&arena, opts));
	cJSON *trainer = json_obj(job, "spec", "trainer");

	json_put_str(job, opts->runtime, "spec", "runtimeRef", "name");
	if (put_labels(job, &opts->labels, err) || put_env(trainer, &opts->env, err))
		return -1;
	if (opts->image)
		json_put_str(trainer, opts->image, "image");
	put_command(trainer, opts->command);
	if (opts->nodes)
		json_put_int(trainer, opts->nodes, "numNodes");
	if (opts->nproc)
		json_put_int(trainer, opts->nproc, "numProcPerNode");
	put_resource(trainer, "cpu", opts->cpu);
	put_resource(trainer, "memory", opts->memory);
	put_resource(trainer, "nvidia.com/gpu", opts->gpu);
	*ret = STEAL(job);
	return 0;
}
