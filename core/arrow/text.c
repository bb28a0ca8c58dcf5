/* Prints rows as JSON lines and CSV: text.h. */
#include "arrow/text.h"

#include <inttypes.h>
#include <math.h>

#include "arrow/bits.h"
#include "arrow/moments.h"
#include "base/str.h"

/* ---- strings ---- */

static void add_escaped(struct buf *out, const uint8_t *p, size_t n)
{
	if (*p == '"' || *p == '\\')
		buf_printf(out, "\\%c", *p);
	else if (*p == '\n')
		buf_adds(out, "\\n");
	else if (*p == '\t')
		buf_adds(out, "\\t");
	else if (*p < 0x20 || *p == 0x7f)
		buf_printf(out, "\\u%04x", *p);
	else
		buf_add(out, p, n);
}

static void add_string(struct buf *out, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len, *plain = p;

	buf_adds(out, "\"");
	while (p < end) {
		size_t n = utf8_length(p, end);

		if (n == 1 && *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f) {
			p++;
			continue;
		}
		buf_add(out, plain, (size_t)(p - plain));
		if (n)
			add_escaped(out, p, n);
		else
			buf_adds(out, "\xef\xbf\xbd");
		p += n ? n : 1;
		plain = p;
	}
	buf_add(out, plain, (size_t)(p - plain));
	buf_adds(out, "\"");
}

static void add_uuid(struct buf *out, const uint8_t *p)
{
	static const uint8_t groups[] = { 4, 2, 2, 2, 6 };

	for (size_t i = 0; i < sizeof(groups); i++) {
		buf_adds(out, i ? "-" : "");
		hex_encode(out, p, groups[i]);
		p += groups[i];
	}
}

/* ---- numbers ---- */

static void add_real(struct buf *out, double v, bool single)
{
	char text[40];

	if (isnan(v) || isinf(v)) {
		buf_adds(out, isnan(v) ? "\"NaN\""
			      : v < 0  ? "\"-Infinity\""
				       : "\"Infinity\"");
		return;
	}
	for (int digits = single ? 6 : 15;; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (digits == 17 ||
		    (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v))
			break;
	}
	buf_adds(out, text);
	buf_adds(out, strpbrk(text, ".e") ? "" : ".0");
}

static double half(uint16_t bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	double v = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
		   : exponent     ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return bits & 0x8000 ? -v : v;
}

/* Divide the number by 10 in place; returns the remainder. */
static unsigned next_digit(uint64_t *limbs, size_t n)
{
	unsigned __int128 rest = 0;

	for (size_t i = n; i--;) {
		rest = rest << 64 | limbs[i];
		limbs[i] = (uint64_t)(rest / 10);
		rest %= 10;
	}
	return (unsigned)rest;
}

static void negate(uint64_t *limbs, size_t n)
{
	bool carry = true;

	for (size_t i = 0; i < n; i++) {
		limbs[i] = ~limbs[i] + carry;
		carry = carry && !limbs[i];
	}
}

static void add_decimal(struct buf *out, const uint8_t *p, const struct field *f)
{
	uint64_t limbs[4] = { 0 };
	size_t n = f->width / 8;
	char text[100], *at = text + sizeof(text) - 1;
	bool minus;
	int digits = 0;

	memcpy(limbs, p, f->width);
	minus = limbs[n - 1] >> 63;
	if (minus)
		negate(limbs, n);
	*at = 0;
	while (digits <= f->scale || limbs[0] | limbs[1] | limbs[2] | limbs[3]) {
		if (digits == f->scale && f->scale)
			*--at = '.';
		*--at = (char)('0' + next_digit(limbs, n));
		digits++;
	}
	if (minus)
		*--at = '-';
	buf_adds(out, at);
}

static void add_integer(struct buf *out, const uint8_t *p, enum arrow_kind kind)
{
	uint64_t v = 0;
	static const uint8_t widths[] = {
		[ARROW_INT8] = 1,   [ARROW_INT16] = 2,  [ARROW_INT32] = 4,
		[ARROW_INT64] = 8,  [ARROW_UINT8] = 1,  [ARROW_UINT16] = 2,
		[ARROW_UINT32] = 4, [ARROW_UINT64] = 8,
	};
	unsigned unused = 64 - 8u * widths[kind];

	memcpy(&v, p, widths[kind]);
	if (kind <= ARROW_INT64)
		buf_printf(out, "%" PRId64, (int64_t)(v << unused) >> unused);
	else
		buf_printf(out, "%" PRIu64, v);
}

/* ---- values ---- */

static int32_t offset(const struct array *a, int64_t row)
{
	return ((const int32_t *)(const void *)a->offsets.data)[row];
}

/* Append a value that JSON quotes, without the quotes. */
static void add_bare(struct buf *out, const struct array *a, int64_t row)
{
	const struct field *f = a->field;
	const uint8_t *p = a->values.data + (uint64_t)row * f->width;

	switch (f->kind) {
	case ARROW_DECIMAL:
		add_decimal(out, p, f);
		break;
	case ARROW_BINARY:
		base64_encode(out, a->values.data + offset(a, row),
			      (size_t)(offset(a, row + 1) - offset(a, row)));
		break;
	case ARROW_FIXED:
		if (f->uuid)
			add_uuid(out, p);
		else
			base64_encode(out, p, f->width);
		break;
	default:
		moment_text(out, f, p);
	}
}

static void add_value(struct buf *out, const struct array *a, int64_t row);

