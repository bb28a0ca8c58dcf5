/* page.h - the next page of a leaf; for leaf.c only. */
#ifndef ARROW_PAGE_H
#define ARROW_PAGE_H

#include "arrow/leaf.h"

/*
 * Make the next data page current, reading dictionaries on the way. With *skip > 0, skips
 * whole data pages of at most *skip rows and reduces *skip; if that skips all rows,
 * l->left is 0.
 */
MUST_CHECK int page_next(struct leaf *l, uint64_t *skip, struct error *err);

#endif
