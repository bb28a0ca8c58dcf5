/* runtime.c - list, print, render and validate runtimes (spec/catalog.h). */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/jobs.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"
#include "cmd/ui/render.h"
#include "spec/catalog.h"
#include "spec/job.h"
#include "spec/refer.h"
#include "trainer/api.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define RUNTIME_WHERE(s)                                                              \
	WHERE_OPTIONS_AS(s, "namespace of TrainingRuntimes (default: the context's)", \
			 "do not query the cluster")

/* ---- list --------------------------------------------------------------------- */

struct list_opts {
	struct opt_strs files;
	bool recursive;
	int output;
	struct where_opts where;
};

static const char *const list_formats[] = { "table", "yaml", "json", "name", NULL };

static const struct opt list_table[] = {
	OPT_STRS(0, "runtime-file", "FILE", "file with more runtimes; repeatable",
		 struct list_opts, files),
	INPUT_RECURSIVE(struct list_opts, recursive),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct list_opts, output,
		 list_formats),
	RUNTIME_WHERE(struct list_opts),
	{ .type = OPT_END },
};

/* Read and check the files of --runtime-file. EXIT_BAD_INPUT: errors were printed. */
static int load(struct input *in, struct schema **schema, const struct opt_strs *files,
		const char *cmd, struct error *err)
{
	const struct reporter to = cmd_reporter(cmd);
	size_t bad = 0;

	if (input_schema(schema, err))
		return -1;
	for (size_t i = 0; i < files->n; i++)
		if (input_read(in, files->list[i], err))
			return -1;
	if (input_end(in, err))
		return -1;
	for (size_t i = 0; i < in->n; i++) {
		if (doc_is_known(&in->docs[i], *schema))
			doc_check(&in->docs[i], *schema);
		bad += doc_report(&in->docs[i], "", &to);
	}
	input_report_rest(in, &to);
	for (size_t i = 0; i < in->n && !bad; i++)
		if (!doc_is_runtime(&in->docs[i]))
			doc_warn_ignored(&in->docs[i], "runtimes", &to);
		else if (!meta_name(in->docs[i].obj))
			doc_warn_ignored(&in->docs[i], "runtimes with a name", &to);
	return bad ? EXIT_BAD_INPUT : 0;
}

/* Append the namespace's and the cluster's runtimes; none if the CRDs do not exist. */
static int list_api(cJSON *ret, const struct where_opts *where, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	const char *ns;

	if (where_connect(&kube, &ns, &arena, where, err))
		return -1;
	if (job_runtimes(kube, RUNTIME_KIND, ns, false, ret, err) ||
	    job_runtimes(kube, CLUSTER_RUNTIME_KIND, ns, false, ret, err))
		return error_clear_if(err, ERR_NOT_FOUND);
	return 0;
}

static const char *from(const struct input *in, const cJSON *obj)
{
	const struct runtime_name name = { meta_kind(obj), meta_namespace(obj),
					   meta_name(obj) };

	if (runtime_exists(in, &name, false))
		return "file";
	return meta_uid(obj) ? "cluster" : "built-in";
}

static void print_runtimes(const cJSON *list, const struct input *in)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_out_table struct out_table table = { .columns = 5 };
	const cJSON *obj;

	OUT_ROW(&table, "NAME", "FRAMEWORK", "NODES", "KIND", "FROM");
	json_each(obj, list) {
		const char *framework = meta_label(obj, LABEL_FRAMEWORK);
		int64_t nodes = policy_num_nodes(runtime_ml_policy(obj));

		OUT_ROW(&table, meta_name(obj), framework ? framework : "",
			nodes == ABSENT ? "1"
					: arena_printf(&arena, "%lld", (long long)nodes),
			meta_kind(obj), from(in, obj));
	}
	out_table(&table);
}

static int print_list(cJSON **list, const struct input *in, enum out_format format,
		      struct error *err)
{
	cJSON *obj;

	if (format == OUT_TABLE) {
		print_runtimes(*list, in);
		return EXIT_OK;
	}
	json_each(obj, *list)
		if (format == OUT_NAME)
			out_name(meta_api_version(obj), meta_kind(obj), meta_name(obj));
		else
			meta_drop_server_fields(obj);
	if (format == OUT_NAME)
		return EXIT_OK;
	return out_doc(format, *list = out_list(*list), err);
}

