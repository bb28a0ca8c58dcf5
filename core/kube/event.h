/*
 * event.h - records Events (core/v1) on an object, as client-go's tools/record.
 *
 * Recording never blocks on the API server and never fails; a thread sends. A repeated
 * event (same object, type, reason, series) raises count and lastTimestamp of the
 * existing one, at most every 1 s, 2 s, 4 s, ... 300 s; the last state is always sent.
 * Per object at most 25 new events at once, then one every 5 minutes, as client-go's
 * EventCorrelator. Events that cannot be sent are dropped after five attempts.
 * firstTimestamp is always set.
 *
 * With on_event, instead of an API server, there is no thread.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "kube/kube.h"

struct event_recorder;

/* kube: a client used for nothing else, so that no other call waits; with after_stop. */
struct event_recorder_conf {
	struct kube *kube;
	const char *component; /* copied */
	/* Called in the sender's thread for each event that is given up; or NULL. */
	void (*on_drop)(void *ctx, const struct error *err);
	void *ctx;
	/* Instead of kube: called with each event in event_record(), under its lock. */
	void (*on_event)(void *ctx, const cJSON *event);
};
MUST_CHECK int event_recorder_new(struct event_recorder **ret,
				  const struct event_recorder_conf *conf,
				  struct error *err);
/* Sends pending events for about ms, waits for the request in progress, frees. */
void event_recorder_free(struct event_recorder *r, int64_t ms);

struct event {
	bool warning;        /* else Normal */
	const char *reason;  /* "Created" */
	const char *action;  /* may be NULL */
	const char *message; /* cut to 1024 bytes, at a UTF-8 boundary */
	const char *series;  /* one Event per series, its last message; NULL: message */
};
/* `about`: an object with apiVersion, kind, metadata. All arguments are copied. */
void event_record(struct event_recorder *r, const cJSON *about, const struct event *e);

#endif
