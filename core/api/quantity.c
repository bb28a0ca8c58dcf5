/* quantity.c - parses, adds and prints quantities (api/quantity.h). */
#include "api/quantity.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* No value is larger than 10^28 units, so that a sum of two fits; BinarySI: 2^63-1. */
#define NANO_PER_UNIT  ((__int128)1000000000)
#define NANO_MAX       (NANO_PER_UNIT * 10000000000 * 1000000000 * 1000000000)
#define BINARY_MAX     (NANO_PER_UNIT * INT64_MAX)
#define DECIMAL_DIGITS "0123456789"

static const struct suffix {
	const char *text;
	enum quantity_format format;
	int exponent; /* of 10; of 2 if the format is binary */
} suffixes[] = {
	{ "", QUANTITY_DECIMAL_SI, 0 },   { "n", QUANTITY_DECIMAL_SI, -9 },
	{ "u", QUANTITY_DECIMAL_SI, -6 }, { "m", QUANTITY_DECIMAL_SI, -3 },
	{ "k", QUANTITY_DECIMAL_SI, 3 },  { "M", QUANTITY_DECIMAL_SI, 6 },
	{ "G", QUANTITY_DECIMAL_SI, 9 },  { "T", QUANTITY_DECIMAL_SI, 12 },
	{ "P", QUANTITY_DECIMAL_SI, 15 }, { "E", QUANTITY_DECIMAL_SI, 18 },
	{ "Ki", QUANTITY_BINARY_SI, 10 }, { "Mi", QUANTITY_BINARY_SI, 20 },
	{ "Gi", QUANTITY_BINARY_SI, 30 }, { "Ti", QUANTITY_BINARY_SI, 40 },
	{ "Pi", QUANTITY_BINARY_SI, 50 }, { "Ei", QUANTITY_BINARY_SI, 60 },
};

static const char *suffix_text(enum quantity_format format, int exponent)
{
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++)
		if (suffixes[i].format == format && suffixes[i].exponent == exponent)
			return suffixes[i].text;
	return "";
}

/* A number's text: [sign] whole [. fraction] suffix. */
struct spelling {
	bool negative;
	const char *whole, *fraction;
	size_t n_whole, n_fraction;
	const char *suffix;
};

static struct spelling spelling_of(const char *text)
{
	struct spelling s = { .negative = *text == '-' };

	s.whole = text + (*text == '-' || *text == '+');
	s.n_whole = strspn(s.whole, DECIMAL_DIGITS);
	s.fraction = s.whole + s.n_whole;
	if (*s.fraction == '.')
		s.n_fraction = strspn(++s.fraction, DECIMAL_DIGITS);
	s.suffix = s.fraction + s.n_fraction;
	return s;
}

/* "e3", "E-7", capped at +-1000, which no value reaches. */
static bool read_exponent(const char *s, int *ret)
{
	bool negative = *s == '-';
	int64_t n = 0;

	s += *s == '-' || *s == '+';
	if (!*s || s[strspn(s, DECIMAL_DIGITS)])
		return false;
	for (; *s; s++)
		n = n > 1000000 ? n : n * 10 + (*s - '0');
	*ret = (int)(negative ? -n : n);
	return true;
}

static bool read_suffix(const char *s, struct suffix *ret)
{
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++)
		if (str_eq(s, suffixes[i].text)) {
			*ret = suffixes[i];
			return true;
		}
	ret->format = QUANTITY_DECIMAL_EXPONENT;
	return (*s == 'e' || *s == 'E') && read_exponent(s + 1, &ret->exponent);
}

/* Neither factor is negative. */
static __int128 mul_capped(__int128 a, __int128 b, __int128 cap)
{
	return a && b > cap / a ? cap : a * b;
}

static int digit_at(const struct spelling *s, size_t i)
{
	return (i < s->n_whole ? s->whole[i] : s->fraction[i - s->n_whole]) - '0';
}

