/* grpc_client.c - calls gRPC servers (net/grpc_client.h). */
#include "net/grpc_client.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_MESSAGE = 4 * 1024 * 1024 };

struct answer {
	const struct grpc_request *req;
	int64_t status; /* -1: none received */
	bool grpc;      /* the content type is that of gRPC */
	char text[GRPC_MESSAGE_MAX];
	struct buf pending; /* an incomplete message */
};

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, c | 0x20);

	return c && at ? (int)(at - digits) : -1;
}

static void unescape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size; n++) {
		if (*from == '%' && hex(from[1]) >= 0 && hex(from[2]) >= 0) {
			to[n] = (char)(hex(from[1]) << 4 | hex(from[2]));
			from += 3;
		} else {
			to[n] = *from++;
		}
	}
	to[n] = 0;
}

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct answer *a = ctx;

	if (!strcasecmp(name, "content-type"))
		a->grpc = str_starts(value, "application/grpc");
	if (!strcasecmp(name, "grpc-status"))
		return str_int(&a->status, value, 0, INT32_MAX, err);
	if (!strcasecmp(name, "grpc-message"))
		unescape(a->text, sizeof(a->text), value);
	return 0;
}

/* Pass all complete messages to on_message. */
static int pass_messages(struct answer *a, struct error *err)
{
	size_t max = a->req->max_message ? a->req->max_message : MAX_MESSAGE;

	while (a->pending.len >= GRPC_PREFIX) {
		uint32_t len;

		memcpy(&len, a->pending.data + 1, sizeof(len));
		len = be32toh(len);
		if (a->pending.data[0] || len > max)
			return error_set(err, ERR_LIMIT,
					 "gRPC: a message of %u bytes, or compressed",
					 len);
		if (a->pending.len - GRPC_PREFIX < len)
			return 0;
		if (a->req->on_message &&
		    a->req->on_message(a->req->ctx, a->pending.data + GRPC_PREFIX, len,
				       err))
			return -1;
		buf_drop(&a->pending, GRPC_PREFIX + len);
	}
	return 0;
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct answer *a = ctx;

	buf_add(&a->pending, data, len);
	if (buf_check(&a->pending, "gRPC: a message", err))
		return -1;
	return pass_messages(a, err);
}

static int judge(const struct answer *a, int http_status, struct error *err)
{
	static const struct {
		enum grpc_code code;
		enum error_kind kind;
	} kinds[] = {
		{ GRPC_UNAVAILABLE, ERR_BUSY },
		{ GRPC_UNIMPLEMENTED, ERR_UNSUPPORTED },
		{ GRPC_NOT_FOUND, ERR_NOT_FOUND },
		{ GRPC_INVALID_ARGUMENT, ERR_INVALID },
	};
	enum error_kind kind = ERR_IO;

	if (a->status == GRPC_OK)
		return a->pending.len ? error_set(err, ERR_FORMAT,
						  "gRPC: the answer is cut short")
				      : 0;
	if (a->status < 0 && a->grpc)
		return error_set(err, ERR_IO,
				 "the answer ended without grpc-status: the server or a "
				 "proxy has closed it");
	if (a->status < 0)
		return error_set(err, ERR_FORMAT, "no gRPC server: HTTP status %d",
				 http_status);
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (kinds[i].code == (enum grpc_code)a->status)
			kind = kinds[i].kind;
	error_set(err, kind, "%s", a->text[0] ? a->text : "the server gave no reason");
	err->code = (int)a->status;
	return -1;
}

int grpc_request(struct http_client *client, const struct grpc_request *req,
		 struct error *err)
{
	const char *const headers[] = { "Content-Type: application/grpc", "TE: trailers",
					req->headers[0], req->headers[1], NULL };
	struct answer a = { .req = req, .status = -1 };
	cleanup_http_response struct http_response response = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf body = { .max = GRPC_PREFIX + req->len };
	uint8_t prefix[GRPC_PREFIX];
	struct http_request call = { .method = "POST",
				     .headers = headers,
				     .on_header = on_header,
				     .on_data = on_data,
				     .ctx = &a,
				     .timeout_ms = req->timeout_ms };
	int rc;

	a.pending.max = 2 * (req->max_message ? req->max_message : MAX_MESSAGE);
	grpc_prefix(prefix, (uint32_t)req->len);
	if (!req->framed)
		buf_add(&body, prefix, sizeof(prefix));
	buf_add(&body, req->message, req->len);
	call.body = body.data;
	call.body_len = body.len;
	call.url = arena_printf(&arena, "%s%s", req->origin, req->path);
	rc = http_do(client, &call, &response, err);
	if (rc)
		err->code = 0;
	else
		rc = judge(&a, response.status, err);
	buf_release(&a.pending);
	return rc;
}
