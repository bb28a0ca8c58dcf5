/* podstatus.c - build v1.PodStatus as the kubelet does (kubelet/pod.h). */
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "kubelet/pod.h"
#include "kubelet/probe.h"

bool container_started(const struct container *c)
{
	return c->state == CONTAINER_RUNNING && !hook_running(c) && !hook_failed(c) &&
	       probe_passes(c->probes[PROBE_STARTUP]);
}

static bool container_ready(const struct container *c)
{
	if (c->kind == CONTAINER_INIT)
		return c->now.set && c->now.code == 0;
	return container_started(c) && !c->stopping &&
	       probe_passes(c->probes[PROBE_READINESS]);
}

static void put_time(cJSON *to, const char *key, int64_t seconds)
{
	char text[TIME_TEXT_SIZE];

	cJSON_AddStringToObject(to, key, time_text(seconds, text));
}

static void put_ended(cJSON *state, const struct ended *e)
{
	cJSON *t = cJSON_AddObjectToObject(state, "terminated");

	cJSON_AddItemToObject(t, "exitCode", json_new_int(e->code));
	if (e->signal)
		cJSON_AddItemToObject(t, "signal", json_new_int(e->signal));
	cJSON_AddStringToObject(t, "reason", e->reason);
	if (e->message[0])
		cJSON_AddStringToObject(t, "message", e->message);
	put_time(t, "startedAt", e->started);
	put_time(t, "finishedAt", e->finished);
}

static void put_waiting(cJSON *state, const char *reason, const char *message)
{
	cJSON *w = cJSON_AddObjectToObject(state, "waiting");

	cJSON_AddStringToObject(w, "reason", reason);
	if (message && *message)
		cJSON_AddStringToObject(w, "message", message);
}

static bool init_done(const struct pod *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct container *c = &p->containers[i];

		if (c->kind == CONTAINER_INIT && !container_ready(c))
			return false;
		if (c->kind == CONTAINER_SIDECAR && p->phase == POD_PENDING &&
		    !container_started(c))
			return false;
	}
	return true;
}

static void put_state(cJSON *to, const struct container *c, bool init_first)
{
	cJSON *state = cJSON_AddObjectToObject(to, "state");
	const struct pod *p = c->pod;
	char text[400];

	if (c->state == CONTAINER_RUNNING) {
		put_time(cJSON_AddObjectToObject(state, "running"), "startedAt",
			 c->began);
	} else if (c->state == CONTAINER_ENDED && c->restart_at && !pod_ended(p)) {
		snprintf(text, sizeof(text),
			 "back-off restarting failed container=%s pod=%s", c->name,
			 p->name);
		put_waiting(state, "CrashLoopBackOff", text);
	} else if (c->state == CONTAINER_ENDED) {
		put_ended(state, &c->now);
	} else {
		put_waiting(state, init_first ? "PodInitializing" : "ContainerCreating",
			    NULL);
	}
}

static cJSON *container_status(const struct container *c, bool init_first)
{
	cJSON *s = cJSON_CreateObject(), *last;
	const char *image = json_str(c->spec, "image");
	const struct pod *p = c->pod;
	bool backing_off = c->state == CONTAINER_ENDED && c->restart_at && !pod_ended(p);

	cJSON_AddStringToObject(s, "name", c->name);
	put_state(s, c, init_first);
	last = cJSON_AddObjectToObject(s, "lastState");
	if (backing_off)
		put_ended(last, &c->now);
	else if (c->last.set)
		put_ended(last, &c->last);
	cJSON_AddBoolToObject(s, "ready", container_ready(c));
	cJSON_AddItemToObject(s, "restartCount", json_new_int(c->restarts));
	cJSON_AddStringToObject(s, "image", image ? image : "");
	cJSON_AddStringToObject(s, "imageID", "");
	cJSON_AddBoolToObject(s, "started", container_started(c));
	return s;
}

static void put_condition(cJSON *list, const char *type, bool status, const char *reason,
			  const char *message)
{
	cJSON *c = cJSON_CreateObject();

	cJSON_AddStringToObject(c, "type", type);
	cJSON_AddStringToObject(c, "status", status ? "True" : "False");
	if (reason)
		cJSON_AddStringToObject(c, "reason", reason);
	if (message && *message)
		cJSON_AddStringToObject(c, "message", message);
	cJSON_AddItemToArray(list, c);
}

/* As kubelet's status.GeneratePodReadyCondition: main containers and sidecars count. */
static bool all_ready(const struct pod *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->containers[i].kind != CONTAINER_INIT &&
		    !container_ready(&p->containers[i]))
			return false;
	return p->phase == POD_RUNNING;
}

static void put_conditions(cJSON *s, const struct pod *p)
{
	cJSON *list = cJSON_AddArrayToObject(s, "conditions");
	bool initialized = p->admitted && init_done(p), ready = all_ready(p);
	const char *why = NULL;

	if (!p->admitted) {
		put_condition(list, "PodScheduled", false, "Unschedulable", p->message);
		return;
	}
	if (p->phase == POD_SUCCEEDED)
		why = "PodCompleted";
	else if (p->phase == POD_FAILED)
		why = "PodFailed";
	else if (!ready)
		why = "ContainersNotReady";
	put_condition(list, "Initialized", initialized || p->phase == POD_SUCCEEDED,
		      initialized ? NULL : "ContainersNotInitialized", NULL);
	put_condition(list, "Ready", ready, why, NULL);
	put_condition(list, "ContainersReady", ready, why, NULL);
	put_condition(list, "PodScheduled", true, NULL, NULL);
}

cJSON *pod_status(const struct pod *p)
{
	static const char *const phases[] = { "Pending", "Running", "Succeeded",
					      "Failed" };
	cJSON *s = cJSON_CreateObject(), *list = NULL;
	bool has_init = false;

	cJSON_AddStringToObject(s, "phase", phases[p->phase]);
	put_conditions(s, p);
	if (p->reason)
		cJSON_AddStringToObject(s, "reason", p->reason);
	if (p->message[0])
		cJSON_AddStringToObject(s, "message", p->message);
	cJSON_AddStringToObject(s, "hostIP", "127.0.0.1");
	cJSON_AddStringToObject(s, "podIP", p->ip);
	list = cJSON_AddArrayToObject(s, "podIPs");
	cJSON_AddItemToArray(list, cJSON_CreateObject());
	cJSON_AddStringToObject(list->child, "ip", p->ip);
	put_time(s, "startTime", p->started);
	for (size_t i = 0; i < p->n; i++)
		has_init |= p->containers[i].kind != CONTAINER_MAIN;
	if (has_init)
		list = cJSON_AddArrayToObject(s, "initContainerStatuses");
	for (size_t i = 0; i < p->n && p->containers[i].kind != CONTAINER_MAIN; i++)
		cJSON_AddItemToArray(list, container_status(&p->containers[i], false));
	list = cJSON_AddArrayToObject(s, "containerStatuses");
	for (size_t i = 0; i < p->n; i++)
		if (p->containers[i].kind == CONTAINER_MAIN)
			cJSON_AddItemToArray(list,
					     container_status(&p->containers[i],
							      has_init && !init_done(p)));
	cJSON_AddStringToObject(s, "qosClass", "BestEffort");
	return s;
}
