/*
 * html.h - text from outside as HTML: it never becomes markup.
 */
#ifndef UI_HTML_H
#define UI_HTML_H

#include "base/buf.h"

/*
 * Appends the text for use between tags and in quoted attributes. A byte that is not
 * UTF-8, and a control character but tab and newline, becomes U+FFFD; a character that
 * changes the direction of text is spelled "\u202e".
 */
void html_text(struct buf *out, const char *text, size_t len);
void html_str(struct buf *out, const char *text); /* NULL: nothing */

/*
 * Likewise a line of a log (base/screen.h): its colors become <span class="...">: f0 to
 * f15, b0 to b15 (the 16 colors), bold, dim, ital, under. Others of the 256 and of RGB
 * are left out. Every span is closed at the end of the line; after 200 of them the rest
 * of the line has no colors, as each may be twenty times its escape sequence.
 */
void html_line(struct buf *out, const char *line, size_t len);

/*
 * The same as JSON, for a script that makes text nodes of it: a string ("" of NULL); of
 * a line ',"text"' or ',["f1 bold","text"]' for each run of one style.
 */
void html_json(struct buf *out, const char *text);
void html_line_json(struct buf *out, const char *line, size_t len);

#endif
