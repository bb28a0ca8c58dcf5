/* Reads an Arrow message as a schema: ipc.h. */
#include <stdlib.h>
#include <string.h>

#include "arrow/flat.h"
#include "arrow/ipc.h"
#include "arrow/ipc_format.h"
#include "base/str.h"

enum { MAX_DEPTH = 32, MAX_FIELDS = 100000, MAX_WIDTH = 1 << 30 };

struct reader {
	struct arena *arena;
	struct ipc_form form;
	size_t n; /* fields so far */
	int depth;
};

static int damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "Arrow IPC: damaged schema");
}

static int unsupported(const struct field *f, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "Arrow IPC: column %.100s: unknown type",
			 f->name);
}

/* ---- types: what the table beside a tag says ---- */

static int read_int(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t bits, is_signed;
	int at = 0;

	if (flat_get_int(t, 0, 4, 0, &bits, err) ||
	    flat_get_int(t, 1, 1, 0, &is_signed, err))
		return -1;
	while (at < 4 && 8 << at != bits)
		at++;
	if (at == 4)
		return unsupported(f, err);
	f->kind = (is_signed ? ARROW_INT8 : ARROW_UINT8) + (unsigned)at;
	f->width = 1u << at;
	return 0;
}

static int read_float(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t precision;

	if (flat_get_int(t, 0, 2, 0, &precision, err))
		return -1;
	if (precision < 0 || precision > 2)
		return unsupported(f, err);
	f->kind = ARROW_HALF + (unsigned)precision;
	f->width = 2u << precision;
	return 0;
}

static int read_decimal(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t precision, scale, bits;

	if (flat_get_int(t, 0, 4, 0, &precision, err) ||
	    flat_get_int(t, 1, 4, 0, &scale, err) ||
	    flat_get_int(t, 2, 4, 128, &bits, err))
		return -1;
	if ((bits != 128 && bits != 256) || precision < 1 || precision > 76 ||
	    scale < -76 || scale > 76)
		return unsupported(f, err);
	f->kind = ARROW_DECIMAL;
	f->precision = (int32_t)precision;
	f->scale = (int32_t)scale;
	f->width = (uint32_t)bits / 8;
	return 0;
}

static int read_unit(struct field *f, const struct flat_table *t, int64_t absent,
		     struct error *err)
{
	int64_t unit;

	if (flat_get_int(t, 0, 2, absent, &unit, err))
		return -1;
	if (unit < ARROW_MS || unit > ARROW_NS)
		return unsupported(f, err);
	f->unit = (int)unit;
	return 0;
}

static int read_date(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t unit;

	if (flat_get_int(t, 0, 2, 1, &unit, err))
		return -1;
	f->kind = ARROW_DATE;
	f->width = 4;
	return unit ? unsupported(f, err) : 0;
}

static int read_time(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t bits;

	if (flat_get_int(t, 1, 4, 32, &bits, err))
		return -1;
	f->kind = bits == 64 ? ARROW_TIME64 : ARROW_TIME32;
	f->width = bits == 64 ? 8 : 4;
	return read_unit(f, t, ARROW_MS, err);
}

static int read_timestamp(struct field *f, const struct flat_table *t, struct error *err)
{
	struct flat_vector zone;

	if (flat_get_vector(t, 1, 1, &zone, err))
		return -1;
	f->kind = ARROW_TIMESTAMP;
	f->width = 8;
	f->utc = zone.data != NULL;
	return read_unit(f, t, 0, err);
}

static int read_fixed(struct field *f, const struct flat_table *t, struct error *err)
{
	int64_t width;

	if (flat_get_int(t, 0, 4, 0, &width, err))
		return -1;
	if (width < 0 || width > MAX_WIDTH)
		return damaged(err);
	f->kind = ARROW_FIXED;
	f->width = (uint32_t)width;
	return 0;
}

