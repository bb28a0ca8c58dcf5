/* why_devices.c - pods wait for device claims (DRA), or YuniKorn rejects the job. */
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "why/foreign.h"
#include "why/why_impl.h"

/* ---- claims of devices ---- */

static bool missing(struct why *w, const cJSON *pod)
{
	static const struct {
		const char *kind, *command;
	} kinds[] = {
		{ "ResourceClaimTemplate", "kubectl get resourceclaimtemplates%n" },
		{ "ResourceClaim", "kubectl get resourceclaims%n" },
	};
	const cJSON *claim;

	json_each(claim, pod_device_claims(pod)) {
		const char *const names[] = { claim_template(claim),
					      pod_device_claim(pod, claim) };

		for (size_t i = 0; i < 2; i++) {
			if (!names[i] ||
			    !view_is_missing(w->v, arena_printf(w->arena, "%s %s",
								kinds[i].kind, names[i])))
				continue;
			why_add(w, "DeviceClaimNotFound", kinds[i].command,
				"its pods claim devices with the %s %s, which does not "
				"exist in namespace %s",
				kinds[i].kind, names[i], w->v->ns);
			w->devices_covered = true;
			return true;
		}
	}
	return false;
}

/* "request a: device class gpu does not exist" */
static bool no_class(struct why *w, const char *message)
{
	static const char words[] = "device class ";
	const char *at = strstr(message, words);

	if (!at || !strstr(at, " does not exist"))
		return false;
	at += strlen(words);
	why_add(w, "DeviceClassNotFound", "kubectl get deviceclasses",
		"its pods claim devices of the DeviceClass %s, which does "
		"not exist: is the driver installed?",
		str_slice(w->arena, at, strcspn(at, " ")));
	w->devices_covered = true;
	return true;
}

static bool none_free(struct why *w, const cJSON *pod, const char *message)
{
	const cJSON *counted, *d;
	const char *asked = "";

	if (!strstr(message, "cannot allocate all claims"))
		return false;
	json_each(counted, w->v->pods)
		if (pod_devices(counted))
			break;
	json_each(d, pod_devices(counted))
		asked = arena_printf(w->arena, "%s%s%lld %s", asked, *asked ? ", " : " (",
				     (long long)d->valueint, d->string);
	why_add(w, "NoDevices", why_describe(w, "pod", meta_name(pod)),
		"%sno node has free devices for the claims of %s%s%s: %s",
		why_gang_needs(w), meta_name(pod), asked, *asked ? ")" : "",
		why_scheduler_message(w, pod, message));
	w->devices_covered = true;
	return true;
}

void why_devices(struct why *w)
{
	const struct view *v = w->v;
	struct pod_fact_list facts;
	const cJSON *pod, *e;

	json_each(pod, v->pods) {
		if (pod_node(pod) || !pod_device_claims(pod))
			continue;
		if (missing(w, pod))
			return;
		e = view_event(v, "Pod", meta_name(pod), "FailedResourceClaimCreation",
			       true);
		pod_facts_of(pod, &facts);
		for (size_t i = 0; i < facts.n; i++) {
			const char *m = facts.list[i].message;

			if (m && (no_class(w, m) || none_free(w, pod, m)))
				return;
		}
		if (!e || facts.n)
			continue;
		why_add(w, "DeviceClaimFailed", why_describe(w, "pod", meta_name(pod)),
			"its device claims cannot be created: %s",
			why_quote(w, event_message(e)));
		w->devices_covered = true;
		return;
	}
}

/* ---- YuniKorn ---- */

/* YuniKorn fails the pods of an application that it rejects, with such a message. */
void why_rejected(struct why *w)
{
	static const struct {
		const char *words, *reason, *what;
	} rows[] = {
		{ "failed to place application", "QueueNotFound",
		  "does not exist, or is not open to its user" },
		{ "cannot fit application", "QueueTooSmall",
		  "allows less in total than its gang requests" },
		{ "", "QueueRefused", "does not accept it" },
	};
	const cJSON *pod;
	const char *message, *queue;
	size_t i = 0;

	json_each(pod, w->v->pods) {
		if (!pod_is_rejected(pod))
			continue;
		message = pod_message(pod);
		queue = pod_queue(pod);
		while (!strstr(message, rows[i].words))
			i++;
		why_add(w, rows[i].reason, why_describe(w, "pod", meta_name(pod)),
			"YuniKorn refuses it: the queue %s %s (label "
			"yunikorn.apache.org/queue): %s",
			*queue ? queue : "root.default", rows[i].what,
			why_quote(w, message));
		w->refusal_covered = true;
		return;
	}
}
