/*
 * protobuf.h - small messages in Protocol Buffers' wire format (encoding.md of protobuf).
 *
 * A reader walks one message's fields in their order and checks all lengths; what it
 * hands out is borrowed. Unknown fields are the caller's to skip. A nested message is a
 * field's bytes, read with a reader of its own. nanopb is not used for these: FlightData
 * is framed around a body that must not be copied, and what is left are eight messages
 * of a few fields, for which its descriptors are longer than this.
 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"

struct pb_field {
	uint32_t number;
	uint64_t value;      /* of varints and fixed numbers */
	const uint8_t *data; /* NULL: a number */
	size_t len;
};

struct pb_reader {
	const uint8_t *at, *end;
};

static inline struct pb_reader pb_read(const void *data, size_t len)
{
	const uint8_t *at = data;

	return (struct pb_reader){ at, len ? at + len : at };
}

/* Is there another field? */
static inline bool pb_more(const struct pb_reader *r)
{
	return r->at != r->end;
}

/* Read the next field. ERR_FORMAT. */
MUST_CHECK int pb_next(struct pb_reader *r, struct pb_field *ret, struct error *err);

/*
 * The bytes of the last field of that number; empty if there is none. Borrowed; the whole
 * message is checked. ERR_FORMAT.
 */
MUST_CHECK int pb_bytes(struct iovec *ret, struct iovec message, uint32_t number,
			struct error *err);

/* A zero number and empty bytes are written as well. */
void pb_put_uint(struct buf *out, uint32_t number, uint64_t value);
void pb_put_bytes(struct buf *out, uint32_t number, const void *data, size_t len);
void pb_put_str(struct buf *out, uint32_t number, const char *s);

/* Write only the tag and the length of len bytes, which the caller appends. */
void pb_put_head(struct buf *out, uint32_t number, uint64_t len);

#endif
