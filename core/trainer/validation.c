/* validation.c - rules of upstream's webhooks (trainer/validation.h). */
#include "trainer/validation.h"

#include <inttypes.h>
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/nearest.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podrules.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/supervise_spec.h"
#include "trainer/trainjob.h"

#define PATCHES "spec.runtimePatches"

/* Names to compare with; errors that get a suggestion. */
enum { MAX_SUGGESTED = 100, SUGGESTIONS = 10 };

/* ---- managers: a domain, a slash, a path ---- */

#define PATH_BYTES                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789/-._~%!$&'()*+,;=:"

static void bad_manager(struct field_errors *errs, const char *value, const char *detail)
{
	cleanup_json cJSON *node = cJSON_CreateString(value);

	field_error_add(errs, FIELD_INVALID, PATCHES ".manager", node, "%s", detail);
}

static void validate_manager(const char *manager, struct field_errors *errs)
{
	const char *slash = manager ? strchr(manager, '/') : NULL;
	const char *domain;

	if (!manager || !*manager) {
		field_error_add(errs, FIELD_REQUIRED, PATCHES ".manager", NULL,
				"a domain, a slash and a path");
		return;
	}
	if (!slash || slash == manager || !slash[1]) {
		bad_manager(
			errs, manager,
			"must be a domain, a slash and a path, as in \"acme.io/foo\"");
		return;
	}
	domain = str_slice(&errs->arena, manager, (size_t)(slash - manager));
	if (name_subdomain_invalid(domain))
		bad_manager(errs, domain, name_subdomain_invalid(domain));
	if (slash[1 + strspn(slash + 1, PATH_BYTES)])
		bad_manager(errs, slash + 1,
			    "what stands after the slash may hold letters, digits and "
			    "/-._~%!$&'()*+,;=: only");
}

/* ---- names that the runtime must have ---- */

static bool has_reserved_env(const char *container, const cJSON *env)
{
	return env && env->child &&
	       (str_eq(container, NODE) || str_eq(container, DATASET_INITIALIZER) ||
		str_eq(container, MODEL_INITIALIZER));
}

/* Check one list of containers of a patch by the runtime's list. */
struct patched {
	const cJSON *all; /* the job's runtimePatches, the value in messages */
	const char *job, *what;
	const cJSON *patch, *runtime;
};

/* "; did you mean ...?", or nothing. In the errors' arena. */
static const char *suggestion(struct field_errors *errs, const cJSON *elements,
			      const char *name)
{
	struct arena *arena = &errs->arena;
	const char **words = arena_alloc(arena, (MAX_SUGGESTED + 1) * sizeof(*words));
	const cJSON *e;
	size_t n = 0;

	json_each(e, elements)
		if (podspec_element_name(e) && n < MAX_SUGGESTED && errs->n < SUGGESTIONS)
			words[n++] = podspec_element_name(e);
	return name ? nearest_hint(arena, name, words) : "";
}

static bool validate_containers(const struct patched *p, struct field_errors *errs)
{
	cleanup_json_index struct json_index runtime = { p->runtime, .key = "name" };
	const cJSON *c;
	bool known = true;

	json_each(c, p->patch) {
		const char *name = podspec_element_name(c);

		if (!json_index_get(&runtime, name)) {
			known = false;
			if (field_errors_full(errs))
				break;
			field_error_add(errs, FIELD_INVALID, PATCHES, p->all,
					"job %s of the runtime has no %s \"%s\"%s",
					p->job, p->what, name ? name : "",
					suggestion(errs, p->runtime, name));
		} else if (has_reserved_env(name, container_env(c))) {
			field_error_add(
				errs, FIELD_INVALID, PATCHES, p->all,
				"env of container \"%s\" cannot be patched: it is set "
				"by spec.trainer and spec.initializer",
				name);
		}
	}
	return known;
}

