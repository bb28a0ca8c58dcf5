/* Reads and writes Protocol Buffers: protobuf.h. */
#include "base/protobuf.h"

#include <string.h>

enum { VARINT, I64, LEN, I32 = 5, TYPE_BITS = 3, MAX_SHIFT = 63 };

static int truncated(struct error *err)
{
	return error_set(err, ERR_FORMAT, "protobuf: the message is cut short");
}

static int take_varint(struct pb_reader *r, uint64_t *ret, struct error *err)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift <= MAX_SHIFT; shift += 7) {
		uint8_t byte;

		if (r->at == r->end)
			return truncated(err);
		byte = *r->at++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return error_set(err, ERR_FORMAT, "protobuf: a number of more than 64 bits");
}

static int take_fixed(struct pb_reader *r, uint64_t *ret, size_t size, struct error *err)
{
	if ((size_t)(r->end - r->at) < size)
		return truncated(err);
	*ret = 0;
	memcpy(ret, r->at, size);
	r->at += size;
	return 0;
}

static int take_bytes(struct pb_reader *r, struct pb_field *f, struct error *err)
{
	uint64_t len;

	if (take_varint(r, &len, err))
		return -1;
	if (len > (uint64_t)(r->end - r->at))
		return truncated(err);
	f->data = r->at;
	f->len = (size_t)len;
	r->at += len;
	return 0;
}

int pb_next(struct pb_reader *r, struct pb_field *ret, struct error *err)
{
	struct pb_field f = { 0 };
	uint64_t tag;

	if (take_varint(r, &tag, err))
		return -1;
	f.number = (uint32_t)(tag >> TYPE_BITS);
	if (!f.number || tag >> TYPE_BITS > UINT32_MAX >> TYPE_BITS)
		return error_set(err, ERR_FORMAT, "protobuf: invalid field number");
	*ret = f;
	switch (tag & ((1 << TYPE_BITS) - 1)) {
	case VARINT:
		return take_varint(r, &ret->value, err);
	case I64:
		return take_fixed(r, &ret->value, 8, err);
	case LEN:
		return take_bytes(r, ret, err);
	case I32:
		return take_fixed(r, &ret->value, 4, err);
	default:
		return error_set(err, ERR_FORMAT, "protobuf: invalid wire type");
	}
}

int pb_bytes(struct iovec *ret, struct iovec message, uint32_t number, struct error *err)
{
	struct pb_reader r = pb_read(message.iov_base, message.iov_len);
	struct pb_field f;

	*ret = (struct iovec){ 0 };
	while (pb_more(&r)) {
		if (pb_next(&r, &f, err))
			return -1;
		if (f.number == number)
			*ret = (struct iovec){ (void *)(uintptr_t)f.data, f.len };
	}
	return 0;
}

static void put_varint(struct buf *out, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	buf_add(out, bytes, n);
}

void pb_put_uint(struct buf *out, uint32_t number, uint64_t value)
{
	put_varint(out, (uint64_t)number << TYPE_BITS | VARINT);
	put_varint(out, value);
}

void pb_put_head(struct buf *out, uint32_t number, uint64_t len)
{
	put_varint(out, (uint64_t)number << TYPE_BITS | LEN);
	put_varint(out, len);
}

void pb_put_bytes(struct buf *out, uint32_t number, const void *data, size_t len)
{
	pb_put_head(out, number, len);
	buf_add(out, data, len);
}

void pb_put_str(struct buf *out, uint32_t number, const char *s)
{
	pb_put_bytes(out, number, s, strlen(s));
}
