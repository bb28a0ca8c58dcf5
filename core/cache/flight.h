/*
 * flight.h - Arrow Flight's messages (Flight.proto of apache/arrow), for head, worker and
 * client.
 */
#ifndef CACHE_FLIGHT_H
#define CACHE_FLIGHT_H

#include "arrow/ipc.h"
#include "cache/ticket.h"
#include "net/grpc.h"

#define FLIGHT "/arrow.flight.protocol.FlightService/"

enum { FLIGHT_ACTION_MAX = 64, DEFAULT_PORT = 50051 };

/* A FlightDescriptor; its contents are borrowed from the message. ERR_FORMAT. */
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

/* The Arrow message in a FlightData; borrowed. ERR_FORMAT. */
MUST_CHECK int flight_data(struct bytes *ret_metadata, struct bytes *ret_body,
			   struct iovec message, struct error *err);

/* The bytes of a Ticket. ERR_FORMAT. */
MUST_CHECK int flight_ticket(struct iovec *ret, struct iovec message, struct error *err);

/* An Action: its type, and its body. ERR_FORMAT. */
MUST_CHECK int flight_action(char ret_type[FLIGHT_ACTION_MAX], struct iovec *ret_body,
			     struct iovec message, struct error *err);

#define FLIGHT_PLAIN "grpc://"
#define FLIGHT_TCP   "grpc+tcp://" /* the same */
#define FLIGHT_TLS   "grpc+tls://"
#define FLIGHT_REUSE "arrow-flight-reuse-connection://" /* the server of the request */

/* A server's location: "grpc://HOST:PORT" or "grpc+tls://HOST:PORT". */
struct flight_location {
	const char *scheme, *host;
	int port;
};
void flight_endpoint(struct buf *info, struct flight_location at,
		     const struct ticket *ticket);            /* adds a FlightEndpoint */
void flight_result(struct grpc_call *call, const char *text); /* of an action */

/* The one message of a request; false after grpc_fail(). */
bool flight_message(struct grpc_call *call, struct iovec *ret);

/* The compression that the reader requests by a header; false after grpc_fail(). */
bool flight_codec(struct grpc_call *call, enum ipc_codec *ret);

/* The schema as FlightInfo and SchemaResult have it, as field `number`. */
void flight_schema(struct buf *out, uint32_t number, const struct field *fields, size_t n,
		   struct ipc_form form);

#endif
