/* Finds, checks and decompresses pages, and starts their decoders: page.h. */
#include "arrow/page.h"

#include "arrow/bits.h"

/* A page as it is in the file. */
struct body {
	struct page_header h;
	const uint8_t *data;
};

static unsigned bits_of(unsigned max)
{
	return max ? 32 - (unsigned)__builtin_clz(max) : 0;
}

static int check_sizes(const struct leaf *l, const struct page_header *h,
		       struct error *err)
{
	if (h->compressed < 0 || h->uncompressed < 0)
		return error_set(err, ERR_FORMAT, "a page without a size");
	if (h->compressed > l->end - l->p)
		return error_set(err, ERR_FORMAT, "a page of %d bytes, with %zd left",
				 h->compressed, l->end - l->p);
	return 0;
}

static int check_crc(const struct body *b, struct error *err)
{
	uint32_t crc;

	if (b->h.crc == INT64_MIN)
		return 0;
	crc = codec_crc32(0, b->data, (size_t)b->h.compressed);
	if (crc != (uint32_t)b->h.crc)
		return error_set(err, ERR_FORMAT,
				 "damaged: its checksum is %08x, not %08x", crc,
				 (uint32_t)b->h.crc);
	return 0;
}

static int next_body(struct leaf *l, struct body *b, struct error *err)
{
	if (l->p == l->end)
		return error_set(err, ERR_FORMAT, "%llu values are missing",
				 (unsigned long long)l->entries_left);
	if (page_header_read(&b->h, &l->p, l->end, err) || check_sizes(l, &b->h, err))
		return -1;
	b->data = l->p;
	l->p += b->h.compressed;
	return 0;
}

/* Decompress from `skip` bytes on; the bytes before are never compressed. */
static int expand(struct leaf *l, const struct body *b, size_t skip, struct bytes *ret,
		  struct error *err)
{
	struct bytes in = { b->data + skip, (size_t)b->h.compressed - skip };
	size_t n = (size_t)b->h.uncompressed - skip;

	if (l->codec == CODEC_NONE || !b->h.is_compressed || (!n && !in.len)) {
		if (n != in.len)
			return error_set(err, ERR_FORMAT, "%zu bytes, %zu expected",
					 in.len, n);
		*ret = in;
		return 0;
	}
	if (block_reserve(&l->page, l->budget, n, 1, err) ||
	    codec_decode(l->state, l->codec, l->page.data, n, in, err))
		return -1;
	*ret = (struct bytes){ l->page.data, n };
	return 0;
}

static int load_dictionary(struct leaf *l, const struct body *b, struct error *err)
{
	struct bytes bytes;

	if (b->h.n_values < 0)
		return error_set(err, ERR_FORMAT,
				 "a dictionary without a number of values");
	if (b->h.encoding != ENC_PLAIN && b->h.encoding != ENC_PLAIN_DICTIONARY)
		return error_set(err, ERR_UNSUPPORTED, "a dictionary of encoding %d",
				 b->h.encoding);
	if (check_crc(b, err) || expand(l, b, 0, &bytes, err))
		return -1;
	return values_dictionary(&l->values, bytes.data, bytes.data + bytes.len,
				 (uint64_t)b->h.n_values, err);
}

/* v1: the length precedes the levels. */
static int cut_levels(struct bytes *bytes, struct hybrid *h, unsigned max, int encoding,
		      struct error *err)
{
	uint32_t len;

	if (!max)
		return 0;
	if (encoding != ENC_RLE)
		return error_set(err, ERR_UNSUPPORTED, "levels of encoding %d", encoding);
	if (bytes->len < 4 || (len = bits_load_u32(bytes->data)) > bytes->len - 4)
		return error_set(err, ERR_FORMAT, "the levels end too early");
	*h = (struct hybrid){
		.p = bytes->data + 4,
		.end = bytes->data + 4 + len,
		.width = bits_of(max),
	};
	bytes->data += 4 + len;
	bytes->len -= 4 + (size_t)len;
	return 0;
}

static int levels_v1(struct leaf *l, const struct body *b, struct bytes *bytes,
		     struct hybrid *rep, struct error *err)
{
	if (expand(l, b, 0, bytes, err) ||
	    cut_levels(bytes, rep, l->type->max_rep, b->h.rep_encoding, err))
		return -1;
	return cut_levels(bytes, &l->def, l->type->max_def, b->h.def_encoding, err);
}

