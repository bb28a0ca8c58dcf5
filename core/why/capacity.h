/*
 * capacity.h - how many more pods like a given one the nodes of a view can run.
 *
 * Counted as kube-scheduler's NodeResourcesFit, NodeUnschedulable, TaintToleration and
 * NodeAffinity do: a node's allocatable resources and number of pods, less the requests
 * of its pods. If the view's PodGroup must stay within one value of a node label, only the
 * best of these counts. Not counted: affinity between pods, topology spread, volumes.
 */
#ifndef WHY_CAPACITY_H
#define WHY_CAPACITY_H

#include "why/view.h"

struct capacity {
	int64_t now;   /* pods that fit beside the pods that nodes have */
	int64_t empty; /* pods that would fit if the nodes had no other pods */
	bool eligible; /* a ready node accepts such pods: selector, affinity, taints */
	/* Why no more fit: "cpu", "memory, nvidia.com/gpu", "taints". In the arena. */
	const char *limit, *empty_limit;
};

/* False: nodes, or the pods on them, could not be read, or the requests are invalid. */
bool capacity_of(struct capacity *ret, struct arena *arena, const struct view *v,
		 const cJSON *pod);

#endif
