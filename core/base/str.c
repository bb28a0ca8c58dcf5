/* Handles strings, numbers in text, UTF-8 and base64: str.h. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

bool str_eq(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

char *str_size(struct arena *arena, int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	double n = (double)bytes;
	size_t i = 0;

	for (; n >= 1024 && i < 3; i++)
		n /= 1024;
	return arena_printf(arena, i ? "%.1f %s" : "%.0f %s", n, units[i]);
}

void str_wipe(const char *s)
{
	if (s)
		explicit_bzero((char *)(uintptr_t)s, strlen(s));
}

void str_wipe_free(char *s)
{
	str_wipe(s);
	free(s);
}

bool str_starts(const char *s, const char *prefix)
{
	return str_after(s, prefix) != NULL;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), tail = strlen(suffix);

	return len >= tail && !strcmp(s + len - tail, suffix);
}

const char *str_after(const char *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(s, prefix, len) ? NULL : s + len;
}

bool str_in(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(s, *words))
			return true;
	return false;
}

size_t str_length_before(const char *s, char end)
{
	size_t len = strlen(s);

	while (len && s[len - 1] == end)
		len--;
	return len;
}

char *str_trim(struct arena *arena, const char *s)
{
	size_t len;

	while (isspace((unsigned char)*s))
		s++;
	len = strlen(s);
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	return str_slice(arena, s, len);
}

char *str_slice(struct arena *arena, const char *s, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);

	return len ? memcpy(copy, s, len) : copy;
}

char *str_at_most(struct arena *arena, const char *s, size_t max)
{
	return str_slice(arena, s, utf8_cut(s, strnlen(s, max + 1), max));
}

char **str_split(struct arena *arena, const char *s, char sep, size_t *ret_n)
{
	size_t n = 1, len;
	char **parts;

	for (const char *p = s; *p; p++)
		n += *p == sep;
	parts = arena_alloc(arena, (n + 1) * sizeof(*parts));
	for (size_t i = 0; i < n; i++) {
		const char *end = strchrnul(s, sep);

		len = (size_t)(end - s);
		parts[i] = str_slice(arena, s, len);
		s = end + 1;
	}
	if (ret_n)
		*ret_n = n;
	return parts;
}

char *str_join(struct arena *arena, const char *const *words, const char *sep)
{
	size_t size = 1, sep_len = strlen(sep);
	char *joined, *to;

	for (const char *const *w = words; *w; w++)
		size += strlen(*w) + sep_len;
	joined = to = arena_alloc(arena, size);
	for (const char *const *w = words; *w; w++) {
		if (w != words)
			to = stpcpy(to, sep);
		to = stpcpy(to, *w);
	}
	return joined;
}

int str_int(int64_t *ret, const char *s, int64_t min, int64_t max, struct error *err)
{
	const char *digits = s + (*s == '-');
	bool is_number = *digits && strspn(digits, "0123456789") == strlen(digits);
	long long v;

	if (!is_number)
		return error_set(err, ERR_INVALID, "'%.100s' is not a whole number", s);
	errno = 0;
	v = strtoll(s, NULL, 10);
	if (errno || v < min || v > max)
		return error_set(err, ERR_INVALID,
				 "%.100s is not between %" PRId64 " and %" PRId64, s, min,
				 max);
	*ret = v;
	return 0;
}

/* The code points of each length of UTF-8; anything else is overlong or too large. */
static const struct {
	unsigned char mask, lead;
	uint32_t min, max;
} utf8_forms[] = {
	{ 0x80, 0x00, 0, 0x7f },
	{ 0xe0, 0xc0, 0x80, 0x7ff },
	{ 0xf0, 0xe0, 0x800, 0xffff },
	{ 0xf8, 0xf0, 0x10000, 0x10ffff },
};

size_t utf8_decode(const void *p, const void *end, uint32_t *ret)
{
	const unsigned char *s = p;
	size_t room = (size_t)((const unsigned char *)end - s), form = 0;
	uint32_t c;

	if (!room)
		return 0;
	while (form < 4 && (*s & utf8_forms[form].mask) != utf8_forms[form].lead)
		form++;
	if (form >= 4 || form >= room)
		return 0;
	c = *s & (unsigned char)~utf8_forms[form].mask;
	for (size_t i = 1; i <= form; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < utf8_forms[form].min || c > utf8_forms[form].max)
		return 0;
	if (c >= 0xd800 && c <= 0xdfff)
		return 0;
	*ret = c;
	return form + 1;
}

size_t utf8_length(const void *p, const void *end)
{
	uint32_t unused;

	return utf8_decode(p, end, &unused);
}

bool utf8_valid(const void *data, size_t len)
{
	const unsigned char *p = data, *end = p + len;

	while (p < end) {
		size_t n = utf8_length(p, end);

		if (!n)
			return false;
		p += n;
	}
	return true;
}

const char *utf8_clean(struct arena *arena, const char *text)
{
	const char *end = text + strlen(text);
	cleanup_buf struct buf out = { .max = 3 * (size_t)(end - text) };

	if (utf8_valid(text, (size_t)(end - text)))
		return text;
	while (text < end) {
		size_t n = utf8_length(text, end);

		buf_add(&out, n ? text : "\xef\xbf\xbd", n ? n : 3);
		text += n ? n : 1;
	}
	return arena_strdup(arena, (const char *)out.data);
}

