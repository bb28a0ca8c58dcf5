/*
 * pipeline.h - TrainJob and runtime in, Kubernetes objects out.
 *
 * The Kubeflow Job Pipeline Framework (KEP-2170) as a pure function: no I/O, no
 * clock, no state. The controller, `--dry-run`, `runtime render` and `--local`
 * all call pipeline_build(), so what is rendered is what runs.
 *
 *     schema_default(tj), schema_default(runtime)     the caller (core/api/schema.h)
 *     pipeline_validate(...)                          the rules of upstream's webhooks
 *     pipeline_build(...)                             the objects, in the order to apply
 */
#ifndef TRAINER_PIPELINE_H
#define TRAINER_PIPELINE_H

#include "api/field.h"
#include "trainer/plugin.h"

struct pipeline {
	const struct plugin *const *plugins; /* plugins/plugins.h */
	const struct plugin_env *env;        /* passed to the plugins */
};

/* The beginning of launcher_fault()'s warning. */
#define PIPELINE_COMMAND "spec.trainer.command: "

/*
 * Check a TrainJob as upstream's validating webhook does: rules of the plugins and of the
 * runtime's shape. Each violation is added to `errs`. `old` is NULL on create. `runtime`
 * is the live one, without patches; NULL: not found. `warnings`: a cJSON array to which
 * admission warnings are added as strings, on create also that of launcher_fault(); NULL:
 * the rules of podrules.h are not applied either.
 */
void pipeline_validate(const struct pipeline *p, const cJSON *old, const cJSON *tj,
		       const cJSON *runtime, struct field_errors *errs, cJSON *warnings);

/* Check a runtime as the webhooks of TrainingRuntime and ClusterTrainingRuntime do. */
void pipeline_validate_runtime(const cJSON *runtime, struct field_errors *errs,
			       cJSON *warnings);

/*
 * The objects to apply, as a new JSON array in build order (ConfigMaps, Secrets,
 * PodGroup, then the JobSet last), each with apiVersion, kind, metadata and, when the
 * TrainJob has a uid, its controller reference. tj and runtime must have their defaults;
 * safe for any documents. Errors: ERR_INVALID "TrainJob: <path>: ...", "runtime <name>:
 * <path>: ..." or "<plugin> <phase>: ...".
 */
MUST_CHECK int pipeline_build(const struct pipeline *p, const cJSON *tj,
			      const cJSON *runtime, cJSON **ret_objects,
			      struct error *err);

#endif
