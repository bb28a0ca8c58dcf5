/* preflight_job.c - test the job's nodes with NCCL, find bad ones (gpu/preflight.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "gpu/expect.h"
#include "gpu/preflight_pairs.h"

enum { ID_SIZE = 128, ID_HEX = 2 * ID_SIZE, MASK_BITS = 53 /* an id as JSON */ };
static const uint64_t REDUCE_BYTES = 16 << 20;

struct job {
	struct preflight *p;
	const struct preflight_job *conf;
	struct arena arena;
	cJSON **hellos;     /* each rank's first message */
	const char **names; /* each node's name */
	const char **gone;  /* why each node was lost; NULL: it is not lost */
	cJSON *rows;        /* rows that are sent to the other nodes */
	void (*report)(void *ctx, const cJSON *row);
	void *report_ctx;
};

/* ---- a node's part ------------------------------------------------------------------------ */

static uint64_t all_devices(uint32_t n)
{
	return n < MASK_BITS ? (UINT64_C(1) << n) - 1 : (UINT64_C(1) << MASK_BITS) - 1;
}

static bool read_id(uint8_t *to, const char *hex)
{
	for (size_t i = 0; i < ID_HEX; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = hex && hex[i] ? strchr(digits, hex[i]) : NULL;

		if (!at)
			return false;
		to[i / 2] = (uint8_t)(to[i / 2] << 4 | (at - digits));
	}
	return !hex[ID_HEX];
}

/* Run this node's part of an all-reduce: {rate, error?} or {error, late}. */
static cJSON *take_part(struct preflight *p, const cJSON *what)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *answer = NULL;
	struct gpu_request q = {
		.op = GPU_OP_ALLREDUCE,
		.device = (uint32_t)json_int(what, 0, "total"),
		.arg = { REDUCE_BYTES, (uint64_t)json_int(what, 0, "devices"),
			 (uint64_t)json_int(what, 0, "first") },
	};
	cJSON *ret = cJSON_CreateObject();
	const cJSON *rank;
	struct error err;

	if (!read_id(q.data, json_str(what, "id")))
		error_set(&err, ERR_FORMAT, "invalid NCCL ID");
	else if (!preflight_ask(p, q, &answer, &err)) {
		json_put_int(ret, json_int(answer, 0, "busBandwidth"), "rate");
		json_each(rank, json_get(answer, "ranks"))
			if (json_int(rank, 0, "wrong") > 0)
				json_put_str(
					ret,
					arena_printf(
						&arena,
						"GPU %s: %" PRId64
						" sums of NCCL's all-reduce are wrong",
						preflight_label(
							&arena, p,
							(uint32_t)json_int(rank, 0,
									   "device")),
						json_int(rank, 0, "wrong")),
					"error");
		return ret;
	}
	json_put_str(ret, err.msg, "error");
	json_put_bool(ret, err.kind == ERR_TIMEOUT, "late");
	return ret;
}

static void follow(struct preflight *p, const struct preflight_job *job,
		   const char *leader)
{
	for (;;) {
		cleanup_json cJSON *what = NULL, *done = NULL;
		const cJSON *row;
		struct error err;

		if (job->receive(job->ctx, 0, &what, &err)) {
			error_wrap(&err, "node rank 0 (%s)", leader);
			preflight_failed(p, "job", NULL, &err);
			return;
		}
		if (json_get(what, "rows")) {
			json_each(row, json_get(what, "rows"))
				preflight_relay(p, row);
			return;
		}
		done = take_part(p, what);
		/* Ignore a failure: the next receive() fails, too. */
		(void)!job->send(job->ctx, 0, done, &err);
	}
}

/* ---- rank 0 leads -------------------------------------------------------------------------- */

static uint32_t devices_of(const struct job *j, uint32_t node)
{
	int64_t n = json_int(j->hellos[node], 0, "devices");

	return n < 0 ? 0 : n > MASK_BITS ? MASK_BITS : (uint32_t)n;
}

/* Record the failure of a pair: the first reason, but a timeout yields to any other. */
static void note(const struct job *j, struct pair *to, uint32_t node, const char *why,
		 bool late)
{
	if (!to->failed || (to->timed_out && !late)) {
		snprintf(to->why, sizeof(to->why), "node rank %u (%.80s): %.280s", node,
			 j->names[node], why);
		to->timed_out = late;
	}
	to->failed = true;
}

static void note_lost(struct job *j, struct pair *to, uint32_t node,
		      const struct error *err)
{
	if (err->kind == ERR_IO)
		j->gone[node] = "exited during the all-reduce";
	else if (err->kind == ERR_TIMEOUT)
		j->gone[node] = "no answer by the check's deadline";
	note(j, to, node, err->msg, err->kind == ERR_TIMEOUT);
}

static int new_id(struct preflight *p, cJSON **ret, struct error *err)
{
	cleanup_json cJSON *answer = NULL;

	if (preflight_ask(p, (struct gpu_request){ .op = GPU_OP_NCCL_ID }, &answer, err))
		return -1;
	*ret = json_dup(json_get(answer, "id"));
	return 0;
}

