/*
 * jobspec.c - build a TrainJob from options (spec/job_opts.h).
 *
 * The schema checks values; only the syntax of options is checked here.
 */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "spec/job_opts.h"
#include "spec/script.h"
#include "trainer/trainjob.h"

const char *job_opts_flag(const struct job_opts *opts)
{
	const struct {
		bool given;
		const char *name;
	} flags[] = {
		{ opts->runtime, "--runtime" },      { opts->nodes, "--nodes" },
		{ opts->nproc, "--nproc-per-node" }, { opts->env.n, "--env" },
		{ opts->image, "--image" },          { opts->cpu, "--cpu" },
		{ opts->memory, "--memory" },        { opts->gpu, "--gpu" },
		{ opts->command, "a command" },
	};

	for (size_t i = 0; i < N_ELEMENTS(flags); i++)
		if (flags[i].given)
			return flags[i].name;
	return NULL;
}

int job_pair(struct arena *arena, const char *option, const char *text,
	     const char **ret_key, const char **ret_value, struct error *err)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text)
		return error_set(err, ERR_USAGE, "%s: invalid value '%s': want KEY=VALUE",
				 option, text);
	*ret_key = str_slice(arena, text, (size_t)(eq - text));
	*ret_value = eq + 1;
	return 0;
}

static int put_env(cJSON *job, const struct opt_strs *env, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value;

	for (size_t i = 0; i < env->n; i++) {
		if (job_pair(&arena, "--env", env->list[i], &key, &value, err))
			return -1;
		tj_set_env(job, key, value); /* the last one wins */
	}
	return 0;
}

static void put_resources(cJSON *job, const struct job_opts *opts)
{
	if (opts->cpu)
		tj_set_resource(job, "cpu", opts->cpu);
	if (opts->memory)
		tj_set_resource(job, "memory", opts->memory);
	if (opts->gpu)
		tj_set_resource(job, "nvidia.com/gpu", opts->gpu);
}

/*
 * In a pod's command "$(NAME)" is a variable and "$$" a dollar. Our words are literal, so
 * every "$" before "$" or "(" is doubled.
 */
void job_add_word(cJSON *job, const char *word)
{
	cleanup_buf struct buf text = { .max = SIZE_MAX };
	const char *dollar;

	for (; (dollar = strchr(word, '$')); word = dollar + 1) {
		buf_add(&text, word, (size_t)(dollar + 1 - word));
		if (dollar[1] == '$' || dollar[1] == '(')
			buf_adds(&text, "$");
	}
	buf_adds(&text, word);
	tj_add_command(job, text.data ? (const char *)text.data : "");
}

int job_from_opts(cJSON **ret, const struct job_opts *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *job = tj_new(
		opts->name ? opts->name : job_default_name(&arena, opts), opts->runtime);

	if (put_env(job, &opts->env, err))
		return -1;
	if (opts->image)
		tj_set_image(job, opts->image);
	if (opts->nodes)
		tj_set_num_nodes(job, opts->nodes);
	if (opts->nproc)
		tj_set_num_proc_per_node(job, opts->nproc);
	put_resources(job, opts);
	if (opts->script) {
		if (script_put(job, opts->script, opts->command, err))
			return -1;
	} else {
		for (char **word = opts->command; word && *word; word++)
			job_add_word(job, *word);
	}
	*ret = STEAL(job);
	return 0;
}
