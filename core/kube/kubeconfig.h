/*
 * kubeconfig.h - the API server's address and the credentials for it.
 *
 * Follows client-go's tools/clientcmd: $KUBECONFIG is a list of files, merged so
 * that the first to set a value wins and the relative paths in a file are relative
 * to it; without it ~/.kube/config. In a pod without either: the service account.
 * Credentials of exec plugins follow client.authentication.k8s.io/v1 (ExecCredential,
 * cached until they expire or are refused). A token's file is read again when the token
 * is a minute old or refused.
 *
 * Errors name file, line and field, one line per problem:
 * "config:12:5: users[0].user.exec.apiVersion: ...". They never contain a token, a key or
 * a password.
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"

struct kube_config {
	struct arena arena; /* owns the strings */
	const char *server; /* "https://host:6443/prefix", no slash at the end */
	const char *ca_pem, *tls_server_name, *proxy_url; /* NULL: absent */
	const char *ca_file; /* of ca_pem, read again when it does not verify; or NULL */
	bool insecure;
	const char *ns; /* the context's; in a pod, the pod's; else "default" */
	const char *cert_pem, *key_pem; /* the client's, or NULL */
	const char *token, *token_file; /* bearer token; token_file wins */
	const char *username, *password;
	const char *impersonate;               /* the user to impersonate; or NULL */
	const char *impersonate_uid;           /* or NULL */
	const char *const *impersonate_groups; /* ends with NULL; or NULL */
	/* Header lines "Impersonate-Extra-KEY: VALUE"; ends with NULL; or NULL. */
	const char *const *impersonate_extra;
	const cJSON *exec;        /* the user's `exec`, owned by `doc` */
	const cJSON *exec_config; /* the cluster's extension for it, owned by `doc` */
	cJSON *doc;               /* owns exec and exec_config; NULL without exec */
	const char *context;      /* its name; NULL: none was chosen, as in a pod */
	const char *dir;          /* the directory of a relative exec command */
};

/* Options of the command line; NULL: not given. The strings must outlive the config. */
struct kube_config_flags {
	const char *kubeconfig, *context, *ns, *server;
};

/*
 * Load the configuration; flags may be NULL. *ret is the caller's, to be released, and
 * set upon success only. ERR_NOT_FOUND: neither a file with clusters nor a service
 * account. ERR_INVALID, ERR_FORMAT: the files. Credentials are dropped for an http://
 * server.
 */
MUST_CHECK int kube_config_load(struct kube_config *ret,
				const struct kube_config_flags *flags, struct error *err);
/* Only the service account of this pod (rest.InClusterConfig). ERR_NOT_FOUND: no pod. */
MUST_CHECK int kube_config_in_cluster(struct kube_config *ret, struct error *err);
void kube_config_release(struct kube_config *c); /* wipes keys and tokens */
#define cleanup_kube_config __attribute__((cleanup(kube_config_release)))

/* The pod's namespace, from its service account, in the arena; NULL outside a pod. */
const char *kube_pod_namespace(struct arena *arena);

/* The status of an ExecCredential; kube_auth.c decides when to run the plugin. */
struct kube_credential {
	struct arena arena;
	const char *token, *cert_pem, *key_pem;
	int64_t expires; /* seconds since 1970; 0: never */
};
/*
 * Run the plugin of c->exec and wait for it. *ret is the caller's, to be released.
 * ERR_INVALID: its settings; ERR_NOT_FOUND: no such program, with its installHint;
 * ERR_DENIED: its exit status, or no terminal; ERR_TIMEOUT: 10 minutes without a
 * terminal; ERR_STOPPED; others as exec_decode().
 */
MUST_CHECK int kube_exec_credential(struct kube_credential *ret,
				    const struct kube_config *c, struct error *err);
void kube_credential_release(struct kube_credential *c); /* wipes token and key */

#endif
