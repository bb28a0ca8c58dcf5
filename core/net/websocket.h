/*
 * websocket.h - a WebSocket client (RFC 6455, by libcurl): messages in both directions.
 *
 * One thread uses a connection. It polls websocket_fd() for reading, and for writing
 * while websocket_is_sending(), and calls websocket_receive() whenever the descriptor is
 * readable, and once after opening. Pings are answered. http and https URLs; through
 * proxies, it is a tunnel (CONNECT), as any proxy of our client's settings.
 */
#ifndef NET_WEBSOCKET_H
#define NET_WEBSOCKET_H

#include "net/http.h"

struct websocket;

enum { WEBSOCKET_MOST = 32 * 1024 + 1 }; /* bytes of a message that is sent */

/*
 * Open a connection with req's URL and headers (GET; Sec-WebSocket-Protocol: ...). The
 * client must outlive it. *ret_protocol (or NULL): the one that the server chose, which
 * lives with the connection; NULL: none.
 *
 * As http_do() fails, or with ERR_UNSUPPORTED and err->code, the HTTP status, if the
 * server answers, but refuses; libcurl drops the text of such an answer.
 */
MUST_CHECK int websocket_open(struct websocket **ret, struct http_client *client,
			      const struct http_request *req, const char **ret_protocol,
			      struct error *err);
void websocket_free(struct websocket *w); /* closes it; NULL is fine */

int websocket_fd(const struct websocket *w);

/*
 * Take a binary message of at most WEBSOCKET_MOST bytes and send what can be sent now.
 * While websocket_is_sending(), no other is taken (ERR_LIMIT): websocket_continue() sends
 * more. A connection that takes no more bytes drops them: websocket_receive() has first
 * what the server sent before that, and then the error.
 */
MUST_CHECK int websocket_send(struct websocket *w, const void *data, size_t len,
			      struct error *err);
bool websocket_is_sending(const struct websocket *w);
void websocket_continue(struct websocket *w);
/* Ask the server for a sign of life, unless a message is being sent. */
void websocket_ping(struct websocket *w);
int64_t websocket_heard_ms(const struct websocket *w); /* clock_ms() of the last bytes */
int64_t websocket_pong_ms(const struct websocket *w);  /* of the last answer to a ping */

/*
 * Receive all that is there, without waiting. on_data gets pieces of messages, in order;
 * `first`: the piece begins a message. Its -1 ends the call. *ret_closed: the server has
 * closed the connection in good order. ERR_IO: lost; ERR_FORMAT: no WebSocket message.
 */
MUST_CHECK int websocket_receive(struct websocket *w,
				 int (*on_data)(void *ctx, const char *data, size_t len,
						bool first, struct error *err),
				 void *ctx, bool *ret_closed, struct error *err);

#endif
