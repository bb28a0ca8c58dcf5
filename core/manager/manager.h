/*
 * manager.h - the controller's process, from start to end.
 *
 *     load            config.h, kube/kubeconfig.h            (cmd/controller.c)
 *     listen          health, metrics, webhooks, status server (all replicas)
 *     certificates    cert.h                                  (all replicas)
 *     lead            kube/lease.h
 *     watch, queue    watch.h -> kube/workqueue.h -> workers -> reconcile.h
 *     stop            SIGTERM: the lease is released, requests under way finish
 *
 * Reconciling starts once the API server answers and the lease is held; it does not wait
 * for certificates.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "kube/kubeconfig.h"
#include "manager/config.h"

/*
 * Runs until the process is asked to stop. -1: the controller could not start, lost the
 * lease, or work under way did not finish in time. Threads may then still run: the caller
 * must call _exit(), without waiting for anything.
 */
MUST_CHECK int manager_run(const struct manager_config *config,
			   const struct kube_config *kube_config, struct error *err);

#endif
