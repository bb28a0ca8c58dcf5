/*
 * split.h - split the text of a list, as it arrives, into its items and the text around
 * them, so that a list is never in memory as a whole.
 *
 * The items are the elements of the array "items" of the list; the text around them is
 * the list without its items. Nothing is validated: the caller passes each item and the
 * rest to json_parse(). Text that is not a list results in no items, or in text that
 * does not parse.
 */
#ifndef API_SPLIT_H
#define API_SPLIT_H

#include <stdbool.h>

#include "base/buf.h"

struct split {
	struct buf item, around; /* set their max; release them at the end */
	/* Called with each complete item, which may be modified; -1 with err: stop. */
	int (*on_item)(void *ctx, char *text, size_t len, struct error *err);
	void *ctx;
	/* the state of the parser */
	int depth;
	bool in_string, escaped;
	bool in_items; /* within the array "items" */
	char key[8];   /* the last string at depth 1, if it is short */
	size_t key_len;
};

MUST_CHECK int split_feed(struct split *s, const void *data, size_t len,
			  struct error *err);
void split_reset(struct split *s); /* for another list; reuses the memory */

#endif
