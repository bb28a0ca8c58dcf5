/* net.c - the names, ports, links and clocks of all nodes (nodecheck/nodecheck.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/dial.h"
#include "nodecheck/nodecheck.h"
#include "nodecheck/pair.h"

enum {
	ROUNDS = 16,    /* at most: each node is measured with as many others */
	SLOW_AGAIN = 5, /* other load makes a link slow at times, a bad one always is */
	FAILED_AGAIN = 1,
	NAMES_SHOWN = 10,
	LOST_LEAST = 5,
	RTT_BAD_US = 5000,
	CLOCK_MS = 1000,
	RETRY_MS = 200,
};
static const double RATE_BAD = 12.5; /* MB/s: 100 Mbit/s */

struct link {
	uint32_t a, b; /* a connects to b, as ranks do to rank 0: a > b */
	struct pair_result at[2];
	int64_t session;
	const char *why; /* the link is bad; NULL: it is not */
};

struct net {
	struct nodecheck *c;
	const struct nodecheck_peers *p;
	struct arena arena;
	int listener;
	char token[RANDOM_KEY_SIZE];
	int64_t session; /* the last one's number */
	bool *out;       /* the node is not measured any more */
	struct link *links;
	size_t n_links;
	cJSON *rows;
};

/* ---- names ---- */

static bool resolves(const char *name, int64_t deadline, struct error *err)
{
	do {
		if (!dial_resolve(name, err))
			return true;
		clock_sleep_ms(RETRY_MS);
	} while (clock_ms() < deadline);
	return false;
}

void nodecheck_names(struct nodecheck *c, const struct nodecheck_peers *p)
{
	struct nodecheck_row row = { .check = "names",
				     .message = "all names of the job resolve" };
	size_t n_bad = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		struct error err = { 0 };

		if (resolves(p->names[i], c->deadline, &err))
			continue;
		if (n_bad++ >= NAMES_SHOWN)
			continue;
		row.device = p->names[i];
		row.message = err.msg;
		row.bad = true;
		c->report(c->ctx, &row);
	}
	if (!n_bad)
		c->report(c->ctx, &row);
}

/* ---- a node's part ---- */

static cJSON *doc_of(const struct pair_result *r, int rc, const struct error *err)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_int(doc, r->rate, "rate");
	json_put_int(doc, r->rtt_us, "rtt");
	json_put_int(doc, r->sent, "sent");
	json_put_int(doc, r->lost, "lost");
	if (rc)
		json_put_str(doc, err->msg, "error");
	return doc;
}

static int64_t unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static cJSON *start_listening(struct net *t, const cJSON *what)
{
	cJSON *doc = cJSON_CreateObject();
	const char *token = json_str(what, "token");
	struct error err = { 0 };

	snprintf(t->token, sizeof(t->token), "%s", token ? token : "");
	if (t->listener < 0 && sock_listen(&t->listener, NULL, t->p->port, &err)) {
		t->listener = -1;
		json_put_str(doc, err.msg, "error");
	}
	return doc;
}

/* Do what rank 0 says; the answer is the caller's. */
static cJSON *take_part(struct net *t, const cJSON *what)
{
	const char *todo = json_str(what, "do"), *host = json_str(what, "host");
	int64_t deadline = clock_ms() + PAIR_MS;
	char token[PAIR_TOKEN + 1];
	struct pair_result result = { 0 };
	struct error err = { 0 };
	int rc;

	if (str_eq(todo, "listen"))
		return start_listening(t, what);
	if (str_eq(todo, "clock")) {
		cJSON *doc = cJSON_CreateObject();

		json_put_int(doc, unix_ms(), "ms");
		return doc;
	}
	snprintf(token, sizeof(token), "%.20s%012" PRIx64, t->token,
		 (uint64_t)json_int(what, 0, "session") & 0xffffffffffff);
	if (t->listener < 0)
		rc = error_set(&err, ERR_INVALID, "it does not listen");
	else if (host)
		rc = pair_connect(&result, host, t->p->port, token, deadline, &err);
	else
		rc = pair_serve(&result, t->listener, token, deadline, &err);
	return doc_of(&result, rc, &err);
}

static void show_rows(struct net *t, const cJSON *rows)
{
	const cJSON *r;

	json_each(r, rows) {
		const cJSON *value = json_get(r, "value");
		const cJSON *expected = json_get(r, "expected");
		const struct nodecheck_row row = {
			.check = json_str(r, "check"),
			.device = json_str(r, "device"),
			.message = json_str(r, "message"),
			.unit = json_str(r, "unit"),
			.value = value ? value->valuedouble : 0,
			.expected = expected ? expected->valuedouble : 0,
			.bad = json_bool(r, false, "bad"),
		};

		if (row.check && row.message)
			t->c->report(t->c->ctx, &row);
	}
}

