/*
 * apply.h - bring the objects of `kftrainer install` to a cluster, by server-side
 * apply, in their order, a line of stdout each.
 *
 * What others have set and the manifests do not say stays. Two things are not
 * overwritten by force: the controller's settings, once somebody has changed them
 * (they are kept, and it is said), and a Deployment whose selector is another, which
 * cannot be changed (it is deleted and made anew).
 */
#ifndef CMD_APPLY_H
#define CMD_APPLY_H

#include "base/json.h"
#include "kube/kube.h"

struct apply_opts {
	bool wait; /* until the controller's pods are ready and its webhooks answer */
	int64_t timeout_ms; /* of each thing that is waited for */
};

MUST_CHECK int apply_all(struct kube *k, const cJSON *list, const struct apply_opts *opts,
			 struct error *err);

#endif
