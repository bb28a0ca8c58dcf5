/*
 * cert.h - the webhooks' certificate: made, shared, injected, renewed.
 *
 * With certManagement on: the Secret (keys ca.crt, ca.key, tls.crt, tls.key, as
 * upstream's and cert-controller's) is read by name; what is good in it is used as
 * it is, whoever made it; otherwise a new CA (10 years) and certificate (1 year, the
 * only name <service>.<ns>.svc) are made in this process and written; of several
 * replicas one wins (resourceVersion) and the others read what it wrote. The CA goes
 * into every clientConfig.caBundle of both webhook configurations; after a new CA
 * ca.crt holds the one before, too, as long as that is valid, so that no replica is
 * refused meanwhile. The Secret is looked at four times a minute (other replicas, expiry
 * by the wall clock: renewed 90 days before), bundles as soon as somebody touches them; a new one is shown to new
 * connections without a restart, 3 s after its CA was injected; whoever put another CA
 * into the Secret, the bundles keep that of what was served for a minute. A Secret that
 * is not there is created; a webhook configuration that is not there is waited for.
 * With it off: tls.crt, tls.key and ca.crt (may be missing) of a folder, read again
 * when they change.
 */
#ifndef MANAGER_CERT_H
#define MANAGER_CERT_H

#include "kube/kube.h"
#include "manager/config.h"
#include "net/tls.h"

#define CERT_DIR "/tmp/k8s-webhook-server/serving-certs"

struct cert_manager;

struct cert_conf {
	struct kube *kube;
	const struct manager_config *config; /* outlives it, as kube and server */
	const char *ns;                      /* of the Secret and the Service */
	const char *dir;                     /* certManagement off; NULL: CERT_DIR */
	struct tls_server *server; /* gets the identity as soon as there is one */
	struct metrics *metrics;   /* or NULL */
	int64_t resync_ms;         /* how often it looks; 0: 15 s, at a folder 10 s */
};
extern const struct metric *const cert_metrics[]; /* certwatcher_*; ends with NULL */

/* Starts its thread, which logs what happens. After a failure the process is to end. */
MUST_CHECK int cert_manager_start(struct cert_manager **ret, const struct cert_conf *conf,
				  struct error *err);
void cert_manager_stop(struct cert_manager *c); /* waits for the thread; frees */

bool cert_manager_ready(struct cert_manager *c); /* an identity and, if ours, injected */
char *cert_manager_ca(struct cert_manager *c);   /* PEM, malloc'ed; NULL: none yet */

#endif