static void add_children(struct buf *out, const struct array *a, int64_t row)
{
	const struct field *f = a->field;

	buf_adds(out, "{");
	for (size_t i = 0; i < f->n_children; i++) {
		buf_adds(out, i ? "," : "");
		add_string(out, (const uint8_t *)f->children[i].name,
			   strlen(f->children[i].name));
		buf_adds(out, ":");
		add_value(out, &a->children[i], row);
	}
	buf_adds(out, "}");
}

static void add_list(struct buf *out, const struct array *a, int64_t row)
{
	buf_adds(out, "[");
	for (int64_t i = offset(a, row); i < offset(a, row + 1); i++) {
		buf_adds(out, i > offset(a, row) ? "," : "");
		add_value(out, a->children, i);
	}
	buf_adds(out, "]");
}

static void add_map(struct buf *out, const struct array *a, int64_t row)
{
	const struct array *key = &a->children->children[0], *value = key + 1;
	bool object = key->field->kind == ARROW_STRING && !key->n_null;

	buf_adds(out, object ? "{" : "[");
	for (int64_t i = offset(a, row); i < offset(a, row + 1); i++) {
		buf_adds(out, i > offset(a, row) ? "," : "");
		buf_adds(out, object ? "" : "[");
		add_value(out, key, i);
		buf_adds(out, object ? ":" : ",");
		add_value(out, value, i);
		buf_adds(out, object ? "" : "]");
	}
	buf_adds(out, object ? "}" : "]");
}

static void add_number(struct buf *out, const struct array *a, int64_t row)
{
	const uint8_t *p = a->values.data + (uint64_t)row * a->field->width;
	uint16_t bits;
	double v;
	float single;

	switch (a->field->kind) {
	case ARROW_HALF:
		memcpy(&bits, p, sizeof(bits));
		add_real(out, half(bits), true);
		break;
	case ARROW_FLOAT:
		memcpy(&single, p, sizeof(single));
		add_real(out, (double)single, true);
		break;
	case ARROW_DOUBLE:
		memcpy(&v, p, sizeof(v));
		add_real(out, v, false);
		break;
	default:
		add_integer(out, p, a->field->kind);
	}
}

/* Append one value, or `null`. */
static void add_value(struct buf *out, const struct array *a, int64_t row)
{
	if (a->field->kind == ARROW_NULL || !array_is_valid(a, row)) {
		buf_adds(out, "null");
		return;
	}
	switch (a->field->kind) {
	case ARROW_BOOL:
		buf_adds(out, bit_get(a->values.data, (uint64_t)row) ? "true" : "false");
		break;
	case ARROW_STRING:
		add_string(out, a->values.data + offset(a, row),
			   (size_t)(offset(a, row + 1) - offset(a, row)));
		break;
	case ARROW_LIST:
		add_list(out, a, row);
		break;
	case ARROW_MAP:
		add_map(out, a, row);
		break;
	case ARROW_STRUCT:
		add_children(out, a, row);
		break;
	default:
		if (a->field->kind <= ARROW_DOUBLE) {
			add_number(out, a, row);
			break;
		}
		buf_adds(out, "\"");
		add_bare(out, a, row);
		buf_adds(out, "\"");
	}
}

void text_json_row(struct buf *out, const struct batch *b, int64_t row)
{
	buf_adds(out, "{");
	for (size_t i = 0; i < b->n_columns; i++) {
		const char *name = b->columns[i].field->name;

		buf_adds(out, i ? "," : "");
		add_string(out, (const uint8_t *)name, strlen(name));
		buf_adds(out, ":");
		add_value(out, &b->columns[i], row);
	}
	buf_adds(out, "}\n");
}

/* ---- CSV ---- */

static void add_cell(struct buf *out, const uint8_t *p, size_t len)
{
	bool quote = !len;

	for (size_t i = 0; i < len && !quote; i++)
		quote = p[i] == ',' || p[i] == '"' || p[i] == '\n' || p[i] == '\r';
	if (!quote) {
		buf_add(out, p, len);
		return;
	}
	buf_adds(out, "\"");
	for (size_t i = 0; i < len; i++) {
		buf_adds(out, p[i] == '"' ? "\"" : "");
		buf_add(out, p + i, 1);
	}
	buf_adds(out, "\"");
}

static void add_csv(struct buf *out, const struct array *a, int64_t row)
{
	__attribute__((cleanup(buf_release))) struct buf json = { .max = out->max };

	if (a->field->kind == ARROW_NULL || !array_is_valid(a, row))
		return;
	if (a->field->kind == ARROW_STRING) {
		add_cell(out, a->values.data + offset(a, row),
			 (size_t)(offset(a, row + 1) - offset(a, row)));
		return;
	}
	add_value(&json, a, row);
	out->overflowed |= json.overflowed;
	if (!json.overflowed && json.data[0] == '"' && !field_has_children(a->field))
		add_cell(out, json.data + 1, json.len - 2);
	else
		add_cell(out, json.data, json.len);
}

void text_csv_head(struct buf *out, const struct field *columns, size_t n,
		   const bool *chosen)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		if (!chosen[i])
			continue;
		buf_adds(out, first ? "" : ",");
		add_cell(out, (const uint8_t *)columns[i].name, strlen(columns[i].name));
		first = false;
	}
	buf_adds(out, "\r\n");
}

void text_csv_row(struct buf *out, const struct batch *b, int64_t row)
{
	for (size_t i = 0; i < b->n_columns; i++) {
		buf_adds(out, i ? "," : "");
		add_csv(out, &b->columns[i], row);
	}
	buf_adds(out, "\r\n");
}
