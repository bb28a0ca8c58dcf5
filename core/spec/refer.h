/*
 * refer.h - objects as `-o name` prints them and kubectl takes them: KIND/NAME.
 *
 * The kind in the singular or plural, capitals or not, with or without its group:
 * "trainjob.trainer.kubeflow.org/digits", "trainjobs/digits", "TrainJob/digits". A name
 * alone is one, too. ERR_USAGE: another kind, or none that we know, stands before it.
 */
#ifndef SPEC_REFER_H
#define SPEC_REFER_H

#include "base/error.h"

/* Of each of the list, which ends with NULL, the name is left. */
MUST_CHECK int refer_jobs(char **names, struct error *err);

/* *ret_kind: TrainingRuntime or ClusterTrainingRuntime; NULL: not said. */
MUST_CHECK int refer_runtime(const char **name, const char **ret_kind, struct error *err);

#endif
