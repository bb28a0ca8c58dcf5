/*
 * exec.h - credential plugins (client.authentication.k8s.io): what is shared by
 * kubeconfig.c, which reads their settings, and exec.c, which runs them.
 */
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H

#include "base/json.h"
#include "kube/kubeconfig.h"

/* What is wrong with a user's `exec`, and in which member (""); NULL: nothing. */
const char *exec_problem(const cJSON *exec, const char **ret_field);

/*
 * A plugin's standard output as a credential; `version` is the kubeconfig's apiVersion.
 * ERR_FORMAT, ERR_UNSUPPORTED, ERR_INVALID; messages have no part of the secrets.
 */
MUST_CHECK int exec_answer(struct kube_credential *ret, const struct buf *out,
			   const char *version, struct error *err);

#endif
