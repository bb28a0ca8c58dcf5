/*
 * events.h - the events (core/v1) that a change of an object stands for, as a cluster's
 * scheduler, kubelet and controllers record them. No I/O.
 */
#ifndef JOBS_EVENTS_H
#define JOBS_EVENTS_H

#include "base/clock.h"
#include "base/json.h"

struct event_sink {
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

/* From `old` (NULL: it is new) to `now`: a pod, a Job or a JobSet. */
void events_of(const cJSON *old, const cJSON *now, const struct event_sink *to);

/* An event about the TrainJob, with the manager as its source. */
void event_of_trainjob(const cJSON *trainjob, bool warning, const char *reason,
		       const char *message, const struct event_sink *to);

#endif
