/* chunks.c - reads the column chunks of a row group (cache/table_impl.h). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/table_impl.h"

enum { GAP = 256 * 1024 }; /* a gap of this size is cheaper to read than a request */

struct chunk {
	size_t leaf;
	struct range at;
};

static int by_offset(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return (x->at.offset > y->at.offset) - (x->at.offset < y->at.offset);
}

static uint64_t end_of(struct range r)
{
	return r.offset + r.len;
}

/* Adjacent chunks are read by one request: returns their number, and the range. */
static size_t join(const struct chunk *c, size_t n, struct range *ret)
{
	size_t k = 1;

	*ret = c[0].at;
	for (; k < n && c[k].at.offset <= end_of(*ret) + GAP; k++)
		if (end_of(c[k].at) > end_of(*ret))
			ret->len = end_of(c[k].at) - ret->offset;
	return k;
}

static int read_blocks(struct chunks *to, const struct file *f, const struct chunk *all,
		       size_t n, struct parquet_scan *scan, struct error *err)
{
	cleanup_free struct range_want *wants = xcalloc(n + 1, sizeof(*wants));
	struct range at;

	to->blocks = xcalloc(n + 1, sizeof(*to->blocks));
	for (size_t i = 0, k; i < n; i += k) {
		struct block *b = &to->blocks[to->n];

		k = join(&all[i], n - i, &at);
		if (block_reserve(b, to->budget, at.len, 1, err))
			return error_wrap(err, "%s", f->path);
		wants[to->n++] = (struct range_want){ at.offset, at.len, b->data };
		for (size_t j = i; j < i + k; j++)
			parquet_scan_give(
				scan, all[j].leaf,
				(struct bytes){ b->data + all[j].at.offset - at.offset,
						all[j].at.len });
	}
	return range_read(f->object, wants, to->n, err);
}

int chunks_read(struct chunks *c, const struct file *f, size_t group,
		struct parquet_scan *scan, struct error *err)
{
	size_t leaves = parquet_leaves(f->parquet), n = 0;
	cleanup_free struct chunk *all = xcalloc(leaves + 1, sizeof(*all));

	for (size_t i = 0; i < leaves; i++)
		if (parquet_wants(scan, i))
			all[n++] =
				(struct chunk){ i, parquet_chunk(f->parquet, group, i) };
	qsort(all, n, sizeof(*all), by_offset);
	return read_blocks(c, f, all, n, scan, err);
}

void chunks_release(struct chunks *c)
{
	for (size_t i = 0; i < c->n; i++)
		block_free(&c->blocks[i]);
	free(c->blocks);
	*c = (struct chunks){ .budget = c->budget };
}
