/*
 * jobs.h - get and list the TrainJobs of a cluster, and the runtimes that they may
 * refer to.
 *
 * Errors are those of kube.h, as job_explain() words them.
 */
#ifndef CLIENT_JOBS_H
#define CLIENT_JOBS_H

#include "kube/kube.h"

/*
 * For requests of TrainJobs: append how to install the kind, if the cluster has none;
 * ERR_DENIED as permission_explain(). Always -1.
 */
int job_explain(struct error *err);

struct kube_ref job_ref(const char *ns, const char *name); /* name NULL: all of ns */

/* *ret: owned by the caller. ERR_NOT_FOUND suggests the nearest name, or lists a few. */
MUST_CHECK int job_get(struct kube *k, const char *ns, const char *name, cJSON **ret,
		       struct error *err);

/*
 * *ret: a JSON array, sorted by namespace and name, owned by the caller. ns NULL: of all
 * namespaces. label_selector may be NULL.
 */
MUST_CHECK int job_list(struct kube *k, const char *ns, const char *label_selector,
			cJSON **ret, struct error *err);

/* A reference to a runtime (name NULL: to all). ClusterTrainingRuntimes ignore `ns`. */
struct kube_ref job_runtime_ref(const char *kind, const char *ns, const char *name);

/* Append the runtimes of that kind to `to` (a JSON array); unchanged on an error. */
MUST_CHECK int job_runtimes(struct kube *k, const char *kind, const char *ns,
			    bool meta_only, cJSON *to, struct error *err);

/*
 * The number of nodes: the job's own, or its runtime's; ABSENT: unknown. Each runtime is
 * read once: `cache` starts as { 0 } and ends with map_release(cache, free).
 */
struct map;
int64_t job_nodes(struct kube *k, struct map *cache, const cJSON *job);

/* The exit code of the process of a failed job that failed first; 1: unknown. */
int job_exit_code(struct kube *k, const char *ns, const char *name);

#endif
