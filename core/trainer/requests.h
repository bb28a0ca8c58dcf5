/*
 * requests.h - compute the resources that a pod requests.
 *
 * Follows k8s.io/component-helpers/resource (PodRequests): the larger of the containers
 * together and of the init containers one after another, sidecars (init containers that
 * restart always) counted with both; pod-level requests replace that for cpu, memory and
 * hugepages; then the overhead. If a container has only a limit, it is also its request,
 * as the API server defaults it (upstream's gang plugins miss those).
 */
#ifndef TRAINER_REQUESTS_H
#define TRAINER_REQUESTS_H

#include "api/quantity.h"
#include "base/map.h"

struct resource {
	const char *name; /* the document's */
	struct quantity amount;
};

struct resource_list {
	struct resource *list;
	size_t n, cap;
	struct map places; /* by name, from 1 */
};

/* Add to `to` the requests of `factor` pods of this spec. */
MUST_CHECK int pod_requests_add(struct resource_list *to, const cJSON *pod_spec,
				int64_t factor, struct error *err);

/* {"cpu": "3", ...}, in the order of first mention. The caller's. */
cJSON *resource_list_json(const struct resource_list *list);

void resource_list_release(struct resource_list *list);
#define cleanup_resource_list __attribute__((cleanup(resource_list_release)))

/*
 * The number of GPUs and of CPUs in ResourceRequirements (may be NULL), rounded up: from
 * the requests, else the limits. GPUs are the resource called <vendor>/gpu, else the
 * first by name that contains "gpu". Resources with amount 0 are ignored; GPU memory and
 * cores are used only if no other resource matches. 0 if unreadable.
 */
int64_t resources_gpus(const cJSON *resources);
int64_t resources_cpus(const cJSON *resources);
bool resources_claim(const cJSON *resources); /* `claims` has entries */

/*
 * Merge ResourceRequirements key by key into those of a container: `from`
 * wins; claims merge by name.
 */
MUST_CHECK int resources_merge(cJSON *container, const cJSON *from, struct error *err);

#endif
