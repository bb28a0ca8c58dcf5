/*
 * Whole Parquet files: whatever the bytes are, the arrays are of the shape that array.h
 * says, the budget holds, and all of it is given back.
 */
#include <string.h>

#include "arrow/bits.h"
#include "arrow/parquet.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20, MAX_BATCHES = 50 };

static void check_offsets(const struct array *a, int64_t *end)
{
	const int32_t *offsets = (const int32_t *)(const void *)a->offsets.data;

	FUZZ_CHECK(a->offsets.cap >= (size_t)(a->n + 1) * 4 && offsets[0] == 0);
	for (int64_t i = 0; i < a->n; i++)
		FUZZ_CHECK(offsets[i] <= offsets[i + 1]);
	*end = offsets[a->n];
}

static void check_array(const struct array *a)
{
	const struct field *f = a->field;
	int64_t end = a->n;

	FUZZ_CHECK(a->n >= 0 && a->n_null >= 0 && a->n_null <= a->n);
	if (a->validity.data)
		FUZZ_CHECK(bits_count(a->validity.data, 0, (uint64_t)a->n) ==
			   (uint64_t)(a->n - a->n_null));
	else
		FUZZ_CHECK(!a->n_null || f->kind == ARROW_NULL);
	if (f->kind == ARROW_LIST || f->kind == ARROW_MAP || f->kind == ARROW_STRING ||
	    f->kind == ARROW_BINARY)
		check_offsets(a, &end);
	if (f->kind == ARROW_STRING || f->kind == ARROW_BINARY)
		FUZZ_CHECK(a->values.cap >= (size_t)end);
	else if (!field_has_children(f))
		FUZZ_CHECK(a->values.cap >= (size_t)a->n * f->width);
	for (size_t i = 0; i < f->n_children; i++) {
		FUZZ_CHECK(a->children[i].n == end);
		check_array(&a->children[i]);
	}
}

static void read_group(const struct parquet *p, size_t group, const uint8_t *file,
		       struct budget *budget)
{
	cleanup_parquet_scan struct parquet_scan *s = NULL;
	struct error err = { 0 };

	s = parquet_scan_new(p, group, NULL, budget);
	for (size_t leaf = 0; leaf < parquet_leaves(p); leaf++) {
		struct range at = parquet_chunk(p, group, leaf);

		parquet_scan_give(s, leaf, (struct bytes){ file + at.offset, at.len });
	}
	if (group % 2 && parquet_skip(s, 3, &err))
		return;
	for (int i = 0; i < MAX_BATCHES; i++) {
		cleanup_batch struct batch b = { 0 };

		if (parquet_next(s, &b, 1 << (4 * (i % 4)), &err) || !b.n)
			break;
		for (size_t c = 0; c < b.n_columns; c++) {
			FUZZ_CHECK(b.columns[c].n == b.n);
			check_array(&b.columns[c]);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free uint8_t *file = xcalloc(1, size + PARQUET_SLACK);
	struct budget budget = { .limit = MEMORY };
	struct parquet *p = NULL;
	struct error err = { 0 };
	struct range at;

	if (size)
		memcpy(file, data, size);
	if (size < PARQUET_TAIL ||
	    parquet_tail(&at, file + size - PARQUET_TAIL, size, &err))
		return 0;
	FUZZ_CHECK(at.offset + at.len + PARQUET_TAIL == size);
	if (!parquet_open(&p, file + at.offset, at.len, size, &budget, &err))
		for (size_t i = 0; i < parquet_groups(p) && i < 4; i++)
			read_group(p, i, file, &budget);
	FUZZ_CHECK(budget.peak <= budget.limit);
	parquet_free(p);
	FUZZ_CHECK(budget.used == 0);
	return 0;
}
