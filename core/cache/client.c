/* client.c - reads from the data cache's servers (cache/client.h). */
#include "cache/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "net/grpc_client.h"

enum { INFO_ENDPOINT = 3, INFO_RECORDS }; /* of FlightInfo */
enum { MAX_MESSAGE = 1 << 30 };
enum { TYPE_COMMAND = 2 };

enum { MAX_LOCATIONS = 8, MAX_ENDPOINTS = 100000 };

/* A FlightEndpoint. Its locations are equivalent; without any, the head serves it. */
struct endpoint {
	const char *uris[MAX_LOCATIONS];
	size_t n;
	struct iovec ticket;
};

struct reader {
	const struct client_conf *conf;
	struct http_client *http;
	struct arena arena;
	struct endpoint *endpoints;
	size_t n_endpoints;
	struct field *fields; /* NULL: no schema received yet */
	size_t n_fields;
	struct ipc_form form;
	bool begun;          /* this stream has sent its schema */
	int64_t total, rows; /* announced, -1: unknown; received */
};

/* The rest after the scheme; NULL: an unsupported scheme. */
static const char *address(const char *uri, bool *tls)
{
	*tls = str_starts(uri, FLIGHT_TLS);
	if (*tls)
		return uri + sizeof(FLIGHT_TLS) - 1;
	if (str_starts(uri, FLIGHT_TCP))
		return uri + sizeof(FLIGHT_TCP) - 1;
	return str_starts(uri, FLIGHT_PLAIN) ? uri + sizeof(FLIGHT_PLAIN) - 1 : NULL;
}

bool client_is_server(const char *uri)
{
	bool tls;

	return address(uri, &tls);
}

/*
 * A client that uses TLS for the head does not send its token in the clear to a worker.
 */
static int call(struct reader *r, const char *uri, struct grpc_request *req,
		struct error *err)
{
	bool tls, head_tls = false;
	const char *at = address(uri, &tls);

	if (!at || strchr(at, '/'))
		return error_set(err, ERR_INVALID,
				 "%.200s: want grpc://HOST:PORT or grpc+tls://HOST:PORT",
				 uri);
	address(r->conf->head, &head_tls);
	if (head_tls && !tls)
		return error_set(err, ERR_INVALID,
				 "%.200s: the head uses TLS, but returned a worker "
				 "without TLS; expected grpc+tls://",
				 uri);
	req->origin = arena_printf(&r->arena, "%s://%s", tls ? "https" : "http", at);
	req->headers[0] = r->conf->header;
	req->max_message = MAX_MESSAGE;
	req->ctx = r;
	return grpc_request(r->http, req, err) ? error_wrap(err, "%s", uri) : 0;
}

/* ---- where the rows are ---- */

/* Field 1 of a message, in the arena: a ticket's bytes, or a location's URI. */
static int take_inner(struct reader *r, struct iovec *ret, const struct pb_field *f,
		      struct error *err)
{
	struct iovec inner;

	if (pb_bytes(&inner, (struct iovec){ (void *)(uintptr_t)f->data, f->len }, 1,
		     err))
		return -1;
	*ret = (struct iovec){ str_slice(&r->arena, inner.iov_base ? inner.iov_base : "",
					 inner.iov_len),
			       inner.iov_len };
	return 0;
}

static int take_endpoint(struct reader *r, const struct pb_field *f, struct error *err)
{
	struct pb_reader in = pb_read(f->data, f->len);
	struct endpoint e = { 0 };
	struct pb_field one;
	struct iovec uri;

	while (pb_more(&in)) {
		if (pb_next(&in, &one, err) ||
		    (one.number == 1 && take_inner(r, &e.ticket, &one, err)) ||
		    (one.number == 2 && take_inner(r, &uri, &one, err)))
			return -1;
		if (one.number == 2 && e.n < MAX_LOCATIONS)
			e.uris[e.n++] = str_starts(uri.iov_base, FLIGHT_REUSE)
						? r->conf->head
						: uri.iov_base;
	}
	if (!e.n)
		e.uris[e.n++] = r->conf->head;
	if (r->n_endpoints == MAX_ENDPOINTS)
		return error_set(err, ERR_LIMIT, "FlightInfo: more than %d endpoints",
				 MAX_ENDPOINTS);
	r->endpoints =
		xreallocarray(r->endpoints, r->n_endpoints + 1, sizeof(*r->endpoints));
	r->endpoints[r->n_endpoints++] = e;
	return 0;
}

