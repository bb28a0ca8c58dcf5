/* page.h - the next page of a leaf; of leaf.c alone. */
#ifndef ARROW_PAGE_H
#define ARROW_PAGE_H

#include "arrow/leaf.h"

/*
 * Makes the next data page current, after dictionaries on the way. With *skip > 0, data
 * pages of no more rows than that are passed over, and *skip is less: l->left is 0 then,
 * if the rows were all skipped.
 */
MUST_CHECK int page_next(struct leaf *l, uint64_t *skip, struct error *err);

#endif