static bool validate_job(const cJSON *jobs, const cJSON *all, const cJSON *rjob_patch,
			 struct field_errors *errs)
{
	const char *name = podspec_element_name(rjob_patch);
	const cJSON *rjob = json_find_const(jobs, "name", name);
	const cJSON *pod_spec = rjob_pod_spec_const(rjob);
	const cJSON *given = rjob_pod_spec_const(rjob_patch);
	struct patched init = { all, name, "init container",
				pod_init_containers_const(given),
				pod_init_containers_const(pod_spec) };
	struct patched regular = { all, name, "container", pod_containers_const(given),
				   pod_containers_const(pod_spec) };
	bool known;

	if (!rjob) {
		field_error_add(errs, FIELD_INVALID, PATCHES, all,
				"the runtime has no job \"%s\"%s", name ? name : "",
				suggestion(errs, jobs, name));
		return false;
	}
	known = validate_containers(&init, errs);
	return validate_containers(&regular, errs) && known;
}

/* ---- changes while pods run ---- */

static void validate_inactive(const cJSON *tj, const struct plugin_env *env,
			      struct field_errors *errs)
{
	const struct object_ref ref = { JOBSET_API_VERSION, JOBSET_KIND,
					meta_namespace(tj), meta_name(tj) };
	struct error err = { 0 };
	const cJSON *jobset = NULL, *status;

	if (!env->get)
		return;
	if (env->get(env->ctx, &ref, &jobset, &err)) {
		field_error_add(errs, FIELD_INTERNAL, PATCHES, NULL, "%s", err.msg);
		return;
	}
	json_each(status, jobset_jobs_status(jobset)) {
		if (job_status_active(status) > 0)
			field_error_add(
				errs, FIELD_FORBIDDEN, PATCHES, NULL,
				"cannot be changed while pods of job %s are active",
				podspec_element_name(status)
					? podspec_element_name(status)
					: "");
	}
}

/* An absent list and an empty one are the same. */
static bool same_patches(const cJSON *a, const cJSON *b)
{
	bool none_a = !a || !a->child, none_b = !b || !b->child;

	return (none_a && none_b) || json_equal(a, b);
}

bool validate_patches(const cJSON *runtime, const cJSON *old, const cJSON *tj,
		      const struct plugin_env *env, struct field_errors *errs)
{
	const cJSON *all = tj_runtime_patches(tj), *patch, *rjob;
	const cJSON *jobs = runtime_jobs(runtime);
	bool changed = !old || !same_patches(tj_runtime_patches(old), all);
	bool known = true;

	if (old && changed && !tj_suspend(old) && !tj_suspend(tj))
		field_error_add(
			errs, FIELD_FORBIDDEN, PATCHES, NULL,
			"can be changed only while the TrainJob is suspended, before "
			"or after the update");
	else if (old && changed)
		validate_inactive(tj, env, errs);
	json_each(patch, all) {
		validate_manager(patch_manager(patch), errs);
		json_each(rjob, jobset_jobs_const(patch_jobset_spec(patch))) {
			struct field_errors ignored = { 0 };

			if (!validate_job(jobs, all, rjob, changed ? errs : &ignored))
				known = false;
			field_errors_release(&ignored);
		}
	}
	return known;
}

/* ---- initializers ---- */

static void bad_runtime(const cJSON *tj, struct field_errors *errs, const char *detail)
{
	cleanup_json cJSON *ref = tj_runtime_ref_value(tj);

	field_error_add(errs, FIELD_INVALID, "spec.runtimeRef", ref, "%s", detail);
}

/*
 * A data cache is in the memory of other pods: no volume is needed, and the built-in
 * runtime has none. Upstream's v2.3 refuses every job of that runtime.
 */
static bool wants_volume(const cJSON *initializer)
{
	const char *uri = initializer_storage_uri(initializer);

	return !uri || !str_starts(uri, "cache://");
}

static void validate_initializer(struct info *info, const cJSON *tj,
				 enum initializer which, struct field_errors *errs)
{
	const char *name = initializer_name[which];
	struct pod_set *ps = info_by_name(info, name);
	cJSON *container = ps ? pod_any_container(ps->pod_spec, name) : NULL;
	const char *missing = NULL;

