/*
 * What nodes say to rank 0's preflight, and what it says to them: lines of JSON. Rank 0
 * ends with rows whatever they answer, and the others report the same ones; a node that
 * is asked for anything answers until the rows come.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "net/rendezvous.h"
#include "nodecheck/nodecheck.h"
#include "tests/fuzz/fuzz.h"

enum { N = 4 };

struct side {
	struct buf in;   /* the lines that are not received yet */
	struct buf rows; /* that were reported */
	cJSON *last;     /* that was told */
	int64_t n_told;
};

static void add_row(void *ctx, const struct nodecheck_row *row)
{
	struct side *s = ctx;

	FUZZ_CHECK(row->check && row->message);
	buf_printf(&s->rows, "%d %s %s %s %s %g %g\n", row->bad, row->check,
		   row->device ? row->device : "", row->message,
		   row->unit ? row->unit : "", row->unit ? row->value : 0,
		   row->unit ? row->expected : 0);
}

static int send_to(void *ctx, uint32_t rank, const cJSON *doc, struct error *err)
{
	struct side *s = ctx;

	(void)err;
	FUZZ_CHECK(rank < N && cJSON_IsObject(doc));
	cJSON_Delete(s->last);
	s->last = cJSON_Duplicate(doc, true);
	s->n_told++;
	return 0;
}

static int receive_from(void *ctx, uint32_t rank, cJSON **ret, struct error *err)
{
	struct side *s = ctx;

	FUZZ_CHECK(rank < N);
	if (rendezvous_line(&s->in, ret, err))
		return -1;
	return *ret ? 0 : error_set(err, ERR_IO, "gone");
}

/* A port that is taken: no end listens, and nothing is measured here. */
static int taken_port(void)
{
	static int listener = -1;
	struct error err = { 0 };

	if (listener < 0)
		FUZZ_CHECK(!sock_listen(&listener, NULL, 0, &err));
	return sock_port(listener);
}

static void run(struct side *s, uint32_t rank, const uint8_t *data, size_t size)
{
	static const char *names[N] = { "n0", "n1", "n2", "n3" };
	static const bool here[N] = { true, true, true, true };
	struct nodecheck c = { add_row, s, clock_ms() };
	const struct nodecheck_peers p = { .n = N,
					   .rank = rank,
					   .names = names,
					   .port = taken_port(),
					   .here = here,
					   .send = send_to,
					   .receive = receive_from,
					   .ctx = s };

	*s = (struct side){ .in.max = RENDEZVOUS_LINE_MAX, .rows.max = 64 << 20 };
	buf_add(&s->in, data, size);
	nodecheck_links(&c, &p);
}

static void release(struct side *s)
{
	cJSON_Delete(s->last);
	buf_release(&s->in);
	buf_release(&s->rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct side first, other, asked;
	cleanup_buf struct buf end = { .max = 64 << 20 };

	if (size >= RENDEZVOUS_LINE_MAX)
		return 0;
	run(&first, 0, data, size);
	FUZZ_CHECK(first.rows.len && json_get(first.last, "rows"));
	json_print(&end, first.last);
	buf_adds(&end, "\n");
	if (end.len < RENDEZVOUS_LINE_MAX) {
		run(&other, 1, end.data, end.len);
		FUZZ_CHECK(other.rows.len == first.rows.len && !other.n_told &&
			   !memcmp(other.rows.data, first.rows.data, first.rows.len));
		release(&other);
	}
	run(&asked, 1, data, size);
	FUZZ_CHECK(!asked.n_told || cJSON_IsObject(asked.last));
	release(&asked);
	release(&first);
	return 0;
}
