/*
 * domain.h - the domain of this cluster's Services, as the kubelet writes it for pods.
 */
#ifndef NET_DOMAIN_H
#define NET_DOMAIN_H

#include "base/arena.h"

#define RESOLV_CONF "/etc/resolv.conf"

/*
 * "cluster.local", of a file that is as resolv.conf(5) and searches "svc.cluster.local".
 * In the arena; NULL: it does not, or cannot be read.
 */
const char *domain_in(struct arena *arena, const char *path);

#endif
