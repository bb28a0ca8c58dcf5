/*
 * job.h - build TrainJobs, ready to run or print, from files and options.
 *
 * Files with TrainJobs and runtimes, or a runtime's name and options, become checked and
 * defaulted documents with their runtime and the objects for a cluster
 * (trainer/pipeline.h).
 */
#ifndef SPEC_JOB_H
#define SPEC_JOB_H

#include "spec/catalog.h"
#include "spec/input.h"
#include "spec/job_opts.h"

/* How metadata.generateName becomes a name. */
enum job_names {
	NAMES_FIXED,  /* ends in xxxxx: two dry runs are equal */
	NAMES_RANDOM, /* random, as an API server generates it */
	NAMES_LATER,  /* the API server generates it */
};

struct job {
	const struct doc *doc;
	const char *ns, *name;
	cJSON *trainjob;          /* the document's, with defaults */
	cJSON *runtime, *objects; /* owned by the job */
};

struct job_set {
	struct input input;
	struct schema *schema;
	cJSON *env;           /* the variables of options (jobenv.h) */
	const char *code_dir; /* of job_opts */
	size_t own; /* documents of the job's files; those of --runtime-file follow */
	struct job *list;
	size_t n;
};

/*
 * Read, check, resolve and build. 0; 1: the documents have errors, which have all been
 * reported; -1 with err. Release in every case.
 */
MUST_CHECK int job_set_load(struct job_set *ret, const struct job_opts *opts,
			    enum job_names names, const struct reporter *to,
			    struct error *err);
/*
 * For submission to a cluster: only read, and check against the schema. Errors are stored
 * in the documents; `given` of each TrainJob and runtime is the object to send.
 */
MUST_CHECK int job_set_read(struct job_set *ret, const struct job_opts *opts,
			    const struct reporter *to, struct error *err);
/*
 * A copy of the job's runtime, from files or built in, owned by the caller, or NULL;
 * errors are added to the document.
 */
cJSON *job_resolve(struct job_set *set, struct doc *doc, const struct reporter *to);

/* As job_set_load(), but a file without a TrainJob is valid (`runtime validate`). */
MUST_CHECK int job_set_check(struct job_set *ret, const struct job_opts *opts,
			     const struct reporter *to, struct error *err);
void job_set_release(struct job_set *set);
#define cleanup_job_set __attribute__((cleanup(job_set_release)))

/*
 * The ConfigMaps and Secrets of the files for the job's namespace: a JSON array, owned by
 * the caller.
 */
cJSON *job_config(const struct job_set *set, const struct job *job);

/* Is the document a ConfigMap or a Secret? */
bool doc_is_config(const struct doc *doc);
/* Warn of each document that is ignored: no TrainJob, runtime, ConfigMap or Secret. */
void job_warn_ignored(const struct job_set *set, const struct reporter *to);

#endif
