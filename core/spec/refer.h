/*
 * refer.h - parse KIND/NAME, as `-o name` prints objects and kubectl accepts them.
 *
 * The kind may be singular or plural, in any case, with or without its group:
 * "trainjob.trainer.kubeflow.org/digits", "trainjobs/digits", "TrainJob/digits". A name
 * without a kind is valid. ERR_USAGE: another or an unknown kind.
 */
#ifndef SPEC_REFER_H
#define SPEC_REFER_H

#include <stdbool.h>

#include "base/error.h"

/* Reduce each of the list, which ends with NULL, to its name. */
MUST_CHECK int refer_jobs(char **names, struct error *err);

/* *ret_kind: TrainingRuntime, ClusterTrainingRuntime, or NULL without a kind. */
MUST_CHECK int refer_runtime(const char **name, const char **ret_kind, struct error *err);

/* Is the word a kind without a name, as in kubectl's "get trainjobs"? */
bool refer_is_jobs(const char *word);
bool refer_is_runtimes(const char *word); /* also "runtimes" */

#endif
