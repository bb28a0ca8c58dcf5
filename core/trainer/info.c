/* info.c - merge runtime and patches into an Info (trainer/info.h). */
#include "trainer/info.h"

#include <inttypes.h>

#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/claims.h"
#include "trainer/gang.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

enum { MAX_COPIED = 50000 };

struct pod_set *info_by_ancestor(struct info *info, const char *ancestor)
{
	for (size_t i = 0; i < info->n_pod_sets; i++)
		if (str_eq(info->pod_sets[i].ancestor, ancestor))
			return &info->pod_sets[i];
	return NULL;
}

struct pod_set *info_by_name(struct info *info, const char *name)
{
	for (size_t i = 0; i < info->n_pod_sets; i++)
		if (str_eq(info->pod_sets[i].name, name))
			return &info->pod_sets[i];
	return NULL;
}

cJSON *info_trainer_container(struct info *info)
{
	struct pod_set *trainer = info_by_ancestor(info, ANCESTOR_TRAINER);

	return trainer ? pod_container(trainer->pod_spec, NODE) : NULL;
}

void info_set_command(struct info *info, cJSON *take_command)
{
	cJSON_Delete(info->command);
	info->command = take_command;
}

int64_t pod_set_count(const struct pod_set *ps)
{
	return job_parallelism(ps->job_spec);
}

int64_t pod_set_replicas(const struct pod_set *ps)
{
	static const char *const roles[] = { ANCESTOR_TRAINER, DATASET_INITIALIZER,
					     MODEL_INITIALIZER, NULL };

	return ps->ancestor && str_in(ps->ancestor, roles) ? 1 : rjob_replicas(ps->rjob);
}

bool pod_set_trains(const struct info *info, const struct pod_set *ps)
{
	return str_eq(ps->ancestor, ANCESTOR_TRAINER) ||
	       (mpi_launcher_is_node(policy_mpi(info->ml_policy)) &&
		str_eq(ps->name, NODE));
}

void pod_set_set_count(struct pod_set *ps, int64_t count)
{
	job_set_count(ps->job_spec, count);
}

int64_t info_nodes(struct info *info)
{
	struct pod_set *trainer = info_by_ancestor(info, ANCESTOR_TRAINER);

	return trainer ? pod_set_count(trainer) : 1;
}

void info_set_nodes(struct info *info, const cJSON *tj)
{
	struct pod_set *trainer = info_by_ancestor(info, ANCESTOR_TRAINER);

	if (trainer && tj_num_nodes(tj) != ABSENT)
		pod_set_set_count(trainer, tj_num_nodes(tj));
}

void info_set_plain_nodes(struct info *info, const cJSON *tj)
{
	cJSON *node = info_trainer_container(info);

	info_set_nodes(info, tj);
	if (node)
		container_merge_env(node, tj_env(tj));
}

const char *info_lead_host(struct info *info)
{
	struct pod_set *trainer = info_by_ancestor(info, ANCESTOR_TRAINER);

	return arena_printf(&info->arena, "%s-%s-0-0.%s", info->name,
			    trainer ? trainer->name : NODE, info->subdomain);
}

const cJSON *info_resources(struct info *info, const char *job)
{
	struct pod_set *ps = job ? info_by_name(info, job) : NULL;

	if (!ps)
		ps = info_by_ancestor(info, ANCESTOR_TRAINER);
	if (!ps)
		ps = info_by_name(info, NODE);
	return ps ? container_resources(pod_container(ps->pod_spec, NODE)) : NULL;
}

int64_t info_gpus(struct info *info, const char *job)
{
	int64_t n = resources_gpus(info_resources(info, job));

	return n > 0 ? n : info->claimed_gpus;
}

/*
 * As upstream: every policy sets the number of nodes of the trainer's job, regardless of
 * the template.
 */
static int64_t first_count(const struct info *info, const struct pod_set *ps)
{
	int64_t n = job_parallelism(ps->job_spec);

	if (info->ml_policy && str_eq(ps->ancestor, ANCESTOR_TRAINER)) {
		n = policy_num_nodes(info->ml_policy);
		n = n == ABSENT ? 1 : n;
	}
	return n > 0 ? n : 1;
}

