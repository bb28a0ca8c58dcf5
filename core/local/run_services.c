/* run_services.c - resolve the names of Services to pods (local/run_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "local/run_impl.h"

/* Does the Service's selector match, as in v1.ServiceSpec? */
static bool selects(const cJSON *selector, const cJSON *labels)
{
	const cJSON *want;

	json_each(want, selector)
		if (!str_eq(want->valuestring, json_str(labels, want->string)))
			return false;
	return selector && selector->child;
}

/* *ret is NULL if the Service selects no pod. */
static const char *first_pod(const struct run *r, const cJSON *service)
{
	const cJSON *selector = json_get(service, "spec", "selector");
	const char *pod, *const *names;

	for (size_t i = 0; jobs_pod_names(r->jobs, i, &pod, &names); i++) {
		cleanup_json cJSON *labels = jobs_pod_labels(r->jobs, i);

		if (selects(selector, labels))
			return pod;
	}
	return NULL;
}

/* Report a targetPort: a hosts file cannot map it. */
static void report_ports(const struct run *r, const cJSON *service)
{
	const cJSON *port;

	json_each(port, json_get(service, "spec", "ports")) {
		int64_t from = json_int(port, 0, "port");

		if (json_get(port, "targetPort") &&
		    json_int(port, 0, "targetPort") != from)
			run_note(r,
				 "Service %s: targetPort is not applied: clients connect "
				 "to port %lld of the pod",
				 meta_name(service), (long long)from);
	}
}

static int add(struct run *r, const cJSON *service, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *name = meta_name(service), *pod = first_pod(r, service);
	const char *in_ns = arena_printf(&a, "%s.%s", name, r->opts->ns);
	const char *const names[] = { name, in_ns, arena_printf(&a, "%s.svc", in_ns),
				      arena_printf(&a, "%s.svc.cluster.local", in_ns),
				      NULL };

	if (!pod) {
		run_note(r, "Service %s selects no pods", name);
		return 0;
	}
	report_ports(r, service);
	if (kubelet_isolation(r->kubelet) == ISOLATION_NONE)
		run_note(r,
			 "Service %s: without namespaces its name resolves only in "
			 "arguments and variables, as %s",
			 name, in_ns);
	return kubelet_add_name(r->kubelet, pod, names, err);
}

int run_add_services(struct run *r, struct error *err)
{
	const cJSON *o;

	json_each(o, r->opts->objects)
		if (str_eq(meta_kind(o), "Service") && meta_name(o) && add(r, o, err))
			return -1;
	return 0;
}
