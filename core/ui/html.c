/* html.c - text from outside as HTML. */
#include "ui/html.h"

#include <inttypes.h>

#include "base/screen.h"
#include "base/str.h"

/* Bidirectional controls (Unicode Bidi_Control), which can make text look like other. */
static bool turns(uint32_t c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static const char *entity(uint32_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* As markup, or within a string of JSON. */
static const char *escape(uint32_t c, bool json)
{
	if (!json)
		return entity(c);
	return c == '"'    ? "\\\""
	       : c == '\\' ? "\\\\"
	       : c == '\n' ? "\\n"
	       : c == '\t' ? "\\t"
			   : NULL;
}

/* Appends the character at p; returns its length. */
static size_t add_rune(struct buf *out, const char *p, const char *end, bool json)
{
	uint32_t c = 0;
	size_t n = utf8_decode(p, end, &c);

	if (!n || (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0))
		buf_adds(out, "\xef\xbf\xbd");
	else if (escape(c, json))
		buf_adds(out, escape(c, json));
	else if (turns(c))
		buf_printf(out, "%s\\u%04" PRIx32, json ? "\\" : "", c);
	else
		buf_add(out, p, n);
	return n ? n : 1;
}

void html_text(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end)
		text += add_rune(out, text, end, false);
}

void html_str(struct buf *out, const char *text)
{
	if (text)
		html_text(out, text, strlen(text));
}

void html_json(struct buf *out, const char *text)
{
	const char *end = text ? text + strlen(text) : NULL;

	buf_adds(out, "\"");
	while (text < end)
		text += add_rune(out, text, end, true);
	buf_adds(out, "\"");
}

/* ---- colors (ECMA-48, SGR) --------------------------------------------------------- */

enum { NO_COLOR = -1, MAX_SPANS = 200 };
static const char *const words[] = { "bold", "dim", "ital", "under" }; /* SGR 1 to 4 */
struct style {
	int fore, back;
	bool has[N_ELEMENTS(words)];
};
static const struct style plain = { .fore = NO_COLOR, .back = NO_COLOR };

/* The parameters after 38 or 48: 5;N or 2;R;G;B. Sets *color to one of 16, or to none. */
static size_t set_extended(int *color, const int *p, size_t n)
{
	*color = NO_COLOR;
	if (n >= 2 && p[0] == 5) {
		*color = p[1] < 16 ? p[1] : NO_COLOR;
		return 2;
	}
	return n >= 4 && p[0] == 2 ? 4 : n;
}

static void set_color(struct style *s, int p)
{
	if (p >= 30 && p <= 39)
		s->fore = p == 39 ? NO_COLOR : p - 30;
	else if (p >= 40 && p <= 49)
		s->back = p == 49 ? NO_COLOR : p - 40;
	else if (p >= 90 && p <= 97)
		s->fore = p - 90 + 8;
	else if (p >= 100 && p <= 107)
		s->back = p - 100 + 8;
}

static void set_one(struct style *s, int p)
{
	switch (p) {
	case 0:
		*s = plain;
		break;
	case 1 ... 4:
		s->has[p - 1] = true;
		break;
	case 22:
		s->has[0] = s->has[1] = false;
		break;
	case 23 ... 24:
		s->has[p - 21] = false;
		break;
	default:
		set_color(s, p);
	}
}

/* The parameters of "\033[1;31m"; the sequence is at most SCREEN_SEQUENCE bytes. */
static void set_style(struct style *s, const char *sequence, size_t len)
{
	int p[SCREEN_SEQUENCE] = { 0 };
	size_t n = 1;

	for (size_t i = 2; i + 1 < len && n < SCREEN_SEQUENCE; i++)
		if (sequence[i] >= '0' && sequence[i] <= '9')
			p[n - 1] = (p[n - 1] * 10 + sequence[i] - '0') % 100000;
		else
			n++;
	for (size_t i = 0; i < n; i++)
		if (p[i] == 38 || p[i] == 48)
			i += set_extended(p[i] == 38 ? &s->fore : &s->back, p + i + 1,
					  n - i - 1);
		else
			set_one(s, p[i]);
}

static bool is_plain(const struct style *s)
{
	return s->fore < 0 && s->back < 0 && !memchr(s->has, true, sizeof(s->has));
}

static void add_classes(struct buf *out, const struct style *s)
{
	const char *space = "";

	if (s->fore >= 0)
		buf_printf(out, "f%d", s->fore), space = " ";
	if (s->back >= 0)
		buf_printf(out, "%sb%d", space, s->back), space = " ";
	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (s->has[i])
			buf_printf(out, "%s%s", space, words[i]), space = " ";
}

/* A run of characters of one style: of JSON also where it has none. */
static void open_run(struct buf *out, const struct style *s, bool json)
{
	if (json && is_plain(s)) {
		buf_adds(out, ",\"");
		return;
	}
	buf_adds(out, json ? ",[\"" : "<span class=\"");
	add_classes(out, s);
	buf_adds(out, json ? "\",\"" : "\">");
}

static void close_run(struct buf *out, const struct style *s, bool json)
{
	buf_adds(out, !json ? "</span>" : is_plain(s) ? "\"" : "\"]");
}

static void add_line(struct buf *out, const char *line, size_t len, bool json)
{
	const char *end = line + len;
	struct style style = plain;
	int runs = 0;
	bool open = false;

	while (line < end) {
		size_t n = screen_colour(line, (size_t)(end - line));

		if (n) {
			if (open)
				close_run(out, &style, json);
			open = false;
			set_style(&style, line, n);
			line += n;
			continue;
		}
		if (!open && runs >= MAX_SPANS)
			style = plain;
		if (!open && (json || !is_plain(&style))) {
			open_run(out, &style, json);
			runs += !is_plain(&style);
			open = true;
		}
		line += add_rune(out, line, end, json);
	}
	if (open)
		close_run(out, &style, json);
}

void html_line(struct buf *out, const char *line, size_t len)
{
	add_line(out, line, len, false);
}

void html_line_json(struct buf *out, const char *line, size_t len)
{
	add_line(out, line, len, true);
}
