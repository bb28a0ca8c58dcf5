/* preflight_links.c - test links between devices, find bad ones (preflight_pairs.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "gpu/expect.h"
#include "gpu/preflight_pairs.h"

enum { AGAIN = 2 };
static const uint64_t PEER_BYTES = 32 << 20, REDUCE_BYTES = 16 << 20;

static int by_rate(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t quarter(const struct pairs *t, size_t quarters)
{
	int64_t *rates = xcalloc((size_t)PAIRS_MAX * PAIRS_MAX, sizeof(*rates)), found;
	size_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			if (!t->pair[i][j].failed)
				rates[n++] = t->pair[i][j].rate;
	qsort(rates, n, sizeof(*rates), by_rate);
	found = n ? rates[n * quarters / 4] : 0;
	free(rates);
	return found;
}

int64_t pairs_usual(const struct pairs *t)
{
	return quarter(t, 3);
}

static bool is_bad(const struct pair *pair, int64_t middle)
{
	return pair->failed || pair->rate < middle / 2;
}

static const struct pair *between(const struct pairs *t, uint32_t a, uint32_t b)
{
	return a < b ? &t->pair[a][b] : &t->pair[b][a];
}

/* Is the device bad with every other one? Then it is reported, and not its links. */
static bool all_bad(const struct pairs *t, uint32_t device, int64_t middle)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (i != device && !is_bad(between(t, device, i), middle))
			return false;
	return t->n > 2;
}

static const char *label(struct arena *arena, const struct pairs *t, uint32_t i)
{
	return t->names ? t->names[i] : preflight_label(arena, t->p, i);
}

static void report_device(struct pairs *t, uint32_t device)
{
	cleanup_arena struct arena arena = { 0 };
	const struct pair *one = between(t, device, device ? 0 : 1);

	preflight_report(
		t->p,
		(struct preflight_row){
			.check = t->check,
			.grade = GPU_FATAL,
			.device = label(&arena, t, device),
			.message = arena_printf(
				&arena, "fails with every other %s: %s; exclude it",
				t->names ? "node" : "device",
				one->failed ? one->why
					    : "less than half of the others' rate") });
}

static void report_link(struct pairs *t, uint32_t a, uint32_t b, int64_t middle)
{
	cleanup_arena struct arena arena = { 0 };
	const struct pair *pair = &t->pair[a][b];
	struct preflight_row row = {
		.check = t->check,
		.grade = GPU_FATAL,
		.device = arena_printf(&arena, "%s-%s", label(&arena, t, a),
				       label(&arena, t, b)),
		.message =
			pair->failed
				? pair->why
				: "less than half of the other links' rate: check the link",
	};

	if (!pair->failed) {
		row.unit = "GB/s";
		row.value = (double)pair->rate / 1e9;
		row.expected = (double)middle / 1e9;
	}
	preflight_report(t->p, row);
}

static bool any_failed(const struct pairs *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			if (t->pair[i][j].failed)
				return true;
	return false;
}

size_t pairs_report(struct pairs *t, bool *ret_bad)
{
	int64_t middle = any_failed(t) ? 0 : pairs_usual(t);
	bool bad[PAIRS_MAX] = { false };
	size_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		bad[i] = all_bad(t, i, middle);
	for (uint32_t i = 0; i < t->n; i++)
		if (bad[i] && ++n)
			report_device(t, i);
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			if (!bad[i] && !bad[j] && is_bad(&t->pair[i][j], middle) && ++n)
				report_link(t, i, j, middle);
	if (ret_bad)
		memcpy(ret_bad, bad, sizeof(bad));
	return n;
}

void pairs_measure_again(struct pairs *t,
			 void (*measure)(struct pairs *t, uint32_t a, uint32_t b))
{
	int64_t middle = pairs_usual(t);

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++) {
			struct pair *pair = &t->pair[i][j];

			for (int k = 0;
			     k < AGAIN && !pair->failed && is_bad(pair, middle); k++) {
				int64_t best = pair->rate;

				measure(t, i, j);
				if (!pair->failed && pair->rate < best)
					pair->rate = best;
			}
		}
}

bool pairs_are_faster(struct pairs *t, int64_t rate,
		      void (*measure)(struct pairs *t, uint32_t a, uint32_t b))
{
	const struct pair *first = &t->pair[0][1], *last = &t->pair[t->n - 2][t->n - 1];
	int64_t best;

	if (t->n < 3)
		return false;
	measure(t, 0, 1);
	measure(t, t->n - 2, t->n - 1);
	best = first->rate > last->rate ? first->rate : last->rate;
	return first->failed || last->failed || rate < best / 2;
}

