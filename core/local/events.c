/* events.c - which events a change of an object stands for (local/events.h). */
#include "local/events.h"

#include <stdio.h>
#include <sys/random.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"

#define MANAGER "trainer-trainjob-controller"

struct event {
	const char *api_version, *kind, *name, *uid; /* what it is about */
	const char *component, *reason, *message;
	bool warning;
};

static void record(const struct event_sink *to, const char *ns, const struct event *e)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc = NULL;
	char now[TIME_TEXT_SIZE];
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	doc = meta_new(
		"v1", "Event", ns,
		arena_printf(&a, "%.200s.%016llx", e->name, (unsigned long long)number));
	time_text(clock_now(), now);
	json_put_str(doc, e->api_version, "involvedObject", "apiVersion");
	json_put_str(doc, e->kind, "involvedObject", "kind");
	json_put_str(doc, ns, "involvedObject", "namespace");
	json_put_str(doc, e->name, "involvedObject", "name");
	json_put_str(doc, e->uid, "involvedObject", "uid");
	json_put_str(doc, e->reason, "reason");
	json_put_str(doc, e->message, "message");
	json_put_str(doc, e->component, "source", "component");
	json_put_str(doc, e->component, "reportingComponent");
	json_put_str(doc, e->warning ? "Warning" : "Normal", "type");
	json_put_str(doc, now, "firstTimestamp");
	json_put_str(doc, now, "lastTimestamp");
	json_put_int(doc, 1, "count");
	to->on_event(to->ctx, doc);
}

static void about(const struct event_sink *to, const cJSON *obj, const char *component,
		  const char *reason, const char *message, bool warning)
{
	const struct event e = { .api_version = meta_api_version(obj),
				 .kind = meta_kind(obj),
				 .name = meta_name(obj),
				 .uid = meta_uid(obj),
				 .component = component,
				 .reason = reason,
				 .message = message,
				 .warning = warning };

	record(to, meta_namespace(obj), &e);
}

/* ---- pods ---------------------------------------------------------------------------- */

static void pod_created(const struct event_sink *to, const cJSON *pod)
{
	const cJSON *job = meta_controller(pod);
	cleanup_arena struct arena a = { 0 };
	const struct event e = { .api_version = json_str(job, "apiVersion"),
				 .kind = json_str(job, "kind"),
				 .name = owner_name(job),
				 .uid = owner_uid(job),
				 .component = "job-controller",
				 .reason = "SuccessfulCreate",
				 .message = arena_printf(&a, "Created pod: %s",
							 meta_name(pod)) };

	if (job && e.name && e.uid)
		record(to, meta_namespace(pod), &e);
}

static bool is_scheduled(const cJSON *pod, const char *status)
{
	const cJSON *c = json_find_const(json_get(pod, "status", "conditions"), "type",
					 "PodScheduled");

	return str_eq(json_str(c, "status"), status);
}

static void pod_scheduled(const struct event_sink *to, const cJSON *old, const cJSON *pod)
{
	cleanup_arena struct arena a = { 0 };

	if (is_scheduled(pod, "True") && !is_scheduled(old, "True"))
		about(to, pod, "default-scheduler", "Scheduled",
		      arena_printf(&a, "Successfully assigned %s/%s to %s",
				   meta_namespace(pod), meta_name(pod),
				   json_str(pod, "spec", "nodeName")),
		      false);
	if (is_scheduled(pod, "False") && !is_scheduled(old, "False"))
		about(to, pod, "default-scheduler", "FailedScheduling",
		      json_str(pod, "status", "message") ?: "", true);
}

static bool has_begun(const cJSON *status)
{
	return json_get(status, "state", "running") ||
	       (json_get(status, "state", "terminated") &&
		!str_eq(json_str(status, "state", "terminated", "reason"), "StartError"));
}

static void container_changed(const struct event_sink *to, const cJSON *pod,
			      const cJSON *old, const cJSON *now)
{
	const char *name = json_str(now, "name");
	const char *reason = json_str(now, "state", "terminated", "reason");
	const char *message = json_str(now, "state", "terminated", "message");
	cleanup_arena struct arena a = { 0 };

	if (json_int(now, 0, "restartCount") > json_int(old, 0, "restartCount"))
		about(to, pod, "kubelet", "BackOff",
		      arena_printf(&a, "Back-off restarting failed container %s", name),
		      true);
	if (has_begun(now) && !has_begun(old))
		about(to, pod, "kubelet", "Started",
		      arena_printf(&a, "Started container %s", name), false);
	if (str_eq(reason, "StartError") && !json_get(old, "state", "terminated"))
		about(to, pod, "kubelet", "Failed", message ? message : reason, true);
}

static void pod_events(const struct event_sink *to, const cJSON *old, const cJSON *pod)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };
	const cJSON *c;

	if (!old)
		pod_created(to, pod);
	pod_scheduled(to, old, pod);
	for (size_t i = 0; i < 2; i++)
		json_each(c, json_get(pod, "status", lists[i]))
			container_changed(
				to, pod,
				json_find_const(json_get(old, "status", lists[i]), "name",
						json_str(c, "name")),
				c);
	if (json_get(pod, "metadata", "deletionTimestamp") &&
	    !json_get(old, "metadata", "deletionTimestamp"))
		about(to, pod, "kubelet", "Killing", "Stopping all containers", false);
}

/* ---- Jobs and JobSets: what their conditions say ------------------------------------- */

static void condition_events(const struct event_sink *to, const cJSON *old,
			     const cJSON *now)
{
	static const char *const silent[] = { "SuccessCriteriaMet", "FailureTarget",
					      NULL };
	bool job = str_eq(meta_kind(now), "Job");
	const cJSON *c;

	json_each(c, json_get(now, "status", "conditions")) {
		const char *type = json_str(c, "type"), *reason = json_str(c, "reason");
		const char *message = json_str(c, "message");
		const cJSON *was = json_find_const(json_get(old, "status", "conditions"),
						   "type", type);

		if (!str_eq(json_str(c, "status"), "True") || str_in(type, silent) ||
		    str_eq(json_str(was, "status"), "True"))
			continue;
		if (job && str_eq(type, "Complete"))
			reason = "Completed", message = "Job completed";
		about(to, now, job ? "job-controller" : "jobset", reason ? reason : type,
		      message ? message : type, str_eq(type, "Failed"));
	}
}

void event_of_trainjob(const cJSON *trainjob, bool warning, const char *reason,
		       const char *message, const struct event_sink *to)
{
	about(to, trainjob, MANAGER, reason, message, warning);
}

void events_of(const cJSON *old, const cJSON *now, const struct event_sink *to)
{
	if (str_eq(meta_kind(now), "Pod"))
		pod_events(to, old, now);
	else
		condition_events(to, old, now);
}
