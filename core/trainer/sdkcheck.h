/*
 * sdkcheck.h - find runtimes that the Python SDK cannot read.
 *
 * kubeflow.trainer (0.1 to 0.5) converts every runtime with LABEL_FRAMEWORK; one that it
 * cannot convert makes list_runtimes() fail for everyone. Follows its
 * backends/kubernetes/utils.py. Runtimes without the label are not checked.
 */
#ifndef TRAINER_SDKCHECK_H
#define TRAINER_SDKCHECK_H

#include "base/json.h"

/* Append the problems, as strings, to the array `warnings`. Safe for any document. */
void sdkcheck_runtime(const cJSON *runtime, cJSON *warnings);

#endif
