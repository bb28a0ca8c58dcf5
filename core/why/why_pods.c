/* why_pods.c - pods have a node, but their containers do not start, or end early. */
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "why/foreign.h"
#include "why/why_impl.h"

/* ---- nodes ---- */

void why_node_lost(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *pod, *node, *ready;

	if (!v->nodes->child)
		return;
	json_each(pod, v->pods) {
		if (!pod_node(pod) || pod_is_ready(pod) ||
		    str_eq(pod_phase(pod), "Succeeded"))
			continue;
		node = view_node(v, pod_node(pod));
		if (node && node_is_ready(node))
			continue;
		ready = condition_with(node, "Ready", "Unknown");
		if (!ready)
			ready = condition_with(node, "Ready", "False");
		why_add(w, "NodeNotReady",
			arena_printf(w->arena, "kubectl describe node %s", pod_node(pod)),
			"node %s, on which %s is, %s%s%s%s", pod_node(pod),
			pod_step(w->arena, pod),
			node ? "has not been ready for " : "is no longer in the cluster",
			node ? why_age(w, condition_since(ready)) : "", ready ? ": " : "",
			why_quote(w, condition_message(ready)));
		return;
	}
}

/* ---- containers that do not start ---- */

bool why_is_init(const cJSON *pod, const char *container)
{
	return json_find_const(json_get(pod_spec_of(pod), "initContainers"), "name",
			       container) != NULL;
}

/* "container node of node-1 (node rank 1) on node gpu-7" */
static const char *whose(struct why *w, const struct failure *f)
{
	const char *node = pod_node(f->pod);

	return arena_printf(w->arena, "%scontainer %s of %s%s%s",
			    why_is_init(f->pod, f->fact.container) ? "init " : "",
			    f->fact.container ? f->fact.container : "",
			    pod_step(w->arena, f->pod), node ? " on node " : "",
			    node ? node : "");
}

/* The Secrets that the node could not read, "regcred", by the kubelet's event; NULL: none. */
static const char *lost_secrets(struct why *w, const cJSON *pod)
{
	const cJSON *e = view_event(w->v, "Pod", meta_name(pod),
				    "FailedToRetrieveImagePullSecret", true);
	const char *list = e ? strchr(event_message(e), '(') : NULL;

	return list ? str_slice(w->arena, list + 1, strcspn(list + 1, ")")) : NULL;
}

struct hint {
	const char *words, *hint;
};

/* That of the first row whose words the message has; "": none. */
static const char *find_hint(const struct hint *rows, size_t n, const char *message)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(message, rows[i].words))
			return rows[i].hint;
	return "";
}

static const char *pull_hint(struct why *w, const cJSON *pod, const char *message)
{
	static const char secrets[] = "; does the pod need imagePullSecrets?";
	static const char registry[] = "; name its registry, too, as docker.io/ORG/NAME";
	static const char reach[] = "; the node has no connection to the registry";
	static const struct hint hints[] = {
		{ "short name mode is enforcing", registry }, /* CRI-O */
		{ "short-name ", registry },
		{ "toomanyrequests", "; the registry limits the pull rate" },
		{ "too many requests", "; the registry limits the pull rate" },
		{ "Too Many Requests", "; the registry limits the pull rate" },
		{ "no match for platform", "; it is not for the processor of the node" },
		{ "no matching manifest", "; it is not for the processor of the node" },
		{ "no basic auth credentials", secrets },
		{ "unauthorized", secrets },
		{ "authorization failed", secrets },
		{ "denied", secrets },
		{ "403 Forbidden", secrets },
		{ "not found", "; check its name" },
		{ "manifest unknown", "; check its name" },
		{ "no such host", "; check the registry's name" },
		{ "dial tcp: lookup ",
		  "; the node cannot look up the registry's name (DNS)" },
		{ "HTTP response to HTTPS client",
		  "; the registry serves plain HTTP, which the node's container runtime "
		  "must be told" },
		{ "i/o timeout", reach },
		{ "connection refused", reach },
		{ "no route to host", reach },
		{ "network is unreachable", reach },
		{ "Client.Timeout exceeded", reach },
		{ "no space left on device", "; the disk of the node is full" },
		{ "pull policy of Never",
		  "; load it on the node, or choose another imagePullPolicy" },
		{ "certificate signed by unknown authority",
		  "; the node does not trust the registry's certificate" },
	};
	const char *lost = lost_secrets(w, pod);
	const char *hint = find_hint(hints, N_ELEMENTS(hints), message);

	return lost && hint == secrets
		       ? arena_printf(w->arena, "; its imagePullSecrets do not exist: %s",
				      lost)
		       : hint;
}

void why_image(struct why *w)
{
	struct failure f = { 0 };
	int64_t n = view_pods_with(w->v, POD_IMAGE, &f);
	const char *message = f.fact.message ? f.fact.message : "";
	const cJSON *e =
		n ? view_event(w->v, "Pod", meta_name(f.pod), "Failed", true) : NULL;

	if (!n)
		return;
	/* The message of a back-off has no error: use that of the event. */
	if (e && !strstr(message, ": ") && strstr(event_message(e), "pull"))
		message = event_message(e);
	why_add(w, "ImagePull", why_describe(w, "pod", meta_name(f.pod)),
		"the image %s cannot be pulled for %s, %s: %s (%s)%s", f.fact.image,
		why_pod_count(w, n, view_count(w->v).all), whose(w, &f),
		why_quote(w, message), f.fact.reason, pull_hint(w, f.pod, message));
}

