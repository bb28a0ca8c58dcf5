/* Reads a Parquet file's footer and its page headers: footer.h. */
#include "arrow/footer.h"

#define AT(type, field) offsetof(struct type, field)
#define VALUE(id, kind, type, at)                     \
	{                                             \
		id, kind, AT(type, at), NULL, 0, NULL \
	}
#define INSIDE(id, table)                               \
	{                                               \
		id, THRIFT_STRUCT, 0, &(table), 0, NULL \
	}
#define LIST(id, type, at, table, of, absent)                                      \
	{                                                                          \
		id, THRIFT_LIST, AT(type, at), &(table), sizeof(struct of), absent \
	}
#define MEMBERS(...)                              \
	.members = (const struct thrift_member[]) \
	{                                         \
		__VA_ARGS__,                      \
		{                                 \
			0                         \
		}                                 \
	}

/* clang-format off */
static const struct thrift_table time_unit = {
	.is_union = true, .which = AT(logical, unit),
};
static const struct thrift_table decimal = { MEMBERS(
	VALUE(1, THRIFT_I32, logical, scale),
	VALUE(2, THRIFT_I32, logical, precision)) };
static const struct thrift_table moment = { MEMBERS(
	VALUE(1, THRIFT_BOOL, logical, utc),
	INSIDE(2, time_unit)) };
static const struct thrift_table integer = { MEMBERS(
	VALUE(1, THRIFT_I32, logical, bits),
	VALUE(2, THRIFT_BOOL, logical, is_signed)) };
static const struct thrift_table logical_type = {
	.is_union = true, .which = AT(logical, id), MEMBERS(
	INSIDE(LOGICAL_DECIMAL, decimal),
	INSIDE(LOGICAL_TIME, moment),
	INSIDE(LOGICAL_TIMESTAMP, moment),
	INSIDE(LOGICAL_INTEGER, integer)) };
static const struct thrift_table schema_element = { MEMBERS(
	VALUE(1, THRIFT_I32, schema_element, type),
	VALUE(2, THRIFT_I32, schema_element, type_length),
	VALUE(3, THRIFT_I32, schema_element, repetition),
	VALUE(4, THRIFT_BYTES, schema_element, name),
	VALUE(5, THRIFT_I32, schema_element, n_children),
	VALUE(6, THRIFT_I32, schema_element, converted),
	VALUE(7, THRIFT_I32, schema_element, scale),
	VALUE(8, THRIFT_I32, schema_element, precision),
	VALUE(9, THRIFT_I32, schema_element, field_id),
	{ 10, THRIFT_STRUCT, AT(schema_element, logical), &logical_type, 0, NULL }) };
static const struct schema_element no_element = {
	.type = PHYS_NONE, .converted = -1, .field_id = -1,
};

static const struct thrift_table statistics = { MEMBERS(
	VALUE(3, THRIFT_I64, statistics, null_count),
	VALUE(5, THRIFT_BYTES, statistics, max),
	VALUE(6, THRIFT_BYTES, statistics, min)) };
static const struct thrift_table column_meta = { MEMBERS(
	VALUE(1, THRIFT_I32, column_chunk, type),
	VALUE(4, THRIFT_I32, column_chunk, codec),
	VALUE(5, THRIFT_I64, column_chunk, n_values),
	VALUE(6, THRIFT_I64, column_chunk, uncompressed),
	VALUE(7, THRIFT_I64, column_chunk, compressed),
	VALUE(9, THRIFT_I64, column_chunk, data_page),
	VALUE(11, THRIFT_I64, column_chunk, dictionary_page),
	{ 12, THRIFT_STRUCT, AT(column_chunk, statistics), &statistics, 0, NULL }) };
