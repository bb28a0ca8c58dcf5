/* scheduling.c - resolve and check spec.scheduling (trainer/scheduling.h). */
#include "trainer/scheduling.h"

#include <inttypes.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/str.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

#define SCHEDULING "spec.scheduling"
#define JOBS       "spec.template.spec.replicatedJobs"

static const char *const group_fields[] = { "schedulingPolicy", "schedulingConstraints",
					    "disruptionMode", "resourceClaims", NULL };

/* ---- groups ---- */

static const cJSON *entries_of(const cJSON *scheduling)
{
	const cJSON *entries = json_get(scheduling, "replicatedJobs");

	return entries && entries->child ? entries : NULL;
}

static const cJSON *targets_of(const cJSON *entry)
{
	return json_get(entry, "targetReplicatedJobs");
}

/* Does the job wait for one of `names` (NULL: for any)? */
static bool waits_for(const cJSON *rjob, const cJSON *names)
{
	const cJSON *dep;

	json_each(dep, rjob_depends_on(rjob)) {
		const char *name = podspec_element_name(dep);

		if (!names || (name && json_has_str(names, name)))
			return true;
	}
	return false;
}

/* Do those of the jobs that are in `names` (NULL: all) start one after the other? */
static bool is_sequenced(const cJSON *jobset_spec, const cJSON *names)
{
	const cJSON *rjob;
	int n = 0;
	bool waits = false;

	json_each(rjob, jobset_jobs_const(jobset_spec)) {
		const char *name = podspec_element_name(rjob);

		if (names && !(name && json_has_str(names, name)))
			continue;
		n++;
		waits |= waits_for(rjob, names);
	}
	return n > 1 && (waits || jobset_starts_in_order(jobset_spec));
}

static bool is_basic(const cJSON *fields)
{
	return json_get(fields, "schedulingPolicy", "basic") != NULL;
}

/* A DNS label: what is too long ends in a hash of all of it. */
static const char *label_of(struct arena *arena, const char *name)
{
	if (strlen(name) <= NAME_LABEL_MAX)
		return name;
	return arena_printf(arena, "%.*s-%08" PRIx32, NAME_LABEL_MAX - 9, name,
			    (uint32_t)hash_text(0, name));
}

static const char *joined(struct arena *arena, const cJSON *names)
{
	const char *ret = NULL;
	const cJSON *name;

	json_each(name, names)
		ret = ret ? arena_printf(arena, "%s-%s", ret, name->valuestring)
			  : name->valuestring;
	return label_of(arena, ret ? ret : "");
}

static int add_group(struct scheduling_groups *groups, const struct scheduling_group *g,
		     struct error *err)
{
	if (groups->n == SCHEDULING_MAX_GROUPS)
		return error_set(err, ERR_LIMIT,
				 SCHEDULING ": more than %d groups of pods, the limit of "
					    "Kubernetes' Workload",
				 SCHEDULING_MAX_GROUPS);
	groups->list[groups->n++] = *g;
	return 0;
}

/* The jobs in `names` (NULL: all) with these fields: one group, or one of each job. */
static int add_jobs(struct scheduling_groups *groups, struct arena *arena,
		    const struct scheduling_group *g, const cJSON *names,
		    const cJSON *jobset_spec, struct error *err)
{
	bool alone = is_sequenced(jobset_spec, names) && !(names && is_basic(g->fields));
	const cJSON *rjob;
	size_t i = 0;

	if (!alone && add_group(groups, g, err))
		return -1;
	json_each(rjob, jobset_jobs_const(jobset_spec)) {
		const char *name = podspec_element_name(rjob);
		unsigned char *of_job = &groups->of_job[i++];
		struct scheduling_group own = *g;

		if (names && !(name && json_has_str(names, name)))
			continue;
		own.name = label_of(arena, name ? name : "");
		if (alone && add_group(groups, &own, err))
			return -1;
		*of_job = (unsigned char)(groups->n - 1);
	}
	return 0;
}

int scheduling_groups(struct scheduling_groups *ret, struct arena *arena,
		      const cJSON *scheduling, const cJSON *jobset_spec,
		      struct error *err)
{
	size_t n = (size_t)cJSON_GetArraySize(jobset_jobs_const(jobset_spec));
	const cJSON *entries = entries_of(scheduling), *entry;

