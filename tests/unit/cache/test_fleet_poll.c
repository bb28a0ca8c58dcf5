/* The head's calls to its workers: a server in a worker's place, on loopback. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "cache/fleet_impl.h"
#include "cache/flight.h"
#include "cache/serve_impl.h"
#include "cache/table_impl.h"
#include "net/h2d.h"
#include "tests/unit/unit.h"

struct stand_in {
	struct grpc_conf grpc;
	struct h2d *server;
	enum { TAKES, REFUSES } how;
	pthread_mutex_t lock;
	char *assigned; /* the body of the last "assign" */
	int assignments;
};

enum { WORKERS = 3, UNITS = 3, UNIT = 10 }; /* the last worker is not there */

static struct stand_in workers[WORKERS - 1];
static struct file file = { .path = "a" };
static struct unit units[UNITS];
static struct table table = { .units = units, .n_units = UNITS, .rows = UNITS * UNIT };
static char host[] = "127.0.0.1";
static struct cache_address addresses[WORKERS];
static struct cache_conf conf = { .workers = addresses, .n_workers = WORKERS };

/* The rows that it has: those of its assignment. Without: it waits. */
static void answer_health(struct stand_in *w, struct grpc_call *call)
{
	cleanup_json cJSON *doc = NULL;
	struct error err;

	if (!w->assigned) {
		flight_result(call, "{\"state\":\"waiting\",\"table\":\"\"}");
		return;
	}
	assert_int_equal(json_parse(&doc, w->assigned, strlen(w->assigned), &err), 0);
	json_list(doc, "more");
	json_put_str(doc, "ready", "state");
	cache_reply_json(call, doc);
}

static void do_action(void *ctx, struct grpc_call *call)
{
	struct stand_in *w = ctx;
	char type[FLIGHT_ACTION_MAX];
	struct iovec message, body;
	struct error err;

	if (!flight_message(call, &message) || flight_action(type, &body, message, &err))
		return;
	pthread_mutex_lock(&w->lock);
	if (str_eq(type, ACTION_HEALTH)) {
		answer_health(w, call);
	} else {
		w->assignments++;
		if (w->how == REFUSES) {
			grpc_fail(call, GRPC_INTERNAL, "no such file");
		} else {
			free(w->assigned);
			w->assigned = strndup(body.iov_base, body.iov_len);
			flight_result(call, "{}");
		}
	}
	pthread_mutex_unlock(&w->lock);
}

static const struct grpc_method methods[] = {
	{ .path = FLIGHT "DoAction", .run = do_action }, { 0 }
};

static void start(struct stand_in *w, int i)
{
	const struct h2d_conf server = { .host = host, .h2 = grpc_h2(&w->grpc, 65536) };
	struct error err;

	w->grpc = (struct grpc_conf){ .methods = methods, .ctx = w };
	pthread_mutex_init(&w->lock, NULL);
	if (h2d_start(&w->server, &server, &err))
		fail_msg("%s", err.msg);
	addresses[i] = (struct cache_address){ host, h2d_port(w->server) };
}

/* What the head says of worker i. */
static cJSON *described(struct fleet *f, int i)
{
	cleanup_json cJSON *doc = fleet_describe(f);

	return cJSON_DetachItemFromArray(json_get(doc, "workers"), i);
}

static bool says(struct fleet *f, int i, const char *error)
{
	cleanup_json cJSON *worker = described(f, i);
	const char *text = json_str(worker, "error");

	return text && strstr(text, error);
}

static bool is_ready(struct fleet *f, int i)
{
	cleanup_json cJSON *worker = described(f, i);

	return json_bool(worker, false, "ready");
}

TEST(test_polls)
{
	struct fleet *f;
	struct error err;

	assert_int_equal(stop_setup(&err), 0);
	for (int i = 0; i < UNITS; i++)
		units[i] = (struct unit){ &file, 0, { i * UNIT, (i + 1) * UNIT } };
	for (int i = 0; i < WORKERS - 1; i++) {
		workers[i].how = i;
		start(&workers[i], i);
	}
	addresses[WORKERS - 1] = (struct cache_address){ host, 1 };
	assert_int_equal(fleet_start(&f, &conf, &table, &err), 0);
	EVENTUALLY(is_ready(f, TAKES));
	EVENTUALLY(says(f, REFUSES, "no such file"));
	EVENTUALLY(says(f, WORKERS - 1, "refused"));
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(is_ready(f, i), i == TAKES);
	assert_int_equal(workers[TAKES].assignments, 1); /* it has its rows */
	stop_request();
	fleet_stop(f);
	for (int i = 0; i < WORKERS - 1; i++) {
		h2d_stop(workers[i].server, 1000);
		free(workers[i].assigned);
	}
}

RUN_TESTS(NULL, NULL)
