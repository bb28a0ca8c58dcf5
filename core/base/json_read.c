/*
 * json_read.c - parse JSON strictly (base/json.h).
 *
 * A scanner goes over the text first and refuses, with line and column, all
 * that cJSON takes too lightly; then cJSON builds the tree from what is known
 * to be right; then the keys of each object are compared, for which they have
 * to be unescaped (base/map.h: no choice of keys makes that slow).
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
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

static int scan_string(struct scan *s)
{
	const char *open = s->p++;

	while (s->p < s->end && *s->p != '"') {
		size_t len = 1;

		if (*s->p == '\\') {
			if (scan_escape(s))
				return -1;
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
	s->p++;
	return 0;
}

static size_t skip_digits(struct scan *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - from);
}

/* After its digits: is the number one that a double can hold? */
static int check_number(const struct scan *s, const char *from)
{
	char text[JSON_MAX_NUMBER + 1];
	size_t len = (size_t)(s->p - from);

	if (len > JSON_MAX_NUMBER)
		return fail(s, from, ERR_LIMIT, "number longer than %d characters",
			    JSON_MAX_NUMBER);
	memcpy(text, from, len);
	text[len] = 0;
	if (isinf(strtod(text, NULL)))
		return fail(s, from, ERR_FORMAT, "the number %s is out of range", text);
	return 0;
}

static int scan_number(struct scan *s)
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
	return check_number(s, from);
}

static int scan_word(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(s->end - s->p) >= len && !memcmp(s->p, words[i], len)) {
			s->p += len;
			return 0;
		}
	}
	return expected(s, "a value");
}

static int scan_value(struct scan *s);

static int scan_key(struct scan *s)
{
	skip_space(s);
	if (s->p >= s->end || *s->p != '"')
		return expected(s, "a key in quotes");
	if (++s->keys == s->wanted)
		s->wanted_at = s->p;
	if (scan_string(s))
		return -1;
	if (!accept(s, ':'))
		return expected(s, "':'");
	return 0;
}

static int scan_object(struct scan *s)
{
	const char *open = s->p++;

	if (accept(s, '}'))
		return 0;
	for (size_t n = 1;; n++) {
		if (n > JSON_MAX_MEMBERS)
			return fail(s, open, ERR_LIMIT,
				    "an object of more than %d members",
				    JSON_MAX_MEMBERS);
		if (scan_key(s) || scan_value(s))
			return -1;
		if (accept(s, '}'))
			return 0;
		if (!accept(s, ','))
			return expected(s, "',' or '}'");
	}
}

static int scan_list(struct scan *s)
{
	s->p++;
	if (accept(s, ']'))
		return 0;
	for (;;) {
		if (scan_value(s))
			return -1;
		if (accept(s, ']'))
			return 0;
		if (!accept(s, ','))
			return expected(s, "',' or ']'");
	}
}

static int scan_nested(struct scan *s)
{
	int ret;

	if (s->depth == JSON_MAX_DEPTH)
		return fail(s, s->p, ERR_LIMIT, "nested deeper than %d levels",
			    JSON_MAX_DEPTH);
	s->depth++;
	ret = *s->p == '{' ? scan_object(s) : scan_list(s);
	s->depth--;
	return ret;
}

static int scan_value(struct scan *s)
{
	skip_space(s);
	if (s->p >= s->end)
		return expected(s, "a value");
	if (++s->nodes > JSON_MAX_NODES)
		return fail(s, s->p, ERR_LIMIT, "more than %d values", JSON_MAX_NODES);
	switch (*s->p) {
	case '{':
	case '[':
		return scan_nested(s);
	case '"':
		return scan_string(s);
	case '-':
	case '0' ... '9':
		return scan_number(s);
	default:
		return scan_word(s);
	}
}

static int scan_text(struct scan *s, bool is_all)
{
	size_t len = (size_t)(s->end - s->start);

	if (len > JSON_MAX_BYTES)
		return error_set(s->err, ERR_LIMIT, "%zu bytes of JSON, more than %zu",
				 len, JSON_MAX_BYTES);
	if (scan_value(s))
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
	size_t count = 0;
	struct key key;

	if (!has_repeated_below(doc))
		return 0;
	key = repeated_below(doc, &count);
	again.wanted = key.number;
	again.keys = again.nodes = 0;
	if (scan_value(&again))
		return -1;
	return fail(&again, again.wanted_at, ERR_FORMAT,
		    "duplicate key \"%.200s\" in this object", key.name);
}

cJSON *json_reread(const char *text)
{
	return cJSON_ParseWithLengthOpts(text, strlen(text), NULL, false);
}

/* The scanner stands at the value, and then at its end or at the error. */
static int parse(cJSON **ret, struct scan *s, bool is_all)
{
	struct scan before = *s;
	cleanup_json cJSON *doc = NULL;

	if (scan_text(s, is_all))
		return -1;
	doc = cJSON_ParseWithLengthOpts(before.p, (size_t)(s->p - before.p), NULL, false);
	if (!doc)
		return error_set(s->err, ERR_FORMAT, "1:1: not JSON");
	if (refuse_repeated(doc, before))
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