	if (!ps)
		missing = arena_printf(&errs->arena,
				       "job \"%s\", as trl-distributed has,", name);
	else if (!container)
		missing = arena_printf(&errs->arena, "container \"%s\" in job \"%s\"",
				       name, name);
	else if (wants_volume(tj_initializer(tj, which)) &&
		 !container_mounts(pod_container(ps->pod_spec, name), INITIALIZER_VOLUME))
		missing = arena_printf(
			&errs->arena,
			"volumeMount \"%s\" in container \"%s\" of job \"%s\"",
			INITIALIZER_VOLUME, name, name);
	if (missing)
		bad_runtime(
			tj, errs,
			arena_printf(&errs->arena,
				     "the runtime must have a %s for spec.initializer",
				     missing));
}

void validate_initializers(struct info *info, const cJSON *tj, struct field_errors *errs)
{
	for (int i = 0; i < N_INITIALIZERS; i++)
		if (tj_initializer(tj, (enum initializer)i))
			validate_initializer(info, tj, (enum initializer)i, errs);
}

/* ---- runtimes ---- */

static const char *container_of_ancestor(const char *ancestor)
{
	if (str_eq(ancestor, ANCESTOR_TRAINER))
		return NODE;
	if (str_eq(ancestor, DATASET_INITIALIZER) || str_eq(ancestor, MODEL_INITIALIZER))
		return ancestor;
	return NULL;
}

void validate_runtime_jobs(const cJSON *runtime, struct field_errors *errs)
{
	const char *path = "spec.template.spec.replicatedJobs";
	cleanup_json cJSON *none = cJSON_CreateNull();
	const cJSON *rjob;
	size_t i = 0;
	int64_t n;

	json_each(rjob, runtime_jobs(runtime)) {
		const char *at = field_index(errs, path, i++);
		const char *ancestor = rjob_ancestor(rjob);
		const char *wanted = container_of_ancestor(ancestor);
		const cJSON *replicas = rjob_replicas_given(rjob);
		const cJSON *containers = pod_containers_const(rjob_pod_spec_const(rjob));

		if (!wanted)
			continue;
		if (replicas && !(json_int_of(replicas, &n) && n == 1))
			field_error_add(errs, FIELD_INVALID,
					field_child(errs, at, "replicas"), replicas,
					"must be 1 for a job labelled %s", ancestor);
		if (!json_find_const(containers, "name", wanted))
			field_error_add(
				errs, FIELD_INVALID,
				field_child(errs, at,
					    "template.spec.template.spec.containers"),
				containers ? containers : none,
				"a job labelled %s must have a container \"%s\"",
				ancestor, wanted);
	}
}

void validate_annotations(const cJSON *runtime, struct field_errors *errs)
{
	const cJSON *annotations = runtime_annotations(runtime);
	enum mpi_transport transport;
	struct error err = { 0 };
	bool cache;

	if ((policy_mpi(runtime_ml_policy(runtime)) &&
	     mpi_transport(&transport, annotations, &err)) ||
	    cache_in_pods(&cache, annotations, &err) ||
	    supervise_check(NULL, annotations, &err))
		field_error_add(errs, FIELD_INVALID, "spec.template.metadata.annotations",
				annotations, "%s", err.msg);
}

void validation_warn_of_transport(const cJSON *runtime, cJSON *warnings)
{
	const cJSON *mpi = policy_mpi(runtime_ml_policy(runtime));

	if (!cJSON_IsObject(mpi) || !str_eq(mpi_implementation(mpi), "OpenMPI") ||
	    !meta_label(runtime, LABEL_FRAMEWORK) ||
	    json_str(runtime_annotations(runtime), MPI_ANNOTATION))
		return;
	cJSON_AddItemToArray(
		warnings,
		cJSON_CreateString(
			"spec.mlPolicy.mpi: Open MPI 5 ignores the host file, runs "
			"on one node only and reports success; set the annotation " MPI_ANNOTATION
			" of spec.template.metadata to worker, or to ssh if the "
			"image has sshd"));
}

