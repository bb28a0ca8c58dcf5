/* Releases columns, writes types: array.h. */
#include "arrow/array.h"

#include <stdlib.h>

void array_release(struct array *a)
{
	for (size_t i = 0; a->children && i < a->field->n_children; i++)
		array_release(&a->children[i]);
	free(a->children);
	block_free(&a->validity);
	block_free(&a->offsets);
	block_free(&a->values);
	*a = (struct array){ 0 };
}

static const char *const kinds[] = {
	[ARROW_NULL] = "null",
	[ARROW_BOOL] = "bool",
	[ARROW_INT8] = "int8",
	[ARROW_INT16] = "int16",
	[ARROW_INT32] = "int32",
	[ARROW_INT64] = "int64",
	[ARROW_UINT8] = "uint8",
	[ARROW_UINT16] = "uint16",
	[ARROW_UINT32] = "uint32",
	[ARROW_UINT64] = "uint64",
	[ARROW_HALF] = "halffloat",
	[ARROW_FLOAT] = "float",
	[ARROW_DOUBLE] = "double",
	[ARROW_DECIMAL] = "decimal",
	[ARROW_DATE] = "date32",
	[ARROW_TIME32] = "time32",
	[ARROW_TIME64] = "time64",
	[ARROW_TIMESTAMP] = "timestamp",
	[ARROW_FIXED] = "fixed_size_binary",
	[ARROW_STRING] = "string",
	[ARROW_BINARY] = "binary",
	[ARROW_LIST] = "list",
	[ARROW_MAP] = "map",
	[ARROW_STRUCT] = "struct",
};

static void add_children(struct buf *out, const struct field *f)
{
	buf_adds(out, "<");
	for (size_t i = 0; i < f->n_children; i++) {
		buf_printf(out, "%s%s: ", i ? ", " : "", f->children[i].name);
		field_type(out, &f->children[i]);
	}
	buf_adds(out, ">");
}

void field_type(struct buf *out, const struct field *f)
{
	static const char *const units[] = { "", "ms", "us", "ns" };

	buf_adds(out, f->uuid ? "uuid" : kinds[f->kind]);
	switch (f->kind) {
	case ARROW_DECIMAL:
		buf_printf(out, "%u(%d, %d)", 8 * f->width, f->precision, f->scale);
		break;
	case ARROW_DATE:
		buf_adds(out, "[day]");
		break;
	case ARROW_TIME32:
	case ARROW_TIME64:
	case ARROW_TIMESTAMP:
		buf_printf(out, "[%s%s]", units[f->unit], f->utc ? ", tz=UTC" : "");
		break;
	case ARROW_FIXED:
		if (!f->uuid)
			buf_printf(out, "[%u]", f->width);
		break;
	case ARROW_MAP: /* its children are those of one struct */
		add_children(out, f->children);
		break;
	default:
		if (f->n_children)
			add_children(out, f);
	}
}
