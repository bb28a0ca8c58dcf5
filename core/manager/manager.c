/* manager.c - start, lead, and stop in order (manager/manager.h). */
#include "manager/manager.h"
#include "manager/names.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/lease.h"
#include "kube/workqueue.h"
#include "manager/outage.h"
#include "manager/reconcile.h"
#include "manager/serve.h"
#include "manager/work.h"
#include "net/http.h"
#include "trainer/api.h"
#include "trainer/jobset.h"

#define USER_AGENT "kftrainer/" VERSION

enum {
	/* At the end. Kubelets kill 30 s after SIGTERM: all of it together takes less. */
	WORK_GRACE_MS = 20000,
	GRACE_MS = 5000,
	LAST_EVENTS_MS = 1000,
	LINGER_MS = 2000,
	ASKED_MS = 8000, /* for an admission request; API servers wait for 10 s */
	/* The limit of reads of runtimes, which users cause by creating TrainJobs. */
	ADMIT_QPS = 100,
	ADMIT_BURST = 500,
	REVIEW_QPS = 5,
	REVIEW_BURST = 10,
};

/* One client per purpose, so that none waits for the rate limit of another. */
enum client { WORK, WATCH, ADMIT, EVENTS, LEASE, STATUS, TOKENS, REVIEW, N_CLIENTS };

static const struct metric master_status = {
	.type = METRIC_GAUGE,
	.name = "leader_election_master_status",
	.help = "Gauge of if the reporting system is master of the relevant lease, 0 "
		"indicates backup, 1 indicates master. 'name' is the string used to "
		"identify the lease. Please make sure to group by name.",
	.labels = { "name" },
};
static const struct metric *const own_metrics[] = { &master_status, &kube_requests_total,
						    NULL };

struct manager {
	const struct manager_config *config;
	const struct kube_config *server;
	struct arena arena;
	const char *ns, *status_url;
	bool in_pod;
	int64_t started;
	const struct metric **table;
	struct metrics *metrics;
	struct kube *clients[N_CLIENTS];
	struct http_sessions *sessions; /* TLS sessions, shared by all clients */
	struct tls_server *tls;
	struct tls_client_ca *client_ca;
	struct cert_manager *certs;
	struct scrape *scrape;
	struct runtimes *runtimes;
	struct webhook *webhook;
	struct progress_server *progress_server;
	struct servers *servers;
	struct lease *lease;
	struct event_recorder *events;
	struct event_recorder *served_events; /* of the servers; or NULL */
	pthread_mutex_t lock; /* protects work, which scrapes and probes read */
	struct work *work;
};

static void measure(void *ctx)
{
	struct manager *m = ctx;

	pthread_mutex_lock(&m->lock);
	if (m->work)
		work_measure(m->work);
	pthread_mutex_unlock(&m->lock);
}

static const char *jobset_problem(void *ctx)
{
	struct manager *m = ctx;
	bool served;

	pthread_mutex_lock(&m->lock);
	served = !m->work || work_serves_jobset(m->work);
	pthread_mutex_unlock(&m->lock);
	return served ? NULL : JOBSET_MISSING;
}

static void set_work(struct manager *m, struct work *work)
{
	pthread_mutex_lock(&m->lock);
	m->work = work;
	pthread_mutex_unlock(&m->lock);
}

static void new_metrics(struct manager *m)
{
	const struct metric *const *const tables[] = {
		own_metrics,  work_metrics,    workqueue_metrics,       reconcile_metrics,
		cert_metrics, webhook_metrics, progress_server_metrics,
	};
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(tables); i++)
		for (const struct metric *const *from = tables[i]; *from; from++) {
			m->table = xreallocarray(m->table, n + 2, sizeof(*m->table));
			m->table[n++] = *from;
			m->table[n] = NULL;
		}
	m->metrics = metrics_new(m->table);
}

static bool leads(void *ctx)
{
	struct manager *m = ctx;

	return !m->lease || lease_held(m->lease);
}