static int on_info(void *ctx, const void *data, size_t len, struct error *err)
{
	struct pb_reader in = pb_read(data, len);
	struct reader *r = ctx;
	struct pb_field f;

	while (pb_more(&in)) {
		if (pb_next(&in, &f, err) ||
		    (f.number == INFO_ENDPOINT && take_endpoint(r, &f, err)))
			return -1;
		if (f.number == INFO_RECORDS)
			r->total = (int64_t)f.value;
	}
	return 0;
}

static int find_endpoints(struct reader *r, struct error *err)
{
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };
	struct grpc_request req = { .path = FLIGHT "GetFlightInfo",
				    .on_message = on_info };

	if (r->conf->command) {
		pb_put_uint(&message, 1, TYPE_COMMAND);
		pb_put_str(&message, 2, r->conf->command);
	} else {
		descriptor_write(&message,
				 arena_printf(&r->arena, "%" PRId64, r->conf->rank),
				 arena_printf(&r->arena, "%" PRId64, r->conf->world));
	}
	req.message = message.data;
	req.len = message.len;
	return call(r, r->conf->head, &req, err);
}

/* ---- rows ---- */

/* Each stream has a schema; only the first is passed to on_schema(). */
static int take_schema(struct reader *r, struct bytes metadata, struct error *err)
{
	r->begun = true;
	if (r->fields)
		return 0;
	if (ipc_schema_read(&r->fields, &r->n_fields, &r->form, metadata, &r->arena, err))
		return -1;
	return r->conf->on_schema(r->conf->ctx, r->fields, r->n_fields, err);
}

/* Copy the body, which is not aligned within a gRPC message, and pass on the batch. */
static int take_batch(struct reader *r, struct bytes metadata, struct bytes body,
		      struct error *err)
{
	const struct client_conf *conf = r->conf;
	cleanup_free uint8_t *own = NULL;
	cleanup_ipc_view struct batch b = { 0 };
	uint8_t *copy;

	if (!r->begun)
		return error_set(err, ERR_FORMAT,
				 "invalid response: rows before their schema");
	if (!conf->allocate)
		copy = own = xmalloc(body.len + BLOCK_SLACK);
	else if (conf->allocate(conf->ctx, &copy, body.len, err))
		return -1;
	if (body.len)
		memcpy(copy, body.data, body.len);
	if (ipc_view(&b, r->fields, r->n_fields,
		     (struct ipc_message){ metadata, { copy, body.len } }, r->form, err))
		return -1;
	r->rows += b.n;
	return r->conf->on_batch(r->conf->ctx, &b, err);
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct bytes metadata, body;

	if (flight_data(&metadata, &body, (struct iovec){ (void *)(uintptr_t)data, len },
			err))
		return -1;
	return ipc_is_schema(metadata) ? take_schema(ctx, metadata, err)
				       : take_batch(ctx, metadata, body, err);
}

/* Read an endpoint; try another location only if this one has sent nothing. */
static int read_endpoint(struct reader *r, const struct endpoint *e, struct error *err)
{
	int rc = -1;

	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };
	struct grpc_request req = { .path = FLIGHT "DoGet", .on_message = on_data };

	pb_put_bytes(&message, 1, e->ticket.iov_base, e->ticket.iov_len);
	req.message = message.data;
	req.len = message.len;
	r->begun = false;
	for (size_t i = 0; i < e->n && rc && !r->begun; i++)
		rc = call(r, e->uris[i], &req, err);
	return rc;
}

int client_read(const struct client_conf *conf, struct error *err)
{
	const struct http_conf http = { .h2c = true,
					.proxy = "",
					.ca_file = conf->ca_file,
					.ca_setting =
						conf->ca_file ? "--ca-file" : NULL };
	struct reader r = { .conf = conf, .total = -1 };
	int rc;

	if (http_client_new(&r.http, &http, err))
		return -1;
	rc = find_endpoints(&r, err);
	for (size_t i = 0; i < r.n_endpoints && !rc; i++)
		rc = read_endpoint(&r, &r.endpoints[i], err);
	if (!rc && r.total >= 0 && r.rows != r.total)
		rc = error_set(err, ERR_FORMAT,
			       "%s: the workers sent %" PRId64
			       " rows, but the head announced %" PRId64 "; read again",
			       conf->head, r.rows, r.total);
	http_client_free(r.http);
	free(r.endpoints);
	arena_clear(&r.arena);
	return rc;
}
