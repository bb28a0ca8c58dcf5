/*
 * events.h - find the events of TrainJobs: their own events, and those of the JobSet,
 * Jobs, pods, PodGroup, Workload and claims that were made for them, even if these are
 * gone.
 *
 * The owner of an event follows from object names as the controllers form them: the job's
 * name, alone or before a dash. If several TrainJobs match, the longest name wins. Events
 * from before a job's creation belong to an older job of its name.
 */
#ifndef CLIENT_EVENTS_H
#define CLIENT_EVENTS_H

#include "base/arena.h"
#include "base/json.h"
#include "kube/kube.h"

/* The TrainJob among `jobs` (an array) that the event belongs to, or NULL. */
const cJSON *event_owner(const cJSON *jobs, const cJSON *event);

/* Does it belong to the job of that name (NULL: to any of them)? */
bool event_is_of(const cJSON *jobs, const char *name, const cJSON *event);

int64_t event_count(const cJSON *event); /* occurrences; at least 1 */
/* As lists show them: "pod/bert-node-0-0"; the message in one line, with " (x3)". */
const char *event_object_text(struct arena *arena, const cJSON *event);
const char *event_message_text(struct arena *arena, const cJSON *event);

void events_sort(cJSON *list); /* the latest last */
/*
 * List the events of the namespace (NULL: of all) that are of these jobs, sorted; the
 * caller's. events_of_job() does so for one, whose namespace has others.
 */
MUST_CHECK int events_read(struct kube *k, const char *ns, const char *name,
			   const cJSON *jobs, cJSON **ret, struct error *err);
MUST_CHECK int events_of_job(struct kube *k, const cJSON *job, cJSON **ret,
			     struct error *err);

/* Drop annotations and labels, which are never shown. Always true (informer_conf). */
bool event_slim(cJSON *event);

#endif
