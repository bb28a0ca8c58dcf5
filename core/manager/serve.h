/*
 * serve.h - the listeners of the controller's process: health, metrics, webhooks, and
 * the status server if its gate is on. All replicas have them.
 */
#ifndef MANAGER_SERVE_H
#define MANAGER_SERVE_H

#include "manager/cert.h"
#include "manager/progress_server.h"
#include "manager/scrape.h"
#include "manager/webhook.h"

/* A TLS server with the settings of config.tls. Unknown names are logged and ignored. */
MUST_CHECK int serve_tls(struct tls_server **ret, const struct manager_config *config,
			 struct error *err);

/* Loads config.webhook_client_ca; *ret NULL: not set. ERR_INVALID names the file. */
MUST_CHECK int serve_client_ca(struct tls_client_ca **ret,
			       const struct manager_config *config, struct error *err);

struct servers;

struct servers_conf {
	const struct manager_config *config;
	struct tls_server *tls;
	struct tls_client_ca *client_ca; /* of the webhooks' clients; or NULL */
	struct cert_manager *certs;
	struct scrape *scrape;
	struct webhook *webhook;
	struct progress_server *progress_server; /* NULL: the gate is off */
	/* Returns why readiness reports JobSet as missing, or NULL. May be NULL. */
	const char *(*jobset_problem)(void *ctx);
	void *ctx;
};

/*
 * Returns when all servers listen; everything in conf outlives them. After a failure, those
 * that listen do so until the process ends.
 */
MUST_CHECK int servers_start(struct servers **ret, const struct servers_conf *conf,
			     struct error *err);
void servers_stop(struct servers *s, int64_t grace_ms); /* frees */

#endif
