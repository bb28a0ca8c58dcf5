/* runtime.c - the fields of a runtime, and its patched template (trainer/runtime.h). */
#include "trainer/runtime.h"

#include "api/meta.h"
#include "api/patch.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/shape.h"
#include "trainer/trainjob.h"

#define OLD_FINALIZER TRAINER_GROUP "/resource-in-use"

static const struct shape target[] = {
	MEMBER("jobName", STRING, .required = true),
	MEMBER("containerNames", STRINGS, .max = 8),
	{ 0 },
};
static const struct shape env_injection[] = {
	MEMBER("targets", LIST, .of = target, .max = 16), { 0 }
};
static const struct shape torch[] = {
	MEMBER("envInjection", OBJECT, .of = env_injection),
	{ 0 },
};
static const struct shape mpi_policy[] = {
	MEMBER("numProcPerNode", COUNT),
	MEMBER("mpiImplementation", STRING),
	MEMBER("sshAuthMountPath", STRING),
	MEMBER("runLauncherAsNode", BOOL),
	{ 0 },
};
static const struct shape flux_policy[] = { MEMBER("numProcPerNode", COUNT), { 0 } };
static const struct shape ml_policy[] = {
	MEMBER("numNodes", INT32),
	MEMBER("torch", OBJECT, .of = torch),
	MEMBER("mpi", OBJECT, .of = mpi_policy),
	MEMBER("jax", OBJECT),
	MEMBER("xgboost", OBJECT),
	MEMBER("flux", OBJECT, .of = flux_policy),
	{ 0 },
};
static const struct shape coscheduling[] = {
	MEMBER("scheduleTimeoutSeconds", INT),
	{ 0 },
};
static const struct shape topology[] = {
	MEMBER("mode", STRING),
	MEMBER("highestTierAllowed", INT),
	{ 0 },
};
static const struct shape volcano[] = {
	MEMBER("networkTopology", OBJECT, .of = topology),
	{ 0 },
};
static const struct shape pod_group_policy[] = {
	MEMBER("coscheduling", OBJECT, .of = coscheduling),
	MEMBER("volcano", OBJECT, .of = volcano),
	{ 0 },
};
static const struct shape run_policy[] = {
	MEMBER("activeDeadlineSeconds", INT),
	MEMBER("ttlSecondsAfterFinished", COUNT),
	{ 0 },
};
static const struct shape gang[] = { MEMBER("minCount", INT), { 0 } };
static const struct shape group_policy[] = {
	MEMBER("basic", OBJECT),
	MEMBER("gang", OBJECT, .of = gang),
	{ 0 },
};
static const struct shape domain[] = {
	MEMBER("key", STRING, .required = true),
	{ 0 },
};
static const struct shape constraints[] = {
	MEMBER("topology", LIST, .of = domain, .max = 1),
	{ 0 },
};
static const struct shape disruption[] = {
	MEMBER("single", OBJECT),
	MEMBER("all", OBJECT),
	{ 0 },
};
static const struct shape group_claim[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("resourceClaimName", STRING),
	MEMBER("resourceClaimTemplateName", STRING),
	{ 0 },
};
#define GROUP_MEMBERS                                                       \
	MEMBER("schedulingPolicy", OBJECT, .of = group_policy),             \
		MEMBER("schedulingConstraints", OBJECT, .of = constraints), \
		MEMBER("disruptionMode", OBJECT, .of = disruption),         \
		MEMBER("resourceClaims", LIST, .of = group_claim, .max = 4)
static const struct shape job_scheduling[] = { GROUP_MEMBERS, { 0 } };
static const struct shape jobs_scheduling[] = {
	MEMBER("targetReplicatedJobs", STRINGS, .required = true, .max = 8),
	MEMBER("job", OBJECT, .of = job_scheduling),
	GROUP_MEMBERS,
	{ 0 },
};
static const struct shape scheduling[] = {
	MEMBER("replicatedJobs", LIST, .of = jobs_scheduling, .max = 8),
	GROUP_MEMBERS,
	{ 0 },
};
static const struct shape template[] = {
	MEMBER("metadata", OBJECT, .of = shape_metadata),
	MEMBER("spec", OBJECT, .of = shape_jobset_spec),
	{ 0 },
};
static const struct shape spec[] = {
	MEMBER("mlPolicy", OBJECT, .of = ml_policy),
	MEMBER("podGroupPolicy", OBJECT, .of = pod_group_policy),
	MEMBER("runPolicy", OBJECT, .of = run_policy),
	MEMBER("scheduling", OBJECT, .of = scheduling),
	MEMBER("template", OBJECT, .of = template),
	{ 0 },
};
const struct shape shape_runtime[] = {
	MEMBER("spec", OBJECT, .of = spec),
	{ 0 },
};

