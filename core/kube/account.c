/* account.c - the service account of this pod (kube/account.h, kube/kubeconfig.h). */
#include "kube/account.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "crypto/x509.h"
#include "kube/kubeconfig.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define MAX_CA      ((size_t)1024 * 1024)

bool account_exists(void)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");

	return host && *host && file_exists(ACCOUNT_DIR "/token");
}

const char *account_namespace(struct arena *arena)
{
	const char *set = getenv("POD_NAMESPACE"), *ns = NULL;

	if (account_exists())
		ns = set && *set ? arena_strdup(arena, set) : kube_pod_namespace(arena);
	return ns ? ns : "default";
}

const char *kube_pod_namespace(struct arena *arena)
{
	cleanup_buf struct buf text = { .max = 1000 };
	const char *ns;

	if (file_read(&text, ACCOUNT_DIR "/namespace", IGNORED) || !text.data)
		return NULL;
	ns = str_trim(arena, (char *)text.data);
	return *ns ? ns : NULL;
}

int kube_config_in_cluster(struct kube_config *ret, struct error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	cleanup_buf struct buf ca = { .max = MAX_CA };
	struct kube_config to = { 0 };
	bool v6;

	if (!host || !*host || !port || !*port)
		return error_set(err, ERR_NOT_FOUND,
				 "not in a pod: KUBERNETES_SERVICE_HOST and "
				 "KUBERNETES_SERVICE_PORT are not set");
	if (!file_exists(ACCOUNT_DIR "/token"))
		return error_set(err, ERR_NOT_FOUND,
				 ACCOUNT_DIR "/token does not exist; does the pod set "
					     "automountServiceAccountToken: false?");
	if (file_read(&ca, ACCOUNT_DIR "/ca.crt", err))
		return -1;
	if (x509_check_bundle(ca.data ? (char *)ca.data : "", err))
		return error_wrap(err, ACCOUNT_DIR "/ca.crt");
	v6 = strchr(host, ':') && *host != '[';
	to.server = arena_printf(&to.arena, "https://%s%s%s:%s", v6 ? "[" : "", host,
				 v6 ? "]" : "", port);
	to.ca_pem = arena_strdup(&to.arena, (char *)ca.data);
	to.ca_file = ACCOUNT_DIR "/ca.crt";
	to.token_file = ACCOUNT_DIR "/token";
	to.ns = account_namespace(&to.arena);
	*ret = to;
	return 0;
}
