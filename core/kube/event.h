/*
 * event.h - events (core/v1) on an object, as `kubectl describe` and the SDK show.
 *
 * Recording returns at once; a thread sends. The same event again (object, type,
 * reason, message) raises the count and lastTimestamp of the one that is there, by
 * a patch; of one object at most 25 at once and one each 5 minutes after that are
 * sent (client-go's EventCorrelator). What cannot be sent is dropped after a few
 * tries: an event is never a reason to fail. firstTimestamp is always there.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "kube/kube.h"

struct event_recorder;

MUST_CHECK int event_recorder_new(struct event_recorder **ret, struct kube *k,
				  const char *component, struct error *err);
/* Sends what waits, for at most ms; frees. */
void event_recorder_free(struct event_recorder *r, int64_t ms);

struct event {
	bool warning;        /* else Normal */
	const char *reason;  /* "JobSetCreated" */
	const char *action;  /* may be NULL */
	const char *message; /* cut to 1024 bytes, at a character */
};
/* `about`: an object with apiVersion, kind, metadata (resourceVersion is not needed). */
void event_record(struct event_recorder *r, const cJSON *about, const struct event *e);

#endif
