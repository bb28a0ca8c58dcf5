/*
 * phase.h - the progress of a TrainJob in one line.
 *
 * Pure: of a view (why/view.h) the TrainJob, the JobSet and the pods count; without
 * a JobSet that may be read, the pods that are there are all there are.
 */
#ifndef WHY_PHASE_H
#define WHY_PHASE_H

#include "why/view.h"

enum phase_kind {
	PHASE_CREATED,      /* no controller has processed it yet */
	PHASE_SUSPENDED,    /* by its owner, or by a queue */
	PHASE_INITIALIZING, /* data and model are fetched */
	PHASE_STARTING,     /* not all pods that train are ready */
	PHASE_RUNNING,
	PHASE_COMPLETE,
	PHASE_FAILED,
};

struct phase {
	enum phase_kind kind;
	const char *line; /* "pods starting: 1/4 ready" */
	/*
	 * What keeps it from going on, or has restarted it: "2 pods, first node-0
	 * (node rank 0): waits for a node: ..."; or NULL.
	 */
	const char *trouble;
	enum pod_cause cause; /* of that */
};

/*
 * Strings are in the arena. The view must have a TrainJob. `ran`: it has been seen
 * running, so that pods which end or restart do not look as at its start.
 */
struct phase phase_of(struct arena *arena, const struct view *v, bool ran);

#endif