/* If the cluster does not answer, the other runtimes are printed before the error. */
static int run_list(const void *values, int argc, char **argv, struct error *err)
{
	const struct list_opts *opts = values;
	cleanup_input struct input in = { .recursive = opts->recursive };
	cleanup_schema struct schema *schema = NULL;
	cleanup_json cJSON *list = NULL, *api = cJSON_CreateArray();
	struct error unasked = { 0 };
	int code;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	code = load(&in, &schema, &opts->files, "runtime list", err);
	if (code)
		return code;
	if (list_api(api, &opts->where, &unasked) && unasked.kind == ERR_USAGE) {
		*err = unasked;
		return -1;
	}
	if (runtime_all(&list, &in, api, schema, err) ||
	    print_list(&list, &in, out_format(list_formats[opts->output]), err))
		return -1;
	if (unasked.kind == ERR_NONE)
		return EXIT_OK;
	*err = unasked;
	return -1;
}

/* ---- get ---------------------------------------------------------------------- */

struct get_opts {
	struct opt_strs files;
	bool recursive;
	int output;
	struct where_opts where;
};

static const char *const get_formats[] = { "yaml", "json", "name", NULL };

static const struct opt get_table[] = {
	OPT_STRS(0, "runtime-file", "FILE", "file with more runtimes; repeatable",
		 struct get_opts, files),
	INPUT_RECURSIVE(struct get_opts, recursive),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct get_opts, output,
		 get_formats),
	RUNTIME_WHERE(struct get_opts),
	{ .type = OPT_END },
};

static int run_get(const void *values, int argc, char **argv, struct error *err)
{
	const struct get_opts *opts = values;
	cleanup_input struct input in = { .recursive = opts->recursive };
	cleanup_schema struct schema *schema = NULL;
	cleanup_json cJSON *obj = NULL, *api = cJSON_CreateArray();
	enum out_format format = out_format(get_formats[opts->output]);
	int code;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify one runtime");
	code = load(&in, &schema, &opts->files, "runtime get", err);
	if (code)
		return code;
	if (list_api(api, &opts->where, err) ||
	    runtime_by_name(&obj, &in, api, schema, argv[0], err))
		return -1;
	if (format != OUT_NAME)
		return out_doc(format, obj, err);
	out_name(meta_api_version(obj), meta_kind(obj), meta_name(obj));
	return EXIT_OK;
}

/* ---- render ------------------------------------------------------------------- */

struct render_opts {
	struct job_opts job;
	int output;
};

static const struct opt render_table[] = {
	JOB_FILE_OPTIONS(struct render_opts),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct render_opts, output,
		 render_formats),
	JOB_FLAG_OPTIONS(struct render_opts),
	{ .type = OPT_END },
};

static int run_render(const void *values, int argc, char **argv, struct error *err)
{
	struct render_opts opts = *(const struct render_opts *)values;
	const struct reporter to = cmd_reporter("runtime render");
	const char *flag = job_opts_flag(&opts.job);
	cleanup_job_set struct job_set set = { 0 };
	int code;

	if (argc > 1 || (argc && opts.job.files.n))
		return error_set(err, ERR_USAGE, "unexpected argument '%s'",
				 argv[argc > 1]);
	if (argc)
		opts.job.runtime = argv[0];
	if (opts.job.files.n && flag)
		return error_set(err, ERR_USAGE, "%s cannot be combined with a file",
				 flag);
	if (!opts.job.files.n && !opts.job.runtime)
		return error_set(err, ERR_USAGE,
				 "specify a runtime, or a TrainJob with --filename");
	if (opts.job.runtime &&
	    refer_runtime(&opts.job.runtime, &opts.job.runtime_kind, err))
		return -1;
	code = job_set_load(&set, &opts.job, NAMES_FIXED, &to, err);
	if (code)
		return code < 0 ? -1 : EXIT_BAD_INPUT;
	return render_jobs(&set, render_formats[opts.output], err);
}

/* ---- validate ----------------------------------------------------------------- */

struct validate_opts {
	struct opt_strs files;
	bool quiet, recursive;
};

static const struct opt validate_table[] = {
	OPT_STRS('f', "filename", "FILE",
		 "file, directory or URL to check; - is stdin; repeatable",
		 struct validate_opts, files),
	INPUT_RECURSIVE(struct validate_opts, recursive),
	OPT_BOOL('q', "quiet", "print only errors", struct validate_opts, quiet),
	{ .type = OPT_END },
};