static void receive_result(struct job *j, uint32_t node, const cJSON *own,
			   struct pair *to)
{
	cleanup_json cJSON *received = NULL;
	const cJSON *result = own;
	const char *why;
	struct error err;
	int64_t rate;

	if (node && j->conf->receive(j->conf->ctx, node, &received, &err)) {
		note_lost(j, to, node, &err);
		return;
	}
	result = node ? received : own;
	why = json_str(result, "error");
	if (why)
		note(j, to, node, why, json_bool(result, false, "late"));
	rate = json_int(result, 0, "rate");
	if (!to->rate || rate < to->rate)
		to->rate = rate;
}

/* Run an all-reduce over these devices of each node; start the other nodes first. */
static void reduce(struct job *j, const uint64_t *devices, struct pair *to)
{
	cleanup_json cJSON *own = NULL, *ours = NULL, *id = NULL;
	bool *sent = xcalloc(j->conf->n, sizeof(*sent));
	int64_t first = 0, total = 0;
	struct error err;

	for (uint32_t i = 0; i < j->conf->n; i++)
		total += __builtin_popcountll(devices[i]);
	if (new_id(j->p, &id, &err))
		note(j, to, 0, err.msg, false);
	for (uint32_t i = 0; i < j->conf->n && id; i++) {
		cleanup_json cJSON *what = cJSON_CreateObject();

		if (!devices[i])
			continue;
		json_put(what, json_dup(id), "id");
		json_put_int(what, first, "first");
		json_put_int(what, total, "total");
		json_put_int(what, (int64_t)devices[i], "devices");
		first += __builtin_popcountll(devices[i]);
		if (!i)
			own = STEAL(what);
		else if (j->conf->send(j->conf->ctx, i, what, &err))
			note_lost(j, to, i, &err);
		else
			sent[i] = true;
	}
	ours = own ? take_part(j->p, own) : NULL;
	for (uint32_t i = 0; i < j->conf->n; i++)
		if (sent[i] || (!i && ours))
			receive_result(j, i, ours, to);
	free(sent);
}

static void reduce_nodes(struct pairs *t, uint32_t a, uint32_t b)
{
	struct job *j = t->ctx;
	uint64_t *devices = xcalloc(j->conf->n, sizeof(*devices));

	devices[a] = all_devices(devices_of(j, a));
	devices[b] = all_devices(devices_of(j, b));
	t->pair[a][b] = (struct pair){ 0 };
	if (j->gone[a] || j->gone[b])
		note(j, &t->pair[a][b], j->gone[a] ? a : b,
		     j->gone[a] ? j->gone[a] : j->gone[b], false);
	else
		reduce(j, devices, &t->pair[a][b]);
	free(devices);
}

static void report_device(struct job *j, uint32_t node, uint32_t device,
			  const struct pair *found)
{
	preflight_report(j->p,
			 (struct preflight_row){
				 .check = "job",
				 .grade = GPU_FATAL,
				 .device = arena_printf(&j->arena, "%s/%u",
							j->names[node], device),
				 .message = found->failed ? found->why
							  : "less than half of the "
							    "others' rate: exclude it" });
}

/* Bad: failed; or, if no pair failed, less than half of the usual rate. */
static bool is_bad(const struct pair *found, bool failed, int64_t usual)
{
	return failed ? found->failed : found->rate < usual / 2;
}

/*
 * Pair each device of a bad node with one of a good node. If all are bad, only the node
 * is reported.
 */
static void search_devices(struct job *j, uint32_t node, uint32_t good, int64_t usual)
{
	uint64_t *devices = xcalloc(j->conf->n, sizeof(*devices));
	uint32_t n = devices_of(j, node), n_bad = 0;
	bool failed = false;
	struct pair *found = xcalloc(n + 1, sizeof(*found));

	devices[good] = 1;
	for (uint32_t i = 0; i < n; i++) {
		devices[node] = UINT64_C(1) << i;
		reduce(j, devices, &found[i]);
		failed = failed || found[i].failed;
	}
	for (uint32_t i = 0; i < n; i++)
		n_bad += is_bad(&found[i], failed, usual);
	for (uint32_t i = 0; i < n && n_bad < n; i++)
		if (is_bad(&found[i], failed, usual))
			report_device(j, node, i, &found[i]);
	free(devices);
	free(found);
}

static void search(struct job *j, struct pairs *t)
{
	bool bad[PAIRS_MAX] = { false };
	uint32_t good = 0;

	for (uint32_t a = 0; a < t->n; a++)
		for (uint32_t b = a + 1; b < t->n; b++)
			reduce_nodes(t, a, b);
	pairs_measure_again(t, reduce_nodes);
	pairs_report(t, bad);
	while (good < t->n && bad[good])
		good++;
	for (uint32_t i = 0; i < t->n && good < t->n; i++)
		if (bad[i] && !j->gone[i] && devices_of(j, i) > 1)
			search_devices(j, i, good, pairs_usual(t));
}

static void report_node(struct job *j, uint32_t node, const char *why)
{
	preflight_report(
		j->p, (struct preflight_row){
			      .check = "job",
			      .grade = GPU_FATAL,
			      .device = j->names[node],
			      .message = arena_printf(&j->arena, "node rank %u (%s): %s",
						      node, j->names[node], why) });
}

