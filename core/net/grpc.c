/* grpc.c - the server side of gRPC (net/grpc.h). */
#include "net/grpc.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define GRPC_TYPE "application/grpc" /* may be followed by "+proto" or parameters */

enum {
	MAX_REPLY = 64 * 1024 * 1024,
	MAX_REQUEST = 256 * 1024,
	MAX_WAITING = 64 * 1024, /* bytes of a request whose caller is not admitted yet */
	CODE_TEXT = 12,
};

struct grpc_call {
	struct h2_stream *stream;
	size_t at; /* position in the request's body */
	enum grpc_code code;
	char text[GRPC_MESSAGE_MAX];
	struct buf reply;
	struct grpc_source source;
};

/* The response body of a call: its replies, or those of a source. */
struct answer {
	struct buf reply;
	struct grpc_source source;
	bool sent;
};

static const struct h2_header ok_trailers[] = { { "grpc-status", "0" } };

void grpc_prefix(uint8_t to[GRPC_PREFIX], uint32_t len)
{
	uint32_t big = htobe32(len);

	to[0] = 0;
	memcpy(to + 1, &big, sizeof(big));
}

bool grpc_next(struct grpc_call *call, struct iovec *ret)
{
	const struct buf *body = h2_request_body(call->stream);
	uint32_t len;

	if (call->code || call->at == body->len)
		return false;
	if (body->len - call->at < GRPC_PREFIX) {
		grpc_fail(call, GRPC_INTERNAL, "the request is cut short");
		return false;
	}
	if (body->data[call->at]) {
		grpc_fail(call, GRPC_UNIMPLEMENTED,
			  "compressed messages are not supported");
		return false;
	}
	memcpy(&len, body->data + call->at + 1, sizeof(len));
	len = be32toh(len);
	call->at += GRPC_PREFIX;
	if (len > body->len - call->at) {
		grpc_fail(call, GRPC_INTERNAL, "the request is cut short");
		return false;
	}
	*ret = (struct iovec){ body->data + call->at, len };
	call->at += len;
	return true;
}

const char *grpc_metadata(const struct grpc_call *call, const char *name)
{
	return h2_header(call->stream, name);
}

const char *grpc_peer(const struct grpc_call *call)
{
	return h2_peer(call->stream);
}

void grpc_fail(struct grpc_call *call, enum grpc_code code, const char *fmt, ...)
{
	va_list ap;

	call->code = code;
	va_start(ap, fmt);
	vsnprintf(call->text, sizeof(call->text), fmt, ap);
	va_end(ap);
}

void grpc_send(struct grpc_call *call, const void *data, size_t len)
{
	uint8_t prefix[GRPC_PREFIX];

	grpc_prefix(prefix, (uint32_t)len);
	buf_add(&call->reply, prefix, sizeof(prefix));
	buf_add(&call->reply, data, len);
}

void grpc_send_from(struct grpc_call *call, const struct grpc_source *source)
{
	call->source = *source;
}

/* ---- the answer -------------------------------------------------------------------- */

static void answer_next(void *ctx, struct h2_piece *ret)
{
	struct answer *a = ctx;

	if (a->source.next)
		a->source.next(a->source.ctx, ret);
	else if (!a->sent)
		*ret = (struct h2_piece){ .data = a->reply.data, .len = a->reply.len };
	a->sent = true;
	ret->trailers = ok_trailers;
	ret->n_trailers = 1;
}

static void answer_release(void *ctx)
{
	struct answer *a = ctx;

	if (a->source.release)
		a->source.release(a->source.ctx);
	buf_release(&a->reply);
	free(a);
}

/* Percent-encode a grpc-message. */
static void escape(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text >= ' ' && *text <= '~' && *text != '%')
			buf_add(out, text, 1);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
}

static void respond_error(struct grpc_call *call)
{
	cleanup_buf struct buf text = { .max = 4 * GRPC_MESSAGE_MAX };
	char code[CODE_TEXT];
	const struct h2_header headers[] = {
		{ ":status", "200" },
		{ "content-type", "application/grpc" },
		{ "grpc-status", code },
		{ "grpc-message", "" },
	};
	struct h2_header all[N_ELEMENTS(headers)];

	snprintf(code, sizeof(code), "%d", (int)call->code);
	escape(&text, call->text);
	memcpy(all, headers, sizeof(headers));
	if (text.len)
		all[3].value = (const char *)text.data;
	h2_respond(call->stream, all, N_ELEMENTS(all), NULL);
	if (call->source.release)
		call->source.release(call->source.ctx);
	buf_release(&call->reply);
}

