/* Writes a schema as Arrow's message: ipc.h. */
#include "arrow/flat.h"
#include "arrow/ipc.h"
#include "arrow/ipc_format.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"

/* Write the table of a type. */
static void put_signed(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 4, 8 << (field->kind - ARROW_INT8));
	flat_int(f, 1, 1, true);
}

static void put_unsigned(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 4, 8 << (field->kind - ARROW_UINT8));
}

static void put_float(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 2, field->kind - ARROW_HALF);
}

static void put_decimal(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 4, field->precision);
	flat_int(f, 1, 4, field->scale);
	flat_int(f, 2, 4, (int64_t)field->width * 8);
}

static void put_days(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 2, 0);
}

static void put_unit(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 2, field->unit);
}

static void put_time64(struct flat *f, const struct field *field)
{
	put_unit(f, field);
	flat_int(f, 1, 4, 64);
}

static void put_width(struct flat *f, const struct field *field)
{
	flat_int(f, 0, 4, field->width);
}

static const struct {
	enum ipc_type tag;
	void (*put)(struct flat *f, const struct field *field);
} types[] = {
	[ARROW_NULL] = { TYPE_NULL, NULL },
	[ARROW_BOOL] = { TYPE_BOOL, NULL },
	[ARROW_INT8] = { TYPE_INT, put_signed },
	[ARROW_INT16] = { TYPE_INT, put_signed },
	[ARROW_INT32] = { TYPE_INT, put_signed },
	[ARROW_INT64] = { TYPE_INT, put_signed },
	[ARROW_UINT8] = { TYPE_INT, put_unsigned },
	[ARROW_UINT16] = { TYPE_INT, put_unsigned },
	[ARROW_UINT32] = { TYPE_INT, put_unsigned },
	[ARROW_UINT64] = { TYPE_INT, put_unsigned },
	[ARROW_HALF] = { TYPE_FLOAT, put_float },
	[ARROW_FLOAT] = { TYPE_FLOAT, put_float },
	[ARROW_DOUBLE] = { TYPE_FLOAT, put_float },
	[ARROW_DECIMAL] = { TYPE_DECIMAL, put_decimal },
	[ARROW_DATE] = { TYPE_DATE, put_days },
	[ARROW_TIME32] = { TYPE_TIME, put_unit },
	[ARROW_TIME64] = { TYPE_TIME, put_time64 },
	[ARROW_TIMESTAMP] = { TYPE_TIMESTAMP, put_unit },
	[ARROW_FIXED] = { TYPE_FIXED, put_width },
	[ARROW_STRING] = { TYPE_UTF8, NULL },
	[ARROW_BINARY] = { TYPE_BINARY, NULL },
	[ARROW_LIST] = { TYPE_LIST, NULL },
	[ARROW_MAP] = { TYPE_MAP, NULL },
	[ARROW_STRUCT] = { TYPE_STRUCT, NULL },
};

/* Write the tag and the table of a type, whose zone is already written. */
static enum ipc_type put_type(struct flat *f, const struct field *field, uint32_t zone,
			      struct ipc_form form, uint32_t *ret)
{
	enum ipc_type tag = types[field->kind].tag;

	flat_begin(f);
	if (types[field->kind].put)
		types[field->kind].put(f, field);
	flat_ref(f, 1, zone);
	*ret = flat_end(f);
	return tag == TYPE_BINARY && form.iceberg ? TYPE_LARGE_BINARY : tag;
}

static uint32_t put_id(struct flat *f, int32_t id)
{
	char text[16];
	uint32_t key, value, pair;

	if (id < 0)
		return 0;
	snprintf(text, sizeof(text), "%d", id);
	key = flat_str(f, "PARQUET:field_id");
	value = flat_str(f, text);
	flat_begin(f);
	flat_ref(f, 0, key);
	flat_ref(f, 1, value);
	pair = flat_end(f);
	return flat_refs(f, &pair, 1);
}

static uint32_t put_fields(struct flat *f, const struct field *fields, size_t n,
			   struct ipc_form form);

/* A map's entries are never null, whatever the file says. */
static uint32_t put_children(struct flat *f, const struct field *field,
			     struct ipc_form form)
{
	struct field entries;

	if (field->kind != ARROW_MAP)
		return put_fields(f, field->children, field->n_children, form);
	entries = field->children[0];
	entries.nullable = false;
	return put_fields(f, &entries, 1, form);
}

static uint32_t put_field(struct flat *f, const struct field *field, struct ipc_form form)
{
	uint32_t children = put_children(f, field, form);
	uint32_t name = flat_str(f, field->name), id = put_id(f, field->id);
	bool has_zone = field->kind == ARROW_TIMESTAMP && field->utc;
	uint32_t zone = has_zone ? flat_str(f, form.iceberg ? "+00:00" : "UTC") : 0;
	uint32_t type;
	enum ipc_type tag = put_type(f, field, zone, form, &type);

	flat_begin(f);
	flat_ref(f, 0, name);
	flat_int(f, 1, 1, field->nullable);
	flat_int(f, 2, 1, tag);
	flat_ref(f, 3, type);
	flat_ref(f, 5, children);
	flat_ref(f, 6, id);
	return flat_end(f);
}

static uint32_t put_fields(struct flat *f, const struct field *fields, size_t n,
			   struct ipc_form form)
{
	uint32_t *refs = xcalloc(n + 1, sizeof(*refs)), ret;

	for (size_t i = 0; i < n; i++)
		refs[i] = put_field(f, &fields[i], form);
	ret = flat_refs(f, refs, n);
	free(refs);
	return ret;
}

void ipc_schema(struct buf *out, const struct field *fields, size_t n,
		struct ipc_form form)
{
	cleanup_flat struct flat f = { 0 };
	uint32_t list = put_fields(&f, fields, n, form), schema;

	flat_begin(&f);
	flat_ref(&f, 1, list);
	schema = flat_end(&f);
	flat_finish(&f, ipc_message(&f, HEADER_SCHEMA, schema, 0), out);
}

uint32_t ipc_message(struct flat *f, int type, uint32_t header, uint64_t body)
{
	flat_begin(f);
	flat_int(f, 3, 8, (int64_t)body);
	flat_ref(f, 2, header);
	flat_int(f, 0, 2, IPC_V5);
	flat_int(f, 1, 1, type);
	return flat_end(f);
}

void ipc_frame(struct buf *out, const void *metadata, size_t len)
{
	const uint32_t head[] = { 0xffffffff, htole32((uint32_t)len) };

	buf_add(out, head, sizeof(head));
	buf_add(out, metadata, len);
}
