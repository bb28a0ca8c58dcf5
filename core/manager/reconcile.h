/*
 * reconcile.h - reconcile one TrainJob.
 *
 * Follows upstream's pkg/controller/trainjob_controller.go and pkg/runtime/core:
 * runtime from the snapshot (made once, from the live runtime), pipeline_build(),
 * server-side apply of each object in order (field manager "trainer", forced), then
 * suspend, JobSet's status, deadline, and a merge patch of the changes of the status.
 * Unlike upstream: an object that the TrainJob does not control is never overwritten
 * (each write requires "absent", or the uid that was read); TrainJobs and namespaces that
 * are being deleted are left alone; unchanged objects are not written again; a suspended
 * JobSet that cannot be updated is recreated.
 */
#ifndef MANAGER_RECONCILE_H
#define MANAGER_RECONCILE_H

#include "kube/event.h"
#include "kube/informer.h"
#include "manager/cert.h"
#include "manager/pods.h"
#include "manager/runtimes.h"
#include "manager/watch.h"

struct job_memories;
struct reconciler;

struct reconciler_conf {
	struct kube *kube;
	/* The informers of `watches`; NULL: read from the API server. */
	struct informer *trainjobs, *jobsets;
	struct watches *watches;       /* may be NULL only with `local` */
	struct job_memories *memories; /* the same as in watches_conf */
	struct runtimes *runtimes;     /* NULL: read from the API server */
	struct event_recorder *events;
	struct pod_facts *pods; /* the cause of a failure; may be NULL */
	struct metrics *metrics;
	bool status_server;  /* the gate TrainJobStatus is on */
	bool claims_off;     /* the gate DynamicResourceAllocation is off */
	bool scheduling_off; /* the gate TrainJobWorkloadAwareScheduling is off */
	bool local; /* this machine runs the pods: MPI by mpi-worker, no PodGroups */
	bool keep_finished; /* no TTL deletes a TrainJob */
	bool strict;        /* a field that the API server does not know is an error */
	const char *status_server_url;
	const char *image, *cluster_domain; /* plugin_env's */
	struct cert_manager *certs;         /* the CA for <tj>-tls-config; may be NULL */
	const char *status_server_ca;       /* PEM, if certs is NULL; or NULL */
};

/* Pointers in conf must outlive the reconciler; strings are copied. Never fails. */
struct reconciler *reconciler_new(const struct reconciler_conf *conf);
void reconciler_free(struct reconciler *r);

/*
 * key: "ns/name". *ret_after_ms: call again after that time, also if it fails; 0: not
 * until a change. -1: retry with back-off; if the user should see the error, an event
 * has been recorded. Thread-safe, but never call it in two threads with the same key
 * (workqueue.h).
 */
MUST_CHECK int reconcile_trainjob(struct reconciler *r, const char *key,
				  int64_t *ret_after_ms, struct error *err);

/*
 * Upstream's other two controllers: removes the finalizer of releases up to v2.2 from a
 * runtime. Needs apiVersion, kind and metadata of it. A deleted runtime is no error.
 */
MUST_CHECK int reconcile_runtime(struct reconciler *r, const cJSON *runtime,
				 struct error *err);

/*
 * trainer_trainjobs (gauge: state, runtime), trainer_trainjob_jobset_seconds (from the
 * TrainJob's creation to its JobSet's), trainer_trainjob_failures_total (runtime,
 * reason); ends with NULL.
 */
extern const struct metric *const reconcile_metrics[];

#endif
