/* claims.c - add, count and check resource claims (trainer/claims.h). */
#include "trainer/claims.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

#define CLAIMS "spec.trainer.resourceClaimsPerNode"
#define OFF    "the feature gate " GATE_RESOURCE_CLAIMS " is off"

/* ---- into the pods ---- */

static void add_to_containers(cJSON *pod_spec, const cJSON *claim)
{
	const cJSON *names = trainer_claim_containers(claim), *name;
	cJSON *c;

	if (!names || !names->child) {
		c = pod_container(pod_spec, NODE);
		if (c)
			container_add_claim(c, podspec_element_name(claim));
		return;
	}
	json_each(name, names) {
		c = pod_any_container(pod_spec, name->valuestring);
		if (c)
			container_add_claim(c, podspec_element_name(claim));
	}
}

void claims_add(cJSON *pod_spec, const cJSON *tj)
{
	const cJSON *claim;

	json_each(claim, tj_resource_claims(tj)) {
		pod_add_claim(pod_spec, claim);
		add_to_containers(pod_spec, claim);
	}
}

/* ---- devices ---- */

/* The devices of a request, or of one of its alternatives. */
static int64_t gpus_of(const cJSON *request)
{
	const char *class = json_str(request, "deviceClassName");

	if (!class || !strcasestr(class, "gpu") ||
	    str_eq(json_str(request, "allocationMode"), "All"))
		return 0;
	return json_int(request, 1, "count");
}

/* The minimum over all alternatives. */
static int64_t gpus_of_any(const cJSON *alternatives)
{
	const cJSON *alternative;
	int64_t least = INT64_MAX;

	json_each(alternative, alternatives) {
		int64_t n = gpus_of(alternative);

		least = n < least ? n : least;
	}
	return least == INT64_MAX ? 0 : least;
}

/* resource.k8s.io/v1; `only` names one request of the template, or is NULL. */
static int64_t gpus_of_template(const cJSON *template, const char *only)
{
	const cJSON *request;
	int64_t n = 0;

	json_each(request, json_get(template, "spec", "spec", "devices", "requests")) {
		const cJSON *exactly = json_get(request, "exactly");

		if (only && !str_eq(podspec_element_name(request), only))
			continue;
		n += exactly ? gpus_of(exactly)
			     : gpus_of_any(json_get(request, "firstAvailable"));
	}
	return n;
}

static int count_pod(struct info *info, const struct plugin_env *env,
		     const cJSON *pod_spec, const cJSON *node, struct error *err)
{
	const cJSON *claim, *template;
	int64_t n = 0;

	json_each(claim, container_claims(node)) {
		struct object_ref ref = {
			"resource.k8s.io/v1", "ResourceClaimTemplate", info->ns,
			pod_claim_template(pod_spec, podspec_element_name(claim))
		};

		if (!ref.name)
			continue;
		if (env->get(env->ctx, &ref, &template, err))
			return error_wrap(err, "ResourceClaimTemplate %s", ref.name);
		n += gpus_of_template(template, json_str(claim, "request"));
	}
	if (!info->claimed_gpus && n > 0 && n <= INT32_MAX)
		info->claimed_gpus = n;
	return 0;
}

int claims_count(struct info *info, const struct plugin_env *env, struct error *err)
{
	if (!env->get)
		return 0;
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];
		const cJSON *node = pod_container(ps->pod_spec, NODE);

		if (pod_set_trains(info, ps) && node &&
		    count_pod(info, env, ps->pod_spec, node, err))
			return -1;
	}
	return 0;
}

/* ---- admission ---- */

static bool has_container(struct info *info, const char *name)
{
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (pod_set_trains(info, ps) && pod_any_container(ps->pod_spec, name))
			return true;
	}
	return false;
}

static void check_containers(struct info *info, const cJSON *tj,
			     struct field_errors *errs)
{
	const cJSON *claim, *name;
	size_t i = 0;