/* Types with an empty table, and their number of children; -1: any. */
static const struct {
	enum ipc_type tag;
	enum arrow_kind kind;
	int children;
	int (*read)(struct field *f, const struct flat_table *t, struct error *err);
} types[] = {
	{ TYPE_NULL, ARROW_NULL, 0, NULL },
	{ TYPE_INT, ARROW_INT8, 0, read_int },
	{ TYPE_FLOAT, ARROW_FLOAT, 0, read_float },
	{ TYPE_BINARY, ARROW_BINARY, 0, NULL },
	{ TYPE_UTF8, ARROW_STRING, 0, NULL },
	{ TYPE_BOOL, ARROW_BOOL, 0, NULL },
	{ TYPE_DECIMAL, ARROW_DECIMAL, 0, read_decimal },
	{ TYPE_DATE, ARROW_DATE, 0, read_date },
	{ TYPE_TIME, ARROW_TIME32, 0, read_time },
	{ TYPE_TIMESTAMP, ARROW_TIMESTAMP, 0, read_timestamp },
	{ TYPE_LIST, ARROW_LIST, 1, NULL },
	{ TYPE_STRUCT, ARROW_STRUCT, -1, NULL },
	{ TYPE_FIXED, ARROW_FIXED, 0, read_fixed },
	{ TYPE_MAP, ARROW_MAP, 1, NULL },
	{ TYPE_LARGE_BINARY, ARROW_BINARY, 0, NULL },
};
enum { N_TYPES = N_ELEMENTS(types) };

static int read_type(struct reader *r, struct field *f, const struct flat_table *t,
		     struct error *err)
{
	struct flat_table table;
	int64_t tag;
	size_t i = 0;

	if (flat_get_int(t, 2, 1, 0, &tag, err) || flat_get_table(t, 3, &table, err))
		return -1;
	while (i < N_TYPES && (int64_t)types[i].tag != tag)
		i++;
	if (i == N_TYPES)
		return unsupported(f, err);
	f->kind = types[i].kind;
	r->form.iceberg = r->form.iceberg || tag == TYPE_LARGE_BINARY;
	if (types[i].children >= 0 && f->n_children != (size_t)types[i].children)
		return damaged(err);
	if (f->kind == ARROW_MAP &&
	    (f->children[0].kind != ARROW_STRUCT || f->children[0].n_children != 2))
		return damaged(err);
	return types[i].read ? types[i].read(f, &table, err) : 0;
}

/* ---- fields ---- */

static int read_fields(struct reader *r, const struct flat_table *t, int slot,
		       struct field **ret, size_t *ret_n, struct error *err);

static int read_field(struct reader *r, const struct flat_table *t, struct field *f,
		      struct error *err)
{
	struct flat_table dictionary;
	struct flat_vector name;
	int64_t nullable;

	if (flat_get_vector(t, 0, 1, &name, err) ||
	    flat_get_int(t, 1, 1, 0, &nullable, err) ||
	    flat_get_table(t, 4, &dictionary, err))
		return -1;
	*f = (struct field){ .id = -1, .nullable = nullable != 0 };
	f->name = str_slice(r->arena, name.n ? (const char *)name.data : "", name.n);
	if (dictionary.data)
		return unsupported(f, err);
	return read_fields(r, t, 5, &f->children, &f->n_children, err) ||
			       read_type(r, f, t, err)
		       ? -1
		       : 0;
}

static int read_fields(struct reader *r, const struct flat_table *t, int slot,
		       struct field **ret, size_t *ret_n, struct error *err)
{
	struct flat_vector list;
	struct flat_table one;

	if (flat_get_vector(t, slot, 4, &list, err))
		return -1;
	if (++r->depth > MAX_DEPTH || list.n > MAX_FIELDS - r->n)
		return error_set(err, ERR_LIMIT, "Arrow IPC: too many columns");
	r->n += list.n;
	*ret_n = list.n;
	*ret = arena_alloc(r->arena, (list.n + 1) * sizeof(**ret));
	for (size_t i = 0; i < list.n; i++)
		if (flat_element(t, &list, i, &one, err) ||
		    read_field(r, &one, &(*ret)[i], err))
			return -1;
	r->depth--;
	return 0;
}

bool ipc_is_schema(struct bytes metadata)
{
	struct flat_table message;
	int64_t type;

	return !flat_open(&message, metadata.data, metadata.len, IGNORED) &&
	       !flat_get_int(&message, 1, 1, 0, &type, IGNORED) && type == HEADER_SCHEMA;
}

int ipc_schema_read(struct field **ret, size_t *ret_n, struct ipc_form *ret_form,
		    struct bytes metadata, struct arena *arena, struct error *err)
{
	struct reader r = { .arena = arena };
	struct flat_table message, schema;

	if (flat_open(&message, metadata.data, metadata.len, err) ||
	    flat_get_table(&message, 2, &schema, err) ||
	    read_fields(&r, &schema, 1, ret, ret_n, err))
		return -1;
	*ret_form = r.form;
	return 0;
}
