/* Compares values: scalar.h. */
#include "arrow/scalar.h"

#include <math.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/moments.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_DIGITS = 38, MAX_LITERAL = 1 << 20 };

enum scalar_class scalar_class(const struct field *f)
{
	static const enum scalar_class classes[] = {
		[ARROW_BOOL] = SCALAR_INTEGER,   [ARROW_INT8] = SCALAR_INTEGER,
		[ARROW_INT16] = SCALAR_INTEGER,  [ARROW_INT32] = SCALAR_INTEGER,
		[ARROW_INT64] = SCALAR_INTEGER,  [ARROW_UINT8] = SCALAR_INTEGER,
		[ARROW_UINT16] = SCALAR_INTEGER, [ARROW_UINT32] = SCALAR_INTEGER,
		[ARROW_UINT64] = SCALAR_INTEGER, [ARROW_FLOAT] = SCALAR_REAL,
		[ARROW_DOUBLE] = SCALAR_REAL,    [ARROW_DECIMAL] = SCALAR_INTEGER,
		[ARROW_DATE] = SCALAR_INTEGER,   [ARROW_TIME32] = SCALAR_INTEGER,
		[ARROW_TIME64] = SCALAR_INTEGER, [ARROW_TIMESTAMP] = SCALAR_INTEGER,
		[ARROW_FIXED] = SCALAR_BYTES,    [ARROW_STRING] = SCALAR_BYTES,
		[ARROW_BINARY] = SCALAR_BYTES,   [ARROW_STRUCT] = SCALAR_NONE,
	};

	return f->kind == ARROW_DECIMAL && f->width > 16 ? SCALAR_NONE : classes[f->kind];
}