static const struct thrift_table column_chunk = { MEMBERS(
	VALUE(1, THRIFT_PRESENT, column_chunk, in_other_file),
	INSIDE(3, column_meta),
	VALUE(4, THRIFT_I64, column_chunk, offset_index),
	VALUE(5, THRIFT_I32, column_chunk, offset_index_length),
	VALUE(6, THRIFT_I64, column_chunk, column_index),
	VALUE(7, THRIFT_I32, column_chunk, column_index_length),
	VALUE(8, THRIFT_PRESENT, column_chunk, encrypted)) };
static const struct column_chunk no_chunk = {
	.type = PHYS_NONE, .data_page = -1, .statistics.null_count = -1,
};
static const struct thrift_table row_group = { MEMBERS(
	LIST(1, row_group, columns, column_chunk, column_chunk, &no_chunk),
	VALUE(3, THRIFT_I64, row_group, n_rows)) };
static const struct thrift_table file_meta = { MEMBERS(
	VALUE(1, THRIFT_I32, footer, version),
	LIST(2, footer, schema, schema_element, schema_element, &no_element),
	VALUE(3, THRIFT_I64, footer, n_rows),
	LIST(4, footer, groups, row_group, row_group, NULL),
	VALUE(6, THRIFT_BYTES, footer, created_by),
	VALUE(7, THRIFT_PRESENT, footer, ordered),
	VALUE(8, THRIFT_PRESENT, footer, encrypted)) };

static const struct thrift_table data_page = { MEMBERS(
	VALUE(1, THRIFT_I32, page_header, n_values),
	VALUE(2, THRIFT_I32, page_header, encoding),
	VALUE(3, THRIFT_I32, page_header, def_encoding),
	VALUE(4, THRIFT_I32, page_header, rep_encoding)) };
static const struct thrift_table dictionary_page = { MEMBERS(
	VALUE(1, THRIFT_I32, page_header, n_values),
	VALUE(2, THRIFT_I32, page_header, encoding)) };
static const struct thrift_table data_page_v2 = { MEMBERS(
	VALUE(1, THRIFT_I32, page_header, n_values),
	VALUE(2, THRIFT_I32, page_header, n_nulls),
	VALUE(3, THRIFT_I32, page_header, n_rows),
	VALUE(4, THRIFT_I32, page_header, encoding),
	VALUE(5, THRIFT_I32, page_header, def_bytes),
	VALUE(6, THRIFT_I32, page_header, rep_bytes),
	VALUE(7, THRIFT_BOOL, page_header, is_compressed)) };
static const struct thrift_table page_header = { MEMBERS(
	VALUE(1, THRIFT_I32, page_header, type),
	VALUE(2, THRIFT_I32, page_header, uncompressed),
	VALUE(3, THRIFT_I32, page_header, compressed),
	VALUE(4, THRIFT_I64, page_header, crc),
	INSIDE(5, data_page),
	INSIDE(7, dictionary_page),
	INSIDE(8, data_page_v2)) };
/* clang-format on */

int footer_read(struct footer *ret, const void *bytes, size_t len, struct budget *budget,
		struct arena *arena, struct error *err)
{
	struct thrift t = {
		.p = bytes,
		.end = (const uint8_t *)bytes + len,
		.budget = budget,
		.arena = arena,
	};

	*ret = (struct footer){ 0 };
	thrift_read(&t, &file_meta, ret);
	return thrift_check(&t, err);
}

int page_header_read(struct page_header *ret, const uint8_t **p, const uint8_t *end,
		     struct error *err)
{
	struct thrift t = { .p = *p, .end = end };

	*ret = (struct page_header){
		.type = -1,
		.uncompressed = -1,
		.compressed = -1,
		.crc = INT64_MIN,
		.n_values = -1,
		.encoding = -1,
		.def_encoding = ENC_RLE,
		.rep_encoding = ENC_RLE,
		.is_compressed = true,
	};
	thrift_read(&t, &page_header, ret);
	if (thrift_check(&t, err))
		return -1;
	*p = t.p;
	return 0;
}
