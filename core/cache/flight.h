/*
 * flight.h - Arrow Flight's messages (Flight.proto of apache/arrow), and what head and
 * worker have in common.
 */
#ifndef CACHE_FLIGHT_H
#define CACHE_FLIGHT_H

#include "arrow/ipc.h"
#include "cache/table.h"
#include "net/grpc.h"

#define FLIGHT "/arrow.flight.protocol.FlightService/"

enum { FLIGHT_ACTION_MAX = 64, DEFAULT_PORT = 50051 };

/* A FlightDescriptor; what it holds is borrowed. ERR_FORMAT. */
struct descriptor {
	bool is_path, is_command;
	struct iovec command;
	struct iovec path[2]; /* the first ones */
	size_t n_path;
};
MUST_CHECK int descriptor_read(struct descriptor *ret, struct iovec message,
			       struct error *err);

void descriptor_write(struct buf *out, const char *rank, const char *world); /* a path */

enum { DATA_DESCRIPTOR = 1, DATA_HEADER, DATA_BODY = 1000 }; /* FlightData's fields */

/* A FlightData's message of Arrow; borrowed. ERR_FORMAT. */
MUST_CHECK int flight_data(struct bytes *ret_metadata, struct bytes *ret_body,
			   struct iovec message, struct error *err);

/* The bytes of a Ticket. ERR_FORMAT. */
MUST_CHECK int flight_ticket(struct iovec *ret, struct iovec message, struct error *err);

/* An Action: its type, and its body. ERR_FORMAT. */
MUST_CHECK int flight_action(char ret_type[FLIGHT_ACTION_MAX], struct iovec *ret_body,
			     struct iovec message, struct error *err);

#define FLIGHT_PLAIN "grpc://"
#define FLIGHT_TLS   "grpc+tls://"

/* Who has rows: at "grpc+tls://HOST:PORT", or "grpc://". */
struct flight_place {
	const char *scheme, *host;
	int port;
};
/* `view`: its JSON, for the ticket; or NULL. */
void flight_endpoint(struct buf *info, struct flight_place at, struct rows rows,
		     const char *view);
void flight_result(struct grpc_call *call, const char *text); /* of an action */

/* The one message of a request; false after grpc_fail(). */
bool flight_message(struct grpc_call *call, struct iovec *ret);

/* How a reader wants bodies compressed, by a header; false after grpc_fail(). */
bool flight_codec(struct grpc_call *call, enum ipc_codec *ret);

/* The schema as FlightInfo and SchemaResult have it, as field `number`. */
void flight_schema(struct buf *out, uint32_t number, const struct field *fields, size_t n,
		   struct ipc_form form);

#endif