	*ret = (struct scheduling_groups){ .of_job = arena_alloc(arena, n + 1) };
	memset(ret->of_job, SCHEDULING_MAX_GROUPS, n);
	if (!entries)
		return add_jobs(ret, arena,
				&(struct scheduling_group){ .fields = scheduling }, NULL,
				jobset_spec, err);
	json_each(entry, entries) {
		const cJSON *of_jobs = json_get(entry, "job"), *names = targets_of(entry);
		struct scheduling_group g = { .name = joined(arena, names),
					      .fields = of_jobs ? of_jobs : entry,
					      .per_job = of_jobs != NULL };

		if (g.per_job)
			g.name = label_of(arena, arena_printf(arena, "%s-0", g.name));
		if (add_jobs(ret, arena, &g, names, jobset_spec, err))
			return -1;
	}
	return 0;
}

cJSON *scheduling_template(const struct scheduling_group *group, int64_t min_count,
			   const char *priority_class)
{
	cJSON *ret = cJSON_CreateObject();

	if (is_basic(group->fields))
		json_obj(ret, "schedulingPolicy", "basic");
	else
		json_put_int(ret, min_count, "schedulingPolicy", "gang", "minCount");
	for (const char *const *field = group_fields + 1; *field; field++)
		json_put(ret, json_dup(json_get(group->fields, *field)), *field);
	if (priority_class)
		json_put_str(ret, priority_class, "priorityClassName");
	return ret;
}

/* ---- rules ---- */

static void refuse(struct field_errors *errs, const char *path, const cJSON *value,
		   const char *detail)
{
	field_error_add(errs, FIELD_INVALID, path, value, "%s", detail);
}

/* A union has exactly one member. */
static void check_union(struct field_errors *errs, const char *path, const cJSON *value,
			const char *const members[2])
{
	int n = 0;

	for (int i = 0; i < 2; i++)
		n += json_get(value, members[i]) != NULL;
	if (value && n != 1)
		refuse(errs, path, value,
		       arena_printf(&errs->arena, "set exactly one of %s and %s",
				    members[0], members[1]));
}

static void check_fields(struct field_errors *errs, const char *path, const cJSON *fields)
{
	static const char *const policies[2] = { "basic", "gang" };
	static const char *const modes[2] = { "single", "all" };
	const char *at = field_child(errs, path, "schedulingPolicy");
	const cJSON *policy = json_get(fields, "schedulingPolicy"), *e;
	size_t i = 0;

	check_union(errs, at, policy, policies);
	if (json_get(policy, "gang", "minCount"))
		refuse(errs, at, policy,
		       "gang.minCount is computed from numNodes and must not be set");
	check_union(errs, field_child(errs, path, "disruptionMode"),
		    json_get(fields, "disruptionMode"), modes);
	json_each(e, json_get(fields, "schedulingConstraints", "topology")) {
		const cJSON *key = json_get(e, "key");

		if (name_key_invalid(key->valuestring))
			refuse(errs,
			       field_child(errs, path,
					   "schedulingConstraints.topology[0].key"),
			       key, name_key_invalid(key->valuestring));
	}
	json_each(e, json_get(fields, "resourceClaims")) {
		const char *name = podspec_element_name(e);
		const char *claim =
			field_index(errs, field_child(errs, path, "resourceClaims"), i++);

		if (name_label_invalid(name))
			refuse(errs, field_child(errs, claim, "name"), e,
			       name_label_invalid(name));
	}
}

/* A level's own fields, where a level below it takes their place. */
static void check_levels(struct field_errors *errs, const char *path, const cJSON *fields,
			 const char *below)
{
	for (const char *const *field = group_fields; *field; field++)
		if (json_get(fields, *field))
			field_error_add(errs, FIELD_FORBIDDEN,
					field_child(errs, path, *field), NULL,
					"must not be set beside %s: groups of groups are "
					"not supported",
					below);
}

static void check_job_level(struct field_errors *errs, const char *at, const cJSON *entry,
			    const cJSON *jobs)
{
	const cJSON *targets = targets_of(entry);
	const cJSON *rjob = targets->child ? json_find_const(jobs, "name",
							     targets->child->valuestring)
					   : NULL;

	check_levels(errs, at, entry, "job");
	check_fields(errs, field_child(errs, at, "job"), json_get(entry, "job"));
	if (cJSON_GetArraySize(targets) != 1)
		refuse(errs, field_child(errs, at, "targetReplicatedJobs"), targets,
		       "with job, must name exactly one job");
	else if (rjob && !rjob_ancestor(rjob) && rjob_replicas(rjob) > 1)
		refuse(errs, field_child(errs, at, "job"), json_get(entry, "job"),
		       "the target must have 1 replica: JobSet gives all replicas the "
		       "same pods, so that their groups cannot differ");
}

