/*
 * run_prepare.c - make a job fit this machine before its pods start: refuse or report
 * what does not apply, set retries, map ports, resolve Services (local/run_impl.h).
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/ports.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/peers.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob.h"

/* ---- fields that do not apply ------------------------------------------------------ */

static void add_note(cJSON *notes, const char *line)
{
	const cJSON *note;

	json_each(note, notes)
		if (str_eq(cJSON_GetStringValue(note), line))
			return;
	cJSON_AddItemToArray(notes, cJSON_CreateString(line));
}

/* Report the kinds that need a controller of a cluster. */
static void report_objects(struct arena *a, const cJSON *objects, cJSON *notes)
{
	static const char *const used[] = { JOBSET_KIND, "ConfigMap", "Secret", "Service",
					    NULL };
	const cJSON *o;

	json_each(o, objects) {
		const char *kind = meta_kind(o), *name = meta_name(o);

		if (str_eq(meta_api_version(o), SCHEDULING_API_VERSION)) {
			if (str_eq(kind,
				   "Workload")) /* one line for it and its PodGroups */
				add_note(notes, "spec.scheduling of the runtime is not "
						"applied: there is no scheduler on this "
						"machine");
		} else if (!str_in(kind, used))
			add_note(notes,
				 arena_printf(
					 a,
					 "%s %s is not applied: no controller on this "
					 "machine handles it",
					 kind ? kind : "an object", name ? name : ""));
	}
}

struct row {
	const char *const *path;
	const char *field, *why;
};

