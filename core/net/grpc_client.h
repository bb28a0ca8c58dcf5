/*
 * grpc_client.h - a call to a gRPC server (over net/http.h).
 */
#ifndef NET_GRPC_CLIENT_H
#define NET_GRPC_CLIENT_H

#include "net/grpc.h"
#include "net/http.h"

struct grpc_request {
	const char *origin;     /* "http://HOST:PORT": HTTP/2 without TLS */
	const char *path;       /* "/package.Service/Method" */
	const char *headers[2]; /* more: "Name: value"; or NULL */
	const void *message;
	size_t len;
	bool framed;        /* the body is several messages, each with its prefix */
	int64_t timeout_ms; /* 0: none */
	/*
	 * Called with each message of the answer; -1 with err filled ends the call. NULL:
	 * ignore them.
	 */
	int (*on_message)(void *ctx, const void *data, size_t len, struct error *err);
	void *ctx;
	size_t max_message; /* 0: 4 MiB */
};

/* The client must have conf.h2c set. */

/*
 * For a status other than 0, err->code is the grpc_code, with the server's message:
 * ERR_BUSY for UNAVAILABLE, ERR_UNSUPPORTED for UNIMPLEMENTED, else ERR_IO. Without an
 * answer err->code is 0.
 */
MUST_CHECK int grpc_request(struct http_client *client, const struct grpc_request *req,
			    struct error *err);

#endif