/* How many entries name the job. */
static void check_target(struct field_errors *errs, const cJSON *entries,
			 const cJSON *rjob)
{
	const char *path = SCHEDULING ".replicatedJobs";
	const char *name = podspec_element_name(rjob);
	const cJSON *entry;
	int n = 0;

	json_each(entry, entries)
		n += name && json_has_str(targets_of(entry), name);
	if (n != 1)
		refuse(errs, path, entries,
		       arena_printf(&errs->arena,
				    n ? "job %s must be in only one targetReplicatedJobs"
				      : "no targetReplicatedJobs has the job %s",
				    name ? name : "\"\""));
}

static void check_entries(struct field_errors *errs, const cJSON *entries,
			  const cJSON *jobs)
{
	const cJSON *entry, *name, *rjob;
	size_t i = 0;

	json_each(entry, entries) {
		const char *at = field_index(errs, SCHEDULING ".replicatedJobs", i++);

		if (json_get(entry, "job"))
			check_job_level(errs, at, entry, jobs);
		else
			check_fields(errs, at, entry);
		json_each(name, targets_of(entry))
			if (!json_find_const(jobs, "name", name->valuestring))
				refuse(errs,
				       field_child(errs, at, "targetReplicatedJobs"),
				       name, "the runtime's template has no such job");
	}
	json_each(rjob, jobs) {
		if (field_errors_full(errs))
			return;
		check_target(errs, entries, rjob);
	}
}

/* The controller sets it. */
static void check_pods(struct field_errors *errs, const cJSON *jobs)
{
	const cJSON *rjob;
	size_t i = 0;

	json_each(rjob, jobs) {
		const char *at = field_index(errs, JOBS, i++);

		if (pod_spec_group(rjob_pod_spec_const(rjob)))
			field_error_add(
				errs, FIELD_FORBIDDEN,
				field_child(
					errs, at,
					"template.spec.template.spec.schedulingGroup"),
				NULL, "must not be set beside " SCHEDULING);
	}
}

/* Kubernetes' scheduler refuses all pods of a group that name several schedulers. */
static void check_schedulers(struct field_errors *errs,
			     const struct scheduling_groups *groups, const cJSON *jobs)
{
	const char *of_group[SCHEDULING_MAX_GROUPS] = { NULL };
	const cJSON *rjob;
	size_t i = 0;

	json_each(rjob, jobs) {
		const char *name = pod_spec_scheduler(rjob_pod_spec_const(rjob));
		size_t group = groups->of_job[i];
		const char *at = field_index(errs, JOBS, i++);

		name = name ? name : "default-scheduler";
		if (group >= groups->n)
			continue;
		if (!of_group[group])
			of_group[group] = name;
		if (!str_eq(of_group[group], name))
			refuse(errs,
			       field_child(errs, at,
					   "template.spec.template.spec.schedulerName"),
			       json_get(rjob_pod_spec_const(rjob), "schedulerName"),
			       arena_printf(
				       &errs->arena,
				       "the pods of a group must name one scheduler; "
				       "others of this group name %s",
				       of_group[group]));
	}
}

void scheduling_validate(const cJSON *runtime, struct field_errors *errs)
{
	const cJSON *scheduling = runtime_scheduling(runtime);
	const cJSON *entries = entries_of(scheduling), *jobs = runtime_jobs(runtime);
	cleanup_arena struct arena arena = { 0 };
	struct scheduling_groups groups;
	struct error err = { 0 };

	if (!scheduling)
		return;
	if (runtime_pod_group_policy(runtime))
		field_error_add(errs, FIELD_FORBIDDEN, "spec.podGroupPolicy", NULL,
				"scheduling and podGroupPolicy are mutually exclusive");
	check_pods(errs, jobs);
	if (entries) {
		check_levels(errs, SCHEDULING, scheduling, "replicatedJobs");
		check_entries(errs, entries, jobs);
	} else {
		check_fields(errs, SCHEDULING, scheduling);
	}
	if (scheduling_groups(&groups, &arena, scheduling,
			      json_get(runtime, "spec", "template", "spec"), &err))
		refuse(errs, SCHEDULING, scheduling, err.msg);
	else
		check_schedulers(errs, &groups, jobs);
}
