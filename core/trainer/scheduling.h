/*
 * scheduling.h - the groups of a runtime's spec.scheduling, and its rules.
 *
 * Follows upstream's KEP-3015 (docs/proposals/3015-workload-aware-scheduling), which no
 * release has yet; feature gate TrainJobWorkloadAwareScheduling. Three models exclude each
 * other: one group of all jobs; one of the jobs of each element of replicatedJobs; one of
 * each Job of an element with `job`. Jobs that start one after the other are never a
 * group: each is one of its own. scheduling.c is the only file with these keys.
 */
#ifndef TRAINER_SCHEDULING_H
#define TRAINER_SCHEDULING_H

#include "api/field.h"
#include "base/arena.h"

#define SCHEDULING_API_VERSION "scheduling.k8s.io/v1beta1"

enum { SCHEDULING_MAX_GROUPS = 8 }; /* of a Workload */

struct scheduling_group {
	const char *name;    /* of its PodGroupTemplate; NULL: the TrainJob's */
	const cJSON *fields; /* schedulingPolicy, schedulingConstraints and so on */
	bool per_job;        /* one Job's pods */
};

struct scheduling_groups {
	struct scheduling_group list[SCHEDULING_MAX_GROUPS];
	size_t n;
	/* For each job of the JobSet its group's index, or SCHEDULING_MAX_GROUPS: none. */
	unsigned char *of_job;
};

/*
 * *ret, with strings in the arena. ERR_LIMIT: more than SCHEDULING_MAX_GROUPS.
 * `scheduling` and `jobset_spec` have passed shape_check().
 */
MUST_CHECK int scheduling_groups(struct scheduling_groups *ret, struct arena *arena,
				 const cJSON *scheduling, const cJSON *jobset_spec,
				 struct error *err);

/*
 * The group's PodGroupTemplate without its name, the caller's: the default, gang, and
 * min_count for a gang. `priority_class` may be NULL.
 */
cJSON *scheduling_template(const struct scheduling_group *group, int64_t min_count,
			   const char *priority_class);

/* Add an error for each rule of KEP-3015 that the runtime breaks. */
void scheduling_validate(const cJSON *runtime, struct field_errors *errs);

#endif
