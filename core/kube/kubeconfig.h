/*
 * kubeconfig.h - which API server, and as whom.
 *
 * Follows client-go's tools/clientcmd: $KUBECONFIG is a list of files, merged so
 * that the first to set a value wins and the relative paths in a file are relative
 * to it; without it ~/.kube/config. In a pod without either: the service account.
 * Credentials of exec plugins follow client.authentication.k8s.io/v1 (ExecCredential,
 * cached until they expire or are refused). Tokens of files are read again when a
 * minute old.
 *
 * Errors name file, line and field: "config:12:5: users[0].user.exec.apiVersion: ...".
 * No token, key or password is ever part of one.
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
	bool insecure;
	const char *ns;                 /* of the context; "default" */
	const char *cert_pem, *key_pem; /* client certificate */
	const char *token, *token_file; /* bearer; token_file wins */
	const char *username, *password;
	const char *impersonate;               /* a user's name; NULL: none */
	const char *impersonate_uid;           /* or NULL */
	const char *const *impersonate_groups; /* ends with NULL; or NULL */
	/* Header lines "Impersonate-Extra-KEY: VALUE"; ends with NULL; or NULL. */
	const char *const *impersonate_extra;
	const cJSON *exec;        /* the user's `exec`, within `doc` below */
	const cJSON *exec_config; /* the cluster's extension for it, within `doc` */
	cJSON *doc;               /* the merged file; NULL in a cluster */
	const char *context;      /* its name; NULL in a cluster */
	const char *dir;          /* what a relative exec command is relative to */
};

/* What the command line says; NULL members say nothing. */
struct kube_config_flags {
	const char *kubeconfig, *context, *ns, *server;
};

/*
 * ERR_NOT_FOUND, with what to do, when there is neither a file with clusters nor a
 * service account.
 */
MUST_CHECK int kube_config_load(struct kube_config *ret,
				const struct kube_config_flags *flags, struct error *err);
/* Only the service account of this pod. */
MUST_CHECK int kube_config_in_cluster(struct kube_config *ret, struct error *err);
void kube_config_release(struct kube_config *c); /* wipes keys and tokens */
#define cleanup_kube_config __attribute__((cleanup(kube_config_release)))

/* The pod's namespace from the service account's folder; NULL outside. In the arena. */
const char *kube_pod_namespace(struct arena *arena);

/* What an exec plugin (or nothing) gave; see kube.c for when it is asked. */
struct kube_credential {
	struct arena arena;
	const char *token, *cert_pem, *key_pem;
	int64_t expires; /* seconds since 1970; 0: never */
};
MUST_CHECK int kube_exec_credential(struct kube_credential *ret,
				    const struct kube_config *c, struct error *err);
void kube_credential_release(struct kube_credential *c); /* wipes */

#endif