static void follow(struct net *t)
{
	for (;;) {
		cleanup_json cJSON *what = NULL, *answer = NULL;
		struct nodecheck_row row = { .check = "links",
					     .device = t->p->names[0],
					     .bad = true };
		struct error err = { 0 };

		if (t->p->receive(t->p->ctx, 0, &what, &err)) {
			row.message = err.msg;
			t->c->report(t->c->ctx, &row);
			return;
		}
		if (json_get(what, "rows")) {
			show_rows(t, json_get(what, "rows"));
			return;
		}
		answer = take_part(t, what);
		(void)!t->p->send(t->p->ctx, 0, answer, IGNORED);
	}
}

/* ---- rank 0: rows ---- */

static void report(struct net *t, const struct nodecheck_row *row)
{
	cJSON *r = cJSON_CreateObject();

	json_put_str(r, row->check, "check");
	json_put_str(r, row->message, "message");
	if (row->device)
		json_put_str(r, row->device, "device");
	if (row->unit) {
		json_put_str(r, row->unit, "unit");
		json_put(r, cJSON_CreateNumber(row->value), "value");
		json_put(r, cJSON_CreateNumber(row->expected), "expected");
	}
	json_put_bool(r, row->bad, "bad");
	cJSON_AddItemToArray(t->rows, r);
	t->c->report(t->c->ctx, row);
}

static void report_node(struct net *t, const char *check, uint32_t rank, const char *why)
{
	report(t,
	       &(struct nodecheck_row){
		       .check = check,
		       .device = t->p->names[rank],
		       .message = arena_printf(&t->arena, "node rank %u: %s", rank, why),
		       .bad = true });
}

static void drop(struct net *t, uint32_t rank, const char *check, const char *why)
{
	if (!t->out[rank])
		report_node(t, check, rank, why);
	t->out[rank] = true;
}

/* ---- rank 0: orders ---- */

static cJSON *order(const char *todo)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, todo, "do");
	return doc;
}

/* The order for one end of a link; the caller's. */
static cJSON *order_end(const struct net *t, const struct link *l, bool connects)
{
	cJSON *doc = order(connects ? "connect" : "serve");

	if (connects)
		json_put_str(doc, t->p->names[l->b], "host");
	json_put_int(doc, l->session, "session");
	return doc;
}

static void send_to(struct net *t, uint32_t rank, const cJSON *doc)
{
	struct error err = { 0 };

	if (rank && !t->out[rank] && t->p->send(t->p->ctx, rank, doc, &err))
		drop(t, rank, "links", err.msg);
}

/* The answer, the caller's; NULL: none will come. */
static cJSON *receive_from(struct net *t, uint32_t rank)
{
	cJSON *doc = NULL;
	struct error err = { 0 };

	if (!t->out[rank] && t->p->receive(t->p->ctx, rank, &doc, &err))
		drop(t, rank, "links", err.msg);
	return doc;
}

static void check_clock(struct net *t, uint32_t rank)
{
	cleanup_json cJSON *ask = order("clock"), *answer = NULL;
	int64_t began = unix_ms(), ended, ms, off;

	send_to(t, rank, ask);
	answer = receive_from(t, rank);
	ended = unix_ms();
	ms = json_int(answer, -1, "ms");
	if (ms < 0)
		return;
	off = ms < began ? ms - began : ms > ended ? ms - ended : 0;
	if (off < -CLOCK_MS || off > CLOCK_MS)
		report_node(t, "clocks", rank,
			    arena_printf(&t->arena,
					 "its clock is %.1f s %s that of node rank 0: "
					 "synchronize the nodes' clocks",
					 fabs((double)off) / 1000,
					 off < 0 ? "behind" : "ahead of"));
}

static void check_clocks(struct net *t)
{
	int before = cJSON_GetArraySize(t->rows);

	for (uint32_t i = 1; i < t->p->n; i++)
		if (!t->out[i])
			check_clock(t, i);
	if (cJSON_GetArraySize(t->rows) == before)
		report(t, &(struct nodecheck_row){ .check = "clocks",
						   .message = "alike on all nodes" });
}