static int new_clients(struct manager *m, struct error *err)
{
	const struct manager_config *c = m->config;
	const double qps = manager_config_qps(c);
	const bool reports = c->gate_trainjob_status && !c->local;
	const struct {
		bool wanted;
		struct kube_opts opts;
	} list[N_CLIENTS] = {
		[WORK] = { true,
			   { .qps = qps,
			     .burst = c->client.burst,
			     .after_stop = true,
			     .may_write = leads,
			     .ctx = m } },
		[WATCH] = { true, { 0 } },
		[ADMIT] = { true,
			    { .qps = ADMIT_QPS,
			      .burst = ADMIT_BURST,
			      .timeout_ms = ASKED_MS,
			      .after_stop = true } },
		[EVENTS] = { true,
			     { .qps = qps,
			       .burst = c->client.burst,
			       .timeout_ms = GRACE_MS,
			       .after_stop = true } },
		[LEASE] = { c->election.enabled,
			    { .timeout_ms = c->election.renew_ms / 2,
			      .after_stop = true } },
		[STATUS] = { reports,
			     { .qps = c->status_server.qps,
			       .burst = c->status_server.burst,
			       .timeout_ms = ASKED_MS,
			       .after_stop = true } },
		[TOKENS] = { reports,
			     { .qps = PROGRESS_SERVER_READS * c->status_server.qps,
			       .burst = PROGRESS_SERVER_READS * c->status_server.burst,
			       .timeout_ms = ASKED_MS,
			       .after_stop = true } },
		[REVIEW] = { c->metrics.auth,
			     { .qps = REVIEW_QPS,
			       .burst = REVIEW_BURST,
			       .timeout_ms = ASKED_MS } },
	};

	m->sessions = http_sessions_new();
	for (int i = 0; i < N_CLIENTS; i++) {
		struct kube_opts opts = list[i].opts;

		opts.user_agent = USER_AGENT;
		opts.http1 = true;
		opts.sessions = m->sessions;
		opts.metrics = m->metrics;
		if (m->config->inside)
			opts.inside = *m->config->inside;
		if (list[i].wanted && kube_new(&m->clients[i], m->server, &opts, err))
			return -1;
	}
	return 0;
}

static int start_certs(struct manager *m, struct error *err)
{
	struct cert_conf conf = {
		.kube = m->clients[WATCH],
		.config = m->config,
		.ns = m->ns,
		.metrics = m->metrics,
	};

	if (serve_tls(&m->tls, m->config, err) ||
	    serve_client_ca(&m->client_ca, m->config, err))
		return -1;
	conf.server = m->tls;
	return cert_manager_start(&m->certs, &conf, err);
}

static void on_event_drop(void *ctx, const struct error *err)
{
	if (!outage_logged(err))
		log_warn("cannot send an event", LOG_ERR(err));
}

static void on_report(void *ctx, const cJSON *about, const char *reason,
		      const char *message)
{
	const struct manager *m = ctx;
	const struct event e = {
		.warning = true, .reason = reason, .series = reason, .message = message
	};

	event_record(m->served_events, about, &e);
}

static int start_progress_server(struct manager *m, struct error *err)
{
	const struct event_recorder_conf events = { .kube = m->clients[EVENTS],
						    .component = MANAGER_COMPONENT,
						    .on_drop = on_event_drop };
	const struct progress_watch watch = { on_report, m, m->metrics };

	if (event_recorder_new(&m->served_events, &events, err) ||
	    progress_server_new(&m->progress_server, m->clients[STATUS],
				m->clients[TOKENS], err))
		return -1;
	progress_server_watch(m->progress_server, &watch);
	return 0;
}

static int start_servers(struct manager *m, struct error *err)
{
	const struct scrape_conf scrape = { .metrics = m->metrics,
					    .kube = m->clients[REVIEW],
					    .measure = measure,
					    .ctx = m };
	struct webhook_conf hook = { .kube = m->clients[ADMIT],
				     .metrics = m->metrics,
				     .status_server = m->config->gate_trainjob_status,
				     .claims_off = !m->config->gate_resource_claims,
				     .scheduling_off = !m->config->gate_scheduling };
	struct servers_conf conf = { .config = m->config,
				     .tls = m->tls,
				     .client_ca = m->client_ca,
				     .certs = m->certs,
				     .jobset_problem = jobset_problem,
				     .ctx = m };

	if (runtimes_start(&m->runtimes, m->clients[WATCH], err))
		return -1;
	hook.runtimes = m->runtimes;
	if (scrape_new(&m->scrape, &scrape, err))
		return -1;
	conf.scrape = m->scrape;
	m->webhook = conf.webhook = webhook_new(&hook);
	if (m->config->gate_trainjob_status && start_progress_server(m, err))
		return -1;
	conf.progress_server = m->progress_server;
	return servers_start(&m->servers, &conf, err);
}

