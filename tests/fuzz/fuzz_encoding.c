/*
 * Values and compressions of any bytes: the first three say which encoding, type and
 * compression, the rest is the page. All at once and in pieces is the same.
 */
#include <string.h>

#include "arrow/codec.h"
#include "arrow/values.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20, ROWS = 500, HEAD = 4 };

static const struct {
	enum arrow_kind kind;
	uint32_t width, physical_width;
	int32_t physical;
} types[] = {
	{ ARROW_BOOL, 0, 0, PHYS_BOOLEAN },
	{ ARROW_INT32, 4, 4, PHYS_INT32 },
	{ ARROW_INT8, 1, 4, PHYS_INT32 },
	{ ARROW_INT64, 8, 8, PHYS_INT64 },
	{ ARROW_TIMESTAMP, 8, 12, PHYS_INT96 },
	{ ARROW_DOUBLE, 8, 8, PHYS_DOUBLE },
	{ ARROW_STRING, 0, 0, PHYS_BYTE_ARRAY },
	{ ARROW_DECIMAL, 16, 0, PHYS_BYTE_ARRAY },
	{ ARROW_DECIMAL, 16, 7, PHYS_FIXED },
	{ ARROW_FIXED, 5, 5, PHYS_FIXED },
};

struct page {
	const uint8_t *data, *end;
	int32_t encoding;
};

/* How many rows there were before an error, in pieces of `step`. */
static int64_t take(const struct leaf_type *type, const struct page *page, int64_t step,
		    struct array *a, struct budget *budget)
{
	struct values v = { .type = type, .budget = budget };
	static const uint8_t words[BLOCK_SLACK + 64] = {
		1, 0, 0, 0, 'a', 2, 0, 0, 0, 'b'
	};
	struct error err = { 0 };

	a->field = type->field;
	if (!values_dictionary(&v, words, words + 64, 2, &err) &&
	    !values_begin(&v, page->encoding, page->data, page->end, ROWS, &err))
		while (a->n + step <= ROWS &&
		       !values_reserve(&v, a, (uint64_t)step, &err) &&
		       !values_take(&v, a, (uint64_t)step, (uint64_t)step, &err))
			a->n += step;
	values_release(&v);
	return a->n;
}

static void check_values(const struct leaf_type *type, const struct page *page)
{
	struct budget budget = { .limit = MEMORY };
	struct array one = { 0 }, many = { 0 };
	int64_t n = take(type, page, 1, &one, &budget);

	if (n && take(type, page, n, &many, &budget) == n && type->field->width)
		FUZZ_CHECK(!memcmp(one.values.data, many.values.data,
				   (size_t)n * type->field->width));
	array_release(&one);
	array_release(&many);
	FUZZ_CHECK(budget.used == 0 && budget.peak <= budget.limit);
}

static void check_codec(int codec, size_t len, const uint8_t *data, size_t size)
{
	cleanup_free uint8_t *out = xcalloc(1, len + BLOCK_SLACK);
	struct codec_state state = { 0 };
	struct error err = { 0 };

	if (codec_decode(&state, codec, out, len, (struct bytes){ data, size }, &err))
		FUZZ_CHECK(err.kind && err.msg[0]);
	codec_release(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free uint8_t *page = xcalloc(1, size + BLOCK_SLACK);
	size_t which = size ? data[0] % (N_ELEMENTS(types)) : 0;
	struct field f = { .kind = types[which].kind, .width = types[which].width };
	struct leaf_type type = {
		.field = &f,
		.physical = types[which].physical,
		.width = types[which].physical_width,
	};

	if (size < HEAD)
		return 0;
	memcpy(page, data + HEAD, size - HEAD);
	check_values(&type, &(struct page){ page, page + size - HEAD, data[1] % ENC_N });
	check_codec(data[2] % CODEC_N, data[3] * 16u, page, size - HEAD);
	return 0;
}
