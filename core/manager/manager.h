/*
 * manager.h - the controller's process, from start to end.
 *
 *     load            config.h, kube/kubeconfig.h            (cmd/controller.c)
 *     listen          health, metrics, webhooks, status server (all replicas)
 *     certificates    cert.h                                  (all replicas)
 *     lead            kube/lease.h
 *     watch, queue    watch.h -> kube/workqueue.h -> workers -> reconcile.h
 *     stop            SIGTERM: the lease is given up, requests under way end
 *
 * Reconciling starts once the API server answers and the lease is held; it does not wait
 * for certificates.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "kube/kubeconfig.h"
#include "manager/config.h"

/*
 * Until the process is stopping (0) or cannot go on. -1, when the lease was lost or
 * work under way did not end: threads may still run, so that the caller must end the
 * process without waiting for anything (_exit).
 */
MUST_CHECK int manager_run(const struct manager_config *config,
			   const struct kube_config *kube_config, struct error *err);

#endif
