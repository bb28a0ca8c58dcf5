/*
 * validation.h - what upstream's webhooks refuse, as far as no policy owns it.
 *
 * Paths are upstream's, without index where upstream has none. Follows
 * pkg/webhooks and pkg/runtime/framework/plugins/jobset (Validate).
 */
#ifndef TRAINER_VALIDATION_H
#define TRAINER_VALIDATION_H

#include "trainer/plugin.h"

/*
 * runtimePatches: the manager's form; jobs and containers that the runtime (as
 * it is, without patches) does not have; env of the containers that belong to
 * spec.trainer and spec.initializer; changes while pods run. What was admitted
 * before and has not changed is not held against the job. Returns whether every
 * patch names only what exists.
 */
bool validate_patches(const cJSON *runtime, const cJSON *old, const cJSON *tj,
		      const struct plugin_env *env, struct field_errors *errs);

/* spec.initializer needs a job, a container and a mount, by name. */
void validate_initializers(struct info *info, const cJSON *tj, struct field_errors *errs);

/*
 * The names that JobSet will give: its webhook wants that of every Job and, with
 * the five random letters it gets, of every Pod to be a DNS-1035 label; without
 * this the TrainJob would be admitted and its JobSet refused for ever. info has
 * gone through ENFORCE_ML_POLICY, which settles how many pods there are.
 */
void validate_names(struct info *info, const cJSON *tj, struct field_errors *errs);

/*
 * The errors of validate_names() become strings in the array `warnings`: upstream's
 * webhook admits such a TrainJob, and so does ours.
 */
void names_to_warnings(struct field_errors *errs, cJSON *warnings);

/*
 * Adds to the array `warnings` that Open MPI 5 does not find its nodes without
 * MPI_ANNOTATION. Of runtimes with LABEL_FRAMEWORK only: those are made for users, and
 * upstream's answers to others have no warning.
 */
void warn_of_transport(const cJSON *runtime, cJSON *warnings);

/* MPI_ANNOTATION (of a runtime for MPI) and CACHE_ANNOTATION have known values. */
void validate_annotations(const cJSON *runtime, struct field_errors *errs);

/* A job with a role has one replica and the container of that role. */
void validate_runtime_jobs(const cJSON *runtime, struct field_errors *errs);

#endif
