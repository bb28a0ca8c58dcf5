/*
 * event.h - events (core/v1) on an object, as `kubectl describe` and the SDK show.
 *
 * Recording never blocks and never fails; a thread sends. A repeated event (same object,
 * type, reason, series) raises count and lastTimestamp of the existing one, at most every
 * 1 s, 2 s, 4 s, ... 300 s; the last state is always sent. Per object at most 25 new events
 * at once, then one every 5 minutes, as client-go's EventCorrelator. Events that cannot be
 * sent are dropped after five tries. firstTimestamp is always set.
 *
 * Without a server (on_event) there is no thread, and nothing waits.
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
	/* In place of kube: takes each event as it is now, from within event_record(). */
	void (*on_event)(void *ctx, const cJSON *event);
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
