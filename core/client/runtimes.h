/*
 * runtimes.h - the runtimes of a cluster that a TrainJob may refer to.
 */
#ifndef CLIENT_RUNTIMES_H
#define CLIENT_RUNTIMES_H

#include "kube/kube.h"

/* A reference to a runtime (name NULL: to all). ClusterTrainingRuntimes ignore `ns`. */
struct kube_ref runtime_ref_at(const char *kind, const char *ns, const char *name);

/* Append the runtimes of that kind to `list` (a JSON array); unchanged on an error. */
MUST_CHECK int runtime_list(struct kube *k, const char *kind, const char *ns,
			    bool meta_only, cJSON *list, struct error *err);

#endif
