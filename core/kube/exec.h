/*
 * exec.h - exec credential plugins (client.authentication.k8s.io): the part of exec.c,
 * which runs them, that kubeconfig.c, which reads their settings, and tests use.
 */
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H

#include "base/json.h"
#include "kube/kubeconfig.h"

/*
 * Validate a user's `exec` (ExecConfig). NULL: valid. Otherwise what is wrong, a
 * constant, and in *ret_field the member, "" for all of it.
 */
const char *exec_validate(const cJSON *exec, const char **ret_field);

/*
 * Decode a plugin's standard output, an ExecCredential in JSON or YAML. `version`: the
 * apiVersion that the kubeconfig asks for. *ret is the caller's, to be released.
 * ERR_FORMAT, ERR_UNSUPPORTED, ERR_INVALID; messages contain no part of the secrets.
 */
MUST_CHECK int exec_decode(struct kube_credential *ret, const struct buf *out,
			   const char *version, struct error *err);

#endif