/* The digits times 10^exponent units, in nano, rounded up. */
static __int128 decimal_nano(const struct spelling *s, int exponent)
{
	int64_t n = (int64_t)(s->n_whole + s->n_fraction);
	int64_t keep =
		(int64_t)s->n_whole + exponent + 9; /* digits before nano's point */
	bool rest = false;
	__int128 nano = 0;
	int64_t i;

	for (i = 0; i < n && i < keep; i++) {
		nano = mul_capped(nano, 10, NANO_MAX) + digit_at(s, (size_t)i);
		nano = nano > NANO_MAX ? NANO_MAX : nano;
	}
	for (; nano && i < keep && nano < NANO_MAX; i++)
		nano = mul_capped(nano, 10, NANO_MAX);
	for (i = keep < 0 ? 0 : keep; i < n; i++)
		rest |= digit_at(s, (size_t)i) != 0;
	return nano + (rest && nano < NANO_MAX);
}

/*
 * The digits times 2^exponent units, in nano, rounded up. The fraction is computed
 * from its last digit: floor((floor(x) + k) / 10) = floor((x + k) / 10), and a
 * remainder of any step means that the result is not exact.
 */
static __int128 binary_nano(const struct spelling *s, int exponent)
{
	__int128 scale = ((__int128)1 << exponent) * NANO_PER_UNIT, part = 0;
	__int128 nano = 0;
	bool rest = false;

	for (size_t i = 0; i < s->n_whole; i++) {
		nano = mul_capped(nano, 10, BINARY_MAX) + digit_at(s, i);
		nano = nano > BINARY_MAX ? BINARY_MAX : nano;
	}
	nano = mul_capped(nano, scale, BINARY_MAX);
	for (size_t i = s->n_fraction; i-- > 0;) {
		part += (s->fraction[i] - '0') * scale;
		rest |= part % 10 != 0;
		part /= 10;
	}
	nano += part + rest;
	return nano > BINARY_MAX ? BINARY_MAX : nano;
}

int quantity_parse(struct quantity *ret, const char *text, struct error *err)
{
	struct spelling s = spelling_of(text);
	struct suffix suffix = { 0 };
	struct quantity q;

	/* Upstream reads some texts without a digit as 0, but no schema admits them. */
	if (!(s.n_whole + s.n_fraction) || !read_suffix(s.suffix, &suffix))
		return error_set(
			err, ERR_INVALID,
			"\"%.80s\" is not a quantity; expected a number with one of "
			"n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent",
			text);
	q.format = suffix.format;
	if (suffix.format == QUANTITY_BINARY_SI)
		q.nano = binary_nano(&s, suffix.exponent);
	else
		q.nano = decimal_nano(&s, suffix.exponent);
	if (q.format == QUANTITY_BINARY_SI && q.nano && q.nano < NANO_PER_UNIT)
		q.format = QUANTITY_DECIMAL_SI;
	q.nano = s.negative ? -q.nano : q.nano;
	*ret = q;
	return 0;
}

int quantity_of(struct quantity *ret, const cJSON *node, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 1024 };
	const char *s = cJSON_GetStringValue(node);

	if (cJSON_IsNumber(node)) {
		json_print(&text, node);
		s = (const char *)text.data;
	}
	if (!s)
		return error_set(err, ERR_INVALID, "a quantity is a string or a number");
	return quantity_parse(ret, str_trim(&arena, s), err);
}

static __int128 capped(__int128 v)
{
	if (v > NANO_MAX)
		return NANO_MAX;
	return v < -NANO_MAX ? -NANO_MAX : v;
}

void quantity_add(struct quantity *to, const struct quantity *q)
{
	if (!to->nano)
		to->format = q->format;
	to->nano = capped(to->nano + q->nano);
}

void quantity_mul(struct quantity *q, int64_t factor)
{
	bool negative = (q->nano < 0) != (factor < 0);
	__int128 a = q->nano < 0 ? -q->nano : q->nano;
	__int128 b = factor < 0 ? -(__int128)factor : factor;

	a = mul_capped(a, b, NANO_MAX);
	q->nano = negative ? -a : a;
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
	return (a->nano > b->nano) - (a->nano < b->nano);
}

