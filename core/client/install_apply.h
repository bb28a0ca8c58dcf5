/*
 * install_apply.h - apply the objects of `kftrainer install` to a cluster, server-side
 * and in their order, with an outcome reported for each.
 *
 * Fields that others have set and the manifests omit are left alone. Two objects are not
 * overwritten by force: the controller's settings, once another writer has changed them
 * (they stay as they are, which is reported), and a Deployment with a different selector,
 * which is immutable (deleted and created again).
 */
#ifndef CLIENT_INSTALL_APPLY_H
#define CLIENT_INSTALL_APPLY_H

#include "kube/kube.h"
#include "spec/reporter.h"

struct apply_opts {
	bool wait; /* until the controller's pods are ready and its webhooks answer */
	int64_t timeout_ms; /* of each condition that is waited for */
	struct outcomes out;
};

/* ERR_TIMEOUT: which object did not become ready in time, and why. */
MUST_CHECK int install_apply(struct kube *k, const cJSON *list,
			     const struct apply_opts *opts, struct error *err);

#endif
