/*
 * job_opts.h - the options that select, change or describe a TrainJob.
 */
#ifndef SPEC_JOB_OPTS_H
#define SPEC_JOB_OPTS_H

#include "base/opt.h"
#include "spec/catalog.h"
#include "spec/launch.h"

struct job_opts {
	const cJSON *trainjob; /* in place of a file; NULL: none */
	const char *file;      /* the argument; NULL: none */
	struct opt_strs files; /* of -f; read together with `file` */
	const char *ns, *name, *generate_name;
	const char *default_ns; /* if neither file nor option has one; NULL: "default" */
	struct opt_strs runtime_files, labels, annotations;
	const struct workspace *workspace; /* submitted with the jobs; or NULL */
	bool suspend, recursive, supervise;
	const char *track;   /* URI of an experiment tracker; or NULL */
	const char *run_dir; /* URI of a run directory; or NULL */
	int64_t keep;        /* with `run_dir`: checkpoints; 0: unset */
	struct job_export {
		const char *uri, *registry, *model, *version, *description;
		struct opt_strs properties;
	} export;             /* of the trained model */
	const char *worktree; /* whose commit an export names: a directory; or NULL */
	int64_t restarts;     /* if it is supervised, unless the job says; 0: unset */
	const char *dev_from; /* DEV_FROM_ANNOTATION of a job in development; or NULL */
	int64_t idle_ms;      /* with `dev_from` */
	/*
	 * The cluster's runtime, if the files lack it, for the caller; NULL: it has none.
	 * -1 with err: it could not be asked; ERR_DENIED: this user may not read it.
	 * NULL: search the built-in ones instead.
	 */
	int (*get_runtime)(void *ctx, const struct runtime_name *which, cJSON **ret,
			   struct error *err);
	void *ctx;
	/* Values that replace those of a file. */
	const char *image, *cpu, *memory, *gpu, *model, *dataset;
	int64_t nodes, nproc;
	struct opt_strs env, env_files; /* added, by name */
	struct opt_strs args;           /* appended (job_add_args()) */
	const char *venv; /* an absolute path for VENV_ANNOTATION; or NULL */
	/* For a TrainJob without a file. Runtimes of its namespace are preferred. */
	const char *script; /* a Python file to send in the TrainJob; or NULL */
	const char *runtime, *runtime_kind; /* NULL: not given */
	int launch;                         /* enum launch */
	char **command;                     /* or the script's arguments */
	const char *code_dir; /* where the command finds its files; NULL: unknown */
};

/* Rows of a table of options; `s` has a member `struct job_opts job`. */
/* clang-format off */
#define JOB_FILE_OPTIONS(s) \
	OPT_STRS('f', "filename", "FILE", \
		 "file, directory or URL with the TrainJob; - is stdin; repeatable", \
		 s, job.files), \
	OPT_STRS(0, "runtime-file", "FILE", "file with runtimes; repeatable", \
		 s, job.runtime_files), \
	INPUT_RECURSIVE(s, job.recursive), \
	OPT_STR('n', "namespace", "NAMESPACE", "namespace of jobs whose file has none", \
		s, job.ns), \
	OPT_STR(0, "name", "NAME", "name of the job; overrides the file", s, job.name), \
	OPT_STR(0, "generate-name", "PREFIX", "name prefix, with a random suffix", \
		s, job.generate_name), \
	OPT_STRS('l', "label", "KEY=VALUE", "label for the TrainJob; repeatable", \
		 s, job.labels), \
	OPT_STRS(0, "annotation", "KEY=VALUE", "annotation for the TrainJob; repeatable", \
		 s, job.annotations)

