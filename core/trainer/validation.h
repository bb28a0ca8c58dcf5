/*
 * validation.h - the rules of upstream's webhooks that belong to no policy.
 *
 * Paths are upstream's, without an index if upstream's have none. Follows
 * pkg/webhooks and pkg/runtime/framework/plugins/jobset (Validate).
 */
#ifndef TRAINER_VALIDATION_H
#define TRAINER_VALIDATION_H

#include "trainer/plugin.h"

/*
 * runtimePatches: the manager's form; jobs and containers that the runtime (as it is,
 * without patches) does not have; env of the containers that belong to spec.trainer and
 * spec.initializer; changes while pods run. Patches that were admitted before and are
 * unchanged are accepted. Returns whether all patches name only existing jobs and
 * containers.
 */
bool validate_patches(const cJSON *runtime, const cJSON *old, const cJSON *tj,
		      const struct plugin_env *env, struct field_errors *errs);

/*
 * Refuse numNodes 0, which upstream's CRDs accept: JobSet completes a job without nodes
 * at once; and numProcPerNode 0, a rule of our CRDs and of upstream's webhook. A 0 that
 * `old` (NULL on creation) has is accepted.
 */
void validate_nodes(const cJSON *old, const cJSON *tj, struct field_errors *errs);
void validate_runtime_nodes(const cJSON *runtime, struct field_errors *errs);

/* spec.initializer needs a job, a container and a mount, by name. */
void validate_initializers(struct info *info, const cJSON *tj, struct field_errors *errs);

/*
 * Check the names that JobSet will generate: its webhook requires the name of every Job
 * and, with five random letters, of every Pod to be a DNS-1035 label; otherwise the
 * TrainJob would be admitted and its JobSet refused forever. So is it with a coordinator
 * whose address is no label's value. info must have passed
 * ENFORCE_ML_POLICY, which sets the number of pods.
 */
void validate_names(struct info *info, const cJSON *tj, struct field_errors *errs);

/*
 * Move the errors of validate_names() and podrules_validate() to the array `warnings`, as
 * strings: upstream's webhook admits such TrainJobs, and so does ours.
 */
void unstartable_to_warnings(struct field_errors *errs, cJSON *warnings);

/*
 * Warn that Open MPI 5 does not find its nodes without MPI_ANNOTATION. Only for runtimes
 * with LABEL_FRAMEWORK, which are for users; upstream's answers to others have no
 * warning.
 */
void validation_warn_of_transport(const cJSON *runtime, cJSON *warnings);

/*
 * Warn that spec.trainer.image is that of MPI's launcher only, as upstream's, and the nodes
 * have another. info must have passed ENFORCE_ML_POLICY.
 */
void validation_warn_of_image(struct info *info, const cJSON *tj, cJSON *warnings);

/*
 * Warn that a job ends only with its nodes, which run sshd or mpi-worker for ever: its
 * successPolicy has to name the launcher.
 */
void validation_warn_of_workers(const cJSON *runtime, cJSON *warnings);

/*
 * Warn of deadlines and TTLs in the templates of JobSet and Jobs, which end pods or delete
 * objects without the TrainJob: upstream will refuse them (KEP-2899).
 */
void validation_warn_of_ends(const cJSON *runtime, cJSON *warnings);

/* Warn of a gang for two schedulers, which upstream admits (kubeflow/trainer#4060). */
void validation_warn_of_gangs(const cJSON *runtime, cJSON *warnings);

/*
 * Warn of pods of a framework that cannot resolve each other's names (kubeflow/pytorch-operator#333):
 * those on their host's network with its DNS, or all without DNS names.
 */
void validation_warn_of_network(const cJSON *runtime, cJSON *warnings);

/* Warn of a JobSet or Jobs that name another controller: it has to make what they consist of. */
void validation_warn_of_managers(const cJSON *runtime, cJSON *warnings);

/* Refuse unknown values of MPI_ANNOTATION (in a runtime for MPI) and CACHE_ANNOTATION. */
void validate_annotations(const cJSON *runtime, struct field_errors *errs);

/*
 * Refuse a job with an ancestor label unless it has one replica and the step's container.
 */
void validate_runtime_jobs(const cJSON *runtime, struct field_errors *errs);

#endif