const cJSON *runtime_ml_policy(const cJSON *runtime)
{
	return json_get(runtime, "spec", "mlPolicy");
}

const cJSON *runtime_pod_group_policy(const cJSON *runtime)
{
	return json_get(runtime, "spec", "podGroupPolicy");
}

const cJSON *runtime_scheduling(const cJSON *runtime)
{
	return json_get(runtime, "spec", "scheduling");
}

struct run_policy runtime_run_policy(const cJSON *runtime)
{
	const cJSON *policy = json_get(runtime, "spec", "runPolicy");

	return (struct run_policy){
		.deadline = json_int(policy, ABSENT, "activeDeadlineSeconds"),
		.ttl = json_int(policy, ABSENT, "ttlSecondsAfterFinished"),
	};
}

const cJSON *runtime_jobs(const cJSON *runtime)
{
	return json_get(runtime, "spec", "template", "spec", "replicatedJobs");
}

const cJSON *runtime_annotations(const cJSON *runtime)
{
	return json_get(runtime, "spec", "template", "metadata", "annotations");
}

bool runtime_is_deprecated(const cJSON *runtime)
{
	return str_eq(meta_label(runtime, LABEL_SUPPORT), SUPPORT_DEPRECATED);
}

bool runtime_names_class(const cJSON *runtime, const char *class)
{
	const cJSON *rjob;

	json_each(rjob, runtime_jobs(runtime))
		if (str_eq(pod_runtime_class(rjob_pod_spec_const(rjob)), class))
			return true;
	return false;
}

bool runtime_same_spec(const cJSON *a, const cJSON *b)
{
	return json_equal(json_get(a, "spec"), json_get(b, "spec"));
}

bool runtime_has_old_finalizer(const cJSON *runtime)
{
	return json_has_str(meta_finalizers(runtime), OLD_FINALIZER);
}

/* A merge patch replaces the whole list: it fails if others have changed the runtime. */
cJSON *runtime_finalizer_patch(const cJSON *runtime)
{
	cJSON *patch = cJSON_CreateObject(), *left = cJSON_CreateArray();
	const cJSON *f;

	json_put(patch, left, "metadata", "finalizers");
	json_each(f, meta_finalizers(runtime))
		if (!str_eq(f->valuestring, OLD_FINALIZER))
			cJSON_AddItemToArray(left, json_dup(f));
	meta_set_version(patch, meta_version(runtime));
	return patch;
}

int64_t policy_num_nodes(const cJSON *ml)
{
	return json_int(ml, ABSENT, "numNodes");
}

const cJSON *policy_torch(const cJSON *ml)
{
	return json_get(ml, "torch");
}

const cJSON *policy_mpi(const cJSON *ml)
{
	return json_get(ml, "mpi");
}

const cJSON *policy_flux(const cJSON *ml)
{
	return json_get(ml, "flux");
}

const cJSON *policy_torch_env_targets(const cJSON *policy)
{
	return json_get(policy, "envInjection", "targets");
}

const char *policy_env_target_job(const cJSON *t)
{
	return json_str(t, "jobName");
}

const cJSON *policy_env_target_containers(const cJSON *t)
{
	return json_get(t, "containerNames");
}

static const char *or_default(const char *s, const char *absent)
{
	return s && *s ? s : absent;
}

const char *mpi_implementation(const cJSON *mpi)
{
	return or_default(json_str(mpi, "mpiImplementation"), "OpenMPI");
}

int64_t mpi_num_proc_per_node(const cJSON *mpi)
{
	return json_int(mpi, 1, "numProcPerNode");
}

const char *mpi_ssh_path(const cJSON *mpi)
{
	return or_default(json_str(mpi, "sshAuthMountPath"), "/root/.ssh");
}

bool mpi_launcher_is_node(const cJSON *mpi)
{
	return json_bool(mpi, false, "runLauncherAsNode");
}

int mpi_transport(enum mpi_transport *ret, const cJSON *annotations, struct error *err)
{
	const char *text = json_str(annotations, MPI_ANNOTATION);

	*ret = MPI_UPSTREAM;
	if (!text)
		return 0;
	if (!str_eq(text, "ssh") && !str_eq(text, "worker"))
		return error_set(err, ERR_INVALID,
				 MPI_ANNOTATION ": '%.100s' is neither ssh nor worker",
				 text);
	*ret = str_eq(text, "ssh") ? MPI_SSH : MPI_WORKER;
	return 0;
}

