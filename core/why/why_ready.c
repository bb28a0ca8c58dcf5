/* why_ready.c - pods run, but are not ready, or do not end; what waits for that. */
#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "why/foreign.h"
#include "why/why_impl.h"

enum { PROBES_SECONDS = 30 }; /* a probe has succeeded by then, if it ever does */

/* ---- containers that remain ---- */

/* The container that trains, or loads data; NULL: the pod has none of that name. */
static const char *main_container(const cJSON *pod)
{
	const cJSON *list = pod_containers_const(pod_spec_of(pod));

	if (json_find_const(list, "name", NODE))
		return NODE;
	return json_find_const(list, "name", pod_job(pod)) ? pod_job(pod) : NULL;
}

/* How the container that trains has ended while the pod runs; NULL: it has not. */
static const cJSON *main_end(const cJSON *pod)
{
	const char *name = main_container(pod);

	if (!name || !str_eq(pod_phase(pod), "Running") || meta_is_deleted(pod))
		return NULL;
	return container_end(pod_container_status(pod, name));
}

static const char *left_out_by(const char *container)
{
	static const struct {
		const char *container, *hint;
	} rows[] = {
		{ "istio-proxy", " (label sidecar.istio.io/inject: \"false\")" },
		{ "linkerd-proxy", " (annotation linkerd.io/inject: disabled)" },
		{ "vault-agent", " (annotation vault.hashicorp.com/"
				 "agent-pre-populate-only: \"true\")" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(rows[i].container, container))
			return rows[i].hint;
	return "";
}

static const char *remaining_container(const cJSON *pod)
{
	const cJSON *c;

	json_each(c, pod_containers_const(pod_spec_of(pod)))
		if (container_runs(pod_container_status(pod, json_str(c, "name"))))
			return json_str(c, "name");
	return NULL;
}

void why_container_remains(struct why *w)
{
	const cJSON *pod, *end;
	const char *other;

	json_each(pod, w->v->pods) {
		end = main_end(pod);
		other = end ? remaining_container(pod) : NULL;
		if (!other || w->v->now - container_ended(end) < VIEW_REACTION_SECONDS)
			continue;
		why_add(w, "ContainerRemains", why_describe(w, "pod", meta_name(pod)),
			"container %s of %s ended with exit code %lld %s ago, but its pod "
			"does not end while container %s runs: make that a native sidecar "
			"(an init container with restartPolicy Always), end it with the "
			"training, or leave it out%s",
			main_container(pod), pod_step(w->arena, pod),
			(long long)container_exit_code(end),
			why_age(w, container_ended(end)), other, left_out_by(other));
		return;
	}
}

/* ---- pods that are not ready ---- */

/* Does the job start only when the pods of `other` are ready? */
static bool awaits(const cJSON *spec, const cJSON *rjob, const char *other)
{
	const cJSON *dep, *before;

	json_each(dep, rjob_depends_on(rjob))
		if (str_eq(podspec_element_name(dep), other) &&
		    !jobset_depends_on_complete(dep))
			return true;
	if (!jobset_starts_in_order(spec))
		return false;
	for (before = rjob->prev; before->next; before = before->prev)
		if (str_eq(podspec_element_name(before), other))
			return true;
	return false;
}

static bool has_jobs(const struct view *v, const char *rjob)
{
	const cJSON *job;

	json_each(job, v->jobs)
		if (str_eq(pod_job(job), rjob))
			return true;
	return false;
}

const char *why_awaiting(const struct view *v, const cJSON *pod)
{
	const cJSON *spec = jobset_spec_of(v->jobset), *rjob;

	if (!v->jobs->child) /* Jobs may not be readable */
		return NULL;
	json_each(rjob, jobset_jobs_const(spec))
		if (!has_jobs(v, podspec_element_name(rjob)) &&
		    awaits(spec, rjob, pod_job(pod)))
			return podspec_element_name(rjob);
	return NULL;
}

/* The condition of a pod that runs and is not ready for longer than its probes take, or NULL. */
static const cJSON *unready(const struct view *v, const cJSON *pod)
{
	const cJSON *ready = condition_with(pod, "Ready", "False");

	return ready && str_eq(pod_phase(pod), "Running") && !meta_is_deleted(pod) &&
			       !main_end(pod) &&
			       v->now - condition_since(ready) >= PROBES_SECONDS
		       ? ready
		       : NULL;
}

void why_not_ready(struct why *w)
{
	const cJSON *pod, *ready, *e;
	const char *before = NULL, *job = NULL; /* which awaits the pods of `before` */

	json_each(pod, w->v->pods) {
		ready = unready(w->v, pod);
		if (ready && !str_eq(before, pod_job(pod))) {
			before = pod_job(pod);
			job = why_awaiting(w->v, pod);
		}
		if (!ready || (!job && w->state != WHY_RUNNING))
			continue;
		e = view_event(w->v, "Pod", meta_name(pod), "Unhealthy", true);
		why_add(w, "NotReady", why_describe(w, "pod", meta_name(pod)),
			"%s%s%s%s runs, but has not been ready for %s: %s%s%s",
			job ? "job " : "", job ? job : "",
			job ? " starts when all pods before it are ready: " : "",
			pod_step(w->arena, pod), why_age(w, condition_since(ready)),
			why_quote(w, condition_message(ready)), e ? "; " : "",
			e ? why_quote(w, event_message(e)) : "");
		return;
	}
}
