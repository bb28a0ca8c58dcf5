/*
 * page.h - the parts that all pages have: HTML that is readable without scripts.
 */
#ifndef UI_PAGE_H
#define UI_PAGE_H

#include "base/buf.h"

/* Begins a page with that title, which is its first heading; page_foot() ends it. */
void page_head(struct buf *out, const char *title);
void page_foot(struct buf *out);

/* A whole page, in place of what `out` has. */
void page_error(struct buf *out, const struct error *err);
/*
 * Appends the page of the URL with the token, which loads the list. After a link of another
 * site, browsers would send no SameSite=Strict cookie with an HTTP redirect.
 */
void page_enter(struct buf *out);

/* Parts: an error in the page; a table, whose heads and cells end with NULL. */
void page_message(struct buf *out, const struct error *err);
void page_begin_table(struct buf *out, const char *const heads[]);
void page_row(struct buf *out, const char *const cells[]);
void page_cell(struct buf *out, const char *text);
void page_end_table(struct buf *out);

#endif
