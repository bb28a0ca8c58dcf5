/*
 * delivery.h - a packed folder on its way into a cluster with its TrainJob.
 *
 *     workspace_check_served()  on the answer to a dry run: is our controller there?
 *     workspace_hold()          before the TrainJob is created: suspended, until ...
 *     workspace_deliver()       ... the ConfigMap is there, owned by it; then resumed
 *
 * If it is stopped between the last two, the TrainJob stays suspended and says
 * what it waits for: workspace_is_awaited(), and workspace_deliver() goes on from there,
 * as often as one likes.
 */
#ifndef CLIENT_DELIVERY_H
#define CLIENT_DELIVERY_H

#include "kube/kube.h"
#include "spec/shipment.h"

/* ERR_UNSUPPORTED: no controller in this cluster would unpack it. */
MUST_CHECK int workspace_check_served(const cJSON *answer, struct error *err);

/* Would the API server take the cargo of that TrainJob (an answer, too)? Stores nothing. */
MUST_CHECK int workspace_ask(struct kube *k, const struct workspace_cargo *cargo,
			     const cJSON *answer, struct error *err);

/* `stays`: the TrainJob is to be suspended afterwards, too (its user, or a queue). */
void workspace_hold(cJSON *tj, bool stays);
bool workspace_is_awaited(const cJSON *tj, const char *digest);

/*
 * ConfigMap, then spec.suspend as it shall be. *tj, as the API server gave it, becomes
 * what it is then.
 */
MUST_CHECK int workspace_deliver(struct kube *k, const struct workspace_cargo *cargo,
				 cJSON **tj, struct error *err);

#endif
