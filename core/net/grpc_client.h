/*
 * grpc_client.h - a call to a gRPC server (over net/http.h).
 */
#ifndef NET_GRPC_CLIENT_H
#define NET_GRPC_CLIENT_H

#include "net/grpc.h"
#include "net/http.h"

struct grpc_request {
	const char *origin; /* "http://HOST:PORT": HTTP/2 without TLS */
	const char *path;   /* "/package.Service/Method" */
	const char *header; /* one more: "Name: value"; or NULL */
	const void *message;
	size_t len;
	bool framed;        /* several messages, each with its prefix */
	int64_t timeout_ms; /* 0: none */
	/* Each message of the answer; -1 with err filled ends the call. NULL: ignored. */
	int (*on_message)(void *ctx, const void *data, size_t len, struct error *err);
	void *ctx;
	size_t max_message; /* 0: 4 MiB */
};

/* The client's conf has `h2c`. */

/*
 * A status other than 0: err->code is the grpc_code, and the message is the server's.
 * ERR_BUSY: UNAVAILABLE; ERR_UNSUPPORTED: UNIMPLEMENTED; else ERR_IO. Where no answer
 * came at all err->code is 0.
 */
MUST_CHECK int grpc_request(struct http_client *client, const struct grpc_request *req,
			    struct error *err);

#endif