#define JOB_EXPORT_OPTIONS(s) \
	OPT_STR(0, "export-to", "URI", \
		"upload what it leaves in $KFTRAINER_MODEL_DIR; with --supervise", \
		s, job.export.uri), \
	OPT_STR(0, "register", "URI", "with --export-to: register the model here", \
		s, job.export.registry), \
	OPT_STR(0, "model-name", "NAME", \
		"its name there (default: the last part of --export-to)", \
		s, job.export.model), \
	OPT_STR(0, "model-version", "V", "its version there (default: from its digest)", \
		s, job.export.version), \
	OPT_STR(0, "description", "TEXT", "with --register: description of the version", \
		s, job.export.description), \
	OPT_STRS(0, "property", "NAME=VALUE", \
		 "with --register: property of the version; repeatable", \
		 s, job.export.properties)

#define JOB_FLAG_OPTIONS(s) \
	OPT_INT(0, "nodes", "N", "number of nodes", s, job.nodes, 1, INT32_MAX), \
	OPT_INT_OR(0, "nproc-per-node", "N", "processes per node", \
		   s, job.nproc, 1, INT32_MAX, \
		   "leave it out: runtimes of torchrun start one for each GPU or, " \
		   "without GPUs, each CPU that the job requests"), \
	OPT_ENUM(0, "launcher", "LAUNCHER", "start the command by this on all nodes", \
		 s, job.launch, launch_names), \
	OPT_STRS('e', "env", "NAME[=VALUE]", "variable of the trainer; NAME alone: with your value; repeatable", \
		 s, job.env), \
	OPT_STRS(0, "env-file", "FILE", "file with lines NAME=VALUE; repeatable", \
		 s, job.env_files), \
	OPT_STRS(0, "arg", "WORD", "append an argument of the trainer; repeatable", \
		 s, job.args), \
	OPT_STR(0, "model", "URI", "model to fetch first, to /workspace/model", \
		s, job.model), \
	OPT_STR(0, "dataset", "URI", "dataset to fetch first, to /workspace/dataset", \
		s, job.dataset), \
	OPT_STR(0, "image", "IMAGE", "image of the trainer", s, job.image), \
	OPT_STR(0, "cpu", "QUANTITY", "CPUs per node: 500m, 4", s, job.cpu), \
	OPT_STR(0, "memory", "QUANTITY", "memory per node: 16Gi", s, job.memory), \
	OPT_STR(0, "gpu", "QUANTITY", "GPUs per node (nvidia.com/gpu); 0: without", s, job.gpu), \
	OPT_REST("COMMAND...", "what the trainer runs", s, job.command)
/* clang-format on */

/* After the script, module or program that the command runs. Valid, <= 40 characters. */
const char *job_default_name(struct arena *arena, const struct job_opts *opts);

/* A TrainJob with name, runtime and command, owned by the caller. */
MUST_CHECK int job_from_opts(cJSON **ret, const struct job_opts *opts, struct error *err);
/*
 * Change a TrainJob by the options that also apply to files, and by the variables of
 * job_env_read(). One that does not have a TrainJob's shape stays unchanged.
 */
void job_override(cJSON *job, const struct job_opts *opts, const cJSON *env);
/*
 * Append the words of --arg. The arguments of a TrainJob replace the runtime's: one that
 * has neither command nor arguments gets those of its runtime first. -1: the runtime
 * could not be read.
 */
MUST_CHECK int job_add_args(cJSON *job, const struct input *in,
			    const struct job_opts *opts, struct error *err);

/* Append a literal word to the job's command. */
void job_add_word(cJSON *job, const char *word);

/* The first file, or NULL; all files, for messages. */
const char *job_opts_file(const struct job_opts *opts);
const char *job_opts_files(struct arena *arena, const struct job_opts *opts);

/* The name of a given option that is only allowed without a file, or NULL. */
const char *job_opts_flag(const struct job_opts *opts);

/* Split an option's "KEY=VALUE", in the arena; `option` is for the error. */
MUST_CHECK int job_pair(struct arena *arena, const char *option, const char *text,
			const char **ret_key, const char **ret_value, struct error *err);

#endif
