/*
 * capacity.h - how many more pods of a kind the nodes of a view take.
 *
 * Counted as kube-scheduler's NodeResourcesFit, NodeUnschedulable, TaintToleration and
 * NodeAffinity do: what nodes may give less what their pods request, and the number of
 * pods. Not counted: affinity between pods, topology spread, volumes.
 */
#ifndef WHY_CAPACITY_H
#define WHY_CAPACITY_H

#include "why/view.h"

struct room {
	int64_t now;   /* so many more */
	int64_t empty; /* so many, if the nodes had no other pods */
	bool eligible; /* some node takes such pods at all */
	/* What allows no more: "cpu", "memory, nvidia.com/gpu", "taints". In the arena. */
	const char *limit, *empty_limit;
};

/* False: nodes, or the pods on them, may not be read, or the requests are unreadable. */
bool room_of(struct room *ret, struct arena *arena, const struct view *v,
	     const cJSON *pod);

#endif