static void check_ports(struct net *t)
{
	cleanup_json cJSON *what = order("listen");
	int before = cJSON_GetArraySize(t->rows);

	json_put_str(what, t->token, "token");
	for (uint32_t i = 1; i < t->p->n; i++)
		send_to(t, i, what);
	for (uint32_t i = 0; i < t->p->n; i++) {
		cleanup_json cJSON *answer = i ? receive_from(t, i) : take_part(t, what);
		const char *why = json_str(answer, "error");

		if (why)
			drop(t, i, "ports",
			     arena_printf(&t->arena, "%s: end what uses the port", why));
	}
	if (cJSON_GetArraySize(t->rows) == before)
		report(t, &(struct nodecheck_row){
				  .check = "ports",
				  .message = arena_printf(&t->arena,
							  "%d is free on all nodes",
							  t->p->port) });
}

/* ---- rank 0: links ---- */

static void read_end(struct pair_result *ret, const cJSON *doc)
{
	ret->rate = json_int(doc, 0, "rate");
	ret->rtt_us = json_int(doc, 0, "rtt");
	ret->sent = json_int(doc, 0, "sent");
	ret->lost = json_int(doc, 0, "lost");
}

static void start_link(struct net *t, const struct link *l)
{
	cleanup_json cJSON *serve = order_end(t, l, false);
	cleanup_json cJSON *connect = order_end(t, l, true);

	send_to(t, l->b, serve);
	send_to(t, l->a, connect);
}

/* This node's part, if it has one, while the others measure. */
static cJSON *own_part(struct net *t, const struct link *l)
{
	cleanup_json cJSON *what = NULL;

	if (l->a && l->b)
		return NULL;
	what = order_end(t, l, !l->a);
	return take_part(t, what);
}

static void end_link(struct net *t, struct link *l, cJSON *take_own)
{
	cleanup_json cJSON *a = l->a ? receive_from(t, l->a) : take_own;
	cleanup_json cJSON *b = l->b ? receive_from(t, l->b) : take_own;
	const char *why =
		json_str(a, "error") ? json_str(a, "error") : json_str(b, "error");

	l->why = arena_strdup(&t->arena, why);
	read_end(&l->at[0], a);
	read_end(&l->at[1], b);
	if (!why && (!a || !b))
		l->why = "it was not measured: a node did not answer";
}

static void measure(struct net *t, struct link *links, size_t n)
{
	cJSON *own = NULL;

	for (size_t i = 0; i < n; i++) {
		links[i].session = ++t->session;
		start_link(t, &links[i]);
	}
	for (size_t i = 0; i < n && !own; i++)
		own = own_part(t, &links[i]);
	for (size_t i = 0; i < n; i++)
		end_link(t, &links[i], links[i].a && links[i].b ? NULL : own);
}

/* Pairs of a round, each node in one of them (the circle method). */
static void measure_round(struct net *t, uint32_t round)
{
	uint32_t m = t->p->n + t->p->n % 2;
	struct link *first = &t->links[t->n_links];
	size_t n = 0;

	for (uint32_t k = 0; k < m / 2; k++) {
		uint32_t x = k ? (round + k) % (m - 1) : m - 1;
		uint32_t y = (round + m - 1 - k) % (m - 1);
		uint32_t a = x < y ? y : x, b = x < y ? x : y;

		if (a >= t->p->n || t->out[a] || t->out[b])
			continue;
		first[n++] = (struct link){ .a = a, .b = b };
	}
	measure(t, first, n);
	t->n_links += n;
}

static int descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* The upper quartile of the rates; 0: too few to compare. */
static int64_t usual_rate(const struct net *t)
{
	int64_t *rates = xcalloc(2 * t->n_links + 1, sizeof(*rates)), found;
	size_t n = 0;

	for (size_t i = 0; i < t->n_links; i++)
		for (int end = 0; end < 2 && !t->links[i].why; end++)
			rates[n++] = t->links[i].at[end].rate;
	qsort(rates, n, sizeof(*rates), descending);
	found = n > 4 ? rates[n / 4] : 0;
	free(rates);
	return found;
}

