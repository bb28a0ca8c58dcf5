/*
 * A hostile gRPC server: "STATUS\0MESSAGE\0" of its trailers, then DATA frames, each with
 * its length in a byte. The client gets whole messages, and a status or an error.
 */
#include "net/grpc_client.h"

#include <string.h>

#include "base/xmalloc.h"
#include "net/h2d.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_MESSAGE = 100 };

static const uint8_t *input;
static size_t input_len;

/* An answer, also after the client has gone and the input has. */
struct answer {
	char status[32], text[256];
	struct h2_header trailers[2];
	size_t at, len;
	uint8_t data[];
};

static void take_text(struct answer *a, char *to, size_t size)
{
	size_t n = 0;

	while (a->at < a->len && a->data[a->at] && n + 1 < size)
		to[n++] = (char)a->data[a->at++];
	to[n] = 0;
	a->at += a->at < a->len;
}

static struct answer *answer_new(void)
{
	struct answer *a = xcalloc(1, sizeof(*a) + input_len);

	a->len = input_len;
	if (input_len)
		memcpy(a->data, input, input_len);
	take_text(a, a->status, sizeof(a->status));
	take_text(a, a->text, sizeof(a->text));
	a->trailers[0] = (struct h2_header){ "grpc-status", a->status };
	a->trailers[1] = (struct h2_header){ "grpc-message", a->text };
	return a;
}

static void next(void *ctx, struct h2_piece *ret)
{
	struct answer *a = ctx;
	size_t n = a->at < a->len ? a->data[a->at++] : 0;

	n = n < a->len - a->at ? n : a->len - a->at;
	*ret = (struct h2_piece){ .data = a->data + a->at, .len = n };
	ret->trailers = a->trailers;
	ret->n_trailers = a->status[0] ? 2 : 0;
	a->at += n;
}

static void handle(void *ctx, struct h2_stream *s)
{
	static const struct h2_header headers[] = {
		{ ":status", "200" }, { "content-type", "application/grpc" }
	};
	const struct h2_body body = { .next = next,
				      .release = free,
				      .ctx = answer_new() };

	h2_respond(s, headers, 2, &body);
}

static int on_message(void *ctx, const void *data, size_t len, struct error *err)
{
	size_t *n = ctx;

	FUZZ_CHECK(len <= MAX_MESSAGE);
	*n += len + GRPC_PREFIX;
	return 0;
}

static int call(size_t *ret_n, struct error *err)
{
	const struct h2d_conf server = { .host = "127.0.0.1",
					 .threads = 1,
					 .h2 = { .max_body = 100, .handle = handle } };
	const struct http_conf conf = { .proxy = "", .h2c = true };
	static struct http_client *client;
	static char origin[64];
	struct grpc_request req = { .origin = origin,
				    .path = "/a.B/C",
				    .message = "m",
				    .len = 1,
				    .on_message = on_message,
				    .ctx = ret_n,
				    .max_message = MAX_MESSAGE };
	struct h2d *d;

	if (!client) {
		FUZZ_CHECK(!http_client_new(&client, &conf, err));
		FUZZ_CHECK(!h2d_start(&d, &server, err));
		snprintf(origin, sizeof(origin), "http://127.0.0.1:%d", h2d_port(d));
	}
	return grpc_request(client, &req, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct answer *a;
	size_t n = 0;

	input = data;
	input_len = size;
	a = answer_new();
	if (call(&n, &err))
		FUZZ_CHECK(err.kind && err.msg[0]);
	else
		FUZZ_CHECK(a->status[strspn(a->status, " \t+-0")] == 0 && n <= size);
	free(a);
	return 0;
}
