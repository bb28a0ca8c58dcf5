/*
 * phase.h - the progress of a TrainJob in one line.
 *
 * Pure: depends on the TrainJob, the JobSet and the pods of a view (why/view.h). Without
 * a JobSet, the number of pods that exist is the number that is wanted.
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
	 * The problem that most pods wait for, or had: "2 pods, first node-0
	 * (node rank 0): waits for a node: ..."; or NULL.
	 */
	const char *trouble;
	enum pod_cause cause; /* the cause of `trouble`; valid only with it */
};

/*
 * Strings are in the arena, or the view's. The view must have a TrainJob. `ran`: the
 * caller has seen the job run; pods that end or restart then leave it PHASE_RUNNING.
 */
struct phase phase_of(struct arena *arena, const struct view *v, bool ran);

#endif
