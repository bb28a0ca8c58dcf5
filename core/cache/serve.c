/* The servers of head and worker: serve_impl.h. */
#include "cache/serve_impl.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "cache/parallel.h"
#include "net/h2d.h"
#include "net/httpd.h"

enum {
	GRACE_MS = 5000,
	HEALTH_GRACE_MS = 100,
	MAX_REQUEST = 64 * 1024 * 1024, /* upstream's head lists all files in one */
	DECODE_SHARE = 4,
};
#define DECODE_MAX ((uint64_t)1 << 30)

const char *const cache_state_words[] = { "waiting", "loading", "ready", "failed", NULL };

struct cache_servers {
	struct cache_servers_conf conf;
	struct grpc_conf grpc;
	struct httpd *health;
	struct h2d *flight;
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

static bool admit(void *ctx, struct grpc_call *call)
{
	const struct cache_auth *auth = ctx;
	struct error err = { 0 };

	if (!auth->judge(auth->ctx, grpc_metadata(call, "authorization"), &err))
		return true;
	grpc_fail(call, GRPC_UNAUTHENTICATED, "%s", err.msg);
	return false;
}

int cache_servers_start(struct cache_servers **ret, const struct cache_servers_conf *conf,
			struct error *err)
{
	struct cache_servers *s = xcalloc(1, sizeof(*s));
	const struct cache_conf *c = conf->cache;
	const struct httpd_conf health = { .host = c->health_host,
					   .port = c->health_port,
					   .handle = answer_health,
					   .ctx = s };
	const struct h2d_conf flight = {
		.host = c->host,
		.port = c->port,
		.threads = parallel_cores() > 2 ? (int)parallel_cores() : 0,
		.h2 = { .max_body = MAX_REQUEST, .handle = grpc_handle, .ctx = &s->grpc },
	};

	s->conf = *conf;
	s->grpc = (struct grpc_conf){ .methods = conf->methods,
				      .ctx = conf->ctx,
				      .admit = c->auth.judge ? admit : NULL,
				      .admit_ctx = (void *)(uintptr_t)&c->auth };
	if (httpd_start(&s->health, &health, err)) {
		free(s);
		return -1;
	}
	if (h2d_start(&s->flight, &flight, err)) {
		httpd_stop(s->health, 0);
		free(s);
		return -1;
	}
	log_info("listening", LOG_INT("port", h2d_port(s->flight)),
		 LOG_INT("health", httpd_port(s->health)));
	*ret = s;
	return 0;
}

void cache_servers_stop(struct cache_servers *s)
{
	h2d_stop(s->flight, GRACE_MS);
	httpd_stop(s->health, HEALTH_GRACE_MS);
	free(s);
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
