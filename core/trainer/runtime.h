/*
 * runtime.h - the fields of TrainingRuntime and ClusterTrainingRuntime, v1alpha1, and the
 * template with a TrainJob's runtimePatches.
 *
 * runtime.c is the only file with the runtimes' keys. Policies are objects, or
 * NULL when absent.
 */
#ifndef TRAINER_RUNTIME_H
#define TRAINER_RUNTIME_H

#include "base/json.h"

const cJSON *runtime_ml_policy(const cJSON *runtime);
const cJSON *runtime_pod_group_policy(const cJSON *runtime);
const cJSON *runtime_scheduling(const cJSON *runtime); /* scheduling.h */
/* spec.runPolicy, in seconds, or ABSENT; a TrainJob's own values win (KEP-2899). */
struct run_policy {
	int64_t deadline, ttl;
};
struct run_policy runtime_run_policy(const cJSON *runtime);
const cJSON *runtime_jobs(const cJSON *runtime);        /* template.spec.replicatedJobs */
const cJSON *runtime_annotations(const cJSON *runtime); /* of the template */
bool runtime_is_deprecated(const cJSON *runtime);
bool runtime_names_class(const cJSON *runtime, const char *class); /* a RuntimeClass */
bool runtime_same_spec(const cJSON *a, const cJSON *b);

/* The finalizer by which upstream's releases up to v2.2 protected runtimes in use. */
bool runtime_has_old_finalizer(const cJSON *runtime);
/* The merge patch that removes it, from this version of the runtime. The caller's. */
cJSON *runtime_finalizer_patch(const cJSON *runtime);

/* Members of an mlPolicy. A missing integer is ABSENT (trainjob.h). */
int64_t policy_num_nodes(const cJSON *ml);
const cJSON *policy_torch(const cJSON *ml);
const cJSON *policy_mpi(const cJSON *ml);
const cJSON *policy_flux(const cJSON *ml);

const cJSON *policy_torch_env_targets(const cJSON *torch); /* envInjection.targets */
const char *policy_env_target_job(const cJSON *target);
const cJSON *policy_env_target_containers(const cJSON *target);

const char *mpi_implementation(const cJSON *mpi); /* "OpenMPI" when absent or "" */
int64_t mpi_num_proc_per_node(const cJSON *mpi);  /* 1 when absent */
const char *mpi_ssh_path(const cJSON *mpi);       /* "/root/.ssh" when absent */
bool mpi_launcher_is_node(const cJSON *mpi);

/* How mpirun reaches the nodes: MPI_ANNOTATION among the template's annotations. */
enum mpi_transport {
	MPI_UPSTREAM, /* no annotation: the image's ssh, to its sshd */
	MPI_SSH,      /* mpi-launch, to the image's sshd */
	MPI_WORKER,   /* mpi-launch, to mpi-worker */
};
/* ERR_INVALID: another value. */
MUST_CHECK int mpi_transport(enum mpi_transport *ret, const cJSON *annotations,
			     struct error *err);

/* Set the annotation to MPI_WORKER. */
void runtime_use_mpi_worker(cJSON *runtime);

/* CACHE_ANNOTATION among the template's annotations. ERR_INVALID: another value. */
MUST_CHECK int cache_in_pods(bool *ret, const cJSON *annotations, struct error *err);

int64_t policy_flux_num_proc_per_node(const cJSON *flux); /* 1 when absent */

/* Members of a podGroupPolicy. */
const cJSON *policy_coscheduling(const cJSON *pod_group);
const cJSON *policy_volcano(const cJSON *pod_group);
int64_t policy_coscheduling_timeout(
	const cJSON *coscheduling); /* seconds; 60 when absent */
/* {mode, highestTierAllowed}, "hard" and 1 when absent, the caller's; NULL: none. */
cJSON *policy_volcano_topology(const cJSON *volcano);

/* The patched template, from which the JobSet is made. All owned by the caller. */
struct runtime_template {
	cJSON *labels, *annotations; /* never NULL */
	cJSON *jobset_spec;
};

/*
 * The template with the job's runtimePatches merged in, in their order (api/patch.h);
 * metadata is a plain overlay; replicatedJobs have the runtime's order. *ret has no
 * nulls. ERR_INVALID: a patch does not fit.
 */
MUST_CHECK int runtime_merge(struct runtime_template *ret, const cJSON *runtime,
			     const cJSON *tj, struct error *err);
void runtime_template_release(struct runtime_template *t);

#endif
