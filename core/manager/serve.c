/* serve.c - open the listeners and connect the health checks (manager/serve.h). */
#include "manager/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/health.h"

/*
 * API servers are few peers with many concurrent calls, and an admission call without a
 * connection fails a user's request: allow as many as API servers have in flight.
 */
enum {
	MAX_LIST = 100,
	WEBHOOK_CONNECTIONS = 1024,
	WEBHOOK_PER_PEER = 768,
	MAX_CLIENT_CA = 256 * 1024
};

enum server { SERVE_HEALTH, SERVE_METRICS, SERVE_WEBHOOK, SERVE_STATUS, N_SERVERS };

static const char *const server_names[N_SERVERS] = { "health", "metrics", "webhook",
						     "status" };

struct servers {
	struct servers_conf conf;
	struct health health;
	struct httpd *list[N_SERVERS];
};

/* ---- TLS ---- */

static enum tls_version min_version(const char *text)
{
	static const struct {
		const char *text;
		enum tls_version version;
	} known[] = {
		{ "", TLS_DEFAULT }, { "1.0", TLS_1_2 }, { "1.1", TLS_1_2 },
		{ "1.2", TLS_1_2 },  { "1.3", TLS_1_3 },
	};

	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		if (str_eq(text, known[i].text))
			return known[i].version;
	log_warn("ignoring unknown tls.minVersion", LOG_STR("value", text));
	return TLS_DEFAULT;
}

/* The servers support only HTTP/1.1; config.tls may list other protocols, too. */
static bool speaks(const char *protocol)
{
	return str_eq(protocol, "http/1.1");
}

static void keep_known(const char **ret, const char *const *list,
		       bool (*knows)(const char *name), const char *field)
{
	size_t n = 0;

	for (; list && *list && n < MAX_LIST; list++) {
		if (knows(*list))
			ret[n++] = *list;
		else
			log_warn("ignoring unknown TLS setting", LOG_STR("field", field),
				 LOG_STR("value", *list));
	}
}

int serve_tls(struct tls_server **ret, const struct manager_config *config,
	      struct error *err)
{
	const char *ciphers[MAX_LIST + 1] = { 0 }, *alpn[MAX_LIST + 1] = { 0 };
	struct tls_conf conf = { .min_version = min_version(config->tls.min_version) };

	keep_known(ciphers, config->tls.ciphers, tls_knows_cipher, "tls.cipherSuites");
	keep_known(alpn, config->tls.alpn, speaks, "tls.nextProtos");
	conf.ciphers = ciphers[0] ? ciphers : NULL;
	conf.alpn = alpn[0] ? alpn : NULL;
	return tls_server_new(ret, &conf, err);
}

int serve_client_ca(struct tls_client_ca **ret, const struct manager_config *config,
		    struct error *err)
{
	cleanup_buf struct buf pem = { .max = MAX_CLIENT_CA };

	if (!config->webhook_client_ca)
		return 0;
	buf_adds(&pem, "");
	if (file_read(&pem, config->webhook_client_ca, err))
		return error_wrap(err, "--webhook-client-ca");
	if (!tls_client_ca_new(ret, (const char *)pem.data, err))
		return 0;
	error_wrap(err, "--webhook-client-ca %s", config->webhook_client_ca);
	err->kind = ERR_INVALID;
	return -1;
}

/* ---- health ---- */

static const char *certs_problem(void *ctx)
{
	const struct servers *s = ctx;

	return cert_manager_ready(s->conf.certs)
		       ? NULL
		       : "the webhooks' certificate is not ready";
}

/* The server listens before it is checked; handshakes also need a certificate. */
static const char *status_problem(void *ctx)
{
	const struct servers *s = ctx;

	return tls_server_ready(s->conf.tls) ? NULL : "no certificate yet";
}

static const char *jobset_problem(void *ctx)
{
	const struct servers *s = ctx;

	return s->conf.jobset_problem ? s->conf.jobset_problem(s->conf.ctx) : NULL;
}

/* Informational: without JobSet, webhooks still answer, and TrainJobs wait for it. */
#define JOBSET_CHECK                           \
	{                                      \
		"jobset", jobset_problem, true \
	}
#define LAST                      \
	{                         \
		NULL, NULL, false \
	}

static const struct health_check live[] = { { "healthz", NULL, false }, LAST };
static const struct health_check ready[] = { { "readyz", certs_problem, false },
					     JOBSET_CHECK,
					     LAST };
