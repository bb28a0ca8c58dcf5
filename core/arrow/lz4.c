/* Decompresses LZ4 blocks: lz4.h. */
#include "arrow/lz4.h"

#include "arrow/lz.h"

enum { MIN_MATCH = 4, MORE = 15 };

struct lz4 {
	const uint8_t *in, *in_end;
	uint8_t *out, *begin, *out_end;
};

/* A length of 15 continues in further bytes, until one that is not 255. */
static bool add_length(struct lz4 *s, size_t *len)
{
	uint8_t byte;

	if (*len != MORE)
		return true;
	do {
		if (s->in == s->in_end)
			return false;
		byte = *s->in++;
		*len += byte;
	} while (byte == 255);
	return true;
}

static bool literals(struct lz4 *s, size_t len)
{
	if (!add_length(s, &len) || len > (size_t)(s->in_end - s->in) ||
	    len > (size_t)(s->out_end - s->out))
		return false;
	if (len <= 16 && s->in_end - s->in >= 16)
		lz_copy16(s->out, s->in);
	else
		memcpy(s->out, s->in, len);
	s->in += len;
	s->out += len;
	return true;
}

static bool match(struct lz4 *s, size_t len)
{
	size_t offset;

	if (s->in_end - s->in < 2)
		return false;
	offset = s->in[0] | (size_t)s->in[1] << 8;
	s->in += 2;
	if (!add_length(s, &len))
		return false;
	len += MIN_MATCH;
	return lz_match(s->begin, &s->out, s->out_end, offset, len);
}

/* The last sequence has only literals. */
bool lz4_decode(uint8_t *dst, size_t dst_len, const uint8_t *src, size_t src_len)
{
	struct lz4 s = { src, src + src_len, dst, dst, dst + dst_len };

	while (s.in < s.in_end) {
		unsigned token = *s.in++;

		if (!literals(&s, token >> 4))
			return false;
		if (s.in == s.in_end)
			return s.out == s.out_end;
		if (!match(&s, token & 15))
			return false;
	}
	return false;
}