size_t utf8_cut(const void *data, size_t len, size_t max)
{
	const unsigned char *p = data;

	if (len <= max)
		return len;
	while (max > 0 && (p[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/* Control characters of both sets, separators of lines, marks of direction. */
static bool is_obeyed(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },          { 0x7f, 0x9f },     { 0x61c, 0x61c },
		{ 0x200e, 0x200f },   { 0x2028, 0x202e }, { 0x2066, 0x2069 },
		{ 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < N_ELEMENTS(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

bool str_has_control(const char *s, const char *but)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' || *s == 127) && !strchr(but, *s))
			return true;
	return false;
}

char *str_visible(struct arena *arena, const char *s, bool lines)
{
	enum { LONGEST = sizeof("\\U000e0001") };
	const char *end = s + strlen(s);
	char *copy = arena_alloc(arena, (size_t)(end - s) * 4 + LONGEST), *to = copy;

	while (s < end) {
		uint32_t c = (unsigned char)*s;
		size_t len = utf8_decode(s, end, &c);

		if (len && (!is_obeyed(c) || c == '\t' || (lines && c == '\n')))
			to = mempcpy(to, s, len);
		else
			to += snprintf(to, LONGEST,
				       c < 0x100     ? "\\x%02x"
				       : c < 0x10000 ? "\\u%04x"
						     : "\\U%08x",
				       (unsigned)c);
		s += len ? len : 1;
	}
	*to = 0;
	return copy;
}

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *data, size_t len)
{
	const unsigned char *in = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned v = (unsigned)in[i] << 16;
		char quad[4];

		v |= n > 1 ? (unsigned)in[i + 1] << 8 : 0;
		v |= n > 2 ? in[i + 2] : 0;
		for (size_t k = 0; k < 4; k++)
			quad[k] = k > n ? '=' : base64_digits[v >> (18 - 6 * k) & 63];
		buf_add(out, quad, sizeof(quad));
	}
}

static int base64_value(char c)
{
	const char *p = c ? strchr(base64_digits, c) : NULL;

	return p ? (int)(p - base64_digits) : -1;
}

/* One group of four; *ret_n is how many bytes it stands for, 0 when it is wrong. */
static uint32_t base64_quad(const char *quad, bool last, size_t *ret_n)
{
	size_t pad =
		last ? (size_t)(quad[3] == '=') + (quad[2] == '=' && quad[3] == '=') : 0;
	uint32_t v = 0;

	*ret_n = 0;
	for (size_t k = 0; k < 4; k++) {
		int digit = k >= 4 - pad ? 0 : base64_value(quad[k]);

		if (digit < 0)
			return 0;
		v = v << 6 | (uint32_t)digit;
	}
	if (v & ((1u << 8 * pad) - 1))
		return 0;
	*ret_n = 3 - pad;
	return v;
}

int base64_decode(struct buf *out, const char *text, size_t len, struct error *err)
{
	if (len % 4)
		return error_set(err, ERR_FORMAT,
				 "base64: %zu characters, not a multiple of 4", len);
	for (size_t i = 0; i < len; i += 4) {
		size_t n;
		uint32_t v = base64_quad(text + i, i + 4 == len, &n);
		unsigned char bytes[3] = { v >> 16 & 255, v >> 8 & 255, v & 255 };

		if (!n)
			return error_set(err, ERR_FORMAT,
					 "base64: wrong characters at byte %zu", i);
		buf_add(out, bytes, n);
	}
	return buf_check(out, "base64", err);
}

void base64url_encode(struct buf *out, const void *data, size_t len)
{
	cleanup_buf struct buf b = { .max = 2 * len + 4 };

	base64_encode(&b, data, len);
	for (size_t i = 0; i < b.len && b.data[i] != '='; i++)
		buf_add(out,
			b.data[i] == '+'   ? "-"
			: b.data[i] == '/' ? "_"
					   : (const char *)&b.data[i],
			1);
}

int base64url_decode(struct buf *out, const char *text, size_t len, struct error *err)
{
	cleanup_buf struct buf b = { .max = len + 4 };

	for (size_t i = 0; i < len; i++) {
		if (!text[i] || strchr("+/=", text[i]))
			return error_set(err, ERR_FORMAT,
					 "base64url: wrong character at byte %zu", i);
		buf_add(&b, text[i] == '-' ? "+" : text[i] == '_' ? "/" : &text[i], 1);
	}
	while (b.len % 4)
		buf_adds(&b, "=");
	return base64_decode(out, (const char *)b.data, b.len, err);
}

void hex_encode(struct buf *out, const void *data, size_t len)
{
	const unsigned char *in = data;

	for (size_t i = 0; i < len; i++)
		buf_add(out,
			(char[]){ "0123456789abcdef"[in[i] >> 4],
				  "0123456789abcdef"[in[i] & 15] },
			2);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_decode(struct buf *out, const char *text, size_t len, struct error *err)
{
	if (len % 2)
		return error_set(err, ERR_FORMAT, "hex: an odd number of digits");
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_value(text[i]), low = hex_value(text[i + 1]);

		if (high < 0 || low < 0)
			return error_set(err, ERR_FORMAT, "hex: no digit at byte %zu", i);
		buf_add(out, (unsigned char[]){ (unsigned char)(high << 4 | low) }, 1);
	}
	return buf_check(out, "hex", err);
}

const char *str_sh(struct arena *arena, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:@%+=,-";
	cleanup_buf struct buf out = { .max = SIZE_MAX };

	if (*s && !s[strspn(s, plain)])
		return s;
	buf_adds(&out, "'");
	for (; *s; s++)
		buf_printf(&out, *s == '\'' ? "'\\''" : "%c", *s);
	buf_adds(&out, "'");
	return arena_strdup(arena, (const char *)out.data);
}
