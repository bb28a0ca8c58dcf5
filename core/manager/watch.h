/*
 * watch.h - the watches, the fields that they store, and which TrainJobs an event queues.
 *
 *     TrainJob                       itself
 *     JobSet, PodGroup (all kinds),
 *     Workload                       the controller in ownerReferences
 *     ConfigMap (metadata alone)     the same, when it changes or is deleted
 *     LimitRange                     suspended TrainJobs of its namespace
 *     RuntimeClass                   suspended TrainJobs whose runtime names it
 *     TrainingRuntime, Cluster...    runtimes.h, to remove upstream's old finalizer
 *     Pod (label of JobSet)          pods.h; not watched after it has succeeded
 *
 * Secrets are read and written by name, never watched. A kind whose CRD is missing is
 * watched once the CRD exists.
 */
#ifndef MANAGER_WATCH_H
#define MANAGER_WATCH_H

#include "kube/informer.h"
#include "kube/workqueue.h"
#include "manager/runtimes.h"

struct watches;
struct job_memories;
struct pod_facts;

struct watches_conf {
	struct kube *kube;
	struct workqueue *trainjobs; /* keys "ns/name" */
	/* Runtimes with the old finalizer: keys "ns/name", and "name". */
	struct workqueue *runtimes, *cluster_runtimes;
	struct runtimes *runtime_docs;
	struct pod_facts *pods;        /* gets each change of a pod; NULL: no pod watch */
	struct job_memories *memories; /* the reconciler's */
	bool scheduling;               /* Workload and PodGroup of scheduling.k8s.io */
};

/* Starts all watches and returns. Everything in conf outlives them. */
MUST_CHECK int watches_start(struct watches **ret, const struct watches_conf *conf,
			     struct error *err);
/* Waits for the first lists of TrainJobs and JobSets. ERR_STOPPED: shutting down. */
MUST_CHECK int watches_wait(struct watches *w, struct error *err);
void watches_stop(struct watches *w); /* frees; NULL is fine */

/*
 * Does the API server lack this PodGroup kind? Its apiVersion, a constant, if the kind
 * was missing at the last discovery; NULL: the kind is served. Triggers a new discovery,
 * at most once a second.
 */
const char *watches_lack_groups(struct watches *w, const char *api_version);

/* Borrowed, valid until watches_stop(). */
struct informer *watches_trainjobs(struct watches *w);
struct informer *watches_jobsets(struct watches *w);

#endif
