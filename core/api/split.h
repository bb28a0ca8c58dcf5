/*
 * split.h - the text of a list, as it arrives, into its objects and what is around
 * them: a list is never in memory as a whole.
 *
 * The objects are the elements of the array that is the list's member "items"; what
 * is around them is the list with those left out. Nothing is checked here: each
 * object and the rest are for json_parse(). What is no list comes out as some text
 * that does not parse, or has no objects.
 */
#ifndef API_SPLIT_H
#define API_SPLIT_H

#include <stdbool.h>

#include "base/buf.h"

struct split {
	struct buf item, around; /* set their max; release them at the end */
	/* an object is whole, and may be written into; -1 with err to end it all */
	int (*on_item)(void *ctx, char *text, size_t len, struct error *err);
	void *ctx;
	/* where we are */
	int depth;
	bool in_string, escaped;
	bool in_items; /* within that array */
	char key[8];   /* the last string at depth 1, if it is a short one */
	size_t key_len;
};

MUST_CHECK int split_feed(struct split *s, const void *data, size_t len,
			  struct error *err);
void split_reset(struct split *s); /* for another list; keeps the memory */

#endif
