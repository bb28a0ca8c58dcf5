/*
 * view.h - a reader's view of rows: columns, a filter, and the maximum of rows in a
 * batch.
 *
 *     {"columns": ["id", "text"], "filter": [["age", ">=", 18]], "batchRows": 1000}
 *
 * Columns are in the table's order. The head copies the view from the command to the
 * ticket, which clients send to the workers. Immutable.
 */
#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H

#include "arrow/ipc.h"
#include "arrow/predicate.h"
#include "base/json.h"

struct view {
	bool *columns;            /* of the table's; NULL: all */
	struct predicate *filter; /* NULL: all rows */
	int64_t batch_rows;       /* 0: as stored */
	enum ipc_codec codec;     /* not in the JSON: set for each call */
};

/* Is `key` one of the keys above? */
bool view_has_key(const char *key);

/*
 * Read a view that has only the keys above. NULL or an empty text: all columns and rows.
 * ERR_INVALID.
 */
MUST_CHECK int view_read(struct view **ret, const cJSON *doc, const struct field *fields,
			 size_t n, struct error *err);
MUST_CHECK int view_parse(struct view **ret, const void *text, size_t len,
			  const struct field *fields, size_t n, struct error *err);
void view_free(struct view *v); /* NULL is fine */

/* The visible fields: free() the list, not its elements' contents. */
struct field *view_fields(const struct view *v, const struct field *fields, size_t n,
			  size_t *ret_n);

/* Reduce a batch of all columns to the view's columns and rows. */
MUST_CHECK int view_apply(const struct view *v, struct batch *b, struct error *err);

#endif
