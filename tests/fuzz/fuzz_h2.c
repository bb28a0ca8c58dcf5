/*
 * Frames of a hostile peer: no crash, no more streams than allowed, and every body that
 * was taken is released. The input comes in pieces; what is sent is taken in others.
 */
#include <string.h>

#include "base/xmalloc.h"
#include "net/grpc.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BODY = 1 << 16, MAX_STREAMS = 10 };

static int open_bodies;
static const char message[] = "\0\0\0\0\3abc";

static void next(void *ctx, struct h2_piece *ret)
{
	int *left = ctx;

	*ret = (struct h2_piece){ .data = message,
				  .len = *left ? sizeof(message) - 1 : 0 };
	if (*left % 2)
		ret->data = ret->take =
			memcpy(xmalloc(sizeof(message)), message, sizeof(message));
	*left -= *left > 0;
}

static void release(void *ctx)
{
	free(ctx);
	open_bodies--;
}

static void run(void *ctx, struct grpc_call *call)
{
	struct grpc_source source = { next, release, xcalloc(1, sizeof(int)), 0 };
	struct iovec m;

	open_bodies++;
	*(int *)source.ctx = 5;
	while (grpc_next(call, &m))
		grpc_send(call, m.iov_base, m.iov_len);
	grpc_send_from(call, &source);
}

/* Later, the first time, for some; some are refused. */
static enum grpc_verdict admit(void *ctx, struct grpc_call *call)
{
	const char *token = grpc_metadata(call, "authorization");
	static unsigned n;

	if (!token)
		return GRPC_ADMITTED;
	if (token[0] == 'l')
		return n++ % 2 ? GRPC_LATER : GRPC_ADMITTED;
	grpc_fail(call, GRPC_UNAUTHENTICATED, "%s", token);
	return GRPC_REFUSED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct grpc_method methods[] = { { .path = "/a.B/C", .run = run },
						      { 0 } };
	struct grpc_conf grpc = { .methods = methods, .admit = admit };
	struct h2_budget budget = { .max = 4 * MAX_BODY };
	struct h2_conf conf = grpc_h2(&grpc, MAX_BODY);
	struct h2_conn *c;
	size_t step = size ? 1 + data[0] % 97u : 1;
	struct error err = { 0 };
	struct iovec iov[4];
	int n;

	conf.max_streams = MAX_STREAMS;
	c = h2_conn_new(&conf, &budget, NULL);
	for (size_t at = 0; at < size; at += step) {
		size_t len = step < size - at ? step : size - at;

		if (h2_feed(c, data + at, len, &err) || h2_next(c, iov, 4, &n, &err))
			break;
		FUZZ_CHECK(h2_streams(c) <= MAX_STREAMS);
		FUZZ_CHECK(budget.used <= budget.max + budget.max / 4);
		if (data[at] == 'r')
			h2_resume(c);
		for (int i = 0; i < n; i++)
			FUZZ_CHECK(iov[i].iov_len > 0);
		if (n)
			h2_sent(c, 1 + iov[0].iov_len / 2);
	}
	h2_conn_free(c);
	FUZZ_CHECK(!open_bodies && !budget.used);
	return 0;
}
