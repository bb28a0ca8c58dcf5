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

struct client_reader {
	const struct client_conf *conf;
	struct arena arena;
	struct buf message; /* of the call */
	bool informed;      /* the endpoints are known */
	struct endpoint *endpoints;
	size_t n_endpoints, at; /* `at`: the one that is read */
	size_t uri;             /* its location */
	struct field *fields;   /* NULL: no schema received yet */
	size_t n_fields;
	struct ipc_form form;
	bool begun;          /* this stream has sent its schema */
	int64_t total, rows; /* announced, -1: unknown; received */
};

char *client_command(const struct client_request *r)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cJSON *list;

	if (!r->filter && !r->snapshot && !r->n_columns)
		return NULL;
	json_put_int(doc, r->rank, "rank");
	json_put_int(doc, r->world, "world");
	if (r->filter)
		json_put(doc, json_dup(r->filter), "filter");
	if (r->snapshot)
		json_put_str(doc, r->snapshot, "snapshot");
	list = r->n_columns ? json_list(doc, "columns") : NULL;
	for (size_t i = 0; i < r->n_columns; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(r->columns[i]));
	return json_text(doc);
}

/* ---- where the rows are ---- */

/* Field 1 of a message, in the arena: a ticket's bytes, or a location's URI. */
static int take_inner(struct client_reader *r, struct iovec *ret,
		      const struct pb_field *f, struct error *err)
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

static int take_endpoint(struct client_reader *r, const struct pb_field *f,
			 struct error *err)
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

static int on_info(struct client_reader *r, const void *data, size_t len,
		   struct error *err)
{
	struct pb_reader in = pb_read(data, len);
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

static void ask_info(struct client_reader *r, struct client_call *ret)
{
	struct buf *message = &r->message;

	*ret = (struct client_call){ .uri = r->conf->head,
				     .path = FLIGHT "GetFlightInfo" };
	if (r->conf->command) {
		pb_put_uint(message, 1, TYPE_COMMAND);
		pb_put_str(message, 2, r->conf->command);
	} else {
		descriptor_write(message,
				 arena_printf(&r->arena, "%" PRId64, r->conf->rank),
				 arena_printf(&r->arena, "%" PRId64, r->conf->world));
	}
}

/* ---- rows ---- */

/* Each stream has a schema; only the first is passed to on_schema(). */
static int take_schema(struct client_reader *r, struct bytes metadata, struct error *err)
{
	r->begun = true;
	if (r->fields)
		return 0;
	if (ipc_schema_read(&r->fields, &r->n_fields, &r->form, metadata, &r->arena, err))
		return -1;
	return r->conf->on_schema(r->conf->ctx, r->fields, r->n_fields, err);
}

/* Copy the body, which is not aligned within a gRPC message, and pass on the batch. */
static int take_batch(struct client_reader *r, struct bytes metadata, struct bytes body,
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

static int on_data(struct client_reader *r, const void *data, size_t len,
		   struct error *err)
{
	struct bytes metadata, body;

	if (flight_data(&metadata, &body, (struct iovec){ (void *)(uintptr_t)data, len },
			err))
		return -1;
	return ipc_is_schema(metadata) ? take_schema(r, metadata, err)
				       : take_batch(r, metadata, body, err);
}

/* ---- a read, step by step ---- */

struct client_reader *client_begin(const struct client_conf *conf)
{
	struct client_reader *r = xcalloc(1, sizeof(*r));

	r->conf = conf;
	r->total = -1;
	r->message.max = SIZE_MAX / 2;
	return r;
}

bool client_next(struct client_reader *r, struct client_call *ret)
{
	const struct endpoint *e;

	buf_clear(&r->message);
	if (r->informed && r->at == r->n_endpoints)
		return false;
	if (!r->informed) {
		ask_info(r, ret);
	} else {
		e = &r->endpoints[r->at];
		*ret = (struct client_call){ .uri = e->uris[r->uri],
					     .path = FLIGHT "DoGet" };
		pb_put_bytes(&r->message, 1, e->ticket.iov_base, e->ticket.iov_len);
	}
	r->begun = false;
	ret->message = r->message.data;
	ret->len = r->message.len;
	return true;
}

int client_message(void *ctx, const void *data, size_t len, struct error *err)
{
	struct client_reader *r = ctx;

	return r->informed ? on_data(r, data, len, err) : on_info(r, data, len, err);
}

int client_answered(struct client_reader *r, int rc)
{
	if (!r->informed) {
		r->informed = !rc;
		return rc;
	}
	r->uri++;
	if (rc && (r->begun || r->uri == r->endpoints[r->at].n))
		return -1;
	if (!rc) {
		r->at++;
		r->uri = 0;
	}
	return 0;
}

int client_check(const struct client_reader *r, struct error *err)
{
	if (r->total < 0 || r->rows == r->total)
		return 0;
	return error_set(err, ERR_FORMAT,
			 "%s: the workers sent %" PRId64
			 " rows, but the head announced %" PRId64 "; read again",
			 r->conf->head, r->rows, r->total);
}

void client_end(struct client_reader *r)
{
	buf_release(&r->message);
	free(r->endpoints);
	arena_clear(&r->arena);
	free(r);
}

/* ---- its calls ---- */

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
static int call(struct http_client *http, const struct client_conf *conf,
		const struct client_call *c, struct client_reader *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct grpc_request req = { .path = c->path,
				    .headers = { conf->header },
				    .message = c->message,
				    .len = c->len,
				    .max_message = MAX_MESSAGE,
				    .on_message = client_message,
				    .ctx = r };
	bool tls, head_tls = false;
	const char *uri = c->uri, *at = address(uri, &tls);

	if (!at || strchr(at, '/'))
		return error_set(err, ERR_INVALID,
				 "%.200s: want grpc://HOST:PORT or grpc+tls://HOST:PORT",
				 uri);
	address(conf->head, &head_tls);
	if (head_tls && !tls)
		return error_set(err, ERR_INVALID,
				 "%.200s: the head uses TLS, but returned a worker "
				 "without TLS; expected grpc+tls://",
				 uri);
	req.origin = arena_printf(&arena, "%s://%s", tls ? "https" : "http", at);
	return grpc_request(http, &req, err) ? error_wrap(err, "%s", uri) : 0;
}

int client_read(const struct client_conf *conf, struct error *err)
{
	const struct http_conf http = { .h2c = true,
					.proxy = "",
					.ca_file = conf->ca_file,
					.ca_setting =
						conf->ca_file ? "--ca-file" : NULL };
	struct http_client *client;
	struct client_reader *r;
	struct client_call c;
	int rc = 0;

	if (http_client_new(&client, &http, err))
		return -1;
	r = client_begin(conf);
	while (!rc && client_next(r, &c))
		rc = client_answered(r, call(client, conf, &c, r, err));
	if (!rc)
		rc = client_check(r, err);
	client_end(r);
	http_client_free(client);
	return rc;
}
