/*
 * domain.h - find the cluster's DNS domain in resolv.conf, as the kubelet writes it for
 * pods.
 */
#ifndef MANAGER_DOMAIN_H
#define MANAGER_DOMAIN_H

#include "base/arena.h"

#define RESOLV_CONF "/etc/resolv.conf"

/*
 * "cluster.local" if the file, in the form of resolv.conf(5), searches
 * "svc.cluster.local", in the arena. NULL: the file does not, or is unreadable.
 */
const char *domain_in(struct arena *arena, const char *path);

#endif