static int merge_resources(const struct info *info, const struct pod_set *ps,
			   const cJSON *tj, struct error *err)
{
	const cJSON *from = tj_resources_per_node(tj);
	cJSON *node = pod_container(ps->pod_spec, NODE);

	if (!info->ml_policy || !from || !node || !pod_set_trains(info, ps))
		return 0;
	if (resources_merge(node, from, err))
		return error_wrap(err, "spec.trainer.resourcesPerNode");
	return 0;
}

/*
 * Every job that trains gets a copy of spec.trainer's env and resources. If the copies
 * exceed what an API server stores (1.5 MB), fails before they are made.
 */
static int check_copies(const struct info *info, const cJSON *tj, struct error *err)
{
	const cJSON *resources = tj_resources_per_node(tj), *rjob;
	int64_t n = cJSON_GetArraySize(tj_env(tj)) +
		    cJSON_GetArraySize(json_get(resources, "limits")) +
		    cJSON_GetArraySize(json_get(resources, "requests")) +
		    cJSON_GetArraySize(tj_resource_claims(tj));
	int64_t copies = 0;

	json_each(rjob, jobset_jobs_const(info->jobset_spec))
		copies += pod_set_trains(
			info, &(struct pod_set){ .name = podspec_element_name(rjob),
						 .ancestor = rjob_ancestor(rjob) });
	if (copies <= 1 || n <= MAX_COPIED / copies)
		return 0;
	return error_set(err, ERR_LIMIT,
			 "spec.trainer: %" PRId64
			 " variables, resources and claims in each of %" PRId64
			 " jobs are more than %d",
			 n, copies, MAX_COPIED);
}

static int make_pod_sets(struct info *info, const cJSON *tj, struct error *err)
{
	cJSON *jobs = jobset_jobs(info->jobset_spec), *rjob;
	size_t n = (size_t)cJSON_GetArraySize(jobs);

	if (check_copies(info, tj, err))
		return -1;
	info->pod_sets = arena_alloc(&info->arena, n * sizeof(*info->pod_sets));
	json_each(rjob, jobs) {
		struct pod_set *ps = &info->pod_sets[info->n_pod_sets++];

		*ps = (struct pod_set){
			.name = podspec_element_name(rjob),
			.ancestor = rjob_ancestor(rjob),
			.rjob = rjob,
			.job_spec = rjob_job_spec(rjob),
			.pod_template = rjob_pod_template(rjob),
			.pod_spec = rjob_pod_spec(rjob),
		};
		pod_set_set_count(ps, first_count(info, ps));
		if (merge_resources(info, ps, tj, err))
			return -1;
		if (pod_set_trains(info, ps))
			claims_add(ps->pod_spec, tj);
	}
	return 0;
}

int info_make(struct info *info, const cJSON *tj, const cJSON *runtime, struct error *err)
{
	struct runtime_template t = { 0 };
	const char *subdomain;

	if (runtime_merge(&t, runtime, tj, err))
		return -1;
	subdomain = jobset_subdomain(t.jobset_spec);
	*info = (struct info){
		.name = meta_name(tj),
		.ns = meta_namespace(tj),
		.subdomain = subdomain && *subdomain ? subdomain : meta_name(tj),
		.jobset_spec = t.jobset_spec,
		.labels = t.labels,
		.annotations = t.annotations,
		.runtime = runtime,
		.ml_policy = runtime_ml_policy(runtime),
		.pod_group_policy = runtime_pod_group_policy(runtime),
		.scheduling = runtime_scheduling(runtime),
	};
	if (make_pod_sets(info, tj, err)) {
		info_release(info);
		return -1;
	}
	gang_mark(info);
	return 0;
}

void info_release(struct info *info)
{
	arena_clear(&info->arena);
	cJSON_Delete(info->jobset_spec);
	cJSON_Delete(info->labels);
	cJSON_Delete(info->annotations);
	cJSON_Delete(info->command);
	*info = (struct info){ 0 };
}