static int levels_v2(struct leaf *l, const struct body *b, struct bytes *bytes,
		     struct hybrid *rep, struct error *err)
{
	int64_t reps = b->h.rep_bytes, defs = b->h.def_bytes;

	if (reps < 0 || defs < 0 || reps + defs > b->h.compressed ||
	    reps + defs > b->h.uncompressed)
		return error_set(err, ERR_FORMAT, "levels of %lld bytes",
				 (long long)(reps + defs));
	*rep = (struct hybrid){
		.p = b->data,
		.end = b->data + reps,
		.width = bits_of(l->type->max_rep),
	};
	l->def = (struct hybrid){
		.p = rep->end,
		.end = rep->end + defs,
		.width = bits_of(l->type->max_def),
	};
	return expand(l, b, (size_t)(reps + defs), bytes, err);
}

/* Refuse levels above the maximum. */
static int take_levels(struct leaf *l, struct block *to, struct hybrid *from,
		       unsigned max, uint64_t n, struct error *err)
{
	uint8_t most = 0;

	if (block_reserve(to, l->budget, n, 1, err))
		return -1;
	if (hybrid_u8(from, to->data, n) != n)
		return error_set(err, ERR_FORMAT, "the levels end too early");
	for (uint64_t i = 0; i < n; i++)
		most = to->data[i] > most ? to->data[i] : most;
	if (most > max)
		return error_set(err, ERR_FORMAT, "a level of %u, beyond %u", most, max);
	return 0;
}

static int load_data(struct leaf *l, const struct body *b, struct error *err)
{
	struct hybrid rep = { 0 };
	struct bytes bytes;
	uint64_t n = (uint64_t)b->h.n_values;
	bool v2 = b->h.type == PAGE_DATA_V2;

	if (check_crc(b, err) || (v2 ? levels_v2(l, b, &bytes, &rep, err)
				     : levels_v1(l, b, &bytes, &rep, err)))
		return -1;
	if (l->type->max_rep &&
	    (take_levels(l, &l->page_reps, &rep, l->type->max_rep, n, err) ||
	     take_levels(l, &l->page_defs, &l->def, l->type->max_def, n, err)))
		return -1;
	l->level_at = 0;
	l->left = n;
	return values_begin(&l->values, b->h.encoding, bytes.data, bytes.data + bytes.len,
			    n, err);
}

/* The number of rows of the page if known without its levels, else UINT64_MAX. */
static uint64_t rows_of(const struct leaf *l, const struct body *b)
{
	if (!l->type->max_rep)
		return (uint64_t)b->h.n_values;
	return b->h.type == PAGE_DATA_V2 && b->h.n_rows >= 0 && !l->in_row
		       ? (uint64_t)b->h.n_rows
		       : UINT64_MAX;
}

static int use_data(struct leaf *l, const struct body *b, uint64_t *skip,
		    struct error *err)
{
	uint64_t rows;

	if (b->h.n_values < 0 || (uint64_t)b->h.n_values > l->entries_left)
		return error_set(err, ERR_FORMAT, "%d values in a page, of %llu left",
				 b->h.n_values, (unsigned long long)l->entries_left);
	l->entries_left -= (uint64_t)b->h.n_values;
	rows = rows_of(l, b);
	if (rows <= *skip && *skip) {
		*skip -= rows;
		return 0;
	}
	return load_data(l, b, err);
}

static int use(struct leaf *l, const struct body *b, uint64_t *skip, struct error *err)
{
	switch (b->h.type) {
	case PAGE_DICTIONARY:
		return load_dictionary(l, b, err);
	case PAGE_INDEX:
		return 0;
	case PAGE_DATA:
	case PAGE_DATA_V2:
		return use_data(l, b, skip, err);
	default:
		return error_set(err, ERR_FORMAT, "page type %d does not exist",
				 b->h.type);
	}
}

int page_next(struct leaf *l, uint64_t *skip, struct error *err)
{
	uint64_t asked = *skip;

	while (!l->left) {
		uint64_t at = l->base + (uint64_t)(l->p - l->begin);
		struct body b;

		if (next_body(l, &b, err) || use(l, &b, skip, err))
			return error_wrap(err, "page at %llu", (unsigned long long)at);
		if (asked && !*skip)
			break;
	}
	return 0;
}
