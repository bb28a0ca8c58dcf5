/*
 * delivery.h - upload a packed workspace to a cluster, together with its TrainJob.
 *
 *     workspace_check_served()  on the answer to a dry run: is our controller there?
 *     workspace_hold()          before the TrainJob is created: suspend the TrainJob
 *     workspace_deliver()       create the ConfigMap, owned by the TrainJob, and resume
 *
 * If the program is stopped between the last two, the TrainJob stays suspended, and an
 * annotation records what is missing: workspace_is_awaited() is true, and
 * workspace_deliver() continues from there. Both can be repeated any number of times.
 */
#ifndef CLIENT_DELIVERY_H
#define CLIENT_DELIVERY_H

#include "kube/kube.h"
#include "spec/shipment.h"

/* ERR_UNSUPPORTED: no controller in this cluster unpacks workspaces. */
MUST_CHECK int workspace_check_served(const cJSON *answer, struct error *err);

/*
 * A dry run: does the API server accept the ConfigMap? `answer` is the TrainJob as the
 * API server returned it, which may be from a dry run, too.
 */
MUST_CHECK int workspace_ask(struct kube *k, const struct workspace_cargo *cargo,
			     const cJSON *answer, struct error *err);

/* `stays`: its user or a queue wants the TrainJob suspended after the upload, too. */
void workspace_hold(cJSON *tj, bool stays);
/* Does the TrainJob wait for the workspace with this digest? */
bool workspace_is_awaited(const cJSON *tj, const char *digest);

/*
 * Create the ConfigMap, then resume the TrainJob unless it is to stay suspended. *tj is
 * the TrainJob as the API server returned it; the updated one replaces it. Does nothing
 * if it waits for no workspace. ERR_EXISTS: another owner's ConfigMap has the name.
 */
MUST_CHECK int workspace_deliver(struct kube *k, const struct workspace_cargo *cargo,
				 cJSON **tj, struct error *err);

#endif
