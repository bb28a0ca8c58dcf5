/*
 * watch.h - what is watched, what of it is stored, and which TrainJobs an event queues.
 *
 *     TrainJob                       itself
 *     JobSet, PodGroup (both kinds)  the controller in ownerReferences
 *     ConfigMap (metadata alone)     the same, when it changes or is deleted
 *     LimitRange                     suspended TrainJobs of its namespace
 *     RuntimeClass                   suspended TrainJobs whose runtime names it
 *     TrainingRuntime, Cluster...    runtimes.h, to remove upstream's old finalizer
 *     Pod (label of JobSet)          pods.h; until it has succeeded
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
	struct pod_facts *pods;     /* fed with pods; may be NULL */
	struct job_memories *notes; /* the reconciler's */
};

/* Starts them all; only TrainJob and JobSet are waited for by watches_wait(). */
MUST_CHECK int watches_start(struct watches **ret, const struct watches_conf *conf,
			     struct error *err);
MUST_CHECK int watches_wait(struct watches *w, struct error *err); /* ERR_STOPPED */
void watches_stop(struct watches *w);

/*
 * The apiVersion, as a constant, of PodGroups that the API server lacked when last
 * asked; NULL: it has them. It is asked again now, at most once a second.
 */
const char *watches_lack_groups(struct watches *w, const char *api_version);

struct informer *watches_trainjobs(struct watches *w);
struct informer *watches_jobsets(struct watches *w);

#endif
