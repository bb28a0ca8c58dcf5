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
#include "trainer/api.h"
#include "trainer/info.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/shape.h"
#include "trainer/trainjob.h"

const char *job_opts_flag(const struct job_opts *opts)
{
	const struct {
		bool given;
		const char *name;
	} flags[] = {
		{ opts->runtime, "--runtime" },
		{ opts->launch && !opts->script, "--launcher" },
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

void job_add_word(cJSON *job, const char *word)
{
	cleanup_arena struct arena arena = { 0 };

	tj_add_command(job, podspec_literal(&arena, word));
}

static void add_arg(cJSON *job, const char *word)
{
	cleanup_arena struct arena arena = { 0 };

	tj_add_arg(job, podspec_literal(&arena, word));
}

/*
 * `tune run KEY=VALUE...`: with exactly "tune run" as the command, the runtime adds the
 * recipe and its configuration before the arguments.
 */
static int add_command(cJSON *job, const struct job_opts *opts, struct error *err)
{
	char **word = opts->command;
	bool tunes = word && str_eq(word[0], "tune") && str_eq(word[1], "run"),
	     recipe = false;

	if (opts->launch)
		return launch_put(job, (enum launch)opts->launch, opts->command, err);
	for (size_t i = 2; tunes && word[i]; i++)
		recipe |= !strchr(word[i], '=') && *word[i] != '~';
	if (tunes && recipe && str_starts(opts->runtime, "torchtune-"))
		return error_set(err, ERR_USAGE,
				 "runtime %s chooses the recipe and its configuration: "
				 "pass only KEY=VALUE after 'tune run'",
				 opts->runtime);
	for (size_t i = 0; word && word[i]; i++)
		if (tunes && !recipe && i >= 2)
			add_arg(job, word[i]);
		else
			job_add_word(job, word[i]);
	return 0;
}

int job_from_opts(cJSON **ret, const struct job_opts *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *job = tj_new(
		opts->name ? opts->name : job_default_name(&arena, opts), opts->runtime);

	if (opts->script ? script_put(job, opts, err) : add_command(job, opts, err))
		return -1;
	if (str_eq(opts->runtime, "jax-distributed"))
		meta_set_annotation(job, JAX_INITIALIZE_ANNOTATION, "true");
	*ret = STEAL(job);
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

static bool has_shape(const cJSON *doc, const struct shape *shape)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	shape_check(&errs, "", doc, shape);
	return !errs.n;
}

void job_override(cJSON *job, const struct job_opts *opts, const cJSON *env)
{
	if (!has_shape(job, shape_trainjob))
		return;
	if (opts->image)
		tj_set_image(job, opts->image);
	if (opts->nodes)
		tj_set_num_nodes(job, opts->nodes);
	if (opts->nproc)
		tj_set_num_proc_per_node(job, opts->nproc);
	put_resources(job, opts);
	if (opts->dataset)
		tj_set_storage_uri(job, INIT_DATASET, opts->dataset);
	if (opts->model)
		tj_set_storage_uri(job, INIT_MODEL, opts->model);
	if (env && env->child)
		tj_merge_env(job, env);
	if (opts->venv)
		meta_set_annotation(job, VENV_ANNOTATION, opts->venv);
}

/* The job's runtime, owned by the caller, or NULL. */
static int find_runtime(cJSON **ret, const cJSON *job, const struct input *in,
			const struct job_opts *opts, struct error *err)
{
	const struct runtime_ref ref = tj_runtime_ref(job);
	/* as the schema's default, which is not set yet */
	const char *kind = *ref.kind ? ref.kind : CLUSTER_RUNTIME_KIND;
	const struct runtime_name which = { kind, meta_namespace(job), ref.name };

	if (!*ref.name ||
	    !(str_eq(kind, RUNTIME_KIND) || str_eq(kind, CLUSTER_RUNTIME_KIND)))
		return 0; /* the schema refuses it */
	*ret = runtime_find(in, &which, !opts->get_runtime);
	if (*ret || !opts->get_runtime)
		return 0;
	if (!opts->get_runtime(opts->ctx, &which, ret, err))
		return 0;
	return error_wrap(
		err,
		"--arg is appended to the arguments of runtime %s, which cannot "
		"be read; give %s instead",
		ref.name,
		job_opts_file(opts) ? "spec.trainer.args"
				    : "the whole command after '--'");
}

/* The arguments of the runtime's trainer, as the job's runtimePatches change it. */
static void add_runtime_args(cJSON *job, const cJSON *runtime)
{
	cleanup_info struct info info = { 0 };
	const cJSON *word;

	if (!has_shape(runtime, shape_runtime) || info_make(&info, job, runtime, IGNORED))
		return;
	json_each(word, container_args(info_trainer_container(&info)))
		tj_add_arg(job, word->valuestring);
}

int job_add_args(cJSON *job, const struct input *in, const struct job_opts *opts,
		 struct error *err)
{
	cleanup_json cJSON *runtime = NULL;

	if (!opts->args.n || !has_shape(job, shape_trainjob))
		return 0;
	if (!tj_command(job) && !tj_args(job) &&
	    find_runtime(&runtime, job, in, opts, err))
		return -1;
	if (runtime)
		add_runtime_args(job, runtime);
	for (size_t i = 0; i < opts->args.n; i++)
		add_arg(job, opts->args.list[i]);
	return 0;
}