/* Report the fields of the JobSet that have no meaning on one machine. */
static void report_jobset(struct arena *a, const cJSON *jobset, cJSON *notes)
{
	const struct row rows[] = {
		{ JSON_PATH("spec", "ttlSecondsAfterFinished"), "ttlSecondsAfterFinished",
		  "the most recent runs of each job are kept" },
		{ JSON_PATH("spec", "managedBy"), "managedBy",
		  "there is no controller on this machine" },
		{ JSON_PATH("metadata", "annotations",
			    "alpha.jobset.sigs.k8s.io/exclusive-topology"),
		  "exclusive-topology", "this machine is the only node" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (json_at(jobset, rows[i].path))
			add_note(notes, arena_printf(a, "%s is not applied: %s",
						     rows[i].field, rows[i].why));
	if (str_eq(json_str(jobset, "spec", "failurePolicy", "restartStrategy"),
		   "InPlaceRestart"))
		add_note(notes,
			 "restartStrategy InPlaceRestart is treated as Recreate: pods "
			 "are recreated");
}

static cJSON *template_of(const cJSON *rjob)
{
	cJSON *ret = json_dup(json_get(rjob, "template", "spec", "template"));

	if (!ret)
		ret = cJSON_CreateObject();
	json_put_str(ret, json_str(rjob, "name"), "metadata", "labels",
		     "jobset.sigs.k8s.io/replicatedjob-name");
	return ret;
}

/* Is what its pods have all from a built-in runtime, made to run here, too? */
static bool is_built_in(const struct run *r)
{
	return !r->opts->runtime && !r->opts->owner &&
	       !cJSON_GetArraySize(tj_runtime_patches(r->opts->trainjob));
}

int run_check(struct run *r, struct error *err)
{
	cleanup_json cJSON *notes = cJSON_CreateArray();
	cleanup_buf struct buf refused = { .max = sizeof(err->msg) };
	cleanup_arena struct arena a = { 0 };
	enum error_kind kind = ERR_NONE;
	const cJSON *rjob, *note;

	report_objects(&a, r->opts->objects, notes);
	report_jobset(&a, r->jobset, notes);
	json_each(rjob, json_get((const cJSON *)r->jobset, "spec", "replicatedJobs")) {
		cleanup_json cJSON *tmpl = template_of(rjob);
		struct error one = { 0 };

		if (!kubelet_check(r->kubelet, tmpl, notes, &one))
			continue;
		kind = kind == ERR_NONE ? one.kind : kind;
		buf_printf(&refused, "%s%s", refused.len ? "\n" : "", one.msg);
	}
	if (kind != ERR_NONE)
		return error_set(err, kind, "%s",
				 refused.overflowed ? "too many errors to list"
						    : (const char *)refused.data);
	json_each(note, notes)
		if (!is_built_in(r) ||
		    !str_starts(cJSON_GetStringValue(note), "securityContext "))
			run_note(r, "%s", cJSON_GetStringValue(note));
	return 0;
}

/* ---- retries ----------------------------------------------------------------------- */

/* Does the Job set how often its pods are retried? */
static bool is_set(const cJSON *rjob)
{
	const cJSON *spec = json_get(rjob, "template", "spec");

	return json_get(spec, "backoffLimit") || json_get(spec, "backoffLimitPerIndex");
}

void run_set_restarts(struct run *r)
{
	cJSON *rjob;

	if (r->opts->max_restarts > 0)
		json_put_int(r->jobset, r->opts->max_restarts, "spec", "failurePolicy",
			     "maxRestarts");
	json_each(rjob, json_get(r->jobset, "spec", "replicatedJobs")) {
		if (!is_set(rjob)) {
			json_put_int(rjob, 0, "template", "spec", "backoffLimit");
			r->gives_up = true;
		}
		/*
		 * With OnFailure a node restarts a container once before the Job's
		 * controller applies a limit of 0: the same failure, twice.
		 */
		if (!json_int((const cJSON *)rjob, -1, "template", "spec",
			      "backoffLimit"))
			json_put_str(rjob_pod_spec(rjob), "Never", "restartPolicy");
	}
}

/* ---- ports ------------------------------------------------------------------------- */

/* Would port_replace() change a variable or an argument of this container? */
static bool has_port(const cJSON *container)
{
	static const char *const lists[] = { "command", "args" };
	cleanup_arena struct arena a = { 0 };
	const cJSON *e;

	json_each(e, json_get(container, "env")) {
		const char *name = json_str(e, "name"), *value = json_str(e, "value");

		if (name && value &&
		    port_replace(&a, name, value, TRAINER_PORT, 0) != value)
			return true;
	}
	for (size_t i = 0; i < 2; i++)
		json_each(e, json_at(container, JSON_PATH(lists[i]))) {
			const char *word = cJSON_GetStringValue(e);

			if (word && port_replace(&a, NULL, word, TRAINER_PORT, 0) != word)
				return true;
		}
	return false;
}

static bool has_peers(const cJSON *container)
{
	return json_find_const(json_get(container, "env"), "name", TF_CONFIG);
}

static bool any_container(const struct run *r, bool (*is)(const cJSON *container))
{
	static const char *const lists[] = { "initContainers", "containers" };
	const cJSON *rjob, *c;

	json_each(rjob, json_get((const cJSON *)r->jobset, "spec", "replicatedJobs"))
		for (size_t i = 0; i < 2; i++)
			json_each(c,
				  json_at(rjob_pod_spec_const(rjob), JSON_PATH(lists[i])))
				if (is(c))
					return true;
	return false;
}

int run_reserve_port(struct run *r, int *ret_port, struct error *err)
{
	int lock;

	if (ports_reserve(ret_port, &lock, err))
		return -1;
	r->port_locks =
		xreallocarray(r->port_locks, r->n_port_locks + 1, sizeof(*r->port_locks));
	r->port_locks[r->n_port_locks++] = lock;
	return 0;
}

static int map_rendezvous(struct run *r, struct error *err)
{
	int port;

	if (!any_container(r, has_port))
		return 0;
	if (run_reserve_port(r, &port, err))
		return -1;
	kubelet_map_port(r->kubelet, TRAINER_PORT, port);
	run_detail(r, "port %d is mapped to %d", TRAINER_PORT, port);
	report_mapped_port(r->report, TRAINER_PORT, port);
	return 0;
}

/* One port for each pod: all pods listen on every address of the machine. */
static int map_peers(struct run *r, struct error *err)
{
	const char *pod, *const *names;
	int port;

	if (!any_container(r, has_peers))
		return 0;
	for (size_t i = 0; jobs_pod_names(r->jobs, i, &pod, &names); i++) {
		if (run_reserve_port(r, &port, err))
			return -1;
		for (; names && *names; names++)
			kubelet_map_peer(r->kubelet, *names, port);
	}
	run_detail(r, "each pod gets its own port in %s", TF_CONFIG);
	return 0;
}

int run_map_ports(struct run *r, struct error *err)
{
	return map_rendezvous(r, err) || map_peers(r, err) ? -1 : 0;
}

void run_free_ports(struct run *r)
{
	for (size_t i = 0; i < r->n_port_locks; i++)
		close(r->port_locks[i]);
	free(r->port_locks);
}

/* ---- Services ---------------------------------------------------------------------- */

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

static int add_service(struct run *r, const cJSON *service, struct error *err)
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
		if (str_eq(meta_kind(o), "Service") && meta_name(o) &&
		    add_service(r, o, err))
			return -1;
	return 0;
}
