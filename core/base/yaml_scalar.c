/*
 * yaml_scalar.c - resolve the type and value of a scalar (base/yaml_node.h).
 *
 * The rules of go-yaml v2 (resolve.go), which sigs.k8s.io/yaml reads with, as
 * far as JSON can hold the result: YAML 1.1 booleans and nulls, integers in
 * base 2, 8, 10, 16 with '_' between digits, floats; base 60 is text, and so is
 * a timestamp.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml_node.h"

enum scalar_type { TYPE_NULL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STR, TYPE_NOT_JSON };

static const char *const true_words[] = { "y",    "Y",    "yes", "Yes", "YES", "true",
					  "True", "TRUE", "on",  "On",  "ON",  NULL };
static const char *const false_words[] = { "n",     "N",     "no",  "No",  "NO",  "false",
					   "False", "FALSE", "off", "Off", "OFF", NULL };
static const char *const null_words[] = { "", "~", "null", "Null", "NULL", NULL };
static const char *const odd_words[] = { ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",
					 ".INF",  "+.inf", "+.Inf", "+.INF", "-.inf",
					 "-.Inf", "-.INF", NULL };

/* A scalar's meaning. Longer texts than `digits` are no numbers. */
struct meaning {
	enum scalar_type type;
	bool truth;
	double number;
	char digits[JSON_MAX_NUMBER + 1]; /* of an integer, decimal; "": use number */
};

enum { MAX_NUMBER_TEXT = 400 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Without the '_'; false when it is too long for a number. */
static bool without_underscores(const char *text, char plain[MAX_NUMBER_TEXT])
{
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '_')
			continue;
		if (n == MAX_NUMBER_TEXT - 1)
			return false;
		plain[n++] = *text;
	}
	plain[n] = 0;
	return true;
}

/* All of s in that base, up to 2^64 - 1. */
static bool parse_unsigned(const char *s, int base, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		char c = *s >= 'A' && *s <= 'F' ? (char)(*s | 0x20) : *s;
		const char *d = memchr(digits, c, (size_t)base);

		if (!d || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(d - digits), &v))
			return false;
	}
	*ret = v;
	return true;
}

/* The base that a prefix says, and past the prefix. */
static int base_of(const char **s)
{
	static const struct {
		char letter;
		int base;
	} prefixes[] = { { 'x', 16 }, { 'b', 2 }, { 'o', 8 } };

	if (**s != '0' || !(*s)[1])
		return 10;
	for (size_t i = 0; i < 3; i++)
		if (((*s)[1] | 0x20) == prefixes[i].letter) {
			*s += 2;
			return prefixes[i].base;
		}
	*s += 1;
	return 8;
}

static bool integer(const char *s, struct meaning *m)
{
	const char *after_sign = s + (*s == '-' || *s == '+'), *p = after_sign;
	int base = base_of(&p);
	bool negative = *s == '-';
	uint64_t v;

	/* A quirk kept: 0b-1 is -1, because the digits are parsed with their sign. */
	if (base == 2 && s == after_sign && (*p == '-' || *p == '+')) {
		negative = *p == '-';
		p++;
	}
	if (!parse_unsigned(p, base, &v))
		return false;
	if (negative && v > (uint64_t)INT64_MAX + 1)
		return false;
	if (*s == '+' && v > INT64_MAX)
		return false;
	m->type = TYPE_INT;
	m->number = negative ? -(double)v : (double)v;
	snprintf(m->digits, sizeof(m->digits), "%s%llu", negative && v ? "-" : "",
		 (unsigned long long)v);
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?  *ret_whole: neither '.' nor 'e'. */
static bool has_float_shape(const char *s, bool *ret_whole)
{
	size_t before, after = 0;

	s += *s == '-' || *s == '+';
	before = strspn(s, "0123456789");
	s += before;
	*ret_whole = !*s;
	if (*s == '.') {
		after = strspn(++s, "0123456789");
		s += after;
	}
	if (!before && !after)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '-' || *s == '+';
		if (!is_digit(*s))
			return false;
		s += strspn(s, "0123456789");
	}
	return !*s;
}

static bool floating(const char *s, struct meaning *m)
{
	bool whole;
	double v;

	if (!has_float_shape(s, &whole))
		return false;
	v = strtod(s, NULL);
	if (isinf(v))
		return false;
	m->type = TYPE_FLOAT;
	m->number = v;
	/* Digits beyond 64 bits are kept, where go-yaml rounds them. */
	s += *s == '+';
	if (whole && s[*s == '-'] != '0' && strlen(s) <= JSON_MAX_NUMBER)
		memcpy(m->digits, s, strlen(s) + 1);
	return true;
}

/* ".5_0" is a number for Go, ".5_" is not: each '_' is between two digits. */
static bool underscores_between_digits(const char *s)
{
	for (size_t i = 1; s[i]; i++)
		if (s[i] == '_' && !(is_digit(s[i - 1]) && is_digit(s[i + 1])))
			return false;
	return true;
}

