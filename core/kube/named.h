/* named.h - how a user names the API of a client. */
#ifndef KUBE_NAMED_H
#define KUBE_NAMED_H

#include "kube/kube.h"

/*
 * The options with which a suggested command finds the same API, each after a space:
 * " --local", " --kubeconfig FILE --context NAME" as given, or "". Owned by k.
 */
const char *kube_named(const struct kube *k);

struct arena;
/* A job in a suggested command: "--local NAME -n NS", "NAME -n NS", "NAME --from URI". */
const char *kube_job_named(const struct kube *k, struct arena *arena, const char *ns,
			   const char *name);
/* All jobs of a namespace: " --local -n NS", " -n NS", " --from URI". */
const char *kube_jobs_named(const struct kube *k, struct arena *arena, const char *ns);

#endif
