/* events.c - find the events of TrainJobs (client/events.h). */
#include "client/events.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/jobs.h"
#include "kube/permission.h"
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

bool event_is_of(const cJSON *jobs, const char *name, const cJSON *event)
{
	const cJSON *owner;

	if (name && !fits(event_kind(event), event_object(event), name))
		return false;
	owner = event_owner(jobs, event);
	return owner && (!name || str_eq(meta_name(owner), name));
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

/* ---- lists ------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
	const cJSON *a = *(cJSON *const *)x, *b = *(cJSON *const *)y;
	int64_t ta = event_last(a), tb = event_last(b);
	int64_t va = strtoll(meta_version(a) ? meta_version(a) : "0", NULL, 10),
		vb = strtoll(meta_version(b) ? meta_version(b) : "0", NULL, 10);

	if (ta != tb)
		return ta < tb ? -1 : 1;
	return (va > vb) - (va < vb);
}

void events_sort(cJSON *list)
{
	size_t n = (size_t)cJSON_GetArraySize(list), i = 0;
	cleanup_free cJSON **all = xcalloc(n + 1, sizeof(*all));

	while (list->child)
		all[i++] = cJSON_DetachItemViaPointer(list, list->child);
	qsort(all, n, sizeof(*all), by_time);
	for (i = 0; i < n; i++)
		cJSON_AddItemToArray(list, all[i]);
}

struct events_reader {
	const char *name;
	const cJSON *jobs;
	cJSON *found;
};

static int take_event(void *ctx, cJSON *take_obj, struct error *err)
{
	struct events_reader *r = ctx;

	event_slim(take_obj);
	if (event_is_of(r->jobs, r->name, take_obj))
		cJSON_AddItemToArray(r->found, take_obj);
	else
		cJSON_Delete(take_obj);
	return 0;
}

static void drop_events(void *ctx)
{
	const struct events_reader *r = ctx;

	cJSON_Delete(r->found->child);
	r->found->child = NULL;
}

int events_read(struct kube *k, const char *ns, const char *name, const cJSON *jobs,
		cJSON **ret, struct error *err)
{
	const struct kube_ref ref = { "v1", "Event", ns, NULL };
	cleanup_json cJSON *found = cJSON_CreateArray();
	struct events_reader r = { name, jobs, found };
	const struct kube_sink sink = { .on_item = take_event,
					.ctx = &r,
					.on_restart = drop_events };

	if (kube_list(k, &ref, NULL, &sink, NULL, err))
		return permission_explain(err);
	events_sort(found);
	*ret = STEAL(found);
	return 0;
}

static int take_job(void *ctx, cJSON *take_obj, struct error *err)
{
	cJSON_AddItemToArray(ctx, take_obj);
	return 0;
}

int events_of_job(struct kube *k, const cJSON *job, cJSON **ret, struct error *err)
{
	const struct kube_ref all = job_ref(meta_namespace(job), NULL);
	const struct kube_select select = { .meta_only = true };
	cleanup_json cJSON *jobs = cJSON_CreateArray();
	const struct kube_sink sink = { .on_item = take_job, .ctx = jobs };

	if (kube_list(k, &all, &select, &sink, NULL, err)) {
		if (err->kind != ERR_DENIED)
			return -1;
		*err = (struct error){ 0 };
		cJSON_AddItemToArray(jobs, json_dup(job));
	}
	return events_read(k, meta_namespace(job), meta_name(job), jobs, ret, err);
}