/* Round away from zero to a multiple of `unit` nano, within an int64. */
static int64_t scaled(const struct quantity *q, __int128 unit)
{
	__int128 v = q->nano / unit;

	if (q->nano % unit)
		v += q->nano > 0 ? 1 : -1;
	if (v > INT64_MAX)
		return INT64_MAX;
	return v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

int64_t quantity_ceil(const struct quantity *q)
{
	return scaled(q, NANO_PER_UNIT);
}

int64_t quantity_milli(const struct quantity *q)
{
	return scaled(q, NANO_PER_UNIT / 1000);
}

/* The digits of v, ending at `end`; returns where they begin. */
static char *digits(char *end, __int128 v)
{
	do {
		*--end = (char)('0' + (int)(v % 10));
		v /= 10;
	} while (v);
	return end;
}

static const char *print(char *buf, bool negative, __int128 v, const char *suffix)
{
	char number[48];

	number[sizeof(number) - 1] = 0;
	snprintf(buf, QUANTITY_TEXT_SIZE, "%s%s%s", negative ? "-" : "",
		 digits(number + sizeof(number) - 1, v), suffix);
	return buf;
}

static const char *binary_text(bool negative, __int128 units, char *buf)
{
	int exponent = 0;

	for (; units % 1024 == 0 && exponent < 60; exponent += 10)
		units /= 1024;
	return print(buf, negative, units, suffix_text(QUANTITY_BINARY_SI, exponent));
}

const char *quantity_text(const struct quantity *q, char buf[QUANTITY_TEXT_SIZE])
{
	bool negative = q->nano < 0;
	__int128 v = negative ? -q->nano : q->nano;
	/* Beyond the suffix E upstream prints no suffix at all. */
	int most = q->format == QUANTITY_DECIMAL_EXPONENT ? 30 : 18;
	int exponent = -9;
	char suffix[16] = "";

	if (!v)
		return print(buf, false, 0, "");
	if (q->format == QUANTITY_BINARY_SI && v >= 1024 * NANO_PER_UNIT &&
	    v % NANO_PER_UNIT == 0)
		return binary_text(negative, v / NANO_PER_UNIT, buf);
	for (; v % 1000 == 0 && exponent < most; exponent += 3)
		v /= 1000;
	if (q->format != QUANTITY_DECIMAL_EXPONENT)
		return print(buf, negative, v,
			     suffix_text(QUANTITY_DECIMAL_SI, exponent));
	if (exponent)
		snprintf(suffix, sizeof(suffix), "e%d", exponent);
	return print(buf, negative, v, suffix);
}

/* Upstream decides by the last digits whether a number is a multiple of 1000. */
static bool keeps_decimal(const struct spelling *s, int exponent)
{
	size_t n = s->n_whole + s->n_fraction;
	int64_t scale = (int64_t)exponent - (int64_t)s->n_fraction;

	if (!s->n_whole || n > 18 || scale < -9 || scale % 3)
		return false;
	return n < 3 || digit_at(s, n - 1) != 0 || digit_at(s, n - 2) != 0 ||
	       digit_at(s, n - 3) != 0;
}

static bool keeps_binary(const struct spelling *s, int exponent)
{
	int last_three = 0;

	if (!s->n_whole || s->n_fraction || 14 - (int)s->n_whole - exponent * 3 / 10 < 0)
		return false;
	for (size_t i = s->n_whole > 3 ? s->n_whole - 3 : 0; i < s->n_whole; i++)
		last_three = last_three * 10 + digit_at(s, i);
	return last_three % 8 != 0;
}

const char *quantity_client_text(const struct quantity *q, const cJSON *node,
				 char buf[QUANTITY_TEXT_SIZE])
{
	const char *text = cJSON_GetStringValue(node);
	struct spelling s = spelling_of(text ? text : "");
	struct suffix suffix = { 0 };

	for (; s.n_whole && *s.whole == '0'; s.n_whole--)
		s.whole++;
	if (!text || !read_suffix(s.suffix, &suffix))
		return quantity_text(q, buf);
	if (suffix.format == QUANTITY_BINARY_SI ? keeps_binary(&s, suffix.exponent)
						: keeps_decimal(&s, suffix.exponent))
		return text;
	return quantity_text(q, buf);
}