void why_container_start(struct why *w)
{
	struct failure f = { 0 };
	int64_t n = view_pods_with(w->v, POD_START, &f);

	if (n)
		why_add(w,
			str_eq(f.fact.reason, "CreateContainerConfigError")
				? "ContainerConfig"
				: "ContainerStart",
			why_describe(w, "pod", meta_name(f.pod)),
			"%s has not started for %s: %s (%s)", whose(w, &f),
			why_pod_count(w, n, view_count(w->v).all),
			why_quote(w, f.fact.message), f.fact.reason);
}

static const char *mount_hint(const char *message)
{
	static const char address[] = "; the node or its subnet has no free address";
	static const struct hint hints[] = {
		{ "Volume is already used by ",
		  "; its claim is ReadWriteOnce, for pods on one node: those on several "
		  "need one that is ReadWriteMany" },
		{ "exclusively attached to one node",
		  "; it is detached once that node's pods are gone, or after 6 minutes" },
		{ "not found in the list of registered CSI drivers",
		  "; the pod of that driver does not run on the node" },
		{ "/sbin/mount.<type> helper",
		  "; the node lacks the program for it, such as nfs-common" },
		{ "failed to assign an IP address", address },
		{ "no IP addresses available", address },
		{ "No more IPs available", address },
		{ "no runtime for ",
		  "; the node's container runtime lacks that of its runtimeClassName" },
		{ "failed to get sandbox image",
		  "; the node's container runtime must be told where to get its own "
		  "image (sandbox_image)" },
	};

	return find_hint(hints, N_ELEMENTS(hints), message);
}

/* What a pod cannot be started for; `event`: NULL if nothing. */
struct obstacle {
	const cJSON *event;
	const char *reason, *what;
};

/* Events from before the last start of a container no longer matter. */
static struct obstacle obstacle_of(const struct why *w, const cJSON *pod)
{
	static const struct {
		const char *event, *reason, *what;
	} rows[] = {
		{ "FailedMount", "VolumeMount", "a volume cannot be mounted" },
		{ "FailedAttachVolume", "VolumeMount", "a volume cannot be attached" },
		{ "FailedMapVolume", "VolumeMount", "a volume cannot be mapped" },
		{ "FailedCreatePodSandBox", "Sandbox",
		  "the node cannot set up its network or sandbox" },
	};
	struct obstacle ret = { 0 };
	int64_t ran = pod_last_ran(pod);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const cJSON *e =
			view_event(w->v, "Pod", meta_name(pod), rows[i].event, true);

		if (e && (ran < 0 || event_last(e) > ran) &&
		    (!ret.event || view_tells_more(e, ret.event)))
			ret = (struct obstacle){ e, rows[i].reason, rows[i].what };
	}
	return ret;
}

void why_mount(struct why *w)
{
	const cJSON *pod;

	json_each(pod, w->v->pods) {
		struct obstacle o = { 0 };

		if (str_eq(pod_phase(pod), "Pending"))
			o = obstacle_of(w, pod);
		if (!o.event)
			continue;
		why_add(w, o.reason, why_describe(w, "pod", meta_name(pod)),
			"%s cannot start on node %s: %s: %s%s", pod_step(w->arena, pod),
			pod_node(pod), o.what, why_quote(w, event_message(o.event)),
			mount_hint(event_message(o.event)));
		return;
	}
}

/* ---- containers that end ---- */

/* Restarts of a job that has not ended. */
void why_restarts(struct why *w)
{
	static const char *const reasons[] = { "OOMKilled", "ContainerFailed",
					       "PodDisrupted", "PodFailed" };
	struct failure f;
	int64_t restarts = jobset_restarts(w->v->jobset);
	int64_t attempt = jobset_attempts(w->v->jobset);
	const cJSON *e = NULL;

	if (w->refusal_covered)
		return;
	if (view_failures(w->v, &f, 1)) {
		why_add(w, f.fact.cause == POD_OOM ? "OOMKilled" : "Restarts",
			why_logs(w, &f), "%s%s%s", why_failure(w, &f),
			why_log_line(w, f.pod),
			f.fact.restarted ? "; it has been restarted" : "");
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(reasons) && restarts && !e; i++)
		e = view_event(w->v, TRAINJOB_KIND, w->v->name, reasons[i], true);
	if (restarts)
		why_add(w, "JobSetRestarts", why_describe(w, "jobset", w->v->name),
			"all its pods have been restarted %lld time%s%s%s%s",
			(long long)restarts, restarts == 1 ? "" : "s",
			attempt > 0 ? arena_printf(w->arena, " (execution attempt %lld)",
						   (long long)attempt)
				    : "",
			e ? ": " : "", why_quote(w, event_message(e)));
}

/* ---- initializers and init containers ---- */

void why_init(struct why *w)
{
	const cJSON *pod;
	const char *since, *name;

	json_each(pod, w->v->pods) {
		name = pod_at_init(pod, &since);
		if (view_is_initializer(pod_job(pod)) &&
		    str_eq(pod_phase(pod), "Running")) {
			why_add(w, "Initializer",
				arena_printf(w->arena, "kftrainer logs %s --step %s%%n",
					     w->v->name, pod_job(pod)),
				"its %s, which must finish before its nodes start, has "
				"been running for %s",
				pod_job(pod),
				why_age(w, foreign_time(meta_created(pod))));
			return;
		}
		if (name && since && str_eq(pod_phase(pod), "Pending")) {
			why_add(w, "InitContainer",
				arena_printf(w->arena, "kubectl logs %s -c %s%%n",
					     meta_name(pod), name),
				"init container %s of %s has been running for %s; the "
				"others start after it",
				name, pod_step(w->arena, pod),
				why_age(w, foreign_time(since)));
			return;
		}
	}
}