static void number(const char *text, struct meaning *m)
{
	char plain[MAX_NUMBER_TEXT];

	if (!without_underscores(text, plain))
		return;
	if (*text == '.') {
		if (underscores_between_digits(text))
			floating(plain, m);
	} else if (!integer(plain, m)) {
		floating(plain, m);
	}
}

/* All words begin with one of these, or are empty: strchr() finds the end, too. */
static bool may_be_word(const char *text)
{
	return strchr("yYnNtTfFoO~", *text);
}

static struct meaning meaning_of(const char *text)
{
	struct meaning m = { .type = TYPE_STR };
	bool word = may_be_word(text);

	if (word && str_in(text, null_words)) {
		m.type = TYPE_NULL;
	} else if (word && str_in(text, true_words)) {
		m.type = TYPE_BOOL;
		m.truth = true;
	} else if (word && str_in(text, false_words)) {
		m.type = TYPE_BOOL;
	} else if (strchr("0123456789+-.", *text) && *text) {
		if (str_in(text, odd_words))
			m.type = TYPE_NOT_JSON;
		else
			number(text, &m);
	}
	return m;
}

static cJSON *new_number(const struct meaning *m)
{
	cJSON *node = cJSON_CreateNumber(m->number);

	if (m->digits[0] && m->number != (double)node->valueint)
		node->valuestring = xstrdup(m->digits);
	return node;
}

static cJSON *node_of(const struct meaning *m, const char *text)
{
	switch (m->type) {
	case TYPE_NULL:
		return cJSON_CreateNull();
	case TYPE_BOOL:
		return cJSON_CreateBool(m->truth);
	case TYPE_INT:
	case TYPE_FLOAT:
		return new_number(m);
	case TYPE_STR:
		return cJSON_CreateString(text);
	case TYPE_NOT_JSON:
		break;
	}
	return NULL;
}

cJSON *yaml_plain(const char *text)
{
	struct meaning m = meaning_of(text);

	return node_of(&m, text);
}

static int binary(cJSON **ret, const struct yaml_node *node, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf out = { .max = node->len };
	char *text = arena_alloc(&a, node->len + 1);
	struct error why = { 0 };
	const char *bytes;
	size_t len = 0;

	for (const char *p = node->text; *p; p++)
		if (*p != '\n' && *p != '\r')
			text[len++] = *p;
	if (base64_decode(&out, text, len, &why))
		return yaml_fail(node, err, ERR_FORMAT, "!!binary: %s", why.msg);
	bytes = out.len ? (char *)out.data : "";
	if (!utf8_valid(bytes, out.len) || strlen(bytes) != out.len)
		return yaml_fail(node, err, ERR_FORMAT,
				 "!!binary: not text, and JSON holds only text; write "
				 "the base64 as a plain string");
	*ret = cJSON_CreateString(bytes);
	return 0;
}

/* The types that a tag allows. */
static const struct {
	const char *tag;
	unsigned types;
} tags[] = {
	{ "!!null", 1 << TYPE_NULL },
	{ "!!bool", 1 << TYPE_BOOL },
	{ "!!int", 1 << TYPE_INT },
	{ "!!float", 1 << TYPE_INT | 1 << TYPE_FLOAT | 1 << TYPE_NOT_JSON },
	{ "!!timestamp", 1 << TYPE_STR },
};

static int check_tag(const struct yaml_node *node, const struct meaning *m,
		     struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(tags); i++) {
		if (strcmp(tags[i].tag, node->tag))
			continue;
		if (tags[i].types & 1u << m->type)
			return 0;
		return yaml_fail(node, err, ERR_FORMAT, "'%.100s' is not a %s",
				 node->text, node->tag);
	}
	return yaml_fail(node, err, ERR_FORMAT, "unknown tag %.100s", node->tag);
}

int yaml_scalar(cJSON **ret, const struct yaml_node *node, struct error *err)
{
	static const char *const text_tags[] = { "!!str", "!", NULL };
	bool is_text = node->tag ? str_in(node->tag, text_tags) : !node->plain;
	struct meaning m;

	if (strlen(node->text) != node->len)
		return yaml_fail(node, err, ERR_FORMAT, "a string may not hold NUL");
	if (is_text) {
		*ret = cJSON_CreateString(node->text);
		return 0;
	}
	if (node->tag && !strcmp(node->tag, "!!binary"))
		return binary(ret, node, err);
	m = meaning_of(node->text);
	if (node->tag && check_tag(node, &m, err))
		return -1;
	if (m.type == TYPE_NOT_JSON)
		return yaml_fail(node, err, ERR_FORMAT,
				 "%s has no counterpart in JSON; put it in quotes if it "
				 "is meant as text",
				 node->text);
	*ret = node_of(&m, node->text);
	return 0;
}
