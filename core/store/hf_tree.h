/*
 * hf_tree.h - the files of a repository, page by page.
 *
 * The response of GET /api/{models|datasets}/ID/tree/REVISION?recursive=True: a JSON list
 * of {"type": "file"|"directory", "path", "size", "oid": <git blob id>, "lfs": {"oid":
 * <sha256>, "size"}}. The header Link has the next page.
 */
#ifndef STORE_HF_TREE_H
#define STORE_HF_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "store/store.h"

enum { HF_PAGE_MAX = 16 * 1024 * 1024 };

/* The entries to list. */
struct hf_tree_want {
	const char *folder; /* files below it; "": all */
	const char *file;   /* or this one only; NULL: none in particular */
	bool (*wanted)(void *ctx, const char *name, bool named); /* NULL: all */
	void *ctx;
	struct hf_tree_walk *walk; /* over many pages; NULL: this is the only one */
};

/* The first entries of pages, to detect a list that never ends. */
struct hf_tree_walk {
	struct map firsts;
	int empty; /* pages in a row */
};
void hf_tree_walk_release(struct hf_tree_walk *w);

/* Add the files of a page to the listing. ERR_FORMAT: not a valid page. */
MUST_CHECK int hf_tree_page(struct store_listing *l, const void *data, size_t len,
			    const struct hf_tree_want *want, struct error *err);

/* Sort by name. ERR_FORMAT: a duplicate. */
MUST_CHECK int hf_tree_end(struct store_listing *l, struct error *err);

/* The URL of the page after this one, from a header Link (RFC 8288); NULL: none. */
const char *hf_tree_next(struct arena *arena, const char *link);

#endif
