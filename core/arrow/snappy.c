/* Decompresses snappy blocks: snappy.h. */
#include "arrow/snappy.h"

#include <stdbool.h>
#include <string.h>

enum { FAST_IN = 72, FAST_OUT = 80, LITERAL = 0, COPY_1 = 1, COPY_2 = 2, COPY_4 = 3 };

struct snappy {
	const uint8_t *in, *in_end;
	uint8_t *out, *begin, *out_end;
};

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void copy16(uint8_t *to, const uint8_t *from)
{
	uint64_t v[2];

	memcpy(v, from, sizeof(v));
	memcpy(to, v, sizeof(v));
}

/*
 * Copy len bytes from `offset` (at least 1) bytes before out; if len > offset the bytes
 * repeat. Writes up to 15 bytes too many.
 */
static inline void copy_back(uint8_t *out, size_t offset, size_t len)
{
	const uint8_t *from = out - offset;
	uint8_t *end = out + len;

	/* Double the distance until 16 bytes are independent of what they overwrite. */
	while (out < end && (size_t)(out - from) < 16) {
		size_t n = (size_t)(out - from);

		copy16(out, from);
		out += n;
	}
	for (; out < end; out += 16, from += 16)
		copy16(out, from);
}

static bool literal(struct snappy *s, unsigned tag)
{
	size_t len = (tag >> 2) + 1;

	if (len > 60) {
		size_t n = len - 60;

		if ((size_t)(s->in_end - s->in) < n)
			return false;
		len = 0;
		for (size_t i = 0; i < n; i++)
			len |= (size_t)s->in[i] << (8 * i);
		len++;
		s->in += n;
	}
	if (len > (size_t)(s->in_end - s->in) || len > (size_t)(s->out_end - s->out))
		return false;
	memcpy(s->out, s->in, len);
	s->in += len;
	s->out += len;
	return true;
}

static bool copy(struct snappy *s, unsigned tag)
{
	static const uint8_t extra[] = { 0, 1, 2, 4 };
	unsigned n = extra[tag & 3];
	size_t len = (tag >> 2) + 1, offset = 0;

	if ((size_t)(s->in_end - s->in) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		offset |= (size_t)s->in[i] << (8 * i);
	s->in += n;
	if ((tag & 3) == COPY_1) {
		len = ((tag >> 2) & 7) + 4;
		offset |= (size_t)(tag >> 5) << 8;
	}
	if (!offset || offset > (size_t)(s->out - s->begin) ||
	    len > (size_t)(s->out_end - s->out))
		return false;
	copy_back(s->out, offset, len);
	s->out += len;
	return true;
}

/*
 * While input and output have room for the longest short element (60 bytes of literal, 64
 * of a copy), short elements need no bounds checks. Others leave the loop.
 */
static bool fast(struct snappy *s)
{
	const uint8_t *in = s->in, *in_fast = s->in_end - FAST_IN;
	uint8_t *out = s->out, *out_fast = s->out_end - FAST_OUT;

	while (in < in_fast && out < out_fast) {
		unsigned tag = *in, kind = tag & 3;
		size_t len = (tag >> 2) + 1, offset;

		if (kind == LITERAL) {
			if (len > 16) {
				if (len > 60)
					break;
				copy16(out + 16, in + 17);
				copy16(out + 32, in + 33);
				copy16(out + 48, in + 49);
			}
			copy16(out, in + 1);
			in += len + 1;
			out += len;
			continue;
		}
		if (kind == COPY_4)
			break;
		offset = load32(in + 1) & (kind == COPY_1 ? 0xffu : 0xffffu);
		if (kind == COPY_1) {
			len = ((tag >> 2) & 7) + 4;
			offset |= (size_t)(tag >> 5) << 8;
		}
		if (!offset || offset > (size_t)(out - s->begin))
			return false;
		copy_back(out, offset, len);
		in += kind + 1;
		out += len;
	}
	s->in = in;
	s->out = out;
	return true;
}

static bool decode(struct snappy *s)
{
	while (s->in < s->in_end) {
		unsigned tag;

		if (s->in_end - s->in > FAST_IN && s->out_end - s->out > FAST_OUT &&
		    !fast(s))
			return false;
		tag = *s->in++;
		if (!((tag & 3) == LITERAL ? literal(s, tag) : copy(s, tag)))
			return false;
	}
	return s->out == s->out_end;
}

int snappy_decode(uint8_t *dst, size_t dst_len, const uint8_t *src, size_t src_len,
		  struct error *err)
{
	struct snappy s = { src, src + src_len, dst, dst, dst + dst_len };
	uint64_t len = 0;
	unsigned shift = 0;

	for (;; shift += 7) {
		if (s.in == s.in_end || shift > 28)
			return error_set(err, ERR_FORMAT, "snappy: invalid length");
		len |= (uint64_t)(*s.in & 0x7f) << shift;
		if (!(*s.in++ & 0x80))
			break;
	}
	if (len != dst_len)
		return error_set(err, ERR_FORMAT,
				 "snappy: %llu bytes inside, %zu expected",
				 (unsigned long long)len, dst_len);
	if (!decode(&s))
		return error_set(err, ERR_FORMAT, "snappy: damaged data");
	return 0;
}
