/* pipeline.c - validate and build, the whole pipeline (trainer/pipeline.h). */
#include "trainer/pipeline.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "trainer/api.h"
#include "trainer/claims.h"
#include "trainer/framework.h"
#include "trainer/launcher.h"
#include "trainer/podrules.h"
#include "trainer/runtime.h"
#include "trainer/scheduling.h"
#include "trainer/shape.h"
#include "trainer/trainjob.h"
#include "trainer/validation.h"

#define DEPRECATION_POLICY                                                    \
	"https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html" \
	"#runtime-deprecation-policy"

static void warn(cJSON *warnings, const char *text)
{
	if (warnings)
		cJSON_AddItemToArray(warnings, cJSON_CreateString(text));
}

/* Upstream warns of ClusterTrainingRuntimes only. */
static void warn_deprecated(const cJSON *runtime, struct field_errors *errs,
			    cJSON *warnings)
{
	if (runtime_is_deprecated(runtime))
		warn(warnings,
		     arena_printf(&errs->arena,
				  "%s \"%s\" is deprecated and will go in a future "
				  "release, see %s",
				  meta_kind(runtime), meta_name(runtime),
				  DEPRECATION_POLICY));
}

/* Upstream uses two forms of the path. */
static const char *ref_path(const cJSON *tj)
{
	struct runtime_ref ref = tj_runtime_ref(tj);

	return runtime_ref_is_cluster(&ref) ? "spec.RuntimeRef" : "spec.runtimeRef";
}

static void refuse_runtime(const cJSON *tj, const char *path, const char *detail,
			   struct field_errors *errs)
{
	cleanup_json cJSON *ref = tj_runtime_ref_value(tj);

	field_error_add(errs, FIELD_INVALID, path, ref, "%s", detail);
}

/* False: the TrainJob names no valid runtime, which is added to errs. */
static bool usable_runtime(const cJSON *tj, const cJSON *runtime,
			   struct field_errors *errs)
{
	cleanup_field_errors struct field_errors inner = { 0 };
	struct runtime_ref ref = tj_runtime_ref(tj);
	struct error err = { 0 };

	if (tj_check_runtime_ref(tj, &err)) {
		refuse_runtime(tj, "spec.runtimeRef", err.msg, errs);
		return false;
	}
	if (!runtime) {
		refuse_runtime(
			tj, ref_path(tj),
			arena_printf(
				&errs->arena,
				"%s \"%s\" not found: it must be created before the TrainJob",
				ref.kind, ref.name),
			errs);
		return false;
	}
	shape_check(&inner, "", runtime, shape_runtime);
	if (shape_first_error(&inner, &err) == 0)
		return true;
	refuse_runtime(tj, "spec.runtimeRef",
		       arena_printf(&errs->arena, "the runtime is broken: %s", err.msg),
		       errs);
	return false;
}

static void validate_with_info(const struct pipeline *p, struct info *info,
			       const cJSON *old, const cJSON *tj,
			       struct field_errors *errs, cJSON *warnings)
{
	const char *fault;
	size_t before = errs->n;
	struct error err = { 0 };

	validate_nodes(old, tj, errs);
	validate_initializers(info, tj, errs);
	if (!old) /* spec.trainer does not change */
		claims_validate(info, p->env, tj, errs);
	framework_validate(p->plugins, p->env, info, old, tj, errs);
	if (old || errs->n != before) /* names do not change */
		return;
	if (framework_edit(p->plugins, p->env, ENFORCE_ML_POLICY, info, tj, &err)) {
		refuse_runtime(tj, "spec.runtimeRef", err.msg, errs);
		return;
	}
	validate_names(info, tj, errs);
	if (warnings)
		podrules_validate(info, tj, errs, warnings);
	fault = warnings ? launcher_fault(&errs->arena, info, tj, p->env->code) : NULL;
	if (!fault && warnings && !p->env->get) /* in a cluster, upstream's answer */
		fault = launcher_unused_dataset(&errs->arena, info, tj);
	if (fault)
		warn(warnings, arena_printf(&errs->arena, PIPELINE_COMMAND "%s", fault));
	if (warnings && !p->env->get)
		validation_warn_of_image(info, tj, warnings);
}