void runtime_use_mpi_worker(cJSON *runtime)
{
	json_put_str(runtime, "worker", "spec", "template", "metadata", "annotations",
		     MPI_ANNOTATION);
}

int cache_in_pods(bool *ret, const cJSON *annotations, struct error *err)
{
	const char *text = json_str(annotations, CACHE_ANNOTATION);

	*ret = text != NULL;
	if (!text || str_eq(text, "pods"))
		return 0;
	return error_set(err, ERR_INVALID,
			 CACHE_ANNOTATION ": '%.100s' is unknown; the only value is pods",
			 text);
}

int64_t policy_flux_num_proc_per_node(const cJSON *flux)
{
	return json_int(flux, 1, "numProcPerNode");
}

const cJSON *policy_coscheduling(const cJSON *pod_group)
{
	return json_get(pod_group, "coscheduling");
}

const cJSON *policy_volcano(const cJSON *pod_group)
{
	return json_get(pod_group, "volcano");
}

int64_t policy_coscheduling_timeout(const cJSON *policy)
{
	return json_int(policy, 60, "scheduleTimeoutSeconds");
}

cJSON *policy_volcano_topology(const cJSON *policy)
{
	const cJSON *given = json_get(policy, "networkTopology");
	cJSON *ret;

	if (!given)
		return NULL;
	ret = cJSON_CreateObject();
	json_put_str(ret, or_default(json_str(given, "mode"), "hard"), "mode");
	json_put_int(ret, json_int(given, 1, "highestTierAllowed"), "highestTierAllowed");
	return ret;
}

/* A copy of obj; NULL: a new empty object. */
static cJSON *dup_object(const cJSON *obj)
{
	cJSON *ret = obj ? json_dup(obj) : cJSON_CreateObject();

	drop_nulls(ret);
	return ret;
}

static int merge_patch(struct runtime_template *t, const cJSON *patch, struct error *err)
{
	const cJSON *metadata = patch_metadata(patch);
	const cJSON *given = patch_jobset_spec(patch);
	cleanup_json cJSON *spec_patch = json_dup(given);

	/* Fields that a typed client omits must not delete anything, and vice versa. */
	drop_omitempty_of_patch(spec_patch);
	podspec_spell_divisors(spec_patch);
	meta_overlay(t->labels, json_get(metadata, "labels"));
	meta_overlay(t->annotations, json_get(metadata, "annotations"));
	if (spec_patch &&
	    patch_strategic(t->jobset_spec, spec_patch, PATCH_JOBSET_SPEC, err))
		return error_wrap(err, "runtimePatches of %s", patch_manager(patch));
	return 0;
}

static int merge_patches(struct runtime_template *t, const cJSON *tj, struct error *err)
{
	cleanup_json cJSON *names = NULL;
	const cJSON *patches = tj_runtime_patches(tj), *patch;

	if (!patches || !patches->child)
		return 0;
	names = jobset_job_names(t->jobset_spec);
	json_each(patch, patches)
		if (merge_patch(t, patch, err))
			return -1;
	jobset_sort_jobs(t->jobset_spec, names);
	return 0;
}

int runtime_merge(struct runtime_template *ret, const cJSON *runtime, const cJSON *tj,
		  struct error *err)
{
	const cJSON *from = json_get(runtime, "spec", "template");
	struct runtime_template t = {
		.labels = dup_object(json_get(from, "metadata", "labels")),
		.annotations = dup_object(json_get(from, "metadata", "annotations")),
		.jobset_spec = dup_object(json_get(from, "spec")),
	};
	cleanup_field_errors struct field_errors errs = { 0 };

	if (merge_patches(&t, tj, err) == 0) {
		shape_canonical(&errs, "spec.template.spec", t.jobset_spec,
				shape_jobset_spec);
		if (shape_first_error(&errs, err) == 0) {
			jobset_tidy(t.jobset_spec);
			*ret = t;
			return 0;
		}
	}
	runtime_template_release(&t);
	return -1;
}

void runtime_template_release(struct runtime_template *t)
{
	cJSON_Delete(t->labels);
	cJSON_Delete(t->annotations);
	cJSON_Delete(t->jobset_spec);
	*t = (struct runtime_template){ 0 };
}
