/*
 * jobs.h - TrainJobs of a cluster, as commands find and name them.
 *
 * Errors are those of kube.h, a refusal as permission_explain() says it.
 */
#ifndef CLIENT_JOBS_H
#define CLIENT_JOBS_H

#include "kube/kube.h"

struct kube_ref job_ref(const char *ns, const char *name); /* name NULL: all of ns */

/* ERR_NOT_FOUND suggests the nearest name, or lists the namespace's jobs. */
MUST_CHECK int job_get(struct kube *k, const char *ns, const char *name, cJSON **ret,
		       struct error *err);

/* A JSON array, by namespace and name; ns NULL: of all. label_selector may be NULL. */
MUST_CHECK int job_list(struct kube *k, const char *ns, const char *label_selector,
			cJSON **ret, struct error *err);

/*
 * How many nodes: the job's own number, or its runtime's; ABSENT: unknown. Runtimes are
 * asked for once each; `cache` ({ 0 }) remembers them: map_release(cache, free).
 */
struct map;
int64_t job_nodes(struct kube *k, struct map *cache, const cJSON *job);

/* Of a failed job: the exit code of the process that failed first; 1: unknown. */
int job_exit_code(struct kube *k, const char *ns, const char *name);

#endif
