/*
 * account.h - the service account of this pod: the part of account.c that kubeconfig.c
 * uses.
 */
#ifndef KUBE_ACCOUNT_H
#define KUBE_ACCOUNT_H

#include <stdbool.h>

#include "base/arena.h"

/* Is this a pod with a service account's token? */
bool account_exists(void);

/*
 * The namespace of a context that names none, as in clientcmd. In a pod: POD_NAMESPACE,
 * else the service account's. In the arena, or "default".
 */
const char *account_namespace(struct arena *arena);

#endif
