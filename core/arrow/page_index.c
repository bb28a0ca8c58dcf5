/* Reads the statistics of pages: page_index.h. */
#include "arrow/page_index.h"

#include "arrow/parquet_impl.h"

enum { MAX_INDEX = 64 << 20 };

struct column_index {
	struct thrift_list null_pages, null_counts; /* int64_t */
	struct thrift_list min, max;                /* struct thrift_bytes */
};

struct place {
	int64_t first_row;
};

struct offset_index {
	struct thrift_list places; /* struct place */
};

#define AT(type, field) offsetof(struct type, field)

static const struct thrift_table column_index = {
	.members =
		(const struct thrift_member[]){
			{ 1, THRIFT_NUMBERS, AT(column_index, null_pages), NULL, 0,
			  NULL },
			{ 2, THRIFT_STRINGS, AT(column_index, min), NULL, 0, NULL },
			{ 3, THRIFT_STRINGS, AT(column_index, max), NULL, 0, NULL },
			{ 5, THRIFT_NUMBERS, AT(column_index, null_counts), NULL, 0,
			  NULL },
			{ 0 } },
};

static const struct thrift_table place = {
	.members =
		(const struct thrift_member[]){
			{ 3, THRIFT_I64, AT(place, first_row), NULL, 0, NULL }, { 0 } },
};

static const struct thrift_table offset_index = {
	.members = (const struct thrift_member[]){ { 1, THRIFT_LIST,
						     AT(offset_index, places), &place,
						     sizeof(struct place), NULL },
						   { 0 } },
};

static bool is_within(const struct parquet *p, int64_t offset, int64_t len)
{
	return offset > 0 && len > 0 && len <= MAX_INDEX &&
	       (uint64_t)offset <= p->file_size &&
	       (uint64_t)len <= p->file_size - (uint64_t)offset;
}

static const struct leaf_type *leaf_of(const struct parquet *p, size_t column)
{
	const struct field *f = &p->schema.fields[column];

	return field_has_children(f) ? NULL : &p->schema.leaves[f->first_leaf];
}

bool page_index_ranges(const struct parquet *p, size_t group, size_t column,
		       struct range *ret_columns, struct range *ret_offsets)
{
	const struct leaf_type *leaf = leaf_of(p, column);
	const struct column_chunk *c;

	if (!leaf || !p->footer.ordered)
		return false;
	c = parquet_column(p, group, p->schema.fields[column].first_leaf);
	if (!is_within(p, c->column_index, c->column_index_length) ||
	    !is_within(p, c->offset_index, c->offset_index_length))
		return false;
	*ret_columns = (struct range){ (uint64_t)c->column_index,
				       (uint64_t)c->column_index_length };
	*ret_offsets = (struct range){ (uint64_t)c->offset_index,
				       (uint64_t)c->offset_index_length };
	return true;
}

static int read_one(struct bytes from, const struct thrift_table *table, void *to,
		    struct arena *arena, struct error *err)
{
	struct budget budget = { .limit = MAX_INDEX };
	struct thrift t = {
		.p = from.data,
		.end = from.data + from.len,
		.budget = &budget,
		.arena = arena,
	};

	thrift_read(&t, table, to);
	return thrift_check(&t, err) ? error_wrap(err, "page index") : 0;
}

static int check(const struct page_index *index, const struct column_index *c,
		 const struct offset_index *o, struct error *err)
{
	const struct place *places = o->places.at;
	size_t n = o->places.n;
	bool ok = n && c->null_pages.n == n && c->min.n == n && c->max.n == n &&
		  (!c->null_counts.n || c->null_counts.n == n);

	for (size_t i = 0; i < n && ok; i++)
		ok = i ? places[i].first_row > places[i - 1].first_row
		       : places[i].first_row == 0;
	if (!ok || places[n - 1].first_row >= index->rows)
		return error_set(err, ERR_FORMAT, "page index: damaged");
	return 0;
}

/*
 * parquet-java marks pages without statistics like those of nulls only, although their
 * column is required or their null count another: of these nothing is known.
 */
static void mark_nulls(struct page_index *index, size_t i, bool marked, bool counted)
{
	struct page_statistics *page = &index->pages[i];
	int64_t end = i + 1 < index->n ? page[1].first_row : index->rows;

	if (!marked)
		return;
	page->only_nulls =
		index->leaf->max_def &&
		(!counted || page->statistics.null_count == end - page->first_row);
	page->statistics = (struct statistics){ .null_count = -1 };
}

int page_index_read(struct page_index *ret, const struct page_index_source *from,
		    struct arena *arena, struct error *err)
{
	struct page_index index = { leaf_of(from->file, from->column),
				    parquet_rows(from->file, from->group), NULL, 0 };
	struct column_index c = { 0 };
	struct offset_index o = { 0 };

	if (read_one(from->columns, &column_index, &c, arena, err) ||
	    read_one(from->offsets, &offset_index, &o, arena, err) ||
	    check(&index, &c, &o, err))
		return -1;
	index.n = o.places.n;
	index.pages = arena_alloc(arena, index.n * sizeof(*index.pages));
	for (size_t i = 0; i < index.n; i++) {
		struct page_statistics *page = &index.pages[i];

		page->first_row = ((const struct place *)o.places.at)[i].first_row;
		page->statistics.min = ((const struct thrift_bytes *)c.min.at)[i];
		page->statistics.max = ((const struct thrift_bytes *)c.max.at)[i];
		page->statistics.null_count =
			c.null_counts.n ? ((const int64_t *)c.null_counts.at)[i] : -1;
	}
	for (size_t i = 0; i < index.n; i++)
		mark_nulls(&index, i, ((const int64_t *)c.null_pages.at)[i] != 0,
			   c.null_counts.n != 0);
	*ret = index;
	return 0;
}