	json_each(claim, tj_resource_claims(tj)) {
		const char *at = field_child(errs, field_index(errs, CLAIMS, i++),
					     "containerNames");
		size_t k = 0;

		json_each(name, trainer_claim_containers(claim)) {
			const char *path = field_index(errs, at, k++);

			if (!has_container(info, name->valuestring))
				field_error_add(
					errs, FIELD_INVALID, path, name,
					"the trainer's pods have no such container");
		}
	}
}

bool claims_given(const cJSON *tj)
{
	const cJSON *patch, *rjob;

	json_each(patch, tj_runtime_patches(tj))
		json_each(rjob, jobset_jobs_const(patch_jobset_spec(patch)))
			if (pod_claims(rjob_pod_spec_const(rjob)))
				return true;
	return tj_resource_claims(tj) != NULL;
}

/* Calls `check` for each container of runtimePatches whose resources name claims. */
static void each_claiming(const cJSON *tj, struct info *info, struct field_errors *errs,
			  void (*check)(struct info *info, const char *job,
					const cJSON *container,
					struct field_errors *errs))
{
	const cJSON *patch, *rjob, *container;

	json_each(patch, tj_runtime_patches(tj))
		json_each(rjob, jobset_jobs_const(patch_jobset_spec(patch))) {
			const cJSON *spec = rjob_pod_spec_const(rjob);
			const cJSON *const lists[] = { pod_containers_const(spec),
						       pod_init_containers_const(spec) };

			for (size_t i = 0; i < N_ELEMENTS(lists); i++)
				json_each(container, lists[i])
					if (resources_claim(
						    container_resources(container)))
						check(info, podspec_element_name(rjob),
						      container, errs);
		}
}

static void refuse_claims(struct info *info, const char *job, const cJSON *container,
			  struct field_errors *errs)
{
	field_error_add(errs, FIELD_FORBIDDEN, "spec.runtimePatches", NULL,
			"resources.claims of container %s of job %s: " OFF,
			podspec_element_name(container), job);
}

/* With the patches merged in, the pod must have the claims. */
static void check_claims(struct info *info, const char *job, const cJSON *container,
			 struct field_errors *errs)
{
	const cJSON *claim;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (!str_eq(ps->name, job))
			continue;
		json_each(claim, container_claims(container))
			if (!json_find_const(pod_claims(ps->pod_spec), "name",
					     podspec_element_name(claim)))
				field_error_add(
					errs, FIELD_INVALID, "spec.runtimePatches", NULL,
					"container %s of job %s uses the claim %s, which "
					"resourceClaims of the pod does not have",
					podspec_element_name(container), job,
					podspec_element_name(claim));
	}
}

static void check_gate(const cJSON *tj, struct field_errors *errs)
{
	const cJSON *patch, *rjob;

	if (tj_resource_claims(tj))
		field_error_add(errs, FIELD_FORBIDDEN, CLAIMS, NULL, OFF);
	json_each(patch, tj_runtime_patches(tj))
		json_each(rjob, jobset_jobs_const(patch_jobset_spec(patch)))
			if (pod_claims(rjob_pod_spec_const(rjob)))
				field_error_add(errs, FIELD_FORBIDDEN,
						"spec.runtimePatches", NULL,
						"resourceClaims of job %s: " OFF,
						podspec_element_name(rjob));
	each_claiming(tj, NULL, errs, refuse_claims);
}

void claims_validate(struct info *info, const struct plugin_env *env, const cJSON *tj,
		     struct field_errors *errs)
{
	if (env->claims_off) {
		check_gate(tj, errs);
		return;
	}
	if (resources_claim(tj_resources_per_node(tj)))
		field_error_add(errs, FIELD_FORBIDDEN,
				"spec.trainer.resourcesPerNode.claims", NULL,
				"use spec.trainer.resourceClaimsPerNode");
	check_containers(info, tj, errs);
	each_claiming(tj, info, errs, check_claims);
}
