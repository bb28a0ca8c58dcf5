/* Decodes strings: strings.h. */
#include "arrow/strings.h"

#include "arrow/bits.h"
#include "arrow/convert.h"

enum { PIECE = 1024, COPY = 16 };

static int short_of(struct error *err)
{
	return error_set(err, ERR_FORMAT, "the values end too early");
}

/* ---- lengths, which precede all strings ---- */

/* Read all numbers of a delta encoding; at most as many as the page has entries. */
static int read_lengths(struct values *v, struct block *to, size_t *ret_n,
			struct error *err)
{
	uint64_t piece[PIECE];
	struct delta d;
	size_t n = 0;

	if (delta_begin(&d, v->p, v->end, err))
		return -1;
	if (d.total > v->n)
		return error_set(err, ERR_FORMAT, "%llu lengths in a page of %llu values",
				 (unsigned long long)d.total, (unsigned long long)v->n);
	if (block_reserve(to, v->budget, d.total, sizeof(uint32_t), err))
		return -1;
	while (n < d.total) {
		size_t k = delta_take(&d, piece, PIECE);

		if (!k)
			return short_of(err);
		for (size_t i = 0; i < k; i++) {
			if (piece[i] > INT32_MAX)
				return error_set(err, ERR_FORMAT,
						 "a string of %lld bytes",
						 (long long)piece[i]);
			((uint32_t *)(void *)to->data)[n++] = (uint32_t)piece[i];
		}
	}
	v->p = delta_end(&d);
	*ret_n = n;
	return 0;
}

int strings_begin_lengths(struct values *v, struct error *err)
{
	v->string_at = v->n_strings = 0;
	if (block_reserve(&v->lengths, v->budget, 0, 1, err))
		return -1;
	if (v->p == v->end)
		return 0;
	return read_lengths(v, &v->lengths, &v->n_strings, err);
}

int strings_begin_prefixes(struct values *v, struct error *err)
{
	size_t n = 0;

	v->string_at = v->n_strings = v->last_len = 0;
	if (block_reserve(&v->lengths, v->budget, 0, 1, err) ||
	    block_reserve(&v->prefixes, v->budget, 0, 1, err) ||
	    block_reserve(&v->last, v->budget, 0, 1, err))
		return -1;
	if (v->p == v->end)
		return 0;
	if (read_lengths(v, &v->prefixes, &n, err) ||
	    read_lengths(v, &v->lengths, &v->n_strings, err))
		return -1;
	if (n != v->n_strings)
		return error_set(err, ERR_FORMAT, "%zu prefixes of %zu strings", n,
				 v->n_strings);
	return 0;
}

/* ---- dictionaries ---- */

int strings_indexes(struct values *v, uint32_t *at, size_t n, struct error *err)
{
	uint32_t max = 0;

	if (hybrid_u32(&v->hybrid, at, n) != n)
		return short_of(err);
	for (size_t i = 0; i < n; i++)
		max = at[i] > max ? at[i] : max;
	if (n && max >= (uint64_t)v->dictionary.n)
		return error_set(err, ERR_FORMAT,
				 "index %u in a dictionary of %lld values", max,
				 (long long)v->dictionary.n);
	return 0;
}

/* ---- into arrays ---- */

static int32_t *offsets_of(struct array *a)
{
	return (int32_t *)(void *)a->offsets.data;
}

/* Make room for `more` bytes of strings. */
static int make_room(struct values *v, struct array *a, int32_t used, uint64_t more,
		     struct error *err)
{
	if (more > (uint64_t)(INT32_MAX - used))
		return error_set(err, ERR_LIMIT,
				 "more than 2 GiB of strings in a batch: read fewer rows "
				 "at a time");
	return block_reserve(&a->values, v->budget, (uint64_t)used + more, 1, err);
}

