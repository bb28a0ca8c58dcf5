/*
 * websocket.c - WebSockets by libcurl's interface for them (net/websocket.h).
 *
 * libcurl answers a ping at once, also in the middle of a message that is being sent,
 * which destroys the message (curl#16706): pongs are sent here, between messages.
 */
#include "net/websocket.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/http_impl.h"

enum { CONTROL_MOST = 125, PIECE = 64 * 1024 };

/* A message that is being sent, from `at` on. */
struct outgoing {
	char data[WEBSOCKET_MOST];
	size_t len, at;
	bool any;
	unsigned flags;
};

struct websocket {
	struct http_client *client;
	struct http_request req;
	struct slot *slot;
	struct call call; /* its options point here */
	struct error ignored;
	char *protocol;
	curl_socket_t fd;
	struct outgoing out;
	char pong[CONTROL_MOST];
	size_t pong_len;
	bool pong_due, within; /* within: a message has more pieces */
	bool mute; /* sending failed: what the peer sent before is still read */
	int64_t heard_ms, pong_ms;
	char piece[PIECE];
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct websocket *w = ctx;

	if (strcasecmp(name, "Sec-WebSocket-Protocol") != 0)
		return 0;
	free(w->protocol);
	w->protocol = xstrdup(value);
	return 0;
}

/* "https://h" is "wss://h" to libcurl. */
static const char *as_websocket(struct arena *arena, const char *url)
{
	const char *rest = str_after(url, "http");

	return rest ? arena_printf(arena, "ws%s", rest) : url;
}

