/*
 * Statistics of pages, in whole Parquet files: an error, or pages in the order of their
 * rows, and conditions clear bits of the group's rows alone.
 */
#include <string.h>

#include "arrow/page_index.h"
#include "arrow/predicate.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20, MAX_ROWS = 10000, GROUPS = 4 };

/* For columns of any type: those of another one are errors. */
static const char *const filters[] = {
	"[\"c\", \"is null\"]",
	"[\"c\", \"is null\", false]",
	"[\"c\", \">\", 1]",
	"[\"c\", \"<=\", -0.5]",
	"[\"c\", \"!=\", true]",
	"[\"c\", \"in\", [\"a\", \"kubeflow\"]]",
	"[\"c\", \"=\", \"2020-01-01\"]",
	"[\"c\", \"<\", \"1.25\"]",
};

static void check_filter(const char *text, const struct page_index *index,
			 const struct field *f)
{
	struct field c = *f;
	cleanup_predicate struct predicate *p = NULL;
	size_t bytes = ((size_t)index->rows + 7) / 8;
	/* Of their exact size. */
	cleanup_free uint8_t *keep = xmalloc(bytes + 1);
	struct error err = { 0 };

	c.name = (char *)(uintptr_t) "c";
	if (predicate_parse(&p, text, strlen(text), &c, 1, &err))
		return;
	memset(keep, 0xff, bytes + 1);
	predicate_pages(p, 0, index, keep);
	FUZZ_CHECK(keep[bytes] == 0xff);
}

static uint8_t *copy(const uint8_t *data, struct range at)
{
	return memcpy(xmalloc(at.len), data + at.offset, at.len);
}

static void check_column(const struct parquet *p, const uint8_t *data, size_t group,
			 size_t column)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free uint8_t *columns = NULL, *offsets = NULL;
	struct range at_columns, at_offsets;
	struct page_index index;
	struct error err = { 0 };
	size_t n;

	if (!page_index_ranges(p, group, column, &at_columns, &at_offsets))
		return;
	columns = copy(data, at_columns);
	offsets = copy(data, at_offsets);
	if (page_index_read(&index,
			    &(struct page_index_source){ p,
							 group,
							 column,
							 { columns, at_columns.len },
							 { offsets, at_offsets.len } },
			    &arena, &err))
		return;
	for (size_t i = 0; i < index.n; i++)
		FUZZ_CHECK(index.pages[i].first_row < index.rows &&
			   (i ? index.pages[i].first_row > index.pages[i - 1].first_row
			      : !index.pages[i].first_row));
	if (index.rows > MAX_ROWS)
		return;
	for (size_t i = 0; i < N_ELEMENTS(filters); i++)
		check_filter(filters[i], &index, &parquet_columns(p, &n)[column]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget budget = { .limit = MEMORY };
	struct parquet *p = NULL;
	struct error err = { 0 };
	struct range at;
	size_t n = 0;

	if (size < PARQUET_TAIL ||
	    parquet_tail(&at, data + size - PARQUET_TAIL, size, &err))
		return 0;
	if (!parquet_open(&p, data + at.offset, at.len, size, &budget, &err)) {
		parquet_columns(p, &n);
		for (size_t g = 0; g < parquet_groups(p) && g < GROUPS; g++)
			for (size_t c = 0; c < n; c++)
				check_column(p, data, g, c);
	}
	parquet_free(p);
	FUZZ_CHECK(budget.used == 0);
	return 0;
}