static const struct health_check live_status[] = {
	{ "healthz", NULL, false },
	{ "status-server-healthz", status_problem, false },
	LAST,
};
static const struct health_check ready_status[] = {
	{ "readyz", certs_problem, false },
	{ "status-server-readyz", status_problem, false },
	JOBSET_CHECK,
	LAST,
};

static const char *without_slash(const char *path)
{
	return path + (*path == '/');
}

static void set_health(struct servers *s)
{
	const struct manager_config *c = s->conf.config;
	bool status = s->conf.progress_server != NULL;

	s->health = (struct health){
		.groups = { { without_slash(c->health.liveness),
			      status ? live_status : live },
			    { without_slash(c->health.readiness),
			      status ? ready_status : ready } },
		.ctx = s,
	};
}

/* ---- listening ---- */

/* "[::1]:8443", ":8443", checked by config.c. The address is in the arena. */
static int split_bind(struct arena *a, const char *bind, struct httpd_conf *conf,
		      struct error *err)
{
	const char *text;
	int64_t port;

	if (!sock_split(a, bind, &conf->host, &text) ||
	    str_int(&port, text, 0, 65535, err))
		return error_set(err, ERR_INVALID, "%s: not an address", bind);
	conf->port = (int)port;
	return 0;
}

static bool is_off(const char *bind)
{
	return str_eq(bind, "0");
}

static int start_one(struct servers *s, enum server which, const struct httpd_conf *conf,
		     struct error *err)
{
	if (httpd_start(&s->list[which], conf, err))
		return error_wrap(err, "%s server", server_names[which]);
	return 0;
}

static int start_health(struct servers *s, struct arena *a, struct error *err)
{
	struct httpd_conf conf = { .handle = health_handle, .ctx = &s->health };

	if (is_off(s->conf.config->health.bind))
		return 0;
	if (split_bind(a, s->conf.config->health.bind, &conf, err))
		return -1;
	return start_one(s, SERVE_HEALTH, &conf, err);
}

static int start_metrics(struct servers *s, struct arena *a, struct error *err)
{
	const struct manager_config *c = s->conf.config;
	struct httpd_conf conf = { .handle = scrape_handle,
				   .ctx = s->conf.scrape,
				   .tls = c->metrics.secure ? s->conf.tls : NULL };

	if (is_off(c->metrics.bind))
		return 0;
	if (c->metrics.auth && !c->metrics.secure)
		log_warn("metrics.auth without metrics.secureServing: tokens are "
			 "sent in clear text");
	if (split_bind(a, c->metrics.bind, &conf, err))
		return -1;
	return start_one(s, SERVE_METRICS, &conf, err);
}

static int start_webhook(struct servers *s, struct error *err)
{
	const struct httpd_conf conf = { .host = s->conf.config->webhook.host,
					 .port = (int)s->conf.config->webhook.port,
					 .tls = s->conf.tls,
					 .client_ca = s->conf.client_ca,
					 .max_body = WEBHOOK_MAX_BODY,
					 .max_connections = WEBHOOK_CONNECTIONS,
					 .max_per_peer = WEBHOOK_PER_PEER,
					 .handle = webhook_handle,
					 .ctx = s->conf.webhook };

	return start_one(s, SERVE_WEBHOOK, &conf, err);
}

static int start_status(struct servers *s, struct error *err)
{
	const struct httpd_conf conf = { .port = (int)s->conf.config->status_server.port,
					 .tls = s->conf.tls,
					 .max_body = PROGRESS_SERVER_MAX_BODY,
					 .handle = progress_server_handle,
					 .on_large = progress_server_large,
					 .ctx = s->conf.progress_server };

	return s->conf.progress_server ? start_one(s, SERVE_STATUS, &conf, err) : 0;
}

int servers_start(struct servers **ret, const struct servers_conf *conf,
		  struct error *err)
{
	struct servers *s = xcalloc(1, sizeof(*s));
	cleanup_arena struct arena a = { 0 };

	s->conf = *conf;
	set_health(s);
	/* Health comes last: once it answers, the other servers listen. */
	if (start_webhook(s, err) || start_status(s, err) || start_metrics(s, &a, err) ||
	    start_health(s, &a, err))
		return -1; /* and the process ends */
	*ret = s;
	return 0;
}

/* Stops the health server last: the kubelet probes until the end. */
void servers_stop(struct servers *s, int64_t grace_ms)
{
	int64_t until = clock_ms() + grace_ms;

	if (!s)
		return;
	for (int i = N_SERVERS - 1; i >= 0; i--) {
		int64_t left = until - clock_ms();

		if (s->list[i])
			httpd_stop(s->list[i], left > 0 ? left : 0);
	}
	free(s);
}
