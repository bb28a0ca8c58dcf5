/* Decodes integers stored as differences: delta.h. */
#include "arrow/delta.h"

#include <stdbool.h>

#include "arrow/bits.h"

enum { MAX_BLOCK = 1 << 20 };

static bool varint(struct delta *d, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && d->p < d->end; shift += 7) {
		v |= (uint64_t)(*d->p & 0x7f) << shift;
		if (!(*d->p++ & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool zigzag(struct delta *d, uint64_t *ret)
{
	uint64_t v;

	if (!varint(d, &v))
		return false;
	*ret = (v >> 1) ^ -(v & 1);
	return true;
}

int delta_begin(struct delta *d, const uint8_t *p, const uint8_t *end, struct error *err)
{
	uint64_t block, n;

	*d = (struct delta){ .p = p, .end = end };
	if (!varint(d, &block) || !varint(d, &n) || !varint(d, &d->total) ||
	    !zigzag(d, &d->last))
		return error_set(err, ERR_FORMAT, "delta: truncated header");
	if (!block || block > MAX_BLOCK || !n || n > DELTA_MAX_MINIBLOCKS || block % n ||
	    block / n % DELTA_GROUP)
		return error_set(err, ERR_FORMAT,
				 "delta: blocks of %llu values in %llu parts",
				 (unsigned long long)block, (unsigned long long)n);
	d->per_miniblock = (uint32_t)(block / n);
	d->n_miniblocks = d->miniblock = (uint32_t)n;
	d->left = d->total;
	d->first = d->total > 0;
	return 0;
}

static bool next_miniblock(struct delta *d)
{
	unsigned width;

	if (d->miniblock == d->n_miniblocks) {
		if (!zigzag(d, &d->min_delta) ||
		    (size_t)(d->end - d->p) < d->n_miniblocks)
			return false;
		d->widths = d->p;
		d->p += d->n_miniblocks;
		d->miniblock = 0;
	}
	width = d->widths[d->miniblock++];
	if (width > 64 ||
	    (uint64_t)(d->end - d->p) < (uint64_t)width * d->per_miniblock / 8)
		return false;
	d->width = width;
	d->in_miniblock = d->per_miniblock;
	return true;
}

static uint64_t wide(const uint8_t *p, unsigned bit, unsigned width)
{
	uint64_t v = bits_load_u64(p + bit / 8) >> (bit % 8);

	if (bit % 8 + width > 64)
		v |= (uint64_t)p[bit / 8 + 8] << (64 - bit % 8);
	return v;
}

static void unpack(struct delta *d)
{
	uint64_t last = d->last, min = d->min_delta;
	uint64_t mask = d->width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << d->width) - 1;

	for (unsigned i = 0; i < DELTA_GROUP; i++) {
		unsigned bit = i * d->width;
		uint64_t v = d->width <= 56 ? bits_load_u64(d->p + bit / 8) >> (bit % 8)
					    : wide(d->p, bit, d->width);

		last += min + (v & mask);
		d->group[i] = last;
	}
	d->last = last;
	d->p += d->width * (DELTA_GROUP / 8);
	d->in_miniblock -= DELTA_GROUP;
	d->ready = DELTA_GROUP;
}

const uint8_t *delta_end(const struct delta *d)
{
	return d->p + (uint64_t)d->width * d->in_miniblock / 8;
}

size_t delta_take(struct delta *d, uint64_t *out, size_t n)
{
	size_t done = 0;

	if (n > d->left)
		n = (size_t)d->left;
	if (n && d->first) {
		out[done++] = d->last;
		d->first = 0;
	}
	while (done < n) {
		size_t k = n - done;

		if (!d->ready) {
			if (!d->in_miniblock && !next_miniblock(d)) {
				d->left = done; /* damaged: return no more values */
				break;
			}
			unpack(d);
		}
		k = k < d->ready ? k : d->ready;
		memcpy(out + done, d->group + DELTA_GROUP - d->ready, k * sizeof(*out));
		d->ready -= (unsigned)k;
		done += k;
	}
	d->left -= done;
	return done;
}