/* ---- leading ---- */

static void on_leader(void *ctx, const char *holder)
{
	const struct manager *m = ctx;

	log_info("new leader", LOG_STR("holder", holder),
		 LOG_STR("lease", m->config->election.name));
}

static void on_lease_error(void *ctx, const struct error *err)
{
	if (!outage_logged(err))
		log_warn("cannot read or write the lease", LOG_ERR(err));
}

/* "<host>_<random>", different in each process, as in controller-runtime. */
static int new_identity(struct arena *arena, const char **ret, struct error *err)
{
	cleanup_buf struct buf text = { .max = 512 };
	unsigned char id[16];
	char host[256] = "";

	if (random_bytes(id, sizeof(id), err))
		return -1;
	(void)!gethostname(host, sizeof(host) - 1);
	buf_printf(&text, "%s_", host);
	hex_encode(&text, id, sizeof(id));
	*ret = arena_strdup(arena, (const char *)text.data);
	return 0;
}

static int lead(struct manager *m, struct error *err)
{
	const struct manager_config *c = m->config;
	struct lease_conf conf = {
		.kube = m->clients[LEASE],
		.ns = *c->election.ns ? c->election.ns : m->ns,
		.name = c->election.name,
		.duration_ms = c->election.lease_ms,
		.renew_ms = c->election.renew_ms,
		.retry_ms = c->election.retry_ms,
		.on_change = on_leader,
		.on_error = on_lease_error,
		.ctx = m,
	};

	if (!c->election.enabled)
		return 0;
	metrics_set(m->metrics, &master_status, 0, c->election.name);
	if (new_identity(&m->arena, &conf.identity, err) ||
	    lease_new(&m->lease, &conf, err) || lease_acquire(m->lease, err))
		return -1;
	metrics_set(m->metrics, &master_status, 1, c->election.name);
	return 0;
}

static int start_work(struct manager *m, struct error *err)
{
	struct work_conf conf = {
		.config = m->config,
		.watch = m->clients[WATCH],
		.kube = m->clients[WORK],
		.runtimes = m->runtimes,
		.certs = m->certs,
		.metrics = m->metrics,
		.status_server_url = m->status_url,
		.pod_ns = m->in_pod ? m->ns : NULL,
		.started = m->started,
	};
	const struct event_recorder_conf events = { .kube = m->clients[EVENTS],
						    .component = MANAGER_COMPONENT,
						    .on_drop = on_event_drop };
	struct work *work;

	if (event_recorder_new(&m->events, &events, err))
		return -1;
	conf.events = m->events;
	if (work_start(&work, &conf, err))
		return -1;
	set_work(m, work);
	return 0;
}

/* Waits until the process is asked to stop. ERR_TIMEOUT: the lease was lost. */
static int wait_for_end(struct manager *m, struct error *err)
{
	struct pollfd fds[] = {
		{ .fd = stop_fd(), .events = POLLIN },
		{ .fd = m->lease ? lease_lost_fd(m->lease) : -1, .events = POLLIN },
	};

	while (!stop_requested()) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (fds[1].revents)
			return error_set(err, ERR_TIMEOUT, "lost the lease %s",
					 m->config->election.name);
	}
	return 0;
}

/* ---- from start to end ---- */

