/* podgroup.h - what both gang schedulers' PodGroups have in common. */
#ifndef PLUGINS_PODGROUP_H
#define PLUGINS_PODGROUP_H

#include "trainer/plugin.h"

struct podgroup {
	const char *api_version;
	cJSON *objects; /* the PodGroup goes into this list */
	cJSON *spec;    /* of the new one, or NULL */
};

/*
 * A PodGroup of the TrainJob's name, with minMember and minResources. None when
 * there is one already and the job is not suspended: then it stays as it is.
 *
 * All pods of the gang count (trainer/gang.h), those of every replica too. minMember is at least 1, as its
 * CRD demands, also for a job of no pods.
 */
MUST_CHECK int podgroup_add(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct podgroup *group, struct error *err);

#endif
