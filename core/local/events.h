/*
 * events.h - the events (core/v1) that a change of an object stands for, as a cluster's
 * scheduler, kubelet and controllers record them. No I/O.
 */
#ifndef LOCAL_EVENTS_H
#define LOCAL_EVENTS_H

#include "base/clock.h"
#include "base/json.h"

struct event_sink {
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

/* From `old` (NULL: it is new) to `now`: a pod, a Job or a JobSet. */
void events_of(const cJSON *old, const cJSON *now, const struct event_sink *to);

/* What the manager says of a TrainJob. `series` (or NULL): again and again one event. */
struct event_series {
	char name[256], first[TIME_TEXT_SIZE];
	int count;
};
void event_of_trainjob(const cJSON *trainjob, bool warning, const char *reason,
		       const char *message, struct event_series *series,
		       const struct event_sink *to);

#endif
