/*
 * grpc.h - a gRPC server over HTTP/2 (PROTOCOL-HTTP2.md of grpc); grpc_client.h has the
 * client.
 *
 * A method gets the messages of a complete request and answers without blocking: with an
 * error, with small messages, or with a source of messages that are sent without a copy.
 * An unknown method is UNIMPLEMENTED, and a caller is admitted or refused, as soon as the
 * headers are received; a request that is larger than its method allows is
 * RESOURCE_EXHAUSTED.
 */
#ifndef NET_GRPC_H
#define NET_GRPC_H

#include "net/h2.h"

enum grpc_code {
	GRPC_OK,
	GRPC_CANCELLED,
	GRPC_UNKNOWN,
	GRPC_INVALID_ARGUMENT,
	GRPC_DEADLINE_EXCEEDED,
	GRPC_NOT_FOUND,
	GRPC_ALREADY_EXISTS,
	GRPC_PERMISSION_DENIED,
	GRPC_RESOURCE_EXHAUSTED,
	GRPC_FAILED_PRECONDITION,
	GRPC_ABORTED,
	GRPC_OUT_OF_RANGE,
	GRPC_UNIMPLEMENTED,
	GRPC_INTERNAL,
	GRPC_UNAVAILABLE,
	GRPC_DATA_LOSS,
	GRPC_UNAUTHENTICATED,
};

enum { GRPC_PREFIX = 5, GRPC_MESSAGE_MAX = 512 };

/* The prefix of an uncompressed message: a flag and its length. */
void grpc_prefix(uint8_t to[GRPC_PREFIX], uint32_t len);

struct grpc_call;

struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	void (*run)(void *ctx, struct grpc_call *call);
	size_t max_request; /* 0: 256 KiB */
	/*
	 * Called with the headers of an admitted caller; false after grpc_fail(); or
	 * NULL.
	 */
	bool (*begin)(void *ctx, struct grpc_call *call);
};

/* GRPC_REFUSED: after grpc_fail(). GRPC_LATER: admit() is called again by h2_resume(). */
enum grpc_verdict { GRPC_ADMITTED, GRPC_REFUSED, GRPC_LATER };

struct grpc_conf {
	const struct grpc_method *methods; /* ends with { NULL } */
	void *ctx;
	/* Called with the headers of a request. NULL: everyone may call. */
	enum grpc_verdict (*admit)(void *ctx, struct grpc_call *call);
	void *admit_ctx;
};

/* An h2 server; conf must outlive it. */
struct h2_conf grpc_h2(const struct grpc_conf *conf, size_t max_body);
/* An h2 server that answers UNAVAILABLE with this message to every request. */
struct h2_conf grpc_h2_unavailable(char *message);

/* The next message of the request, valid until the method returns. False: no more. */
bool grpc_next(struct grpc_call *call, struct iovec *ret);
/* A header of the request, by its name in lower case; NULL: missing. */
const char *grpc_metadata(const struct grpc_call *call, const char *name);
const char *grpc_peer(const struct grpc_call *call); /* address; "": unknown */

/* Answer with one of the following. Only the last failure is sent. */
void grpc_fail(struct grpc_call *call, enum grpc_code code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
void grpc_send(struct grpc_call *call, const void *data,
	       size_t len); /* may be called several times */

/* Messages with their prefixes, any number in each piece (h2.h); len 0 is the end. */
struct grpc_source {
	void (*next)(void *ctx, struct h2_piece *ret);
	void (*release)(void *ctx);
	void *ctx;
	size_t held; /* h2_body's */
};
void grpc_send_from(struct grpc_call *call, const struct grpc_source *source);

#endif
