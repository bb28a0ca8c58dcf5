/*
 * exec.h - credential plugins (client.authentication.k8s.io): what is shared by
 * kubeconfig.c, which reads their settings, and exec.c, which runs them.
 */
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H

#include "base/json.h"

/* What is wrong with a user's `exec`, and in which member (""); NULL: nothing. */
const char *exec_problem(const cJSON *exec, const char **ret_field);

#endif
