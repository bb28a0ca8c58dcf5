/* Maps Parquet's physical and logical types to Arrow's: schema_type.h. */
#include "arrow/schema_type.h"

enum { MAX_FIXED = 1 << 20, INT96_WIDTH = 12, DECIMAL128 = 38, DECIMAL256 = 76 };

/* ConvertedType of parquet.thrift, by its number. */
static const struct logical converted[] = {
	[0] = { .id = LOGICAL_STRING },
	[1] = { .id = LOGICAL_MAP },
	[2] = { .id = LOGICAL_MAP },
	[3] = { .id = LOGICAL_LIST },
	[4] = { .id = LOGICAL_ENUM },
	[5] = { .id = LOGICAL_DECIMAL },
	[6] = { .id = LOGICAL_DATE },
	[7] = { .id = LOGICAL_TIME, .utc = true, .unit = UNIT_MS },
	[8] = { .id = LOGICAL_TIME, .utc = true, .unit = UNIT_US },
	[9] = { .id = LOGICAL_TIMESTAMP, .utc = true, .unit = UNIT_MS },
	[10] = { .id = LOGICAL_TIMESTAMP, .utc = true, .unit = UNIT_US },
	[11] = { .id = LOGICAL_INTEGER, .bits = 8 },
	[12] = { .id = LOGICAL_INTEGER, .bits = 16 },
	[13] = { .id = LOGICAL_INTEGER, .bits = 32 },
	[14] = { .id = LOGICAL_INTEGER, .bits = 64 },
	[15] = { .id = LOGICAL_INTEGER, .bits = 8, .is_signed = true },
	[16] = { .id = LOGICAL_INTEGER, .bits = 16, .is_signed = true },
	[17] = { .id = LOGICAL_INTEGER, .bits = 32, .is_signed = true },
	[18] = { .id = LOGICAL_INTEGER, .bits = 64, .is_signed = true },
	[19] = { .id = LOGICAL_JSON },
	[20] = { .id = LOGICAL_BSON },
};

struct logical schema_logical(const struct schema_element *e)
{
	struct logical l = e->logical;

	if (l.id == LOGICAL_NONE && e->converted >= 0 &&
	    (size_t)e->converted < N_ELEMENTS(converted)) {
		l = converted[e->converted];
		l.precision = e->precision;
		l.scale = e->scale;
	}
	return l;
}

/* The Arrow type of a physical type without a logical one. */
static const struct {
	enum arrow_kind kind;
	uint32_t width;
} plain[PHYS_N] = {
	[PHYS_BOOLEAN] = { ARROW_BOOL, 0 },      [PHYS_INT32] = { ARROW_INT32, 4 },
	[PHYS_INT64] = { ARROW_INT64, 8 },       [PHYS_INT96] = { ARROW_TIMESTAMP, 8 },
	[PHYS_FLOAT] = { ARROW_FLOAT, 4 },       [PHYS_DOUBLE] = { ARROW_DOUBLE, 8 },
	[PHYS_BYTE_ARRAY] = { ARROW_BINARY, 0 }, [PHYS_FIXED] = { ARROW_FIXED, 0 },
};

#define ON(physical) (1u << (physical))

static int set_decimal(struct field *f, const struct logical *l, int32_t physical,
		       struct error *err)
{
	uint32_t bytes = physical == PHYS_FIXED ? f->width : 0;

	if (l->precision < 1 || l->precision > DECIMAL256 || l->scale < 0 ||
	    l->scale > l->precision)
		return error_set(err, ERR_UNSUPPORTED, "decimal(%d, %d)", l->precision,
				 l->scale);
	f->kind = ARROW_DECIMAL;
	f->precision = l->precision;
	f->scale = l->scale;
	f->width = l->precision <= DECIMAL128 ? 16 : 32;
	if (bytes > f->width)
		return error_set(err, ERR_UNSUPPORTED, "decimal(%d, %d) in %u bytes",
				 l->precision, l->scale, bytes);
	return 0;
}

static int set_integer(struct field *f, const struct logical *l, int32_t physical,
		       struct error *err)
{
	static const enum arrow_kind kinds[2][4] = {
		{ ARROW_UINT8, ARROW_UINT16, ARROW_UINT32, ARROW_UINT64 },
		{ ARROW_INT8, ARROW_INT16, ARROW_INT32, ARROW_INT64 },
	};
	int log2 = l->bits == 8 ? 0 : l->bits == 16 ? 1 : l->bits == 32 ? 2 : 3;

	if ((l->bits != 8 << log2) || (physical == PHYS_INT64) != (log2 == 3))
		return error_set(err, ERR_UNSUPPORTED, "an integer of %d bits", l->bits);
	f->kind = kinds[l->is_signed][log2];
	f->width = (uint32_t)l->bits / 8;
	return 0;
}

