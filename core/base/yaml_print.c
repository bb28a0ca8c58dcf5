/* yaml_print.c - print documents as YAML, in kubectl's style (base/yaml.h). */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "base/yaml_node.h"

/* A key longer than this does not fit before its ':' (libyaml: 1024 characters). */
enum { MAX_SIMPLE_KEY = 900 };

/* May it stand in YAML as it is, within a line? */
static bool is_printable(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
		return false;
	return c != 0xfeff && c != 0xfffe && c != 0xffff;
}

/* A line break, and where `lines` allows, tabs, are printable, too. */
static bool all_printable(const char *s, bool lines)
{
	const char *end = s + strlen(s);

	while (s < end) {
		uint32_t c;
		size_t len = utf8_decode(s, end, &c);

		if (!len || (!is_printable(c) && !(lines && (*s == '\n' || *s == '\t'))))
			return false;
		s += len;
	}
	return true;
}

/* Would a parser, ours or another, read the unquoted text as something else? */
static bool looks_like_other(const char *s)
{
	static const char *const odd[] = { "=", "<<", NULL };
	cleanup_json cJSON *read = yaml_plain(s);

	if (!cJSON_IsString(read) || str_in(s, odd))
		return true;
	/* Base 60, dates and the like begin so and have no other characters. */
	s += *s == '-' || *s == '+';
	return *s >= '0' && *s <= '9' && strspn(s, "0123456789+-.:_eETtZz ") == strlen(s);
}

static bool can_be_plain(const char *s)
{
	size_t len = strlen(s);
	bool dash = len && strchr("-?:", *s);

	if (!len || s[0] == ' ' || s[len - 1] == ' ' || s[len - 1] == ':')
		return false;
	if (strchr(",[]{}#&*!|>'\"%@`", *s) || (dash && (len == 1 || s[1] == ' ')))
		return false;
	if (str_starts(s, "---") || str_starts(s, "...") || strstr(s, ": ") ||
	    strstr(s, " #"))
		return false;
	return all_printable(s, false) && !looks_like_other(s);
}

/* How the character c is written within double quotes; len bytes at s, 0: no UTF-8. */
static void print_char(struct buf *out, uint32_t c, const char *s, size_t len)
{
	static const char letters[] = "\nn\tt\rr\"\"\\\\";

	for (size_t i = 0; letters[i]; i += 2)
		if (c == (unsigned char)letters[i]) {
			buf_printf(out, "\\%c", letters[i + 1]);
			return;
		}
	if (len && is_printable(c))
		buf_add(out, s, len);
	else
		buf_printf(out, "\\u%04X", (unsigned)c);
}

static void print_quoted(struct buf *out, const char *s)
{
	const char *end = s + strlen(s);

	buf_adds(out, "\"");
	while (s < end) {
		uint32_t c = 0xfffd;
		size_t len = utf8_decode(s, end, &c);

		print_char(out, c, s, len);
		s += len ? len : 1;
	}
	buf_adds(out, "\"");
}

static void indent(struct buf *out, int level)
{
	for (int i = 0; i < level; i++)
		buf_adds(out, "  ");
}

static bool can_be_block(const char *s)
{
	return strchr(s, '\n') && strspn(s, "\n") != strlen(s) && all_printable(s, true);
}

/* "|", "|-" or "|+" with an indentation where the text's own would be misread. */
static void print_block(struct buf *out, const char *s, int level)
{
	size_t len = strlen(s);
	const char *chomp = s[len - 1] != '\n' ? "-" : s[len - 2] == '\n' ? "+" : "";

	buf_printf(out, "|%s%s\n", *s == ' ' || *s == '\n' || *s == '\t' ? "2" : "",
		   chomp);
	while (*s) {
		size_t line = strcspn(s, "\n");

		if (line)
			indent(out, level);
		buf_add(out, s, line);
		s += line + (s[line] == '\n');
		if (*s || s[-1] == '\n')
			buf_adds(out, "\n");
	}
}

/* level: of the lines of a block. */
static void print_string(struct buf *out, const char *s, int level)
{
	if (can_be_plain(s))
		buf_adds(out, s);
	else if (level >= 0 && can_be_block(s))
		print_block(out, s, level);
	else
		print_quoted(out, s);
}

static void print_scalar(struct buf *out, const cJSON *node, int level)
{
	char text[JSON_MAX_NUMBER + 1];

	if (cJSON_IsString(node))
		print_string(out, node->valuestring, level);
	else if (cJSON_IsArray(node))
		buf_adds(out, "[]");
	else if (cJSON_IsObject(node))
		buf_adds(out, "{}");
	else
		buf_adds(out, json_scalar_text(node, text));
}

static void end_line(struct buf *out)
{
	if (!out->len || out->data[out->len - 1] != '\n')
		buf_adds(out, "\n");
}

static void print_node(struct buf *out, const cJSON *node, int level);

/* "key:", or in two lines when it is too long for one. */
static void print_key(struct buf *out, const char *key, int level)
{
	cleanup_buf struct buf text = { .max = out->max };

	print_string(&text, key, -1);
	if (text.len <= MAX_SIMPLE_KEY) {
		buf_add(out, text.data, text.len);
		buf_adds(out, ":");
		return;
	}
	buf_adds(out, "? ");
	buf_add(out, text.data, text.len);
	buf_adds(out, "\n");
	indent(out, level);
	buf_adds(out, ":");
}

static void print_members(struct buf *out, const cJSON *node, int level)
{
	const cJSON *child;

	json_each(child, node) {
		bool nested =
			child->child && (cJSON_IsObject(child) || cJSON_IsArray(child));

		if (child != node->child)
			indent(out, level);
		print_key(out, child->string, level);
		if (nested) {
			int below = level + cJSON_IsObject(child);

			buf_adds(out, "\n");
			indent(out, below);
			print_node(out, child, below);
		} else {
			buf_adds(out, " ");
			print_scalar(out, child, level + 1);
			end_line(out);
		}
	}
}

static void print_items(struct buf *out, const cJSON *node, int level)
{
	const cJSON *child;

	json_each(child, node) {
		if (child != node->child)
			indent(out, level);
		buf_adds(out, "- ");
		print_node(out, child, level + 1);
	}
}

/* The caller has indented the first line. */
static void print_node(struct buf *out, const cJSON *node, int level)
{
	if (cJSON_IsObject(node) && node->child) {
		print_members(out, node, level);
	} else if (cJSON_IsArray(node) && node->child) {
		print_items(out, node, level);
	} else {
		print_scalar(out, node, level > 0 ? level : 1);
		end_line(out);
	}
}

void yaml_print(struct buf *out, const cJSON *doc)
{
	print_node(out, doc, 0);
}