/* The figures of a way that is too slow or loses packets; NULL: it is good. */
static const char *bad_way(struct net *t, const struct link *l, int end, int64_t usual)
{
	/* Bytes are counted where they arrive. */
	const struct pair_result *from = &l->at[end], *to = &l->at[!end];
	const char *names[] = { t->p->names[end ? l->b : l->a],
				t->p->names[end ? l->a : l->b] };
	double rate = (double)to->rate / 1e6, least = (double)usual / 4e6;

	if (least < RATE_BAD)
		least = RATE_BAD;
	if (!(from->lost >= LOST_LEAST && from->lost > from->sent / 100) &&
	    rate >= least && l->at[0].rtt_us <= RTT_BAD_US)
		return NULL;
	return arena_printf(
		&t->arena,
		"from %s to %s %.1f MB/s (expected %.1f), %.1f ms to an answer "
		"(expected %.1f), %" PRId64 " of %" PRId64
		" packets lost: check the network between them",
		names[0], names[1], rate, least, (double)l->at[0].rtt_us / 1000,
		(double)RTT_BAD_US / 1000, from->lost, from->sent);
}

/* NULL: the link is good. */
static const char *verdict(struct net *t, const struct link *l, int64_t usual)
{
	const char *why = l->why;

	for (int end = 0; end < 2 && !why; end++)
		why = bad_way(t, l, end, usual);
	return why;
}

static void judge(struct net *t)
{
	int64_t usual = usual_rate(t);

	for (size_t i = 0; i < t->n_links; i++) {
		struct link *l = &t->links[i];
		const char *why = verdict(t, l, usual);

		for (int k = 0; k < (l->why ? FAILED_AGAIN : SLOW_AGAIN) && why &&
				!t->out[l->a] && !t->out[l->b];
		     k++) {
			measure(t, l, 1);
			why = verdict(t, l, usual);
		}
		l->why = why;
	}
}

/* Are all links of that node bad? Then it is named, not they. */
static bool all_bad(const struct net *t, uint32_t rank)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_links; i++) {
		const struct link *l = &t->links[i];

		if (l->a != rank && l->b != rank)
			continue;
		if (!l->why)
			return false;
		n++;
	}
	return n > 1;
}

static void report_links(struct net *t)
{
	struct nodecheck_row row = { .check = "links", .unit = "MB/s" };
	size_t n_bad = 0;

	for (uint32_t i = 0; i < t->p->n; i++)
		if (all_bad(t, i) && ++n_bad)
			report_node(t, "links", i,
				    "all of its links are bad: exclude it");
	for (size_t i = 0; i < t->n_links; i++) {
		const struct link *l = &t->links[i];
		double rate = (double)(l->at[0].rate < l->at[1].rate ? l->at[0].rate
								     : l->at[1].rate);

		if (!row.value || rate / 1e6 < row.value)
			row.value = rate / 1e6;
		if (!l->why || all_bad(t, l->a) || all_bad(t, l->b))
			continue;
		n_bad++;
		report(t,
		       &(struct nodecheck_row){ .check = "links",
						.device = arena_printf(&t->arena, "%s-%s",
								       t->p->names[l->b],
								       t->p->names[l->a]),
						.message = l->why,
						.bad = true });
	}
	row.message = arena_printf(&t->arena, "the slowest of %zu links", t->n_links);
	if (!n_bad && t->n_links)
		report(t, &row);
}

static void lead(struct net *t)
{
	cleanup_json cJSON *end = cJSON_CreateObject();
	uint32_t n = t->p->n, rounds = n + n % 2 - 1;

	rounds = rounds < ROUNDS ? rounds : ROUNDS;
	t->rows = json_list(end, "rows");
	t->links = xcalloc((size_t)rounds * (n / 2 + 1), sizeof(*t->links));
	for (uint32_t i = 1; i < n; i++)
		if (!t->p->here[i])
			drop(t, i, "links", "did not connect: check its pod");
	check_clocks(t);
	check_ports(t);
	for (uint32_t i = 0; i < rounds; i++)
		measure_round(t, i);
	judge(t);
	report_links(t);
	for (uint32_t i = 1; i < n; i++)
		if (t->p->here[i])
			(void)!t->p->send(t->p->ctx, i, end, IGNORED);
	free(t->links);
}

void nodecheck_links(struct nodecheck *c, const struct nodecheck_peers *peers)
{
	struct net t = { .c = c, .p = peers, .listener = -1 };
	struct error err = { 0 };

	if (random_key(t.token, &err)) {
		c->report(c->ctx,
			  &(struct nodecheck_row){ .check = "links",
						   .device = peers->names[peers->rank],
						   .message = err.msg,
						   .bad = true });
		return;
	}
	t.out = xcalloc(peers->n, sizeof(*t.out));
	if (peers->rank)
		follow(&t);
	else
		lead(&t);
	if (t.listener >= 0)
		close(t.listener);
	free(t.out);
	arena_clear(&t.arena);
}