void validation_warn_of_image(struct info *info, const cJSON *tj, cJSON *warnings)
{
	const struct pod_set *nodes = info_by_name(info, NODE);
	const char *image = tj_image(tj), *other;

	if (!image || !nodes || !policy_mpi(info->ml_policy) ||
	    str_eq(nodes->ancestor, ANCESTOR_TRAINER))
		return;
	other = container_image(pod_container(nodes->pod_spec, NODE));
	if (!str_eq(other, image))
		cJSON_AddItemToArray(
			warnings,
			cJSON_CreateString(arena_printf(
				&info->arena,
				"spec.trainer.image: only the launcher gets it, the nodes keep "
				"%s; with the annotation " MPI_ANNOTATION
				": worker of the runtime they get it, too",
				other ? other : "none")));
}

/* A server that no signal of the launcher ends, or NULL. */
static const char *server_of(const cJSON *rjob, const cJSON *runtime)
{
	static const char *const servers[] = { "sshd", "mpi-worker", "infinity", NULL };
	const cJSON *container = json_find_const(
		pod_containers_const(rjob_pod_spec_const(rjob)), "name", NODE);
	const cJSON *const lists[] = { container_command(container),
				       container_args(container) };
	enum mpi_transport transport;
	const cJSON *word;

	for (size_t i = 0; i < N_ELEMENTS(lists); i++)
		json_each(word, lists[i])
			for (const char *const *s = servers; *s; s++)
				if (cJSON_IsString(word) && strstr(word->valuestring, *s))
					return *s;
	if (!mpi_transport(&transport, runtime_annotations(runtime), IGNORED) &&
	    transport == MPI_WORKER)
		return "mpi-worker";
	return NULL;
}

void validation_warn_of_workers(const cJSON *runtime, cJSON *warnings)
{
	const cJSON *spec = json_get(runtime, "spec", "template", "spec");
	const cJSON *node = json_find_const(jobset_jobs_const(spec), "name", NODE);
	cleanup_arena struct arena arena = { 0 };
	const char *server;

	if (!policy_mpi(runtime_ml_policy(runtime)) || !jobset_awaits(spec, NODE) ||
	    !json_find_const(jobset_jobs_const(spec), "name", LAUNCHER))
		return;
	server = server_of(node, runtime);
	if (server)
		cJSON_AddItemToArray(
			warnings,
			cJSON_CreateString(arena_printf(
				&arena,
				"spec.template.spec.successPolicy of the runtime: jobs do not end "
				"with their launcher: JobSet also waits for job "
				"\"" NODE
				"\", which runs %s for ever; set " SUCCESS_OF_LAUNCHER,
				server)));
}

static void warn_of_end(cJSON *warnings, const cJSON *spec, const char *path,
			const char *field)
{
	cleanup_arena struct arena arena = { 0 };

	if (!json_get(spec, field))
		return;
	cJSON_AddItemToArray(
		warnings,
		cJSON_CreateString(arena_printf(
			&arena,
			"%s.%s: the TrainJob does not know of it, and a later release "
			"of Kubeflow Trainer refuses it; use spec.runPolicy.%s",
			path, field, field)));
}

void validation_warn_of_ends(const cJSON *runtime, cJSON *warnings)
{
	static const char path[] = "spec.template.spec";
	static const char *const fields[] = { "activeDeadlineSeconds",
					      "ttlSecondsAfterFinished" };
	cleanup_arena struct arena arena = { 0 };
	const cJSON *rjob;
	int i = 0;

	warn_of_end(warnings, json_get(runtime, "spec", "template", "spec"), path,
		    fields[1]);
	json_each(rjob, runtime_jobs(runtime)) {
		const char *job = arena_printf(
			&arena, "%s.replicatedJobs[%d].template.spec", path, i++);

		for (size_t k = 0; k < N_ELEMENTS(fields); k++)
			warn_of_end(warnings, json_get(rjob, "template", "spec"), job,
				    fields[k]);
	}
}

