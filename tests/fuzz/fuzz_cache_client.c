/*
 * A hostile cache: the first byte is the length of its FlightInfo, the rest are messages
 * of DoGet, each with its length in a byte. The reader gets whole batches, and success
 * only with all rows that were announced.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "cache/client.h"
#include "net/grpc.h"
#include "net/h2d.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t *input;
static size_t input_len;
static int64_t rows;

static void send_info(void *ctx, struct grpc_call *call)
{
	size_t n = input[0];

	grpc_send(call, input + 1, n < input_len ? n : input_len - 1);
}

static void send_rows(void *ctx, struct grpc_call *call)
{
	size_t at = 1 + (size_t)input[0];

	while (at < input_len) {
		size_t n = input[at++];

		n = n < input_len - at ? n : input_len - at;
		grpc_send(call, input + at, n);
		at += n;
	}
}

static const struct grpc_method methods[] = {
	{ .path = "/arrow.flight.protocol.FlightService/GetFlightInfo",
	  .run = send_info },
	{ .path = "/arrow.flight.protocol.FlightService/DoGet", .run = send_rows },
	{ 0 },
};

static int on_schema(void *ctx, const struct field *fields, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(fields[i].name);
	return 0;
}

static int on_batch(void *ctx, const struct batch *b, struct error *err)
{
	FUZZ_CHECK(b->n >= 0);
	for (size_t i = 0; i < b->n_columns; i++)
		FUZZ_CHECK(b->columns[i].n == b->n);
	rows += b->n;
	return 0;
}

static const char *start(void)
{
	static const struct grpc_conf grpc = { .methods = methods };
	static char uri[40];
	struct h2d_conf conf = { .host = "127.0.0.1", .threads = 1 };
	struct error err = { 0 };
	struct h2d *d;

	if (uri[0])
		return uri;
	conf.h2 = grpc_h2(&grpc, 1 << 20);
	FUZZ_CHECK(!h2d_start(&d, &conf, &err));
	snprintf(uri, sizeof(uri), "grpc://127.0.0.1:%d", h2d_port(d));
	return uri;
}

/* total_records; -1: unknown. */
static int64_t announced(void)
{
	size_t n = input[0];
	struct pb_reader in = pb_read(input + 1, n < input_len ? n : input_len - 1);
	struct error err = { 0 };
	int64_t total = -1;
	struct pb_field f;

	while (pb_more(&in)) {
		FUZZ_CHECK(!pb_next(&in, &f, &err));
		if (f.number == 4)
			total = (int64_t)f.value;
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct client_conf conf = {
		.head = start(), .world = 1, .on_schema = on_schema, .on_batch = on_batch
	};
	struct error err = { 0 };

	if (!size)
		return 0;
	input = data;
	input_len = size;
	rows = 0;
	if (client_read(&conf, &err))
		FUZZ_CHECK(err.kind && err.msg[0]);
	else
		FUZZ_CHECK(announced() < 0 || announced() == rows);
	return 0;
}
