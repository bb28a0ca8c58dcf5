/* cert.c - keep the webhooks' certificate valid, served and trusted (manager/cert.h). */
#include "manager/cert.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "kube/informer.h"
#include "manager/certset.h"
#include "manager/names.h"
#include "manager/outage.h"

#define ADMISSION "admissionregistration.k8s.io/v1"

enum {
	RESYNC_MS = 15000,
	DIR_RESYNC_MS = 10000,
	PROPAGATION_MS = 3000, /* until all API servers use a changed configuration */
	CHANGE_MS = 60000,     /* until all replicas serve the Secret's certificate */
	LEAST_MS = 500, /* between two checks, however often another writer writes */
	FIRST_RETRY_MS = 100,
	MAX_RETRY_MS = 30000,
	NOT_READY_RETRY_MS = 2000, /* at most, before the first certificate */
	CONFLICTS = 10,            /* in a row, of one write */
	MAX_FILE = 256 * 1024,
};

static const struct metric reads = {
	.type = METRIC_COUNTER,
	.name = "certwatcher_read_certificate_total",
	.help = "Total number of certificate reads",
};
static const struct metric read_errors = {
	.type = METRIC_COUNTER,
	.name = "certwatcher_read_certificate_errors_total",
	.help = "Total number of certificate read errors",
};
const struct metric *const cert_metrics[] = { &reads, &read_errors, NULL };

static const struct hook_config {
	const char *kind, *name;
} hook_configs[] = {
	{ "ValidatingWebhookConfiguration", MANAGER_VALIDATING },
	{ "MutatingWebhookConfiguration", MANAGER_MUTATING },
};

enum { N_HOOK_CONFIGS = N_ELEMENTS(hook_configs) };

struct cert_manager {
	struct arena arena; /* owns dns_name and the strings in conf */
	struct cert_conf conf;
	const char *dns_name;

	pthread_t thread;
	pthread_mutex_t lock; /* protects the members up to the next blank line */
	pthread_cond_t wake;
	bool stop, injected, woken;
	char *ca;

	struct informer *watches[N_HOOK_CONFIGS];

	/* Used by the thread only. */
	struct cert_set shown;           /* served now; without the CA's key */
	bool changed;                    /* a webhook configuration was written */
	char *before;                    /* the CA of the certificate served before */
	int64_t before_until;            /* clock_ms() until which `before` is trusted */
	bool is_missing[N_HOOK_CONFIGS]; /* a missing configuration was logged */
	struct log_last complaint;
};