/* Report lost nodes; true: any. A search would wait for them in each step. */
static bool report_gone(struct job *j)
{
	bool any = false;

	for (uint32_t i = 0; i < j->conf->n; i++) {
		if (!j->gone[i])
			continue;
		report_node(j, i,
			    arena_printf(&j->arena, "%s: check its pod", j->gone[i]));
		any = true;
	}
	return any;
}

static void reduce_all(struct job *j)
{
	cleanup_free struct pairs *t = pairs_new(j->p, "job", j->conf->n);
	uint64_t *devices = xcalloc(j->conf->n, sizeof(*devices));
	struct preflight_row row = { .check = "job",
				     .message =
					     "all-reduce over all nodes, bus bandwidth" };
	struct pair all = { 0 };

	t->ctx = j;
	t->names = j->names;
	for (uint32_t i = 0; i < j->conf->n; i++)
		devices[i] = all_devices(devices_of(j, i));
	reduce(j, devices, &all);
	free(devices);
	if (report_gone(j))
		return;
	if (!all.failed) {
		preflight_rate(j->p, row, all.rate, preflight_kind(j->p, 0),
			       "jobAllReduce");
	} else {
		row.grade = GPU_FATAL;
		row.message = all.why;
		preflight_report(j->p, row);
	}
	if (j->conf->n > PAIRS_MAX || j->conf->n < 3)
		return;
	if (all.failed || pairs_are_faster(t, all.rate, reduce_nodes))
		search(j, t);
}

/*
 * Report nodes that did not connect, whose own checks failed, or that have no GPU, as
 * others have; true: none.
 */
static bool nodes_are_ready(struct job *j)
{
	bool good = true, gpus = false;

	for (uint32_t i = 0; i < j->conf->n; i++)
		gpus = gpus || devices_of(j, i);
	for (uint32_t i = 0; i < j->conf->n; i++) {
		const cJSON *hello = j->hellos[i];
		const char *why = !hello ? "did not connect: check its pod"
				  : json_int(hello, 0, "worst") >= GPU_FATAL
					  ? "its own checks failed: see its output"
				  : gpus && !devices_of(j, i) ? "has no GPU"
							      : NULL;

		if (!why)
			continue;
		report_node(j, i, why);
		good = false;
	}
	if (good && !gpus)
		preflight_report(
			j->p, (struct preflight_row){ .check = "job",
						      .message = "no node has a GPU" });
	return good && gpus;
}

static void keep_row(void *ctx, const cJSON *row)
{
	struct job *j = ctx;

	cJSON_AddItemToArray(j->rows, json_dup(row));
	j->report(j->report_ctx, row);
}

static void send_rows(struct job *j)
{
	cleanup_json cJSON *end = cJSON_CreateObject();

	json_put(end, STEAL(j->rows), "rows");
	for (uint32_t i = 1; i < j->conf->n; i++)
		if (j->hellos[i])
			(void)!j->conf->send(j->conf->ctx, i, end, IGNORED);
}

static void lead(struct job *j)
{
	struct preflight *p = j->p;

	for (uint32_t i = 0; i < j->conf->n; i++) {
		const char *name = json_str(j->hellos[i], "node");

		j->names[i] = name ? name : j->conf->name(j->conf->ctx, &j->arena, i);
	}
	j->rows = cJSON_CreateArray();
	j->report = p->report;
	j->report_ctx = p->ctx;
	p->report = keep_row;
	p->ctx = j;
	if (nodes_are_ready(j))
		reduce_all(j);
	p->report = j->report;
	p->ctx = j->report_ctx;
	send_rows(j);
}

void preflight_job(struct preflight *p)
{
	const struct preflight_job *conf = p->job;
	struct job j = { .p = p, .conf = conf };
	cJSON *hello;
	struct error err;

	if (!conf)
		return;
	p->deadline = clock_ms() + 2 * p->check_ms;
	p->helper.call_ms = p->call_ms = conf->call_ms;
	hello = cJSON_CreateObject();
	json_put_int(hello, conf->rank, "rank");
	json_put_str(hello, p->node, "node");
	json_put_int(hello, p->cuda ? preflight_devices(p) : 0, "devices");
	json_put_int(hello, p->worst, "worst");
	j.hellos = xcalloc(conf->n, sizeof(*j.hellos));
	j.names = xcalloc(conf->n, sizeof(*j.names));
	j.gone = xcalloc(conf->n, sizeof(*j.gone));
	if (conf->open(conf->ctx, hello, j.hellos, &err)) {
		preflight_failed(p, "job", NULL, &err);
	} else if (conf->rank) {
		follow(p, conf, conf->name(conf->ctx, &j.arena, 0));
	} else {
		j.hellos[0] = STEAL(hello);
		lead(&j);
	}
	cJSON_Delete(hello);
	for (uint32_t i = 0; i < conf->n; i++)
		cJSON_Delete(j.hellos[i]);
	free(j.hellos);
	free(j.names);
	free(j.gone);
	arena_clear(&j.arena);
}
