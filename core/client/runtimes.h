/*
 * runtimes.h - the runtimes of a cluster that a TrainJob may refer to.
 */
#ifndef CLIENT_RUNTIMES_H
#define CLIENT_RUNTIMES_H

#include "kube/kube.h"

/* name NULL: all. A ClusterTrainingRuntime is in no namespace, whatever `ns` is. */
struct kube_ref runtime_ref_at(const char *kind, const char *ns, const char *name);

/* Those of that kind join `list` (a JSON array), which is as it was after an error. */
MUST_CHECK int runtime_list(struct kube *k, const char *kind, const char *ns,
			    bool meta_only, cJSON *list, struct error *err);

#endif
