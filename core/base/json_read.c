/*
 * json_read.c - parse JSON strictly (base/json.h).
 *
 * A scanner goes over the text and builds the tree; it refuses, with line and column,
 * what cJSON's own parser takes too lightly. Then the keys of each object are compared
 * (base/map.h: no choice of keys makes that slow).
 */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_plain.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"

struct scan {
	const char *start, *p, *end;
	struct error *err;
	int depth;
	size_t nodes;
	size_t keys;   /* met so far, in the order of the text */
	size_t wanted; /* remember where key number `wanted` stands, from 1 */
	const char *wanted_at;
};

int json_fail_at(const char *text, size_t at, struct error *err, enum error_kind kind,
		 const char *fmt, ...)
{
	char what[300];
	size_t line = 1, column = 1;
	va_list ap;

	for (const char *p = text; p < text + at; p++) {
		if (*p == '\n') {
			line++;
			column = 1;
		} else {
			column += (*p & 0xc0) != 0x80;
		}
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error_set(err, kind, "%zu:%zu: %s", line, column, what);
}

#define fail(s, at, ...) \
	json_fail_at((s)->start, (size_t)((at) - (s)->start), (s)->err, __VA_ARGS__)

/* The text there, for a message; `text` is its buffer. */
static const char *found(const struct scan *s, char text[32])
{
	unsigned char c;

	if (s->p >= s->end)
		return "the end of the text";
	c = (unsigned char)*s->p;
	if (c > ' ' && c < 0x7f)
		snprintf(text, 32, "'%c'", c);
	else
		snprintf(text, 32, "byte 0x%02x", c);
	return text;
}

static int expected(const struct scan *s, const char *what)
{
	char text[32];

	return fail(s, s->p, ERR_FORMAT, "%s expected, found %s", what, found(s, text));
}

static void skip_space(struct scan *s)
{
	while (s->p < s->end &&
	       (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

static bool accept(struct scan *s, char c)
{
	skip_space(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* The four digits of \uXXXX at p, or -1. */
static int hex4(const struct scan *s, const char *p)
{
	int v = 0;

	if (s->end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (!isxdigit((unsigned char)c))
			return -1;
		v = v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

static int scan_unicode_escape(struct scan *s)
{
	const char *at = s->p;
	int unit = hex4(s, s->p + 2), low;

	if (unit < 0)
		return fail(s, at, ERR_FORMAT, "\\u needs four hexadecimal digits");
	if (!unit)
		return fail(s, at, ERR_FORMAT, "a string may not hold NUL (\\u0000)");
	s->p += 6;
	if (unit < 0xd800 || unit > 0xdfff)
		return 0;
	low = s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u' ? hex4(s, s->p + 2)
								      : -1;
	if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return fail(s, at, ERR_FORMAT, "\\u%04x is half of a surrogate pair",
			    unit);
	s->p += 6;
	return 0;
}

static int scan_escape(struct scan *s)
{
	char c = s->end - s->p > 1 ? s->p[1] : 0;

	if (c == 'u')
		return scan_unicode_escape(s);
	if (!c || !strchr("\"\\/bfnrt", c))
		return fail(s, s->p, ERR_FORMAT, "unknown escape in a string");
	s->p += 2;
	return 0;
}

static char *put_utf8(char *to, uint32_t c)
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	int len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = len - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	*to = (char)(first[len] | c);
	return to + len;
}

/* An escape that was scanned: write its character, and move on to what follows. */
static char *put_escape(const struct scan *s, const char **at, char *to)
{
	static const char letters[] = "b\bf\fn\nr\rt\t";
	char c = (*at)[1];
	const char *p = strchr(letters, c);
	uint32_t code;

	if (c != 'u') {
		*to = p ? p[1] : c;
		*at += 2;
		return to + 1;
	}
	code = (uint32_t)hex4(s, *at + 2);
	*at += 6;
	if (code >= 0xd800 && code <= 0xdfff) {
		code = 0x10000 + ((code - 0xd800) << 10) +
		       ((uint32_t)hex4(s, *at + 2) - 0xdc00);
		*at += 6;
	}
	return put_utf8(to, code);
}

static char *copy_of(const char *from, const char *end)
{
	size_t len = (size_t)(end - from);
	char *ret = xmalloc(len + 1);

	memcpy(ret, from, len);
	ret[len] = 0;
	return ret;
}

static char *unescaped(const struct scan *s, const char *from, const char *end)
{
	char *ret = xmalloc((size_t)(end - from) + 1), *to = ret;

	while (from < end) {
		const char *escape = memchr(from, '\\', (size_t)(end - from));
		size_t len = (size_t)((escape ? escape : end) - from);

		memcpy(to, from, len);
		to += len;
		from += len;
		if (escape)
			to = put_escape(s, &from, to);
	}
	*to = 0;
	return ret;
}

static int scan_string(struct scan *s, char **ret)
{
	const char *open = s->p++, *close;
	bool escapes = false;

	for (;;) {
		size_t len = 1;

		s->p += json_plain(s->p, (size_t)(s->end - s->p), true);
		if (s->p >= s->end || *s->p == '"')
			break;
		if (*s->p == '\\') {
			if (scan_escape(s))
				return -1;
			escapes = true;
			continue;
		}
		if ((unsigned char)*s->p < ' ')
			return fail(
				s, s->p, ERR_FORMAT,
				"control character 0x%02x in a string; write it as an escape",
				*s->p);
		if ((unsigned char)*s->p >= 0x80)
			len = utf8_length(s->p, s->end);
		if (!len)
			return fail(s, s->p, ERR_FORMAT, "invalid UTF-8 (byte 0x%02x)",
				    (unsigned char)*s->p);
		s->p += len;
	}
	if (s->p >= s->end)
		return fail(s, open, ERR_FORMAT, "unterminated string");
	close = s->p++;
	*ret = escapes ? unescaped(s, open + 1, close) : copy_of(open + 1, close);
	return 0;
}

static size_t skip_digits(struct scan *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - from);
}

/* Few digits: its value; else false. */
static bool is_small(const char *p, const char *end, int *ret)
{
	bool negative = *p == '-';
	int v = 0;

	p += negative;
	if (end - p > 9 || (negative && *p == '0')) /* -0 is not 0 */
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		v = 10 * v + (*p - '0');
	}
	*ret = negative ? -v : v;
	return true;
}

/* Numbers that an int cannot hold exactly keep their literal. */
static int put_number(const struct scan *s, const char *from, cJSON *ret)
{
	char text[JSON_MAX_NUMBER + 1];
	size_t len = (size_t)(s->p - from);
	double v;

	ret->type = cJSON_Number;
	if (is_small(from, s->p, &ret->valueint)) {
		ret->valuedouble = ret->valueint;
		return 0;
	}
	if (len > JSON_MAX_NUMBER)
		return fail(s, from, ERR_LIMIT, "number longer than %d characters",
			    JSON_MAX_NUMBER);
	memcpy(text, from, len);
	text[len] = 0;
	v = strtod(text, NULL);
	if (isinf(v))
		return fail(s, from, ERR_FORMAT, "the number %s is out of range", text);
	ret->valuedouble = v;
	ret->valueint = v >= INT_MAX ? INT_MAX : v <= INT_MIN ? INT_MIN : (int)v;
	if (text[strcspn(text, ".eE")] || v != (double)ret->valueint ||
	    str_eq(text, "-0"))
		ret->valuestring = xstrdup(text);
	return 0;
}

static int scan_number(struct scan *s, cJSON *ret)
{
	const char *from = s->p, *digits;

	s->p += *s->p == '-';
	digits = s->p;
	if (!skip_digits(s))
		return expected(s, "a digit");
	if (*digits == '0' && s->p - digits > 1)
		return fail(s, from, ERR_FORMAT, "a number may not begin with 0");
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!skip_digits(s))
			return expected(s, "a digit");
	}
	if (s->p < s->end && (*s->p | 0x20) == 'e') {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (!skip_digits(s))
			return expected(s, "a digit");
	}
	return put_number(s, from, ret);
}

static int scan_word(struct scan *s, cJSON *ret)
{
	static const struct word {
		const char *text;
		int type;
	} words[] = { { "true", cJSON_True },
		      { "false", cJSON_False },
		      { "null", cJSON_NULL } };

	for (const struct word *w = words; w < words + N_ELEMENTS(words); w++) {
		size_t len = strlen(w->text);

		if ((size_t)(s->end - s->p) >= len && !memcmp(s->p, w->text, len)) {
			s->p += len;
			ret->type = w->type;
			return 0;
		}
	}
	return expected(s, "a value");
}

static int scan_value(struct scan *s, cJSON *ret);

static cJSON *add_child(cJSON *parent, cJSON *last)
{
	cJSON *child = xcalloc(1, sizeof(*child));

	if (last)
		last->next = child;
	else
		parent->child = child;
	child->prev = last;
	parent->child->prev = child; /* as cJSON: the first one's is the last */
	return child;
}

static int scan_key(struct scan *s, cJSON *ret)
{
	skip_space(s);
	if (s->p >= s->end || *s->p != '"')
		return expected(s, "a key in quotes");
	if (++s->keys == s->wanted)
		s->wanted_at = s->p;
	if (scan_string(s, &ret->string))
		return -1;
	if (!accept(s, ':'))
		return expected(s, "':'");
	return 0;
}

static int scan_object(struct scan *s, cJSON *ret)
{
	const char *open = s->p++;
	cJSON *member = NULL;

	ret->type = cJSON_Object;
	if (accept(s, '}'))
		return 0;
	for (size_t n = 1;; n++) {
		if (n > JSON_MAX_MEMBERS)
			return fail(s, open, ERR_LIMIT,
				    "an object of more than %d members",
				    JSON_MAX_MEMBERS);
		member = add_child(ret, member);
		if (scan_key(s, member) || scan_value(s, member))
			return -1;
		if (accept(s, '}'))
			return 0;
		if (!accept(s, ','))
			return expected(s, "',' or '}'");
	}
}

static int scan_list(struct scan *s, cJSON *ret)
{
	cJSON *element = NULL;

	s->p++;
	ret->type = cJSON_Array;
	if (accept(s, ']'))
		return 0;
	for (;;) {
		element = add_child(ret, element);
		if (scan_value(s, element))
			return -1;
		if (accept(s, ']'))
			return 0;
		if (!accept(s, ','))
			return expected(s, "',' or ']'");
	}
}

static int scan_nested(struct scan *s, cJSON *ret)
{
	int rc;

	if (s->depth == JSON_MAX_DEPTH)
		return fail(s, s->p, ERR_LIMIT, "nested deeper than %d levels",
			    JSON_MAX_DEPTH);
	s->depth++;
	rc = *s->p == '{' ? scan_object(s, ret) : scan_list(s, ret);
	s->depth--;
	return rc;
}

static int scan_value(struct scan *s, cJSON *ret)
{
	skip_space(s);
	if (s->p >= s->end)
		return expected(s, "a value");
	if (++s->nodes > JSON_MAX_NODES)
		return fail(s, s->p, ERR_LIMIT, "more than %d values", JSON_MAX_NODES);
	switch (*s->p) {
	case '{':
	case '[':
		return scan_nested(s, ret);
	case '"':
		ret->type = cJSON_String;
		return scan_string(s, &ret->valuestring);
	case '-':
	case '0' ... '9':
		return scan_number(s, ret);
	default:
		return scan_word(s, ret);
	}
}

static int scan_text(struct scan *s, bool is_all, cJSON *ret)
{
	size_t len = (size_t)(s->end - s->start);

	if (len > JSON_MAX_BYTES)
		return error_set(s->err, ERR_LIMIT, "%zu bytes of JSON, more than %zu",
				 len, JSON_MAX_BYTES);
	if (scan_value(s, ret))
		return -1;
	if (!is_all)
		return 0;
	skip_space(s);
	return s->p < s->end ? expected(s, "the end of the text") : 0;
}

/* A key and its number in the order of the text, from 1. */
struct key {
	const char *name;
	size_t number;
};

static int by_name_then_number(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->number < y->number ? -1 : 1;
}

/* The first key in the text that its object has had already; number 0: none. */
static struct key repeated(struct key *keys, size_t n)
{
	struct key first = { 0 };

	qsort(keys, n, sizeof(*keys), by_name_then_number);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(keys[i - 1].name, keys[i].name) &&
		    (!first.number || keys[i].number < first.number))
			first = keys[i];
	return first;
}

/* The same for the whole tree. *count: keys met so far, in the order of the text. */
static struct key repeated_below(const cJSON *node, size_t *count)
{
	size_t n = cJSON_IsObject(node) ? (size_t)cJSON_GetArraySize(node) : 0, i = 0;
	cleanup_free struct key *keys = n ? xcalloc(n, sizeof(*keys)) : NULL;
	struct key first = { 0 }, mine;
	const cJSON *child;

	json_each(child, node) {
		if (keys)
			keys[i++] = (struct key){ child->string, ++*count };
		mine = repeated_below(child, count);
		if (mine.number && !first.number)
			first = mine;
	}
	mine = keys ? repeated(keys, n) : (struct key){ 0 };
	if (mine.number && (!first.number || mine.number < first.number))
		first = mine;
	return first;
}

enum { FEW = 16 }; /* so many are compared each with each: no memory, no sorting */

static bool has_repeated(const cJSON *object)
{
	bool many = cJSON_GetArraySize(object) > FEW;
	cleanup_map struct map seen = { 0 };
	const cJSON *child;

	json_each(child, object) {
		if (many && map_put(&seen, child->string, &seen))
			return true;
		for (const cJSON *c = object->child; !many && c != child; c = c->next)
			if (!strcmp(c->string, child->string))
				return true;
	}
	return false;
}

/* Duplicates are rare: which key it is, is searched afterwards. */
static bool has_repeated_below(const cJSON *node)
{
	const cJSON *child;

	if (cJSON_IsObject(node) && has_repeated(node))
		return true;
	json_each(child, node)
		if (child->child && has_repeated_below(child))
			return true;
	return false;
}

static int refuse_repeated(const cJSON *doc, struct scan again)
{
	cleanup_json cJSON *unused = NULL;
	size_t count = 0;
	struct key key;

	if (!has_repeated_below(doc))
		return 0;
	key = repeated_below(doc, &count);
	again.wanted = key.number;
	again.keys = again.nodes = 0;
	unused = xcalloc(1, sizeof(*unused));
	if (scan_value(&again, unused))
		return -1;
	return fail(&again, again.wanted_at, ERR_FORMAT,
		    "duplicate key \"%.200s\" in this object", key.name);
}

cJSON *json_reread(const char *text)
{
	struct error err = { 0 };
	struct scan s = {
		.start = text, .p = text, .end = text + strlen(text), .err = &err
	};
	cleanup_json cJSON *doc = xcalloc(1, sizeof(*doc));

	return scan_text(&s, true, doc) ? NULL : STEAL(doc);
}

/* The scanner stands at the value, and then at its end or at the error. */
static int parse(cJSON **ret, struct scan *s, bool is_all)
{
	struct scan before = *s;
	cleanup_json cJSON *doc = xcalloc(1, sizeof(*doc));

	if (scan_text(s, is_all, doc) || refuse_repeated(doc, before))
		return -1;
	*ret = STEAL(doc);
	return 0;
}

int json_parse(cJSON **ret, const void *data, size_t len, struct error *err)
{
	const char *text = data ? data : "";
	struct scan s = { .start = text, .p = text, .end = text + len, .err = err };

	return parse(ret, &s, true);
}

int json_parse_at(cJSON **ret, const char *text, size_t len, size_t *at,
		  struct error *err)
{
	struct scan s = { .start = text, .p = text + *at, .end = text + len, .err = err };
	int failed = parse(ret, &s, false);

	*at = (size_t)(s.p - text);
	return failed;
}