static int set_time(struct field *f, const struct logical *l, int32_t physical,
		    struct error *err)
{
	bool is_long = physical == PHYS_INT64;

	if (l->unit < UNIT_MS || l->unit > UNIT_NS ||
	    is_long != (l->id == LOGICAL_TIMESTAMP || l->unit != UNIT_MS))
		return error_set(err, ERR_UNSUPPORTED, "a time of unit %d", l->unit);
	f->kind = l->id == LOGICAL_TIMESTAMP ? ARROW_TIMESTAMP
		  : is_long                  ? ARROW_TIME64
					     : ARROW_TIME32;
	f->unit = l->unit;
	f->utc = l->id == LOGICAL_TIMESTAMP && l->utc;
	return 0;
}

/* The physical types that each logical type allows. */
static const unsigned allowed[] = {
	[LOGICAL_STRING] = ON(PHYS_BYTE_ARRAY),
	[LOGICAL_ENUM] = ON(PHYS_BYTE_ARRAY),
	[LOGICAL_JSON] = ON(PHYS_BYTE_ARRAY),
	[LOGICAL_BSON] = ON(PHYS_BYTE_ARRAY),
	[LOGICAL_DECIMAL] =
		ON(PHYS_INT32) | ON(PHYS_INT64) | ON(PHYS_FIXED) | ON(PHYS_BYTE_ARRAY),
	[LOGICAL_DATE] = ON(PHYS_INT32),
	[LOGICAL_TIME] = ON(PHYS_INT32) | ON(PHYS_INT64),
	[LOGICAL_TIMESTAMP] = ON(PHYS_INT64),
	[LOGICAL_INTEGER] = ON(PHYS_INT32) | ON(PHYS_INT64),
	[LOGICAL_NULL] = ~0u,
	[LOGICAL_UUID] = ON(PHYS_FIXED),
	[LOGICAL_FLOAT16] = ON(PHYS_FIXED),
};

static bool is_known(const struct logical *l)
{
	return l->id >= 0 && (size_t)l->id < N_ELEMENTS(allowed);
}

static int check_physical(const struct logical *l, int32_t physical, struct error *err)
{
	if (!(allowed[l->id] & ON(physical)))
		return error_set(err, ERR_FORMAT, "logical type %d on physical type %d",
				 l->id, physical);
	return 0;
}

static int set_logical(struct field *f, const struct logical *l, int32_t physical,
		       struct error *err)
{
	if (check_physical(l, physical, err))
		return -1;
	switch (l->id) {
	case LOGICAL_STRING:
	case LOGICAL_ENUM:
	case LOGICAL_JSON:
		f->kind = ARROW_STRING;
		return 0;
	case LOGICAL_DECIMAL:
		return set_decimal(f, l, physical, err);
	case LOGICAL_DATE:
		f->kind = ARROW_DATE;
		return 0;
	case LOGICAL_TIME:
	case LOGICAL_TIMESTAMP:
		return set_time(f, l, physical, err);
	case LOGICAL_INTEGER:
		return set_integer(f, l, physical, err);
	case LOGICAL_NULL:
		f->kind = ARROW_NULL;
		f->nullable = true;
		f->width = 0;
		return 0;
	case LOGICAL_UUID:
		f->uuid = true;
		return f->width == 16 ? 0
				      : error_set(err, ERR_FORMAT, "a UUID of %u bytes",
						  f->width);
	case LOGICAL_FLOAT16:
		f->kind = ARROW_HALF;
		return f->width == 2 ? 0
				     : error_set(err, ERR_FORMAT, "a float16 of %u bytes",
						 f->width);
	default:
		return 0;
	}
}

int schema_leaf_type(struct field *f, struct leaf_type *leaf,
		     const struct schema_element *e, struct error *err)
{
	struct logical l = schema_logical(e);

	if (e->type < 0 || e->type >= PHYS_N)
		return error_set(err, ERR_FORMAT, "physical type %d does not exist",
				 e->type);
	leaf->physical = e->type;
	f->kind = plain[e->type].kind;
	f->width = plain[e->type].width;
	leaf->width = f->width;
	if (e->type == PHYS_INT96) {
		leaf->width = INT96_WIDTH;
		f->unit = ARROW_NS;
		f->int96 = true;
	}
	if (e->type == PHYS_FIXED) {
		if (e->type_length < 1 || e->type_length > MAX_FIXED)
			return error_set(err, ERR_FORMAT, "a fixed length of %d bytes",
					 e->type_length);
		leaf->width = f->width = (uint32_t)e->type_length;
	}
	if (!l.id || is_known(&l))
		return l.id ? set_logical(f, &l, e->type, err) : 0;
	/* Newer than this reader, such as GEOMETRY: its values in an unknown order. */
	leaf->unordered = true;
	return 0;
}