static void respond(struct grpc_call *call)
{
	static const struct h2_header headers[] = {
		{ ":status", "200" },
		{ "content-type", "application/grpc" },
	};
	struct answer *a;
	struct h2_body body = { .next = answer_next, .release = answer_release };

	if (call->reply.overflowed)
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "the reply is too large");
	if (call->code) {
		respond_error(call);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->reply = call->reply;
	a->source = call->source;
	body.ctx = a;
	body.held = a->reply.cap + a->source.held;
	h2_respond(call->stream, headers, N_ELEMENTS(headers), &body);
}

/* False: not gRPC; the request was answered with an HTTP status. */
static bool is_grpc(struct h2_stream *s)
{
	const char *type = h2_header(s, "content-type");
	struct h2_header status = { ":status", NULL };

	if (!str_eq(h2_header(s, ":method"), "POST"))
		status.value = "405";
	else if (!type || !str_starts(type, GRPC_TYPE) ||
		 !strchr("+;", type[sizeof(GRPC_TYPE) - 1]))
		status.value = "415";
	if (status.value)
		h2_respond(s, &status, 1, NULL);
	return !status.value;
}

static const struct grpc_method *method_of(const struct grpc_conf *conf,
					   const struct h2_stream *s)
{
	const struct grpc_method *m = conf->methods;

	while (m->path && !str_eq(m->path, h2_header(s, ":path")))
		m++;
	return m;
}

static enum h2_verdict begin(void *ctx, struct h2_stream *s, size_t *max_body)
{
	const struct grpc_conf *conf = ctx;
	struct grpc_call call = { .stream = s };
	const struct grpc_method *m;
	const char *path = h2_header(s, ":path");
	enum grpc_verdict verdict = GRPC_ADMITTED;

	if (!is_grpc(s))
		return H2_ANSWERED;
	m = method_of(conf, s);
	if (!m->path) {
		grpc_fail(&call, GRPC_UNIMPLEMENTED, "method %.200s is not implemented",
			  path ? path : "");
		verdict = GRPC_REFUSED;
	} else if (conf->admit) {
		verdict = conf->admit(conf->admit_ctx, &call);
	}
	if (m->path && verdict == GRPC_ADMITTED && m->begin &&
	    !m->begin(conf->ctx, &call))
		verdict = GRPC_REFUSED;
	*max_body = verdict == GRPC_LATER ? MAX_WAITING
		    : m->max_request      ? m->max_request
					  : MAX_REQUEST;
	if (verdict == GRPC_REFUSED)
		respond(&call);
	return verdict == GRPC_REFUSED ? H2_ANSWERED
	       : verdict == GRPC_LATER ? H2_LATER
				       : H2_ACCEPTED;
}

static void handle(void *ctx, struct h2_stream *s)
{
	const struct grpc_conf *conf = ctx;
	struct grpc_call call = { .stream = s, .reply.max = MAX_REPLY };

	method_of(conf, s)->run(conf->ctx, &call);
	respond(&call);
}

/* True: the length prefix of the first message exceeds the method's limit. */
static bool is_too_large(const struct buf *body, size_t max)
{
	uint32_t len;

	if (body->len < GRPC_PREFIX)
		return false;
	memcpy(&len, body->data + 1, sizeof(len));
	return be32toh(len) > max - GRPC_PREFIX;
}

static void refuse(void *ctx, struct h2_stream *s, bool too_large)
{
	struct grpc_call call = { .stream = s };

	grpc_fail(&call, GRPC_RESOURCE_EXHAUSTED, "%s",
		  too_large ? "the request is larger than this method allows"
			    : "too many requests wait; try again later");
	respond(&call);
}

struct h2_conf grpc_h2(const struct grpc_conf *conf, size_t max_body)
{
	return (struct h2_conf){ .max_body = max_body,
				 .begin = begin,
				 .handle = handle,
				 .is_too_large = is_too_large,
				 .refuse = refuse,
				 .ctx = (void *)(uintptr_t)conf };
}

static enum h2_verdict begin_unavailable(void *ctx, struct h2_stream *s, size_t *unused)
{
	struct grpc_call call = { .stream = s };

	if (is_grpc(s)) {
		grpc_fail(&call, GRPC_UNAVAILABLE, "%s", (const char *)ctx);
		respond(&call);
	}
	return H2_ANSWERED;
}

struct h2_conf grpc_h2_unavailable(char *message)
{
	return (struct h2_conf){ .begin = begin_unavailable, .ctx = message };
}
