/*
 * podrules.h - the rules for pods that an API server checks only when their Job is created.
 *
 * Neither the CRDs nor JobSet check them: a TrainJob that breaks one is admitted, its
 * JobSet too, and its pods never come. Follows pkg/apis/core/validation and
 * pkg/apis/batch/validation, as far as no version of Kubernetes in docs/support.md accepts
 * more.
 */
#ifndef TRAINER_PODRULES_H
#define TRAINER_PODRULES_H

#include "api/field.h"
#include "trainer/info.h"

/* How the details of its errors begin. */
#define POD_RULE "pods of job "

/*
 * info must have passed ENFORCE_ML_POLICY. An error has the path of the TrainJob's
 * resources, env, patches or runtimeRef, whichever is to be corrected. A few bytes of
 * memory and a fraction (500m), which an API server accepts, are a warning: a string in `warnings`.
 */
void podrules_validate(struct info *info, const cJSON *tj, struct field_errors *errs,
		       cJSON *warnings);

#endif
