/* json_print.c - print documents, lossless and reproducibly (base/json.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_plain.h"
#include "base/xmalloc.h"

/* As %d, but faster. */
static void print_int(char text[JSON_MAX_NUMBER + 1], int v)
{
	unsigned rest = v < 0 ? 0U - (unsigned)v : (unsigned)v;
	char digits[JSON_MAX_NUMBER];
	size_t n = 0, len = 0;

	do {
		digits[n++] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (v < 0)
		text[len++] = '-';
	while (n)
		text[len++] = digits[--n];
	text[len] = 0;
}

const char *json_number_text(const cJSON *node, char text[JSON_MAX_NUMBER + 1])
{
	double v = node->valuedouble;

	if (node->valuestring)
		return node->valuestring;
	if (v == (double)node->valueint) {
		print_int(text, node->valueint);
	} else if (!isfinite(v)) {
		return "null";
	} else {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, JSON_MAX_NUMBER + 1, "%.*g", digits, v);
			if (strtod(text, NULL) == v)
				break;
		}
	}
	return text;
}

const char *json_scalar_text(const cJSON *node, char text[JSON_MAX_NUMBER + 1])
{
	if (cJSON_IsBool(node))
		return cJSON_IsTrue(node) ? "true" : "false";
	return cJSON_IsNumber(node) ? json_number_text(node, text) : "null";
}

/* The escapes of characters that JSON does not allow unescaped. */
static void print_escape(struct buf *out, unsigned char c)
{
	static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	const char *p = memchr(letters, c, sizeof(letters) - 1);

	if (p)
		buf_printf(out, "\\%c", p[1]);
	else
		buf_printf(out, "\\u%04x", c);
}

/* Add it in pieces, so that a buffer that is too small is filled as far as possible. */
enum { PIECE = 256 };

static void print_string(struct buf *out, const char *s)
{
	const char *end = s + strlen(s);

	buf_add(out, "\"", 1);
	while (s < end && !out->overflowed) {
		size_t left = (size_t)(end - s), piece = left < PIECE ? left : PIECE;
		size_t plain = json_plain(s, piece, false);

		buf_add(out, s, plain);
		s += plain;
		if (plain < piece)
			print_escape(out, (unsigned char)*s++);
	}
	buf_add(out, "\"", 1);
}

/* Begin an indented line; nothing if everything is on one line. */
static void break_line(struct buf *out, int level)
{
	if (level < 0)
		return;
	buf_adds(out, "\n");
	for (int i = 0; i < level; i++)
		buf_adds(out, "  ");
}

static void print_value(struct buf *out, const cJSON *node, int level);

/* level: of this object or list; below 0: all on one line. */
static void print_children(struct buf *out, const cJSON *node, int level)
{
	bool members = cJSON_IsObject(node);
	int inner = level < 0 ? level : level + 1;
	const cJSON *child;

	buf_adds(out, members ? "{" : "[");
	json_each(child, node) {
		if (out->overflowed)
			return;
		break_line(out, inner);
		if (members) {
			print_string(out, child->string);
			buf_adds(out, level < 0 ? ":" : ": ");
		}
		print_value(out, child, inner);
		if (child->next)
			buf_adds(out, ",");
	}
	if (node->child)
		break_line(out, level);
	buf_adds(out, members ? "}" : "]");
}

static void print_value(struct buf *out, const cJSON *node, int level)
{
	char text[JSON_MAX_NUMBER + 1];

	switch (node->type & 0xff) {
	case cJSON_String:
		print_string(out, node->valuestring);
		break;
	case cJSON_Raw:
		buf_adds(out, node->valuestring);
		break;
	case cJSON_Array:
	case cJSON_Object:
		print_children(out, node, level);
		break;
	default:
		buf_adds(out, json_scalar_text(node, text));
	}
}

void json_print(struct buf *out, const cJSON *doc)
{
	print_value(out, doc, -1);
}

void json_print_pretty(struct buf *out, const cJSON *doc)
{
	print_value(out, doc, 0);
	buf_adds(out, "\n");
}

char *json_text(const cJSON *doc)
{
	struct buf out = { .max = SIZE_MAX / 4 };

	json_print(&out, doc);
	return (char *)out.data;
}