static void log_start(const struct manager *m)
{
	const struct manager_config *c = m->config;

	log_info(
		"starting", LOG_STR("version", VERSION),
		LOG_STR("server", m->server->server), LOG_STR("namespace", m->ns),
		LOG_INT("webhookPort", c->webhook.port),
		LOG_STR("metrics", c->metrics.bind), LOG_STR("health", c->health.bind),
		LOG_STR("leaderElection", c->election.enabled ? c->election.name : "off"),
		LOG_STR("certManagement", c->certs.enable ? "on" : "off"),
		LOG_STR("TrainJobStatus", c->gate_trainjob_status ? "on" : "off"),
		LOG_STR(GATE_RESOURCE_CLAIMS, c->gate_resource_claims ? "on" : "off"),
		LOG_STR(GATE_SCHEDULING, c->gate_scheduling ? "on" : "off"));
	if (c->old_gate)
		log_warn("the feature gate " GATE_OLD_CLAIMS " is " GATE_RESOURCE_CLAIMS
			 " now");
}

static void set_names(struct manager *m)
{
	m->ns = kube_pod_namespace(&m->arena);
	m->in_pod = m->ns != NULL;
	if (!m->ns)
		m->ns = MANAGER_NAMESPACE;
	m->status_url = m->config->local_url;
	if (!m->status_url)
		m->status_url = arena_printf(&m->arena, "https://%s.%s.svc:%d",
					     m->config->certs.service, m->ns,
					     (int)m->config->status_server.port);
}

static int run_until_end(struct manager *m, struct error *err)
{
	if (new_clients(m, err))
		return -1;
	if (m->config->local
		    ? runtimes_start(&m->runtimes, m->clients[WATCH], err)
		    : start_certs(m, err) || start_servers(m, err) || lead(m, err))
		return -1;
	return start_work(m, err) ? -1 : wait_for_end(m, err);
}

static int end_work(struct manager *m, struct error *err)
{
	struct work *work = m->work;

	if (work && !work_end(work, WORK_GRACE_MS))
		return error_set(err, ERR_TIMEOUT, "the workers did not stop within %d s",
				 WORK_GRACE_MS / 1000);
	set_work(m, NULL);
	if (m->lease) /* release it first: the next leader need not wait for the rest */
		lease_free(m->lease);
	if (work)
		work_free(work);
	if (m->events)
		event_recorder_free(m->events, LAST_EVENTS_MS);
	return 0;
}

/*
 * A terminating pod stays in its Service for a moment: wait, so that API servers that
 * still call this pod's webhooks get an answer. A second signal ends the wait.
 */
static void linger(const struct manager *m)
{
	int64_t until = clock_ms() + LINGER_MS;

	while (m->in_pod && clock_ms() < until && stop_count() < 2)
		clock_sleep_ms(50);
}

static void end_servers(struct manager *m)
{
	linger(m);
	servers_stop(m->servers, GRACE_MS);
	cert_manager_stop(m->certs);
	if (m->progress_server)
		progress_server_free(m->progress_server);
	if (m->served_events)
		event_recorder_free(m->served_events, LAST_EVENTS_MS);
	if (m->webhook)
		webhook_free(m->webhook);
	runtimes_stop(m->runtimes);
	scrape_free(m->scrape);
	if (m->tls)
		tls_server_free(m->tls);
	tls_client_ca_free(m->client_ca);
}

static void release(struct manager *m)
{
	for (int i = 0; i < N_CLIENTS; i++)
		if (m->clients[i])
			kube_free(m->clients[i]);
	http_sessions_free(m->sessions);
	metrics_free(m->metrics);
	free(m->table);
	pthread_mutex_destroy(&m->lock);
	arena_clear(&m->arena);
	free(m);
}

int manager_run(const struct manager_config *config,
		const struct kube_config *kube_config, struct error *err)
{
	struct manager *m = xcalloc(1, sizeof(*m));
	int failed;

	m->config = config;
	m->server = kube_config;
	m->started = clock_ms();
	pthread_mutex_init(&m->lock, NULL);
	set_names(m);
	log_start(m);
	new_metrics(m);
	failed = run_until_end(m, err);
	if (failed && stop_requested())
		failed = 0;
	if (failed)
		return -1;
	log_info("stopping");
	if (end_work(m, err))
		return -1;
	end_servers(m);
	release(m);
	log_info("stopped");
	return 0;
}