struct pairs *pairs_new(struct preflight *p, const char *check, uint32_t n)
{
	struct pairs *t = xcalloc(1, sizeof(*t));

	t->p = p;
	t->check = check;
	t->n = n < PAIRS_MAX ? n : PAIRS_MAX;
	return t;
}

/* ---- copies ---------------------------------------------------------------------------- */

static void measure_copy(struct pairs *t, uint32_t a, uint32_t b)
{
	cleanup_json cJSON *answer = NULL;
	struct pair *pair = &t->pair[a][b];
	struct error err;

	if (preflight_ask(t->p,
			  (struct gpu_request){ .op = GPU_OP_PEER,
						.device = a,
						.arg = { PEER_BYTES, b } },
			  &answer, &err)) {
		pair->failed = true;
		snprintf(pair->why, sizeof(pair->why), "%.399s", err.msg);
		return;
	}
	pair->rate = json_int(answer, 0, "rate");
}

void preflight_peers(struct preflight *p)
{
	cleanup_free struct pairs *t = pairs_new(p, "peers", preflight_devices(p));

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			measure_copy(t, i, j);
	pairs_measure_again(t, measure_copy);
	if (t->n > 1 && !pairs_report(t, NULL))
		preflight_rate(p,
			       (struct preflight_row){ .check = "peers",
						       .message = "median of all pairs" },
			       quarter(t, 2), preflight_kind(p, 0), "peer");
}

/* ---- all-reduce ------------------------------------------------------------------------- */

static int64_t wrong_sums(const cJSON *answer)
{
	const cJSON *rank;
	int64_t n = 0;

	json_each(rank, json_get(answer, "ranks"))
		n += json_int(rank, 0, "wrong");
	return n;
}

static int reduce(struct preflight *p, uint64_t devices, struct pair *ret,
		  struct error *err)
{
	cleanup_json cJSON *answer = NULL;
	const struct gpu_request q = { .op = GPU_OP_ALLREDUCE,
				       .arg = { REDUCE_BYTES, devices } };
	int64_t wrong;

	if (preflight_ask(p, q, &answer, err)) {
		ret->failed = true;
		snprintf(ret->why, sizeof(ret->why), "%.399s", err->msg);
		return -1;
	}
	wrong = wrong_sums(answer);
	ret->rate = json_int(answer, 0, "busBandwidth");
	ret->failed = wrong > 0;
	if (wrong)
		snprintf(ret->why, sizeof(ret->why),
			 "%" PRId64 " sums of NCCL's all-reduce are wrong", wrong);
	return 0;
}

static void reduce_pair(struct pairs *t, uint32_t a, uint32_t b)
{
	struct error err;

	/* pair[a][b] records the error. */
	(void)!reduce(t->p, UINT64_C(1) << a | UINT64_C(1) << b, &t->pair[a][b], &err);
}

static void report_all(struct pairs *t, const struct pair *all)
{
	struct preflight_row row = {
		.check = "nccl", .message = "all-reduce over all devices, bus bandwidth"
	};

	if (!all->failed) {
		preflight_rate(t->p, row, all->rate, preflight_kind(t->p, 0),
			       "allReduce");
		return;
	}
	row.grade = GPU_FATAL;
	row.message = all->why;
	preflight_report(t->p, row);
}

void preflight_nccl(struct preflight *p)
{
	cleanup_free struct pairs *t = pairs_new(p, "nccl", preflight_devices(p));
	struct pair all = { 0 };
	double expected = gpu_expected(p->expect, preflight_kind(p, 0), "allReduce");
	uint64_t every = t->n < 64 ? (UINT64_C(1) << t->n) - 1 : UINT64_MAX;
	struct error err;

	if (t->n < 2)
		return;
	if (reduce(p, every, &all, &err) && err.kind == ERR_NOT_FOUND) {
		preflight_report(p, (struct preflight_row){ .check = "nccl",
							    .grade = GPU_WARNING,
							    .message = err.msg });
		return;
	}
	report_all(t, &all);
	if (t->n < 3 ||
	    !(all.failed || (double)all.rate < expected * 1e9 ||
	      p->depth == PREFLIGHT_FULL || pairs_are_faster(t, all.rate, reduce_pair)))
		return;
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			reduce_pair(t, i, j);
	pairs_measure_again(t, reduce_pair);
	pairs_report(t, NULL);
}
