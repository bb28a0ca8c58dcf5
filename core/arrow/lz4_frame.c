/* Compresses into LZ4 frames: lz4.h. */
#include "arrow/lz4.h"

#include "arrow/bits.h"

enum {
	BLOCK = 4 * 1024 * 1024,
	SIZE = 4,
	HASH_BITS = 12,
	MIN_MATCH = 4,
	MAX_OFFSET = 65535,
	MORE = 15,       /* a length goes on in bytes */
	LAST = 5,        /* bytes of a block that no match may cover, */
	LAST_MATCH = 12, /* or begin in */
	PATIENCE = 6,    /* log2 of misses until two bytes are skipped at a time */
};

/* Magic number; version 1, independent blocks; 4 MiB; the checksum of these two. */
static const uint8_t header[] = { 0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73 };

static const uint32_t plain = 1u << 31; /* flag in a block's size: uncompressed */

struct encoder {
	const uint8_t *begin, *end;
	const uint8_t *literals; /* not written yet */
	uint8_t *out;
	uint32_t seen[1 << HASH_BITS]; /* hash of bytes -> their last position */
};

static uint8_t *put_u32(uint8_t *out, uint32_t v)
{
	memcpy(out, &v, sizeof(v));
	return out + sizeof(v);
}

/* The four bits of a length in a token; the excess follows in bytes. */
static unsigned short_length(size_t len)
{
	return len < MORE ? (unsigned)len : MORE;
}

static void put_more(struct encoder *e, size_t len)
{
	if (len < MORE)
		return;
	for (len -= MORE; len >= 255; len -= 255)
		*e->out++ = 255;
	*e->out++ = (uint8_t)len;
}

/* Write the literals up to `at`, and a match, except in the last sequence. */
static void put_literals(struct encoder *e, const uint8_t *at, unsigned token)
{
	size_t n = (size_t)(at - e->literals);

	*e->out++ = (uint8_t)(short_length(n) << 4 | token);
	put_more(e, n);
	memcpy(e->out, e->literals, n);
	e->out += n;
}

static void put_match(struct encoder *e, const uint8_t *at, size_t offset, size_t len)
{
	put_literals(e, at, short_length(len - MIN_MATCH));
	*e->out++ = (uint8_t)offset;
	*e->out++ = (uint8_t)(offset >> 8);
	put_more(e, len - MIN_MATCH);
	e->literals = at + len;
}

/* The number of equal bytes, up to `end` of the second. */
static size_t common(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
	const uint8_t *begin = b;

	for (; end - b >= 8; a += 8, b += 8) {
		uint64_t differ = bits_load_u64(a) ^ bits_load_u64(b);

		if (differ)
			return (size_t)(b - begin) +
			       (unsigned)__builtin_ctzll(differ) / 8;
	}
	while (b < end && *a == *b)
		a++, b++;
	return (size_t)(b - begin);
}

/* An earlier place with the same bytes as `at`; NULL: none near enough. */
static const uint8_t *find(struct encoder *e, const uint8_t *at)
{
	uint32_t v = bits_load_u32(at), hash = v * 2654435761u >> (32 - HASH_BITS);
	const uint8_t *from = e->begin + e->seen[hash];

	e->seen[hash] = (uint32_t)(at - e->begin);
	return from < at && at - from <= MAX_OFFSET && bits_load_u32(from) == v ? from
										: NULL;
}

static void encode(struct encoder *e)
{
	const uint8_t *at = e->begin;

	while (e->end - at > LAST_MATCH) {
		const uint8_t *from = find(e, at);

		if (!from) {
			at += 1 + ((at - e->literals) >> PATIENCE);
			continue;
		}
		while (at > e->literals && from > e->begin && at[-1] == from[-1])
			at--, from--;
		put_match(e, at, (size_t)(at - from),
			  MIN_MATCH + common(from + MIN_MATCH, at + MIN_MATCH,
					     e->end - LAST));
		at = e->literals;
	}
	put_literals(e, e->end, 0);
}

size_t lz4_frame_bound(size_t len)
{
	size_t blocks = len / BLOCK + 1;

	return sizeof(header) + len + len / 255 + blocks * (SIZE + 16) + SIZE;
}

static uint8_t *put_block(uint8_t *out, const uint8_t *src, size_t len)
{
	struct encoder e = {
		.begin = src, .end = src + len, .literals = src, .out = out + SIZE
	};
	size_t n;

	encode(&e);
	n = (size_t)(e.out - out) - SIZE;
	if (n < len) {
		put_u32(out, (uint32_t)n);
		return e.out;
	}
	put_u32(out, (uint32_t)len | plain);
	memcpy(out + SIZE, src, len);
	return out + SIZE + len;
}

size_t lz4_frame(uint8_t *dst, const uint8_t *src, size_t len)
{
	uint8_t *out = dst;

	memcpy(out, header, sizeof(header));
	out += sizeof(header);
	while (len) {
		size_t n = len < BLOCK ? len : BLOCK;

		out = put_block(out, src, n);
		src += n;
		len -= n;
	}
	return (size_t)(put_u32(out, 0) - dst);
}