void validation_warn_of_managers(const cJSON *runtime, cJSON *warnings)
{
	const cJSON *spec = json_get(runtime, "spec", "template", "spec"), *rjob;
	const char *manager = jobset_other_manager(spec);
	cleanup_arena struct arena arena = { 0 };
	int i = 0;

	if (manager)
		cJSON_AddItemToArray(
			warnings,
			cJSON_CreateString(arena_printf(
				&arena,
				"spec.template.spec.managedBy: JobSet leaves the jobs to %s, "
				"which has to create them; otherwise remove it",
				manager)));
	json_each(rjob, runtime_jobs(runtime)) {
		int at = i++;

		manager = rjob_other_manager(rjob);
		if (manager)
			cJSON_AddItemToArray(
				warnings,
				cJSON_CreateString(arena_printf(
					&arena,
					"spec.template.spec.replicatedJobs[%d].template.spec."
					"managedBy: Kubernetes leaves the pods to %s, which "
					"has to create them; otherwise remove it",
					at, manager)));
	}
}

static bool names_a_scheduler(const cJSON *runtime)
{
	const cJSON *rjob;

	json_each(rjob, runtime_jobs(runtime))
		if (pod_spec_scheduler(rjob_pod_spec_const(rjob)))
			return true;
	return false;
}

void validation_warn_of_gangs(const cJSON *runtime, cJSON *warnings)
{
	const cJSON *policy = runtime_pod_group_policy(runtime);
	const char *text;

	if (policy_coscheduling(policy) && policy_volcano(policy))
		text = "spec.podGroupPolicy: coscheduling and volcano are both set: a "
		       "job gets a PodGroup of each, and does not start until both kinds "
		       "are installed; keep that of the scheduler in schedulerName";
	else if (policy_volcano(policy) && !names_a_scheduler(runtime))
		text = "spec.podGroupPolicy: volcano is set, but no pod has a "
		       "schedulerName: Kubernetes' scheduler places them one by one; set "
		       "schedulerName: volcano in the pod templates";
	else
		return;
	cJSON_AddItemToArray(warnings, cJSON_CreateString(text));
}

static bool has_framework(const cJSON *runtime)
{
	static const char *const policies[] = { "torch", "jax", "xgboost", "mpi",
						"flux" };

	for (size_t i = 0; i < N_ELEMENTS(policies); i++)
		if (json_get(runtime_ml_policy(runtime), policies[i]))
			return true;
	return false;
}

void validation_warn_of_network(const cJSON *runtime, cJSON *warnings)
{
	static const char *const resolving[] = { "ClusterFirstWithHostNet", "None",
						 NULL };
	const cJSON *spec = json_get(runtime, "spec", "template", "spec"), *rjob;
	cleanup_arena struct arena arena = { 0 };
	int i = 0;

	if (!has_framework(runtime))
		return;
	if (cJSON_IsFalse(json_get(spec, "network", "enableDNSHostnames")))
		cJSON_AddItemToArray(
			warnings,
			cJSON_CreateString(
				"spec.template.spec.network.enableDNSHostnames: pods without "
				"names do not find each other; remove it"));
	json_each(rjob, runtime_jobs(runtime)) {
		const cJSON *pod_spec = rjob_pod_spec_const(rjob);
		const char *policy = json_str(pod_spec, "dnsPolicy");
		int at = i++;

		if (!cJSON_IsTrue(json_get(pod_spec, "hostNetwork")) ||
		    (policy && str_in(policy, resolving)))
			continue;
		cJSON_AddItemToArray(
			warnings,
			cJSON_CreateString(arena_printf(
				&arena,
				"spec.template.spec.replicatedJobs[%d].template.spec.template."
				"spec.hostNetwork: pods do not resolve each other's names; set "
				"dnsPolicy: ClusterFirstWithHostNet, too",
				at)));
	}
}

/* ---- nodes ---- */

#define ONE_NODE "must be 1 or more: without nodes nothing trains"

void validate_nodes(const cJSON *old, const cJSON *tj, struct field_errors *errs)
{
	if (tj_num_nodes(tj) == 0 && (!old || tj_num_nodes(old) != 0))
		field_error_add(errs, FIELD_INVALID, "spec.trainer.numNodes",
				tj_trainer_member(tj, "numNodes"), ONE_NODE);
	/* A rule of our CRD. Upstream's webhook has the rule, but only for Flux. */
	if (tj_num_proc_per_node(tj) == 0 && (!old || tj_num_proc_per_node(old) != 0))
		field_error_add(errs, FIELD_INVALID, "spec.trainer.numProcPerNode",
				tj_trainer_member(tj, "numProcPerNode"),
				"must be 1 or more");
}

