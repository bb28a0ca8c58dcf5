/* fleet_poll.c - polls the head's workers, one thread each (cache/fleet.h). */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/stop.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/fleet_impl.h"
#include "cache/flight.h"
#include "cache/serve_impl.h"
#include "net/grpc_client.h"

enum { CALL_MS = 10 * 1000 };

static int keep_document(void *ctx, const void *data, size_t len, struct error *err)
{
	cJSON **doc = ctx;
	struct iovec body;

	if (pb_bytes(&body, (struct iovec){ (void *)(uintptr_t)data, len }, 1, err))
		return -1;
	if (!body.iov_base || *doc)
		return error_set(err, ERR_FORMAT, "unexpected response; is it a worker?");
	return json_parse(doc, body.iov_base, body.iov_len, err);
}

/* Call an action; its answer is a JSON document. */
static int call(struct remote *r, const char *action, const char *body, cJSON **ret,
		struct error *err)
{
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };
	cleanup_arena struct arena arena = { 0 };
	const struct grpc_request req = {
		.origin = r->origin,
		.path = FLIGHT "DoAction",
		.headers = { fleet_claim(r->fleet, &arena),
			     fleet_header(r->fleet, &arena) },
		.timeout_ms = CALL_MS,
		.on_message = keep_document,
		.ctx = ret,
	};
	struct grpc_request with = req;

	pb_put_str(&message, 1, action);
	pb_put_str(&message, 2, body);
	with.message = message.data;
	with.len = message.len;
	*ret = NULL;
	if (!grpc_request(r->http, &with, err))
		return *ret ? 0 : error_set(err, ERR_FORMAT, "no answer");
	cJSON_Delete(*ret);
	*ret = NULL;
	return -1;
}

static int assign_rows(struct remote *r, struct error *err)
{
	cleanup_free char *text = fleet_assignment(r);
	cleanup_json cJSON *unused = NULL;

	return call(r, ACTION_ASSIGN, text, &unused, err);
}

/* Poll a worker. True: the worker has its rows; else `trouble` is the cause. */
static bool poll_worker(struct remote *r, char trouble[FLEET_TEXT])
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	bool ready, wants;

	fleet_poll_begin(r);
	if (r->upstream)
		return upstream_poll(r, trouble);
	if (call(r, ACTION_HEALTH, "", &doc, &err)) {
		if ((!err.code || err.kind == ERR_UNSUPPORTED) && upstream_is(r))
			return fleet_poll_upstream(r, trouble);
		return fleet_poll_silence(r, err.msg, trouble);
	}
	ready = fleet_poll_answer(r, doc, &wants, trouble);
	if (wants && assign_rows(r, &err) && !ready)
		snprintf(trouble, FLEET_TEXT, "%s", err.msg);
	return ready;
}

static void *run_remote(void *ctx)
{
	struct remote *r = ctx;
	char trouble[FLEET_TEXT];
	bool ready = false;

	do {
		ready = poll_worker(r, trouble);
		if (stop_requested())
			break;
		fleet_poll_end(r, ready, trouble);
	} while (!stop_wait(ready ? FLEET_READY_POLL_MS : FLEET_POLL_MS));
	return NULL;
}

static int remote_start(struct remote *r, struct error *err)
{
	const struct cache_conf *conf = r->fleet->conf;
	const struct http_conf http = { .h2c = true,
					.proxy = "",
					.ca_file = conf->ca_file,
					.ca_setting =
						conf->ca_file ? "--ca-file" : NULL };

	if (http_client_new(&r->http, &http, err))
		return -1;
	if (!thread_start(&r->thread, run_remote, r, err))
		return 0;
	http_client_free(STEAL(r->http));
	return -1;
}

void fleet_stop(struct fleet *f)
{
	for (int i = 0; i < f->n_remotes; i++) {
		struct remote *r = &f->remotes[i];

		if (r->http)
			pthread_join(r->thread, NULL);
		http_client_free(r->http);
	}
	fleet_free(f);
}

int fleet_start(struct fleet **ret, const struct cache_conf *conf,
		const struct table *table, struct error *err)
{
	struct fleet *f;
	int rc = fleet_new(&f, conf, table, err);

	for (int i = 0; i < f->n_remotes && !rc; i++)
		rc = remote_start(&f->remotes[i], err);
	if (rc) {
		stop_request();
		fleet_stop(f);
		return -1;
	}
	*ret = f;
	return 0;
}
