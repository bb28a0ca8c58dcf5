/* podgroup.h - the PodGroups of both gang schedulers, coscheduling and Volcano. */
#ifndef PLUGINS_PODGROUP_H
#define PLUGINS_PODGROUP_H

#include "trainer/plugin.h"

struct podgroup {
	const char *api_version;
	cJSON *objects; /* in: the PodGroup is appended to this list */
	cJSON *spec;    /* out: the new PodGroup's; NULL if none was added */
};

/*
 * Add a PodGroup with the TrainJob's name, minMember and minResources. Adds none if one
 * exists and the job is not suspended: a running gang is not changed.
 *
 * All pods of the gang count (trainer/gang.h), in all replicas. minMember is at least 1,
 * as the CRD requires, even for a job without pods.
 */
MUST_CHECK int podgroup_add(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct podgroup *group, struct error *err);

/* Calls put() with `key` and the PodGroup's name for each pod template of the gang. */
void podgroup_mark(struct info *info,
		   void (*put)(cJSON *pod_template, const char *key, const char *value),
		   const char *key);

#endif
