/* events.c - match events with TrainJobs by name (client/events.h). */
#include "client/events.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "why/foreign.h"

/* Kueue names a Workload after the kind and the name of its owner. */
#define WORKLOAD_PREFIX "trainjob-"

static const char *const kinds[] = { TRAINJOB_KIND,
				     JOBSET_KIND,
				     "Job",
				     "Pod",
				     "PodGroup",
				     "Workload",
				     "PersistentVolumeClaim",
				     "Service",
				     "ConfigMap",
				     "Secret",
				     NULL };

/* The length of the job's name in the object's; 0: not an object of this job. */
static size_t fits(const char *kind, const char *object, const char *job)
{
	size_t len = strlen(job);

	if (str_eq(kind, "Workload") && str_starts(object, WORKLOAD_PREFIX))
		object += strlen(WORKLOAD_PREFIX);
	if (strncmp(object, job, len) != 0)
		return 0;
	if (!object[len])
		return len;
	return object[len] == '-' && !str_eq(kind, TRAINJOB_KIND) ? len : 0;
}

const cJSON *event_owner(const cJSON *jobs, const cJSON *event)
{
	const char *kind = event_kind(event), *object = event_object(event);
	const cJSON *job, *best = NULL;
	size_t most = 0;

	if (!str_in(kind, kinds))
		return NULL;
	json_each(job, jobs) {
		size_t len;

		if (!str_eq(meta_namespace(job), meta_namespace(event)) ||
		    event_last(event) < foreign_time(meta_created(job)))
			continue;
		len = meta_name(job) ? fits(kind, object, meta_name(job)) : 0;
		if (len > most) {
			most = len;
			best = job;
		}
	}
	return best;
}

int64_t event_count(const cJSON *event)
{
	int64_t n = json_int(event, 0, "count"),
		series = json_int(event, 0, "series", "count");

	n = series > n ? series : n;
	return n > 0 ? n : 1;
}

bool event_slim(cJSON *event)
{
	json_del(event, JSON_PATH("metadata", "annotations"));
	json_del(event, JSON_PATH("metadata", "labels"));
	return true;
}

const char *event_object_text(struct arena *arena, const cJSON *event)
{
	char *ret = arena_printf(arena, "%s/%s", event_kind(event), event_object(event));

	for (char *p = ret; *p && *p != '/'; p++)
		*p = (char)tolower((unsigned char)*p);
	return ret;
}

const char *event_message_text(struct arena *arena, const cJSON *event)
{
	int64_t n = event_count(event);
	char *text = str_trim(arena, event_message(event));

	for (char *p = text; *p; p++)
		if (isspace((unsigned char)*p))
			*p = ' ';
	return n > 1 ? arena_printf(arena, "%s (x%" PRId64 ")", text, n) : text;
}