static int compare_bytes(struct bytes a, struct bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.data, b.data, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

int scalar_compare(enum scalar_class class, const struct scalar *a,
		   const struct scalar *b)
{
	if (class == SCALAR_BYTES)
		return compare_bytes(a->bytes, b->bytes) < 0   ? -1
		       : compare_bytes(a->bytes, b->bytes) > 0 ? 1
							       : 0;
	if (class == SCALAR_INTEGER)
		return (a->integer > b->integer) - (a->integer < b->integer);
	if (isnan(a->real) || isnan(b->real))
		return SCALAR_UNORDERED;
	return (a->real > b->real) - (a->real < b->real);
}

/* ---- from rows ---- */

static bool is_unsigned(enum arrow_kind kind)
{
	return kind >= ARROW_UINT8 && kind <= ARROW_UINT64;
}

/* Little-endian, of 1 to 16 bytes. */
static __int128 load_integer(const uint8_t *p, uint32_t width, bool is_signed)
{
	unsigned __int128 v = 0;
	unsigned unused = 128 - 8 * width;

	memcpy(&v, p, width);
	if (!is_signed || !unused)
		return (__int128)v;
	return (__int128)(v << unused) >> unused;
}

static double load_real(const uint8_t *p, uint32_t width)
{
	float single;
	double real;

	if (width == sizeof(single)) {
		memcpy(&single, p, sizeof(single));
		return (double)single;
	}
	memcpy(&real, p, sizeof(real));
	return real;
}

struct scalar scalar_at(const struct array *a, int64_t row)
{
	const struct field *f = a->field;
	const uint8_t *p = a->values.data + (uint64_t)row * f->width;
	const int32_t *offsets = (const int32_t *)(const void *)a->offsets.data;
	struct scalar s = { 0 };

	switch (f->kind) {
	case ARROW_BOOL:
		s.integer = bit_get(a->values.data, (uint64_t)row);
		break;
	case ARROW_STRING:
	case ARROW_BINARY:
		s.bytes = (struct bytes){ a->values.data + offsets[row],
					  (size_t)(offsets[row + 1] - offsets[row]) };
		break;
	case ARROW_FIXED:
		s.bytes = (struct bytes){ p, f->width };
		break;
	case ARROW_FLOAT:
	case ARROW_DOUBLE:
		s.real = load_real(p, f->width);
		break;
	default:
		s.integer = load_integer(p, f->width, !is_unsigned(f->kind));
	}
	return s;
}

/* ---- from statistics ---- */

static bool big_endian(__int128 *ret, struct thrift_bytes b)
{
	unsigned __int128 v = b.len && b.data[0] & 128 ? ~(unsigned __int128)0 : 0;

	if (!b.len || b.len > 16)
		return false;
	for (size_t i = 0; i < b.len; i++)
		v = v << 8 | b.data[i];
	*ret = (__int128)v;
	return true;
}

static bool integer_of(struct scalar *ret, const struct leaf_type *leaf,
		       struct thrift_bytes b)
{
	const struct field *f = leaf->field;

	if (leaf->physical == PHYS_BOOLEAN && b.len == 1) {
		ret->integer = *b.data;
		return true;
	}
	if (f->kind == ARROW_DECIMAL &&
	    (leaf->physical == PHYS_FIXED || leaf->physical == PHYS_BYTE_ARRAY))
		return big_endian(&ret->integer, b);
	if ((leaf->physical != PHYS_INT32 || b.len != 4) &&
	    (leaf->physical != PHYS_INT64 || b.len != 8))
		return false;
	ret->integer = load_integer(b.data, (uint32_t)b.len, !is_unsigned(f->kind));
	return true;
}

bool scalar_of_statistics(struct scalar *ret, const struct leaf_type *leaf,
			  struct thrift_bytes b)
{
	const struct field *f = leaf->field;

	if (leaf->unordered)
		return false;
	switch (scalar_class(f)) {
	case SCALAR_INTEGER:
		return integer_of(ret, leaf, b);
	case SCALAR_REAL:
		if (b.len != f->width)
			return false;
		ret->real = load_real(b.data, f->width);
		return !isnan(ret->real);
	case SCALAR_BYTES:
		ret->bytes = (struct bytes){ b.data, b.len };
		return leaf->physical == PHYS_BYTE_ARRAY || leaf->physical == PHYS_FIXED;
	default:
		return false;
	}
}

/* ---- from literals ---- */

static int bad(const struct field *f, const char *expected, struct error *err)
{
	return error_set(err, ERR_INVALID, "column %s: expected %s", f->name, expected);
}

/* Append the digits without the point, padded with zeros to `scale` digits after it. */
static bool read_digits(__int128 *ret, const char *s, int scale)
{
	__int128 limit = 1, v = 0;
	const char *point = strchr(s, '.');
	size_t whole = point ? (size_t)(point - s) : strlen(s);
	const char *behind = point ? point + 1 : s + whole;

	for (int i = 1; i < MAX_DIGITS; i++)
		limit *= 10;
	if (strspn(s, "0123456789") != whole ||
	    strspn(behind, "0123456789") != strlen(behind) || !(whole + strlen(behind)))
		return false;
	for (size_t i = 0; i < whole + (size_t)scale; i++) {
		char c = i < whole ? s[i] : *behind ? *behind++ : '0';

		if (v >= limit)
			return false;
		v = v * 10 + (c - '0');
	}
	*ret = v;
	return strspn(behind, "0") == strlen(behind);
}

/* "-12.50" without its point. */
static bool read_decimal(__int128 *ret, const char *s, int scale)
{
	if (*s != '-')
		return read_digits(ret, s, scale);
	if (!read_digits(ret, s + 1, scale))
		return false;
	*ret = -*ret;
	return true;
}

static int read_number(struct scalar *ret, const struct field *f, const cJSON *v,
		       struct error *err)
{
	char text[JSON_MAX_NUMBER + 1];
	const char *s = cJSON_IsString(v)   ? v->valuestring
			: cJSON_IsNumber(v) ? json_number_text(v, text)
					    : "";

	if (!read_decimal(&ret->integer, s, f->kind == ARROW_DECIMAL ? f->scale : 0))
		return bad(f,
			   f->kind == ARROW_DECIMAL ? "a decimal of the column's scale"
						    : "an integer",
			   err);
	return 0;
}

/* A literal for a float is rounded to the nearest float. */
static int read_real(struct scalar *ret, const struct field *f, const cJSON *v,
		     struct error *err)
{
	char text[JSON_MAX_NUMBER + 1];

	if (cJSON_IsNumber(v))
		ret->real = strtod(json_number_text(v, text), NULL);
	else if (cJSON_IsString(v) && str_eq(v->valuestring, "NaN"))
		ret->real = (double)NAN;
	else if (cJSON_IsString(v) && str_eq(v->valuestring, "Infinity"))
		ret->real = (double)INFINITY;
	else if (cJSON_IsString(v) && str_eq(v->valuestring, "-Infinity"))
		ret->real = -(double)INFINITY;
	else
		return bad(f, "a number", err);
	if (f->kind == ARROW_FLOAT)
		ret->real = (double)(float)ret->real;
	return 0;
}

static int keep_bytes(struct scalar *ret, struct arena *arena, const struct buf *b)
{
	uint8_t *copy = arena_alloc(arena, b->len + 1);

	if (b->len)
		memcpy(copy, b->data, b->len);
	ret->bytes = (struct bytes){ copy, b->len };
	return 0;
}

static int read_uuid(struct buf *to, const char *s)
{
	cleanup_buf struct buf hex = { .max = 40 };

	for (; *s; s++)
		if (*s != '-')
			buf_add(&hex, s, 1);
	return hex.overflowed || hex.len != 32 ||
	       hex_decode(to, (const char *)hex.data, hex.len, IGNORED);
}

static int read_bytes(struct scalar *ret, struct arena *arena, const struct field *f,
		      const cJSON *v, struct error *err)
{
	cleanup_buf struct buf b = { .max = MAX_LITERAL };
	const char *s = v->valuestring;

	if (!cJSON_IsString(v))
		return bad(f, "a string", err);
	if (f->kind == ARROW_STRING)
		buf_adds(&b, s);
	else if (f->uuid ? read_uuid(&b, s) : base64_decode(&b, s, strlen(s), IGNORED))
		return bad(f, f->uuid ? "a UUID" : "bytes in base64", err);
	if (buf_check(&b, "a literal", err))
		return -1;
	if (f->kind == ARROW_FIXED && b.len != f->width)
		return bad(f, "bytes of the column's length", err);
	return keep_bytes(ret, arena, &b);
}

static int read_moment(struct scalar *ret, const struct field *f, const cJSON *v,
		       struct error *err)
{
	int64_t number;

	if (cJSON_IsNumber(v))
		return read_number(ret, f, v, err);
	if (!cJSON_IsString(v) || !moment_parse(&number, f, v->valuestring))
		return bad(f,
			   f->kind == ARROW_DATE ? "a date, such as \"2026-11-23\""
			   : f->kind == ARROW_TIMESTAMP
				   ? "a time, such as \"2026-11-23T08:30:00\""
				   : "a time of day, such as \"08:30:00\"",
			   err);
	ret->integer = number;
	return 0;
}

int scalar_of_json(struct scalar *ret, struct arena *arena, const struct field *f,
		   const cJSON *v, struct error *err)
{
	*ret = (struct scalar){ 0 };
	switch (f->kind) {
	case ARROW_BOOL:
		ret->integer = cJSON_IsTrue(v);
		return cJSON_IsBool(v) ? 0 : bad(f, "true or false", err);
	case ARROW_FLOAT:
	case ARROW_DOUBLE:
		return read_real(ret, f, v, err);
	case ARROW_STRING:
	case ARROW_BINARY:
	case ARROW_FIXED:
		return read_bytes(ret, arena, f, v, err);
	case ARROW_DATE:
	case ARROW_TIME32:
	case ARROW_TIME64:
	case ARROW_TIMESTAMP:
		return read_moment(ret, f, v, err);
	default:
		return read_number(ret, f, v, err);
	}
}
