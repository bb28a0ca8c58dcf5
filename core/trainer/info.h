/*
 * info.h - the pipeline's state: a TrainJob while its objects are built.
 *
 * Info is the runtime's template with the job's patches merged in, and an index
 * into it. The index points at nodes of the template itself: there is only one
 * copy of every container and of every count (upstream's Info copies them, and
 * its JobSet plugin copies them back).
 */
#ifndef TRAINER_INFO_H
#define TRAINER_INFO_H

#include "base/arena.h"
#include "base/json.h"
#include "trainer/requests.h"

/* One replicatedJob of the template: nodes of info->jobset_spec. */
struct pod_set {
	const char *name;
	const char *ancestor; /* value of trainjob-ancestor-step, or NULL */
	cJSON *rjob, *job_spec, *pod_template, *pod_spec;
	bool in_gang; /* gang.h */
	/* Words to put before the command of its container "node"; static, or NULL. */
	const char *const *runner;
};

struct info {
	struct arena arena;          /* for the strings of this request */
	const char *name, *ns;       /* the TrainJob's; ns is NULL if it has none */
	const char *subdomain;       /* network.subdomain, else the TrainJob's name */
	cJSON *jobset_spec;          /* owned */
	cJSON *labels, *annotations; /* of the JobSet; owned */
	cJSON *command;              /* replaces spec.trainer's; owned, or NULL */
	bool args_used;              /* all args are part of `command` */
	const cJSON *runtime;        /* unpatched, for its labels; or NULL */
	const cJSON *ml_policy, *pod_group_policy,
		*scheduling; /* the runtime's, or NULL */
	struct pod_set *pod_sets;
	size_t n_pod_sets;
	int64_t claimed_gpus; /* per node; set by claims_count() */
};

/*
 * Both documents have passed shape_check(). Everything that does not depend on
 * a policy is done: patches, counts (parallelism or 1; the trainer's: numNodes
 * of the mlPolicy or 1; at least 1), spec.trainer.resourcesPerNode.
 */
MUST_CHECK int info_make(struct info *info, const cJSON *tj, const cJSON *runtime,
			 struct error *err);
void info_release(struct info *info);
#define cleanup_info __attribute__((cleanup(info_release)))

/* The first job with that ancestor label, or that name; borrowed, or NULL. */
struct pod_set *info_by_ancestor(struct info *info, const char *ancestor);
struct pod_set *info_by_name(struct info *info, const char *name);

/* The container "node" of the trainer's job, or NULL. */
cJSON *info_trainer_container(struct info *info);

/* Replace spec.trainer's command in the container "node". */
void info_set_command(struct info *info, cJSON *take_command);

/* The number of pods in each replica: parallelism, which completions follow. */
int64_t pod_set_count(const struct pod_set *ps);
void pod_set_set_count(struct pod_set *ps, int64_t count);
/* True for jobs that run processes of spec.trainer: the trainer's job, MPI's workers. */
bool pod_set_trains(const struct info *info, const struct pod_set *ps);
/*
 * The JobSet's replicas: 1 for a job with an ancestor label, regardless of the template.
 */
int64_t pod_set_replicas(const struct pod_set *ps);

/* The trainer's count, 1 without a trainer; set it to the job's numNodes if given. */
int64_t info_nodes(struct info *info);
void info_set_nodes(struct info *info, const cJSON *tj);
/* As info_set_nodes(), and adds spec.trainer's env to the trainer's container. */
void info_set_plain_nodes(struct info *info, const cJSON *tj);

/*
 * The address of rank 0: the host name of the first pod of the trainer's job in the
 * JobSet's headless service, "<pod>.<subdomain>".
 */
const char *info_lead_host(struct info *info);

/*
 * The resources with which the processes run: those of the container "node" of the job
 * `job`, else of the trainer's job, after spec.trainer.resourcesPerNode has been merged
 * into it. May be NULL.
 */
const cJSON *info_resources(struct info *info, const char *job);

/* The GPUs of these resources, else those that a node claims. */
int64_t info_gpus(struct info *info, const char *job);

#endif
