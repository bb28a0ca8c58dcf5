/*
 * events.h - make the events (core/v1) that a cluster's scheduler, kubelet and
 * controllers would record about a change of an object. No I/O.
 */
#ifndef JOBS_EVENTS_H
#define JOBS_EVENTS_H

#include "base/clock.h"
#include "base/json.h"

/* on_event: called for each event, which is valid only during the call. */
struct event_sink {
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

/* The events of a change of a Pod, Job or JobSet from `old` (NULL: created) to `now`. */
void events_of(const cJSON *old, const cJSON *now, const struct event_sink *to);

/* An event about the TrainJob, with the manager as its source. */
void event_of_trainjob(const cJSON *trainjob, bool warning, const char *reason,
		       const char *message, const struct event_sink *to);

#endif
