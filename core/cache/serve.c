/* serve.c - runs the servers of head and worker (cache/serve_impl.h). */
#include "cache/serve_impl.h"

#include <pthread.h>

#include "base/cores.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "cache/flight.h"
#include "cache/parallel.h"
#include "cache/tls_files.h"
#include "net/h2d.h"
#include "net/httpd.h"

enum {
	GRACE_MS = 5000,
	HEALTH_GRACE_MS = 100,
	MAX_WAITING = 128 * 1024 * 1024, /* requests of all connections */
	MAX_HELD = 1024 * 1024 * 1024,   /* of an address: 4 MiB for each connection */
	DECODE_SHARE = 4,
	SAME_MS = 60 * 1000, /* before the same message is logged again */
};
#define DECODE_MAX ((uint64_t)1 << 30)

const char *const cache_state_words[] = { "waiting", "loading", "ready", "failed", NULL };

struct cache_servers {
	struct cache_servers_conf conf;
	struct grpc_conf grpc;
	struct httpd *health;
	struct tls_files *tls; /* NULL: no TLS */
	struct h2d *flight;
	pthread_mutex_t lock; /* guards the members below */
	struct log_last logged;
};

/* As upstream: 200 ready, 503 not ready, 404 for other paths. */
static void answer_health(void *ctx, const struct httpd_request *req,
			  struct httpd_response *resp)
{
	const struct cache_servers *s = ctx;
	bool ready;

	if (!str_eq(req->path, "/ready"))
		return;
	ready = s->conf.is_ready(s->conf.ctx);
	resp->status = ready ? 200 : 503;
	buf_adds(&resp->body, ready ? "ready" : "not ready");
}

static enum grpc_verdict admit(void *ctx, struct grpc_call *call)
{
	const struct cache_auth *auth = ctx;
	struct error err = { 0 };
	int rc = auth->judge(auth->ctx, grpc_peer(call),
			     grpc_metadata(call, "authorization"), &err);

	if (rc >= 0)
		return rc ? GRPC_LATER : GRPC_ADMITTED;
	grpc_fail(call,
		  err.kind == ERR_BUSY     ? GRPC_UNAVAILABLE
		  : err.kind == ERR_DENIED ? GRPC_PERMISSION_DENIED
					   : GRPC_UNAUTHENTICATED,
		  "%s", err.msg);
	return GRPC_REFUSED;
}

static void on_verdict(void *arg)
{
	h2d_resume(arg);
}

static void on_broken(void *ctx, const struct error *err)
{
	struct cache_servers *s = ctx;
	bool news;

	pthread_mutex_lock(&s->lock);
	news = log_is_news(&s->logged, err->msg, SAME_MS);
	pthread_mutex_unlock(&s->lock);
	if (news)
		log_warn("a connection failed", LOG_ERR(err));
}

static int start_health(struct cache_servers *s, struct error *err)
{
	const struct cache_conf *c = s->conf.cache;
	const struct httpd_conf health = { .host = c->health_host,
					   .port = c->health_port,
					   .handle = answer_health,
					   .ctx = s };

	return httpd_start(&s->health, &health, err);
}

static int start_flight(struct cache_servers *s, struct error *err)
{
	static char no_tls[] = "this port speaks TLS: use grpc+tls://";
	const struct cache_conf *c = s->conf.cache;
	const int64_t cores = cores_usable();
	const struct h2d_conf flight = {
		.host = c->host,
		.port = c->port,
		.threads = cores > 2 ? (int)cores : 0,
		.h2 = grpc_h2(&s->grpc, CACHE_MAX_REQUEST),
		.tls = s->tls ? tls_files_server(s->tls) : NULL,
		.plain = grpc_h2_unavailable(no_tls),
		.max_waiting = MAX_WAITING,
		.max_held = MAX_HELD,
		.on_broken = on_broken,
		.ctx = s,
	};

	return h2d_start(&s->flight, &flight, err);
}

static int start(struct cache_servers *s, struct error *err)
{
	const struct cache_conf *c = s->conf.cache;

	if (c->tls_cert && tls_files_new(&s->tls, c->tls_cert, c->tls_key, err))
		return -1;
	if (start_health(s, err) || start_flight(s, err))
		return -1;
	if (c->auth.watch)
		c->auth.watch(c->auth.ctx, on_verdict, s->flight);
	return s->tls ? tls_files_watch(s->tls, err) : 0;
}

static void stop(struct cache_servers *s)
{
	const struct cache_auth *auth = &s->conf.cache->auth;

	if (auth->watch)
		auth->watch(auth->ctx, NULL, NULL);
	if (s->flight)
		h2d_stop(s->flight, GRACE_MS);
	if (s->health)
		httpd_stop(s->health, HEALTH_GRACE_MS);
	tls_files_free(s->tls);
}

int cache_servers_run(const struct cache_servers_conf *conf, struct error *err)
{
	const struct cache_conf *c = conf->cache;
	struct cache_servers s = {
		.conf = *conf,
		.grpc = { .methods = conf->methods,
			  .ctx = conf->ctx,
			  .admit = c->auth.judge ? admit : NULL,
			  .admit_ctx = (void *)(uintptr_t)&c->auth },
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int rc = start(&s, err);

	if (!rc) {
		log_info("listening", LOG_INT("port", h2d_port(s.flight)),
			 LOG_INT("health", httpd_port(s.health)));
		stop_wait(-1);
		log_info("stopping", LOG_INT("signal", stop_signal()));
	}
	stop(&s);
	pthread_mutex_destroy(&s.lock);
	return rc;
}

uint64_t cache_decode_memory(const struct cache_conf *conf)
{
	uint64_t share = conf->memory / DECODE_SHARE;

	return share && share < DECODE_MAX ? share : DECODE_MAX;
}

int cache_open(struct dataset **ret, const struct cache_conf *conf, const char *snapshot,
	       const struct dataset_files *only, struct error *err)
{
	const struct dataset_conf dataset = {
		.location = conf->location,
		.snapshot = snapshot,
		.memory = cache_decode_memory(conf),
		.env = conf->env,
		.only = only,
	};

	return dataset_open(ret, &dataset, err);
}

void cache_reply_json(struct grpc_call *call, const cJSON *doc)
{
	char *text = json_text(doc);

	flight_result(call, text);
	free(text);
}
