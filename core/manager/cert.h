/*
 * cert.h - the webhooks' certificate: made, shared, injected, renewed.
 *
 * With certManagement on, as upstream's cert-controller (Secret keys ca.crt, ca.key,
 * tls.crt, tls.key):
 *
 * - A valid certificate in the Secret is used, from any source. Otherwise a CA (10
 *   years) and a certificate (1 year, for <service>.<ns>.svc) are created and written;
 *   all replicas serve the same one. It is renewed 90 days before it expires.
 * - Both webhook configurations trust the CA: every caBundle is repaired within 2 s of a
 *   change; a missing configuration is filled in once it exists.
 * - No admission call fails during a renewal: the previous CA stays trusted, and new
 *   connections get the new certificate 3 s after its CA was injected. No restart.
 *
 * With it off: tls.crt, tls.key and the optional ca.crt of a directory, reread when they
 * change.
 */
#ifndef MANAGER_CERT_H
#define MANAGER_CERT_H

#include "crypto/tls.h"
#include "kube/kube.h"
#include "manager/config.h"

#define CERT_DIR "/tmp/k8s-webhook-server/serving-certs"

struct cert_manager;

struct cert_conf {
	struct kube *kube;
	const struct manager_config *config; /* borrowed until stop, as kube and server */
	const char *ns;                      /* of the Secret and the Service */
	const char *dir;                     /* certManagement off; NULL: CERT_DIR */
	struct tls_server *server;           /* serves the certificate; borrowed */
	struct metrics *metrics;             /* or NULL */
	int64_t resync_ms; /* between two checks; 0: 15 s (Secret), 10 s (directory) */
};
extern const struct metric *const cert_metrics[]; /* certwatcher_*; ends with NULL */

/*
 * Starts a thread, which logs changes and retries failures. After a failure the process
 * must exit: nothing is freed.
 */
MUST_CHECK int cert_manager_start(struct cert_manager **ret, const struct cert_conf *conf,
				  struct error *err);
void cert_manager_stop(struct cert_manager *c); /* waits for the thread; frees */

/* The server has a certificate and, with certManagement, the webhooks trust its CA. */
bool cert_manager_ready(struct cert_manager *c);
char *cert_manager_ca(struct cert_manager *c); /* PEM, malloc'ed; NULL: none yet */

#endif
