/*
 * view.h - what a reader wants of the rows, beside which: columns, conditions, and how
 * many rows a batch has at most.
 *
 *     {"columns": ["id", "text"], "filter": [["age", ">=", 18]], "batchRows": 1000}
 *
 * Columns come in the table's order. It is a part of the head's command and goes on to
 * the workers in the ticket. Immutable.
 */
#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H

#include "arrow/ipc.h"
#include "arrow/predicate.h"
#include "base/json.h"

struct view {
	bool *columns;            /* of the table's; NULL: all */
	struct predicate *filter; /* NULL: all rows */
	int64_t batch_rows;       /* 0: as they are kept */
	enum ipc_codec codec;     /* not of the JSON: each call says it */
};

/* One of the keys above? */
bool view_has_key(const char *key);

/* `doc` has these keys alone; NULL, no text: all as it is. ERR_INVALID. */
MUST_CHECK int view_read(struct view **ret, const cJSON *doc, const struct field *fields,
			 size_t n, struct error *err);
MUST_CHECK int view_parse(struct view **ret, const void *text, size_t len,
			  const struct field *fields, size_t n, struct error *err);
void view_free(struct view *v); /* NULL is fine */

/* The fields that are seen: free() the list, not what they hold. */
struct field *view_fields(const struct view *v, const struct field *fields, size_t n,
			  size_t *ret_n);

/* Leaves in a batch of all columns what is wanted of it. */
MUST_CHECK int view_apply(const struct view *v, struct batch *b, struct error *err);

#endif