/* Only for users' runtimes: upstream's answers about others have no warnings. */
static void warn_users(struct arena *arena, struct info *info, const cJSON *tj,
		       const cJSON *runtime, cJSON *warnings)
{
	const char *fault = launcher_lone_nodes(arena, info, tj);

	validation_warn_of_workers(runtime, warnings);
	if (fault)
		warn(warnings, fault);
}

void pipeline_validate(const struct pipeline *p, const cJSON *old, const cJSON *tj,
		       const cJSON *runtime, struct field_errors *errs, cJSON *warnings)
{
	cleanup_info struct info info = { 0 };
	cleanup_json cJSON *unpatched = NULL;
	struct error err = { 0 };
	size_t before = errs->n;

	shape_check(errs, "", tj, shape_trainjob);
	if (errs->n != before || !usable_runtime(tj, runtime, errs))
		return;
	warn_deprecated(runtime, errs, warnings);
	if (!validate_patches(runtime, old, tj, p->env, errs)) {
		unpatched = json_dup(tj);
		json_del(unpatched, JSON_PATH("spec", "runtimePatches"));
	}
	if (info_make(&info, unpatched ? unpatched : tj, runtime, &err) ||
	    claims_count(&info, p->env, &err)) {
		refuse_runtime(tj, "spec.runtimeRef", err.msg, errs);
		return;
	}
	/* In a cluster, the webhook warns like upstream's. */
	if (!p->env->get && tj_trainer(tj) && !info_by_ancestor(&info, ANCESTOR_TRAINER))
		warn(warnings,
		     "spec.trainer has no effect: no job of the runtime is labelled " LABEL_ANCESTOR
		     "=" ANCESTOR_TRAINER);
	validate_with_info(p, &info, old, tj, errs, warnings);
	if (warnings && !old && (!p->env->get || meta_label(runtime, LABEL_FRAMEWORK)))
		warn_users(&errs->arena, &info, tj, runtime, warnings);
}

void pipeline_validate_runtime(const cJSON *runtime, struct field_errors *errs,
			       cJSON *warnings)
{
	size_t before = errs->n;

	shape_check(errs, "", runtime, shape_runtime);
	if (errs->n != before)
		return;
	warn_deprecated(runtime, errs, warnings);
	validate_runtime_nodes(runtime, errs);
	validate_runtime_jobs(runtime, errs);
	validate_annotations(runtime, errs);
	scheduling_validate(runtime, errs);
}

static int check_shapes(const cJSON *tj, const cJSON *runtime, struct error *err)
{
	cleanup_field_errors struct field_errors of_job = { 0 }, of_runtime = { 0 };
	const char *name = meta_name(runtime);

	shape_check(&of_job, "", tj, shape_trainjob);
	if (shape_first_error(&of_job, err))
		return error_wrap(err, "TrainJob");
	shape_check(&of_runtime, "", runtime, shape_runtime);
	if (shape_first_error(&of_runtime, err))
		return error_wrap(err, "runtime%s%s", name ? " " : "", name ? name : "");
	return 0;
}

int pipeline_build(const struct pipeline *p, const cJSON *tj, const cJSON *runtime,
		   cJSON **ret_objects, struct error *err)
{
	cleanup_info struct info info = { 0 };
	cleanup_json cJSON *objects = cJSON_CreateArray();

	if (check_shapes(tj, runtime, err))
		return -1;
	if (info_make(&info, tj, runtime, err) || claims_count(&info, p->env, err) ||
	    framework_build(p->plugins, p->env, &info, tj, objects, err))
		return -1;
	*ret_objects = STEAL(objects);
	return 0;
}
