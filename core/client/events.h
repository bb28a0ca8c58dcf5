/*
 * events.h - which events are about a TrainJob: its own, and those of the JobSet, Jobs,
 * pods, PodGroup, Workload and claims that were made for it, also when they are gone.
 *
 * The owner of an event follows from object names, as the controllers make them: the
 * job's name, or that and a dash. Of several TrainJobs that fit, the longest name has it;
 * what happened before the job was created belongs to an older one of its name.
 */
#ifndef CLIENT_EVENTS_H
#define CLIENT_EVENTS_H

#include "base/json.h"

/*
 * The TrainJob of `jobs` (an array, of all namespaces or one) that the event is of; NULL.
 */
const cJSON *event_owner(const cJSON *jobs, const cJSON *event);

int64_t event_count(const cJSON *event); /* how often; at least 1 */

/* Leave what is shown: times, type, reason, object, message, count. Always true. */
bool event_slim(cJSON *event);

#endif