void validate_runtime_nodes(const cJSON *runtime, struct field_errors *errs)
{
	const cJSON *given = json_get(runtime_ml_policy(runtime), "numNodes");
	int64_t n;

	if (json_int_of(given, &n) && n < 1)
		field_error_add(errs, FIELD_INVALID, "spec.mlPolicy.numNodes", given,
				ONE_NODE);
}

/* ---- names ---- */

static void check_name(struct field_errors *errs, const cJSON *tj, const char *name,
		       const char *what)
{
	cleanup_json cJSON *value = cJSON_CreateString(meta_name(tj));
	size_t len = strlen(name);

	if (!name_is_dns1035(name))
		field_error_add(
			errs, FIELD_INVALID, "metadata.name", value,
			"%s would be called %s: a DNS-1035 label holds lower case "
			"letters, digits and '-', and begins with a letter",
			what, name);
	else if (len > NAME_LABEL_MAX)
		field_error_add(
			errs, FIELD_INVALID, "metadata.name", value,
			"%s would be called %s, %zu characters, where %d are allowed: "
			"make the name %zu shorter",
			what, name, len, NAME_LABEL_MAX, len - NAME_LABEL_MAX);
}

static void check_pod_set(struct info *info, const cJSON *tj, const struct pod_set *ps,
			  struct field_errors *errs)
{
	int64_t replicas = pod_set_replicas(ps);
	int64_t pods = pod_set_count(ps);
	char *job = arena_printf(&errs->arena, "%s-%s-%" PRId64, info->name, ps->name,
				 replicas - 1);

	if (rjob_is_indexed(ps->rjob))
		check_name(errs, tj,
			   arena_printf(&errs->arena, "%s-%" PRId64 "-abcde", job,
					pods > 0 ? pods - 1 : 0),
			   arena_printf(&errs->arena, "a pod of job %s", ps->name));
	else
		check_name(errs, tj, job, arena_printf(&errs->arena, "Job %s", ps->name));
}

/* JobSet puts the coordinator's address on all Jobs and pods, as a label. */
static void check_coordinator(struct info *info, const cJSON *tj,
			      struct field_errors *errs)
{
	const cJSON *given = json_get(info->jobset_spec, "coordinator");
	const char *rjob = json_str(given, "replicatedJob");
	const char *address =
		arena_printf(&errs->arena, "%s-%s-%" PRId64 "-%" PRId64 ".%s", info->name,
			     rjob ? rjob : "", json_int(given, 0, "jobIndex"),
			     json_int(given, 0, "podIndex"), info->subdomain);

	if (rjob && strlen(address) > NAME_LABEL_MAX)
		field_error_add(
			errs, FIELD_INVALID, "metadata.name",
			json_get(tj, "metadata", "name"),
			"the label with the coordinator's address would be %s, %zu "
			"characters, where %d are allowed: make the name shorter, or give "
			"the runtime a short network.subdomain",
			address, strlen(address), NAME_LABEL_MAX);
}

void validate_names(struct info *info, const cJSON *tj, struct field_errors *errs)
{
	size_t before = errs->n;

	for (size_t i = 0; i < info->n_pod_sets && errs->n == before; i++)
		check_pod_set(info, tj, &info->pod_sets[i], errs);
	if (errs->n == before)
		check_coordinator(info, tj, errs);
}

/* No other check reports an invalid metadata.name. */
static bool is_later(const struct field_error *e)
{
	return e->type == FIELD_INVALID &&
	       (str_eq(e->path, "metadata.name") || str_starts(e->detail, POD_RULE));
}

void unstartable_to_warnings(struct field_errors *errs, cJSON *warnings)
{
	size_t kept = 0;

	for (size_t i = 0; i < errs->n; i++) {
		struct field_error *e = &errs->list[i];

		if (is_later(e))
			cJSON_AddItemToArray(
				warnings,
				cJSON_CreateString(arena_printf(
					&errs->arena, "this TrainJob cannot start: %s",
					e->detail)));
		else
			errs->list[kept++] = *e;
	}
	errs->n = kept;
}
