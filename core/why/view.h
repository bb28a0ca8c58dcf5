/*
 * view.h - what a cluster has of one TrainJob: the objects, their events, their logs.
 *
 * view_load() asks for what there is in a few calls, and for what is further away
 * (nodes, claims, queues, leases, logs) only when the rest gives a reason to. What
 * this person may not read is remembered and no failure. What reads a view is pure, so
 * that a view made of documents (view_take()) does for a test.
 */
#ifndef WHY_VIEW_H
#define WHY_VIEW_H

#include "base/arena.h"
#include "base/json.h"
#include "kube/kube.h"
#include "trainer/podcause.h"

enum {
	VIEW_LOG_LINES = 200, /* of a container */
	VIEW_LOG_BYTES = 128 * 1024,
	VIEW_LOGS = 4,
};

struct view {
	const char *ns, *name; /* in the arena */
	int64_t now;           /* seconds since 1970 */
	bool here;             /* a job of this machine: kubectl does not know it */
	/* One of a kind, or NULL. */
	cJSON *trainjob, *runtime, *jobset, *podgroup, *workload, *queue, *pending;
	cJSON *lease, *deployment; /* of our controller */
	cJSON *worker;             /* MultiKueueCluster that runs it */
	/* Arrays, never NULL. Pods are pod_slim(), nodes node_slim(). */
	cJSON *jobs, *pods, *events, *nodes, *claims;
	cJSON *placeholders; /* pods with which YuniKorn reserves room */
	cJSON *workloads;    /* others that wait in the same queue */
	cJSON *logs;         /* {pod, container, previous, text} */
	cJSON *missing;      /* kinds of what was asked for and is not there */
	cJSON *denied;       /* {what, check}: see kube/permission.h */
	struct arena arena;
};

/* An empty one of that name. */
void view_init(struct view *v, const char *ns, const char *name);
/* Puts a document where its kind belongs; one of no such kind is dropped. */
void view_take(struct view *v, cJSON *take_obj);
/*
 * Drops pods and Jobs that are left of another TrainJob of that name, is_former(), and
 * those that only have its labels: Jobs are the JobSet's, pods those of its Jobs.
 */
void view_drop_others(struct view *v);
void view_release(struct view *v);
#define cleanup_view __attribute__((cleanup(view_release)))

/*
 * ERR_NOT_FOUND, with the nearest name of the namespace, when there is no such
 * TrainJob; ERR_DENIED when it may not be read; other errors as kube.h has them.
 */
MUST_CHECK int view_load(struct view *ret, struct kube *k, const char *ns,
			 const char *name, struct error *err);

bool view_is_missing(const struct view *v, const char *kind);
/* May objects of that resource ("nodes") not be read? */
bool view_is_denied(const struct view *v, const char *resource);
const char *view_log(const struct view *v, const cJSON *pod); /* its text, or NULL */

/* ---- what follows from it at once ---- */

/* A container or pod that failed. */
struct failure {
	const cJSON *pod;
	struct pod_fact fact;
};
/* The one that explains the others first; returns how many, at most max. */
size_t view_failures(const struct view *v, struct failure *ret, size_t max);
/* Of a failed job: the exit code of the process that failed first; 1 where unknown. */
int view_exit_code(const struct view *v);

int64_t view_pods_wanted(const struct view *v); /* of all jobs that have been made */
/* The pods of the job together, of all its replicatedJobs. */
struct view_counts {
	int64_t all, placed, ready, succeeded, pending;
};
struct view_counts view_count(const struct view *v);
/* The latest event of that reason (NULL: any) about such an object; NULL: none. */
const cJSON *view_event(const struct view *v, const char *kind, const char *name,
			const char *reason, bool warning);

#endif
