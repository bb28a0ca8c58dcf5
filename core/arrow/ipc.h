/*
 * ipc.h - Arrow's messages (Schema.fbs, Message.fbs of apache/arrow, metadata version 5).
 *
 * A message is metadata (a FlatBuffer) and, for rows, a body: the columns' buffers, each
 * at a multiple of 64 bytes. To write rows of a batch, ipc_plan() computes the message's
 * size and ipc_body() fills the caller's memory. ipc_view() makes a batch of a message's
 * rows without copying them. Bodies may be compressed, each buffer separately
 * (BodyCompression).
 */
#ifndef ARROW_IPC_H
#define ARROW_IPC_H

#include "arrow/parquet.h"
#include "base/buf.h"

struct ipc_form {
	/*
	 * As iceberg-rust maps types: times with a zone are "+00:00", not "UTC"; bytes
	 * have 64-bit offsets.
	 */
	bool iceberg;
};

/* Metadata of a schema, with PARQUET:field_id of fields that have an id. */
void ipc_schema(struct buf *out, const struct field *fields, size_t n,
		struct ipc_form form);

/*
 * The fields of a schema's metadata, in the arena, and the form of its batches. ERR_FORMAT;
 * ERR_UNSUPPORTED: a type that is not of array.h.
 */
MUST_CHECK int ipc_schema_read(struct field **ret, size_t *ret_n,
			       struct ipc_form *ret_form, struct bytes metadata,
			       struct arena *arena, struct error *err);

/* Is it the metadata of a schema? */
bool ipc_is_schema(struct bytes metadata);

/* Append metadata with a frame: continuation, length, metadata, as in FlightInfo. */
void ipc_frame(struct buf *out, const void *metadata, size_t len);

enum ipc_codec { IPC_PLAIN, IPC_LZ4, IPC_ZSTD };

struct ipc_plan {
	struct buf metadata;
	uint64_t body; /* bytes */
	int64_t n;     /* rows */
	enum ipc_codec codec;
	uint8_t *packed; /* the compressed body; NULL: not compressed */
	struct ipc_part *parts;
	struct ipc_node *nodes;
	size_t n_parts, n_nodes, cap_parts, cap_nodes;
};

/*
 * Plan a message of rows [first, first + n) of a batch, which must live until ipc_body().
 */
void ipc_plan(struct ipc_plan *ret, const struct batch *b, int64_t first, int64_t n,
	      struct ipc_form form);
void ipc_pack(struct ipc_plan *p, enum ipc_codec codec); /* compress the planned body */
void ipc_body(const struct ipc_plan *p, uint8_t *to);    /* p->body bytes */
void ipc_plan_release(struct ipc_plan *p);               /* { 0 } is fine */

/*
 * The rows of a record batch with these columns. The arrays point into `body`, which must
 * be aligned to 8 bytes and live as long. ERR_FORMAT: inconsistent; ERR_UNSUPPORTED:
 * compressed. Release it by ipc_view_release(), not batch_release().
 */
struct ipc_message {
	struct bytes metadata, body;
};
MUST_CHECK int ipc_view(struct batch *ret, const struct field *fields, size_t n,
			struct ipc_message message, struct ipc_form form,
			struct error *err);
void ipc_view_release(struct batch *b);

#define cleanup_ipc_plan __attribute__((cleanup(ipc_plan_release)))
#define cleanup_ipc_view __attribute__((cleanup(ipc_view_release)))

#endif
