/*
 * node.h - this machine as the one node of its own API.
 */
#ifndef KUBELET_NODE_H
#define KUBELET_NODE_H

#include "base/arena.h"
#include "base/json.h"

/* The host's name as a DNS label; in the arena. */
const char *node_name(struct arena *arena);
/* A v1 Node: ready, with the machine's CPUs and memory. Owned by the caller. */
cJSON *node_object(const char *version);

#endif
