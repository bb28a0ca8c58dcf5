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

/* A job with a role has one replica and the container of that role. */
void validate_runtime_jobs(const cJSON *runtime, struct field_errors *errs);

#endif
