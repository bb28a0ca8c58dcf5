/*
 * sdkcheck.h - runtimes that the Python SDK cannot read.
 *
 * kubeflow.trainer (0.1 to 0.5) turns every runtime that carries LABEL_FRAMEWORK
 * into an object of its own; one that it cannot turn makes list_runtimes() fail as
 * a whole, for everybody. Follows its backends/kubernetes/utils.py. Runtimes
 * without the label are none of its business and are not looked at.
 */
#ifndef TRAINER_SDKCHECK_H
#define TRAINER_SDKCHECK_H

#include "base/json.h"

/* Adds what is wrong, as strings, to the array `warnings`. Any document will do. */
void sdk_check(const cJSON *runtime, cJSON *warnings);

#endif
