/*
 * event.h - events (core/v1) on an object, as `kubectl describe` and the SDK show.
 *
 * Recording returns at once; a thread sends. The same event again (object, type,
 * reason, series) raises the count and lastTimestamp of the one that is there, by a
 * patch: 1 s after the one before at the earliest, then 2 s, 4 s, ... 300 s, so that
 * a storm is few calls and its last state is always shown. Of one object at most 25
 * new events at once and one each 5 minutes after that are made, as client-go's
 * EventCorrelator does. What cannot be sent is dropped after a few tries: an event is
 * never a reason to fail. firstTimestamp is always there.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "kube/kube.h"

struct event_recorder;

/* kube: a client of its own (others should not wait for events), with after_stop. */
struct event_recorder_conf {
	struct kube *kube;
	const char *component; /* copied */
	/* Each event that could not be sent, in the sender's thread; or NULL. */
	void (*on_drop)(void *ctx, const struct error *err);
	void *ctx;
};
MUST_CHECK int event_recorder_new(struct event_recorder **ret,
				  const struct event_recorder_conf *conf,
				  struct error *err);
/* Sends what waits, for about ms; frees. A call under way is waited for. */
void event_recorder_free(struct event_recorder *r, int64_t ms);

struct event {
	bool warning;        /* else Normal */
	const char *reason;  /* "Created" */
	const char *action;  /* may be NULL */
	const char *message; /* cut to 1024 bytes, at a character */
	const char *series;  /* one Event, with the last message; NULL: the message */
};
/* `about`: an object with apiVersion, kind, metadata (resourceVersion is not needed). */
void event_record(struct event_recorder *r, const cJSON *about, const struct event *e);

#endif
