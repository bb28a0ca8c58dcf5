/*
 * event.h - an Event (core/v1), as controllers record it.
 */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "base/json.h"

/* On that object, which has apiVersion, kind and metadata. Without a name and times. The caller's. */
cJSON *event_new(const cJSON *about, const char *component, bool warning,
		 const char *reason, const char *message);
/* Seconds since 1970. */
void event_set_first(cJSON *event, int64_t first);
void event_set_last(cJSON *event, int64_t last, int64_t count);

#endif
