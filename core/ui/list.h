/*
 * list.h - the list of jobs: what `get` prints, filtered by the URL.
 */
#ifndef UI_LIST_H
#define UI_LIST_H

#include "base/arena.h"
#include "base/buf.h"
#include "kube/kube.h"
#include "ui/board.h"

enum { LIST_ROWS = 2000 }; /* shown of one list */

/* Members are NULL where the URL says nothing. */
struct list_filter {
	const char *state; /* "Running", as the column STATE */
	const char *text;  /* in any column, in any case */
	const char *label; /* a label selector, "team=a" */
};

/* "state=Running&q=bert&label=team%3Da". Strings are in the arena. */
struct list_filter list_filter_read(struct arena *arena, const char *query);

/*
 * The page; ns NULL: of all namespaces. Its rows are the board's or, with a label selector,
 * the API server's. An invalid selector is an error on the page.
 */
MUST_CHECK int list_page(struct buf *out, struct kube *k, struct board *b, const char *ns,
			 const struct list_filter *filter, struct error *err);

#endif
