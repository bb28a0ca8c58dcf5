/*
 * job.h - from what a user gives to TrainJobs that are ready to run or to show.
 *
 * A file with TrainJobs and runtimes, or a runtime's name and options, become
 * checked documents with their defaults, their runtime, and the objects that a
 * cluster would get (trainer/pipeline.h).
 */
#ifndef CMD_JOB_H
#define CMD_JOB_H

#include "base/opt.h"
#include "cmd/input.h"

struct job_opts {
	const char *file, *ns, *name;
	struct opt_strs runtime_files;
	/* A TrainJob without a file. */
	const char *runtime, *image, *cpu, *memory, *gpu;
	int64_t nodes, nproc;
	struct opt_strs env, labels;
	char **command;
};

/* Their rows in a table of options; `s` has a member `struct job_opts job`. */
/* clang-format off */
#define JOB_FILE_OPTIONS(s) \
	OPT_STR('f', "filename", "FILE", "the TrainJob; - is stdin", s, job.file), \
	OPT_STRS(0, "runtime-file", "FILE", "runtimes it may refer to; repeatable", \
		 s, job.runtime_files), \
	OPT_STR('n', "namespace", "NAMESPACE", "the job's, where the file has none", \
		s, job.ns), \
	OPT_STR(0, "name", "NAME", "the job's name, whatever the file says", s, job.name)

#define JOB_FLAG_OPTIONS(s) \
	OPT_INT(0, "nodes", "N", "how many nodes", s, job.nodes, 1, INT32_MAX), \
	OPT_INT(0, "nproc-per-node", "N", "how many processes on each", \
		s, job.nproc, 1, INT32_MAX), \
	OPT_STRS('e', "env", "NAME=VALUE", "a variable for the trainer; repeatable", \
		 s, job.env), \
	OPT_STRS('l', "label", "KEY=VALUE", "a label of the TrainJob; repeatable", \
		 s, job.labels), \
	OPT_STR(0, "image", "IMAGE", "the trainer's image", s, job.image), \
	OPT_STR(0, "cpu", "QUANTITY", "CPUs of a node: 500m, 4", s, job.cpu), \
	OPT_STR(0, "memory", "QUANTITY", "memory of a node: 16Gi", s, job.memory), \
	OPT_STR(0, "gpu", "QUANTITY", "GPUs of a node (nvidia.com/gpu)", s, job.gpu), \
	OPT_REST("COMMAND...", "what the trainer runs", s, job.command)
/* clang-format on */

struct job {
	const struct doc *doc;
	const char *ns, *name;
	cJSON *trainjob; /* the document's, with defaults */
	cJSON *runtime, *objects;
};

struct job_set {
	struct input input;
	struct schema *schema;
	struct job *list;
	size_t n;
};

/*
 * Read, check, resolve and build. Returns 0; EXIT_BAD_INPUT when something was
 * wrong and all of it has been told on stderr as `cmd`; -1 with err.
 * `unique`: a metadata.generateName gets a random end, not a fixed one.
 */
MUST_CHECK int job_set_load(struct job_set *ret, const struct job_opts *opts, bool unique,
			    const char *cmd, struct error *err);

/* The same, but a file without a TrainJob is fine (`runtime validate`). */
MUST_CHECK int job_set_check(struct job_set *ret, const struct job_opts *opts,
			     const char *cmd, struct error *err);
void job_set_release(struct job_set *set);
#define cleanup_job_set __attribute__((cleanup(job_set_release)))

/*
 * Besides what the pipeline made, the ConfigMaps and Secrets of the files: pods
 * of this machine find them as a cluster's would. Adds to job->objects.
 */
void job_add_config(const struct job_set *set, struct job *job);

/* The TrainJob that the options describe (jobspec.c). */
MUST_CHECK int job_from_opts(cJSON **ret, const struct job_opts *opts, struct error *err);

/* Is any option given that only makes sense without a file? Its name, or NULL. */
const char *job_opts_flag(const struct job_opts *opts);

#endif