/* Most strings are short: copy a fixed size, beyond the end if BLOCK_SLACK allows it. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t len)
{
	if (len <= COPY) {
		uint64_t v[2];

		memcpy(v, from, sizeof(v));
		memcpy(to, v, sizeof(v));
	} else {
		memcpy(to, from, len);
	}
}

static size_t room_of(const struct array *a)
{
	return a->values.cap < INT32_MAX ? a->values.cap : INT32_MAX;
}

static int take_plain(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	const uint8_t *p = v->p, *end = v->end;
	int32_t *offsets = offsets_of(a) + a->n;
	size_t used = (size_t)*offsets, rest = (size_t)(end - p), room;

	if (!a->values.data &&
	    make_room(v, a, 0, rest < INT32_MAX ? rest : INT32_MAX, err))
		return -1;
	room = room_of(a);
	for (uint64_t i = 0; i < m; i++) {
		uint32_t len;

		if (end - p < 4)
			return short_of(err);
		len = bits_load_u32(p);
		p += 4;
		if (len > (size_t)(end - p))
			return short_of(err);
		if (len > room - used) {
			if (make_room(v, a, (int32_t)used, len, err))
				return -1;
			room = room_of(a);
		}
		copy_short(a->values.data + used, p, len);
		p += len;
		used += len;
		*++offsets = (int32_t)used;
	}
	v->p = p;
	return 0;
}

static int take_piece(struct values *v, struct array *a, int32_t *offsets, size_t n,
		      struct error *err)
{
	const int32_t *from = offsets_of(&v->dictionary);
	const uint8_t *bytes = v->dictionary.values.data;
	uint64_t sum = 0;
	uint32_t at[PIECE];
	uint8_t *to;

	if (strings_indexes(v, at, n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		sum += (uint32_t)(from[at[i] + 1] - from[at[i]]);
	if (make_room(v, a, offsets[0], sum, err))
		return -1;
	to = a->values.data + offsets[0];
	for (size_t i = 0; i < n; i++) {
		size_t len = (uint32_t)(from[at[i] + 1] - from[at[i]]);

		copy_short(to, bytes + from[at[i]], len);
		to += len;
		offsets[i + 1] = (int32_t)(to - a->values.data);
	}
	return 0;
}

static int take_indexed(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	for (uint64_t done = 0; done < m;) {
		size_t n = m - done < PIECE ? (size_t)(m - done) : PIECE;

		if (take_piece(v, a, offsets_of(a) + (uint64_t)a->n + done, n, err))
			return -1;
		done += n;
	}
	return 0;
}

/* The strings are adjacent: a single copy. */
static int take_lengths(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	const uint32_t *len =
		(const uint32_t *)(const void *)v->lengths.data + v->string_at;
	int32_t *offsets = offsets_of(a) + a->n;
	uint64_t sum = 0;

	if (m > v->n_strings - v->string_at)
		return short_of(err);
	for (uint64_t i = 0; i < m; i++)
		sum += len[i];
	if (sum > (size_t)(v->end - v->p))
		return short_of(err);
	if (make_room(v, a, offsets[0], sum, err))
		return -1;
	memcpy(a->values.data + offsets[0], v->p, sum);
	for (uint64_t i = 0; i < m; i++)
		offsets[i + 1] = offsets[i] + (int32_t)len[i];
	v->p += sum;
	v->string_at += m;
	return 0;
}

/* A prefix of the previous string and a suffix. `before` may move when a's bytes grow. */
static int take_prefixed(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	const uint32_t *suffix = (const uint32_t *)(const void *)v->lengths.data;
	const uint32_t *prefix = (const uint32_t *)(const void *)v->prefixes.data;
	int32_t *offsets = offsets_of(a) + a->n;

	if (m > v->n_strings - v->string_at)
		return short_of(err);
	for (uint64_t i = 0; i < m; i++, v->string_at++) {
		uint32_t keep = prefix[v->string_at], add = suffix[v->string_at];
		uint8_t *to;

		if (keep > v->last_len || add > (size_t)(v->end - v->p))
			return short_of(err);
		if (make_room(v, a, offsets[i], (uint64_t)keep + add, err))
			return -1;
		to = a->values.data + offsets[i];
		memcpy(to, i ? a->values.data + offsets[i - 1] : v->last.data, keep);
		memcpy(to + keep, v->p, add);
		v->p += add;
		v->last_len = (size_t)keep + add;
		offsets[i + 1] = offsets[i] + (int32_t)v->last_len;
	}
	if (m == 0)
		return 0;
	if (block_reserve(&v->last, v->budget, v->last_len, 1, err))
		return -1;
	memcpy(v->last.data, a->values.data + offsets[m - 1], v->last_len);
	return 0;
}

static int take_dense(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	switch (v->encoding) {
	case ENC_PLAIN:
		return take_plain(v, a, m, err);
	case ENC_DELTA_LENGTH:
		return take_lengths(v, a, m, err);
	case ENC_DELTA_BYTE_ARRAY:
		return take_prefixed(v, a, m, err);
	default:
		return take_indexed(v, a, m, err);
	}
}

/* Null rows are empty. */
static void spread(struct array *a, uint64_t n, uint64_t m)
{
	int32_t *offsets = offsets_of(a) + a->n;

	while (n > m) {
		offsets[n] = offsets[m];
		m -= bit_get(a->validity.data, (uint64_t)a->n + --n);
	}
}

int strings_take(struct values *v, struct array *a, uint64_t n, uint64_t m,
		 struct error *err)
{
	if (take_dense(v, a, m, err))
		return -1;
	spread(a, n, m);
	return 0;
}

/* Read the next m strings into a separate array. */
static int take_apart(struct values *v, struct array *a, uint64_t m, struct error *err)
{
	if (block_reserve(&a->offsets, v->budget, m + 1, sizeof(int32_t), err))
		return -1;
	memset(a->offsets.data, 0, sizeof(int32_t));
	return take_dense(v, a, m, err);
}

int strings_take_fixed(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	__attribute__((
		cleanup(array_release))) struct array a = { .field = v->type->field };

	if (take_apart(v, &a, m, err))
		return -1;
	for (uint64_t i = 0; i < m; i++)
		if (offsets_of(&a)[i + 1] - offsets_of(&a)[i] != (int32_t)v->type->width)
			return error_set(err, ERR_FORMAT,
					 "a value that is not %u bytes long",
					 v->type->width);
	if (m) /* a page of nulls alone has no values */
		memcpy(to, a.values.data, m * v->type->width);
	return 0;
}

int strings_take_decimals(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	__attribute__((
		cleanup(array_release))) struct array a = { .field = v->type->field };
	uint32_t width = v->type->field->width;

	if (take_apart(v, &a, m, err))
		return -1;
	for (uint64_t i = 0; i < m; i++) {
		int32_t from = offsets_of(&a)[i], to_end = offsets_of(&a)[i + 1];

		if (convert_decimal(to + i * width, width, a.values.data + from,
				    (size_t)(to_end - from), err))
			return -1;
	}
	return 0;
}