/* Waits for ms; with `or_change`, also until a configuration changes. False: stopping. */
static bool wait_ms(struct cert_manager *c, int64_t ms, bool or_change)
{
	int64_t until = clock_ms() + ms;
	bool stop;

	pthread_mutex_lock(&c->lock);
	while (!c->stop && !(or_change && c->woken) &&
	       cond_wait_until(&c->wake, &c->lock, until))
		continue;
	if (or_change)
		c->woken = false;
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

static bool sleep_ms(struct cert_manager *c, int64_t ms)
{
	return wait_ms(c, ms, false);
}

/* Retry after a conflict: another replica has written first, for example. */
static bool may_try_again(struct cert_manager *c, int tried, const struct error *err)
{
	return (err->kind == ERR_CONFLICT || err->kind == ERR_EXISTS) &&
	       tried < CONFLICTS && sleep_ms(c, 20 << (tried < 6 ? tried : 6));
}

/* ---- the Secret ---- */

static int try_secret(struct cert_manager *c, struct cert_set *set, struct error *err)
{
	const char *name = c->conf.config->certs.secret;
	const struct kube_ref ref = { "v1", "Secret", c->conf.ns, name };
	cleanup_json cJSON *secret = NULL;
	struct error why = { 0 };
	enum cert_change change;
	bool is_there;

	if (kube_find(c->conf.kube, &ref, &secret, err))
		return -1;
	is_there = secret != NULL;
	if (!is_there)
		secret = meta_new("v1", "Secret", c->conf.ns, name);
	cert_set_release(set);
	cert_set_read(set, secret);
	set->served = &c->shown;
	if (cert_set_renew(set, c->dns_name, clock_now(), &change, &why, err))
		return -1;
	if (change == CERT_KEPT)
		return 0;
	cert_set_write(set, secret);
	if (is_there ? kube_update(c->conf.kube, secret, &kube_plain, NULL, err)
		     : kube_create(c->conf.kube, secret, &kube_plain, NULL, err))
		return -1;
	log_info(change == CERT_NEW_CA ? "created a CA and a certificate for the webhooks"
				       : "renewed the certificate of the webhooks",
		 LOG_STR("secret", name), LOG_STR("because", why.msg));
	return 0;
}

/* Retries conflicts: then the certificate that another replica wrote is used. */
static int read_secret(struct cert_manager *c, struct cert_set *set, struct error *err)
{
	for (int i = 0; try_secret(c, set, err); i++)
		if (!may_try_again(c, i, err))
			return -1;
	return 0;
}

/* ---- certManagement off: a directory ---- */

static int read_pem(char **ret, const char *dir, const char *name, struct error *err)
{
	struct buf text = { .max = MAX_FILE };
	cleanup_arena struct arena a = { 0 };
	int failed = file_read(&text, path_join(&a, dir, name), err);

	if (!failed)
		*ret = xstrdup(text.data ? (const char *)text.data : "");
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_release(&text);
	return failed;
}

/* ---- serve the certificate, inject its CA ---- */

static void log_shown(const struct cert_set *set)
{
	char text[TIME_TEXT_SIZE];
	int64_t ends;

	if (x509_expiry(&ends, set->server.cert_pem, IGNORED))
		log_info("serving a certificate");
	else
		log_info("serving a certificate", LOG_STR("ends", time_text(ends, text)));
}

static int serve(struct cert_manager *c, struct cert_set *set, struct error *err)
{
	struct cert_set *shown = &c->shown;

	if (!str_eq(shown->server.cert_pem, set->server.cert_pem) ||
	    !str_eq(shown->server.key_pem, set->server.key_pem)) {
		if (tls_server_identity(c->conf.server, set->server.cert_pem,
					set->server.key_pem, err))
			return -1;
		metrics_add(c->conf.metrics, &reads, 1);
		x509_pair_release(&shown->server);
		shown->server = set->server;
		set->server = (struct x509_pair){ 0 };
		log_shown(shown);
	}
	if (!str_eq(shown->ca.cert_pem, set->ca.cert_pem)) {
		x509_pair_release(&shown->ca);
		shown->ca.cert_pem = STEAL(set->ca.cert_pem);
		pthread_mutex_lock(&c->lock);
		free(c->ca);
		c->ca = shown->ca.cert_pem ? xstrdup(shown->ca.cert_pem) : NULL;
		pthread_mutex_unlock(&c->lock);
	}
	return 0;
}

/* Sets the caBundle of each entry that differs. Returns their number. */
static int put_bundle(cJSON *config, const char *bundle)
{
	cJSON *hook;
	int n = 0;

	json_each(hook, json_get(config, "webhooks")) {
		if (str_eq(json_str(hook, "clientConfig", "caBundle"), bundle))
			continue;
		json_put_str(hook, bundle, "clientConfig", "caBundle");
		n++;
	}
	return n;
}

static int try_inject(struct cert_manager *c, const struct hook_config *hc,
		      const char *bundle, struct error *err)
{
	const struct kube_ref ref = { ADMISSION, hc->kind, NULL, hc->name };
	cleanup_json cJSON *config = NULL;

	if (kube_get(c->conf.kube, &ref, &config, err))
		return -1;
	if (!put_bundle(config, bundle))
		return 0;
	if (kube_update(c->conf.kube, config, &kube_plain, NULL, err))
		return -1;
	c->changed = true;
	log_info("injected the CA", LOG_STR("kind", hc->kind), LOG_STR("name", hc->name));
	return 0;
}

/* A missing configuration is no failure: it may be installed later. */
static int inject_one(struct cert_manager *c, size_t which, const char *bundle,
		      struct error *err)
{
	const struct hook_config *hc = &hook_configs[which];
	bool missing = false;

	for (int i = 0; try_inject(c, hc, bundle, err); i++) {
		if (err->kind == ERR_NOT_FOUND) {
			missing = true;
			break;
		}
		if (!may_try_again(c, i, err))
			return -1;
	}
	if (missing && !c->is_missing[which])
		log_warn("a webhook configuration is missing", LOG_STR("kind", hc->kind),
			 LOG_STR("name", hc->name));
	c->is_missing[which] = missing;
	return 0;
}

static int inject(struct cert_manager *c, const char *ca, struct error *err)
{
	cleanup_buf struct buf bundle = { .max = 4 * MAX_FILE };

	base64_encode(&bundle, ca, strlen(ca));
	for (size_t i = 0; i < N_HOOK_CONFIGS; i++)
		if (inject_one(c, i, (const char *)bundle.data, err))
			return -1;
	pthread_mutex_lock(&c->lock);
	c->injected = true;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/*
 * The caBundle: the Secret's CA and, until every replica serves a certificate of that CA,
 * the CA of the certificate served before.
 */
static void print_bundle(struct cert_manager *c, const char *ca, struct buf *out)
{
	const char *shown = c->shown.ca.cert_pem;

	if (shown && !str_eq(shown, ca)) {
		free(c->before);
		c->before = xstrdup(shown);
		c->before_until = clock_ms() + CHANGE_MS;
	}
	buf_adds(out, ca);
	if (!c->before || clock_ms() >= c->before_until || strstr(ca, c->before))
		return;
	if (!str_ends(ca, "\n"))
		buf_adds(out, "\n");
	buf_adds(out, c->before);
}

/* ---- the thread ---- */

static int check_secret(struct cert_manager *c, struct error *err)
{
	cleanup_cert_set struct cert_set set = { 0 };
	cleanup_buf struct buf bundle = { .max = 2 * MAX_FILE };
	struct error unused = { 0 };
	int failed;
	bool other;

	if (read_secret(c, &set, err))
		return -1;
	other = c->shown.ca.cert_pem && !str_eq(c->shown.ca.cert_pem, set.ca.cert_pem);
	/*
	 * Serve a certificate of a new CA only once the API servers trust that CA: they
	 * watch the configurations, so that a change reaches them with a delay.
	 */
	c->changed = false;
	print_bundle(c, set.ca.cert_pem, &bundle);
	failed = inject(c, (const char *)bundle.data, err);
	if (!failed && c->changed && other && !sleep_ms(c, PROPAGATION_MS))
		return error_set(err, ERR_STOPPED, "stopping");
	if (failed && other)
		return -1;
	return serve(c, &set, failed ? &unused : err) || failed ? -1 : 0;
}

static int check_dir(struct cert_manager *c, struct error *err)
{
	cleanup_cert_set struct cert_set set = { 0 };

	if (read_pem(&set.ca.cert_pem, c->conf.dir, "ca.crt", IGNORED))
		set.ca.cert_pem = NULL;
	if (read_pem(&set.server.cert_pem, c->conf.dir, "tls.crt", err) ||
	    read_pem(&set.server.key_pem, c->conf.dir, "tls.key", err))
		return -1;
	return serve(c, &set, err);
}

static int check(struct cert_manager *c, int64_t *ret_next_ms, struct error *err)
{
	bool ours = c->conf.config->certs.enable;

	if (ours ? check_secret(c, err) : check_dir(c, err))
		return -1;
	*ret_next_ms = c->conf.resync_ms ? c->conf.resync_ms
		       : ours            ? RESYNC_MS
					 : DIR_RESYNC_MS;
	return 0;
}

/* A failure that lasts is logged once, not at each retry. */
static void complain(struct cert_manager *c, const struct error *err)
{
	if (err->kind == ERR_STOPPED)
		return;
	metrics_add(c->conf.metrics, &read_errors, 1);
	if (!outage_logged(err) && log_is_news(&c->complaint, err->msg, INT64_MAX / 2))
		log_error("cannot provide the webhooks' certificate", LOG_ERR(err));
}

static void *keep_current(void *arg)
{
	struct cert_manager *c = arg;
	int64_t retry_ms = FIRST_RETRY_MS, ms;

	do {
		struct error err = { 0 };
		int64_t max = cert_manager_ready(c) ? MAX_RETRY_MS : NOT_READY_RETRY_MS;

		if (!check(c, &ms, &err)) {
			c->complaint = (struct log_last){ 0 };
			retry_ms = FIRST_RETRY_MS;
			if (!sleep_ms(c, ms < LEAST_MS ? ms : LEAST_MS))
				break;
			continue;
		}
		complain(c, &err);
		ms = retry_ms;
		retry_ms = 2 * retry_ms < max ? 2 * retry_ms : max;
	} while (wait_ms(c, ms, true));
	return NULL;
}

/* ---- the watches ---- */

static void on_touched(void *ctx, const cJSON *old, const cJSON *current)
{
	struct cert_manager *c = ctx;

	pthread_mutex_lock(&c->lock);
	c->woken = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

/* If RBAC denies these watches, configurations are checked as often as the Secret. */
static int watch_hooks(struct cert_manager *c, struct error *err)
{
	for (size_t i = 0; i < N_HOOK_CONFIGS; i++) {
		const struct informer_conf conf = {
			.kube = c->conf.kube,
			.api_version = ADMISSION,
			.kind = hook_configs[i].kind,
			.select = { .field_selector =
					    arena_printf(&c->arena, "metadata.name=%s",
							 hook_configs[i].name),
				    .meta_only = true },
			.on_event = on_touched,
			.ctx = c,
		};

		if (informer_start(&c->watches[i], &conf, err))
			return -1;
	}
	return 0;
}

int cert_manager_start(struct cert_manager **ret, const struct cert_conf *conf,
		       struct error *err)
{
	struct cert_manager *c = xcalloc(1, sizeof(*c));

	c->conf = *conf;
	c->conf.ns = arena_strdup(&c->arena, conf->ns);
	c->conf.dir = arena_strdup(&c->arena, conf->dir ? conf->dir : CERT_DIR);
	c->dns_name = arena_printf(&c->arena, "%s.%s.svc", conf->config->certs.service,
				   conf->ns);
	pthread_mutex_init(&c->lock, NULL);
	cond_init(&c->wake);
	if (conf->config->certs.enable && watch_hooks(c, err))
		return -1;
	if (thread_start(&c->thread, keep_current, c, err))
		return -1;
	*ret = c;
	return 0;
}

void cert_manager_stop(struct cert_manager *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < N_HOOK_CONFIGS; i++)
		informer_stop(c->watches[i]);
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	cert_set_release(&c->shown);
	free(c->before);
	free(c->ca);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	arena_clear(&c->arena);
	free(c);
}

bool cert_manager_ready(struct cert_manager *c)
{
	bool ret;

	pthread_mutex_lock(&c->lock);
	ret = (c->injected && c->ca) || !c->conf.config->certs.enable;
	pthread_mutex_unlock(&c->lock);
	return ret && tls_server_ready(c->conf.server);
}

char *cert_manager_ca(struct cert_manager *c)
{
	char *ret;

	pthread_mutex_lock(&c->lock);
	ret = c->ca ? xstrdup(c->ca) : NULL;
	pthread_mutex_unlock(&c->lock);
	return ret;
}
