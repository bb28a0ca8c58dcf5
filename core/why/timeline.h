/*
 * timeline.h - lists what happened to a TrainJob, in the order of time: from its conditions,
 * its pods and events, as far as they still exist.
 *
 * Pure: depends on the view alone (why/view.h), and names problems in the words of `why`.
 */
#ifndef WHY_TIMELINE_H
#define WHY_TIMELINE_H

#include "why/view.h"

/* The problems of pods that are listed; a last entry counts the others. */
enum { TIMELINE_PROBLEMS = 40 };

/*
 * [{at, what, text}], the caller's. at: seconds since 1970; what: queued, starting, waiting,
 * training, restarted, stalled, suspended, resumed, complete or failed. The view must have
 * a TrainJob.
 */
cJSON *timeline_of(const struct view *v);

#endif
