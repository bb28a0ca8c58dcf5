/* events.c - make the events of a change of an object (jobs/events.h). */
#include "jobs/events.h"

#include <stdio.h>
#include <sys/random.h>

#include "api/event.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"

#define MANAGER "trainer-trainjob-controller"

static void about(const struct event_sink *to, const cJSON *obj, const char *component,
		  const char *reason, const char *message, bool warning)
{
	cleanup_json cJSON *event = event_new(obj, component, warning, reason, message);
	cleanup_arena struct arena a = { 0 };
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	meta_set_name(event, arena_printf(&a, "%.200s.%016llx", meta_name(obj),
					  (unsigned long long)number));
	event_set_first(event, clock_now());
	event_set_last(event, clock_now(), 1);
	to->on_event(to->ctx, event);
}

/* ---- pods -------------------------------------------------------------------------- */

/* An event about the Job, which is known only from the pod's owner reference. */
static void pod_created(const struct event_sink *to, const cJSON *pod)
{
	const cJSON *owner = meta_controller(pod);
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *job = NULL;

	if (!owner || !meta_owner_name(owner) || !meta_owner_uid(owner))
		return;
	job = meta_new(meta_api_version(owner), meta_kind(owner), meta_namespace(pod),
		       meta_owner_name(owner));
	meta_set_uid(job, meta_owner_uid(owner));
	about(to, job, "job-controller", "SuccessfulCreate",
	      arena_printf(&a, "Created pod: %s", meta_name(pod)), false);
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

/* ---- Jobs and JobSets: changes of conditions --------------------------------------- */

struct job_event {
	const char *type, *status, *reason, *message;
};

/* The Job controller's event for a condition that says something else; or NULL. */
static const struct job_event *job_event_of(const char *type, const char *status)
{
	static const struct job_event rows[] = {
		{ "Complete", "True", "Completed", "Job completed" },
		{ "Suspended", "True", "Suspended", "Job suspended" },
		{ "Suspended", "False", "Resumed", "Job resumed" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(type, rows[i].type) && str_eq(status, rows[i].status))
			return &rows[i];
	return NULL;
}

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
		const char *status = json_str(c, "status");
		const struct job_event *own = job ? job_event_of(type, status) : NULL;
		bool is_true = str_eq(status, "True");
		const cJSON *was = json_find_const(json_get(old, "status", "conditions"),
						   "type", type);

		if (str_eq(json_str(was, "status"), status) || str_in(type, silent) ||
		    (!is_true && !(was && own)))
			continue;
		about(to, now, job ? "job-controller" : "jobset",
		      own      ? own->reason
		      : reason ? reason
			       : type,
		      own       ? own->message
		      : message ? message
				: type,
		      str_eq(type, "Failed"));
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