static int prepare(struct websocket *w)
{
	if (call_prepare(&w->call, w->slot))
		return -1;
	curl_easy_setopt(w->slot->easy, CURLOPT_PROTOCOLS_STR, "ws,wss");
	curl_easy_setopt(w->slot->easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(w->slot->easy, CURLOPT_CONNECT_ONLY, 2L);
	/* Without the slot's TCP_USER_TIMEOUT, which would end a connection to a slow reader. */
	curl_easy_setopt(w->slot->easy, CURLOPT_SOCKOPTFUNCTION, NULL);
	curl_easy_setopt(w->slot->easy, CURLOPT_WS_OPTIONS, (long)CURLWS_NOAUTOPONG);
	curl_easy_setopt(w->slot->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	return 0;
}

static int refuse(struct websocket *w, CURLcode code)
{
	struct error *err = w->call.err;
	int status = w->call.resp.status;

	if (!w->call.failed && status >= 200) {
		error_set(err, ERR_UNSUPPORTED,
			  "%s: the server did not open a WebSocket: HTTP %d",
			  w->call.host, status);
		err->code = status;
		return -1;
	}
	call_fail(&w->call, code);
	return -1;
}

static int connect_to(struct websocket *w)
{
	CURLcode code;

	if (prepare(w))
		return -1;
	code = http_drive(&w->call, w->slot->multi);
	if (code || w->call.failed)
		return refuse(w, code);
	if (curl_easy_getinfo(w->slot->easy, CURLINFO_ACTIVESOCKET, &w->fd) ||
	    w->fd == CURL_SOCKET_BAD)
		return error_set(w->call.err, ERR_IO, "%s: connection lost",
				 w->call.host);
	return 0;
}

int websocket_open(struct websocket **ret, struct http_client *client,
		   const struct http_request *req, const char **ret_protocol,
		   struct error *err)
{
	struct websocket *w = xcalloc(1, sizeof(*w));

	w->client = client;
	w->req = *req;
	w->req.method = "GET";
	w->req.on_header = on_header;
	w->req.ctx = w;
	w->slot = http_slot_take(client);
	if (!w->slot) {
		free(w);
		return error_set(err, ERR_IO, "cannot open a connection: %s",
				 strerror(errno));
	}
	call_init(&w->call, client, &w->req, err);
	w->req.url = as_websocket(&w->call.arena, req->url);
	if (connect_to(w)) {
		websocket_free(w);
		return -1;
	}
	w->call.err = &w->ignored;
	w->heard_ms = clock_ms();
	if (ret_protocol)
		*ret_protocol = w->protocol;
	*ret = w;
	return 0;
}

void websocket_free(struct websocket *w)
{
	size_t sent;

	if (!w)
		return;
	if (w->heard_ms && !w->mute && !websocket_is_sending(w))
		(void)curl_ws_send(w->slot->easy, "\x03\xe8", 2, &sent, 0, CURLWS_CLOSE);
	curl_multi_remove_handle(w->slot->multi, w->slot->easy);
	call_drop(&w->call);
	http_slots_free(w->slot);
	free(w->protocol);
	free(w);
}

int websocket_fd(const struct websocket *w)
{
	return w->fd;
}

int64_t websocket_heard_ms(const struct websocket *w)
{
	return w->heard_ms;
}

int64_t websocket_pong_ms(const struct websocket *w)
{
	return w->pong_ms;
}

/* ---- sending --------------------------------------------------------------------- */

bool websocket_is_sending(const struct websocket *w)
{
	return w->out.any;
}

/* A peer that closes may have sent its last words before: their end is the error. */
static void push(struct websocket *w)
{
	struct outgoing *out = &w->out;

	while (out->any) {
		size_t sent = 0;
		CURLcode code = curl_ws_send(w->slot->easy, out->data + out->at,
					     out->len - out->at, &sent, 0, out->flags);

		w->mute |= code && code != CURLE_AGAIN;
		out->at += sent;
		if (w->mute || (!code && out->at == out->len))
			out->any = false;
		else if (code || !sent)
			return;
	}
}

static void take(struct websocket *w, const void *data, size_t len, unsigned flags)
{
	if (w->mute)
		return;
	memcpy(w->out.data, data, len);
	w->out.len = len;
	w->out.at = 0;
	w->out.flags = flags;
	w->out.any = true;
}

void websocket_continue(struct websocket *w)
{
	push(w);
	if (w->out.any || !w->pong_due)
		return;
	w->pong_due = false;
	take(w, w->pong, w->pong_len, CURLWS_PONG);
	push(w);
}

int websocket_send(struct websocket *w, const void *data, size_t len, struct error *err)
{
	if (w->out.any || len > WEBSOCKET_MOST)
		return error_set(err, ERR_LIMIT, "%s: message not sent", w->call.host);
	take(w, data, len, CURLWS_BINARY);
	websocket_continue(w);
	return 0;
}

void websocket_ping(struct websocket *w)
{
	if (!w->out.any)
		take(w, "", 0, CURLWS_PING);
	websocket_continue(w);
}

/* ---- receiving ------------------------------------------------------------------- */

static int lost(struct websocket *w, CURLcode code, struct error *err)
{
	const char *why = *w->call.why ? w->call.why : curl_easy_strerror(code);

	if (code == CURLE_GOT_NOTHING)
		return error_set(err, ERR_IO, "%s: the connection was closed",
				 w->call.host);
	return error_set(err, ERR_IO, "%s: connection lost: %.*s", w->call.host,
			 (int)strcspn(why, "\r\n"), why);
}

/* Only the newest ping has to be answered (RFC 6455, 5.5.3). */
static void note_ping(struct websocket *w, const struct curl_ws_frame *meta, size_t n)
{
	if (meta->offset == 0)
		w->pong_len = 0;
	if (n > sizeof(w->pong) - w->pong_len)
		n = sizeof(w->pong) - w->pong_len;
	memcpy(w->pong + w->pong_len, w->piece, n);
	w->pong_len += n;
	w->pong_due = meta->bytesleft == 0;
}

int websocket_receive(struct websocket *w,
		      int (*on_data)(void *ctx, const char *data, size_t len, bool first,
				     struct error *err),
		      void *ctx, bool *ret_closed, struct error *err)
{
	const struct curl_ws_frame *meta;
	size_t n;

	*ret_closed = false;
	for (;;) {
		CURLcode code = curl_ws_recv(w->slot->easy, w->piece, sizeof(w->piece),
					     &n, &meta);
		bool first = !w->within;

		if (code == CURLE_AGAIN) {
			websocket_continue(w);
			return 0;
		}
		if (code)
			return lost(w, code, err);
		w->heard_ms = clock_ms();
		if (meta->flags & CURLWS_CLOSE) {
			*ret_closed = true;
			return 0;
		}
		if (meta->flags & CURLWS_PING)
			note_ping(w, meta, n);
		if (meta->flags & CURLWS_PONG)
			w->pong_ms = w->heard_ms;
		if (!(meta->flags & (CURLWS_BINARY | CURLWS_TEXT)))
			continue;
		w->within = meta->bytesleft > 0 || (meta->flags & CURLWS_CONT);
		if (on_data(ctx, w->piece, n, first, err))
			return -1;
	}
}
