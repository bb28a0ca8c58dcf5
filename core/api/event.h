/*
 * event.h - make Events (core/v1) as controllers record them.
 */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "base/json.h"

/*
 * An Event without a name and times, owned by the caller. `about`: the involved object,
 * with apiVersion, kind and metadata.
 */
cJSON *event_new(const cJSON *about, const char *component, bool warning,
		 const char *reason, const char *message);
/* Set firstTimestamp; lastTimestamp and count. Seconds since 1970. */
void event_set_first(cJSON *event, int64_t first);
void event_set_last(cJSON *event, int64_t last, int64_t count);

#endif
