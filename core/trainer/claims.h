/*
 * claims.h - a TrainJob's devices by dynamic resource allocation (DRA).
 *
 * Follows upstream's KEP-2782, unreleased upstream; feature gate DynamicResourceAllocation.
 * spec.trainer.resourceClaimsPerNode become claims of the trainer's pods, and of the
 * container "node" or of those that a claim names.
 */
#ifndef TRAINER_CLAIMS_H
#define TRAINER_CLAIMS_H

#include "trainer/plugin.h"

/* Has the TrainJob claims of its own, by resourceClaimsPerNode or by a patch? */
bool claims_given(const cJSON *tj);

/* Put the job's claims into a pod of the trainer; a claim replaces one of its name. */
void claims_add(cJSON *pod_spec, const cJSON *tj);

/*
 * Set info->claimed_gpus: the number of devices that the container "node" gets by claim
 * templates, of device classes with "gpu" in their names. 0 without a cluster or if a
 * template does not exist. -1: the cluster did not answer.
 */
MUST_CHECK int claims_count(struct info *info, const struct plugin_env *env,
			    struct error *err);

/*
 * Refuse, on creation: containers that the trainer's pods do not have,
 * resourcesPerNode.claims and, with the gate off, all fields that upstream has not
 * released.
 */
void claims_validate(struct info *info, const struct plugin_env *env, const cJSON *tj,
		     struct field_errors *errs);

#endif