static void print_valid(const struct job_set *set)
{
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < set->input.n; i++) {
		const struct doc *doc = &set->input.docs[i];
		const char *name = meta_name(doc->obj);
		bool ours = schema_knows(set->schema, doc->obj);
		char *line =
			arena_printf(&arena, "%s: %s %s%sis %s", doc->source->name,
				     meta_kind(doc->obj), name ? name : "",
				     name ? " " : "", ours ? "valid" : "not checked");

		puts(str_visible(&arena, line, false));
	}
}

/* Files are independent: TrainJobs may use the file's runtimes, and built-in ones. */
static int validate_file(const char *file, const struct validate_opts *how)
{
	const struct reporter to = cmd_reporter("runtime validate");
	const struct job_opts opts = { .file = file, .recursive = how->recursive };
	cleanup_job_set struct job_set set = { 0 };
	struct error err = { 0 };
	int code = job_set_check(&set, &opts, &to, &err);

	if (code < 0) {
		cmd_complain("runtime validate", "%s", err.msg);
		return EXIT_BAD_INPUT;
	}
	if (!code && !how->quiet)
		print_valid(&set);
	return code;
}

static int run_validate(const void *values, int argc, char **argv, struct error *err)
{
	const struct validate_opts *opts = values;
	int code = EXIT_OK;

	if (!argc && !opts->files.n)
		return error_set(err, ERR_USAGE, "specify at least one file");
	for (; *argv; argv++)
		if (validate_file(*argv, opts))
			code = EXIT_BAD_INPUT;
	for (size_t i = 0; i < opts->files.n; i++)
		if (validate_file(opts->files.list[i], opts))
			code = EXIT_BAD_INPUT;
	return code;
}

static const struct cmd cmd_list = {
	.name = "list",
	.args = "",
	.summary = "list runtimes",
	.about =
		"Lists the cluster's runtimes, if there is a kubeconfig, those of --runtime-file,\n"
		"and the built-in runtimes that neither of them replaces.",
	.example = "kftrainer runtime list\n"
		   "kftrainer runtime list --runtime-file my-runtimes.yaml -o json",
	.opts = list_table,
	.opts_size = sizeof(struct list_opts),
	.run = run_list,
};

static const struct cmd cmd_get_runtime = {
	.name = "get",
	.args = "RUNTIME",
	.summary = "print a runtime",
	.about =
		"Looks it up in --runtime-file, then in the cluster, if there is a kubeconfig,\n"
		"then among the built-in runtimes. The output can be applied again.",
	.example = "kftrainer runtime get torch-distributed > my-runtime.yaml",
	.opts = get_table,
	.opts_size = sizeof(struct get_opts),
	.run = run_get,
};

static const struct cmd cmd_render = {
	.name = "render",
	.args = "[RUNTIME] [-- COMMAND...]",
	.summary = "print the objects that a TrainJob and its runtime produce",
	.about = "The TrainJob comes from --filename or is described by the options.",
	.example =
		"kftrainer runtime render torch-distributed --nodes 4 -- torchrun train.py\n"
		"kftrainer runtime render -f job.yaml --runtime-file my-runtime.yaml",
	.opts = render_table,
	.opts_size = sizeof(struct render_opts),
	.run = run_render,
};

static const struct cmd cmd_validate = {
	.name = "validate",
	.args = "[FILE...]",
	.summary = "check files of runtimes and TrainJobs",
	.about =
		"Reports all errors in all files, with file, line and column, and exits with 2 if\n"
		"there are any.",
	.example = "kftrainer runtime validate my-runtimes.yaml job.yaml",
	.opts = validate_table,
	.opts_size = sizeof(struct validate_opts),
	.run = run_validate,
};

static const struct cmd *const sub[] = {
	&cmd_runtime_carry,
	&cmd_get_runtime,
	&cmd_list,
	&cmd_render,
	&cmd_runtime_rerun,
	&cmd_runtime_resume,
	&cmd_runtime_supervise,
	&cmd_runtime_unpack_workspace,
	&cmd_validate,
	NULL,
};

const struct cmd cmd_runtime = {
	.name = "runtime",
	.args = "get|list|render|validate",
	.summary = "list, print, render and check runtimes",
	.example = "kftrainer runtime list\n"
		   "kftrainer runtime get torch-distributed\n"
		   "kftrainer runtime validate my-runtimes.yaml",
	.sub = sub,
};
