/* view.c - parses and applies views (cache/view.h). */
#include "cache/view.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/select.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_CONDITIONS = 64 }; /* each is evaluated for every row */

struct reading {
	struct view *view;
	const struct field *fields;
	size_t n;
};

static int read_columns(struct reading *r, const cJSON *list, struct error *err)
{
	const cJSON *node;

	if (!cJSON_IsArray(list))
		return error_set(err, ERR_INVALID, "columns: want a list of names");
	free(r->view->columns);
	r->view->columns = xcalloc(r->n + 1, sizeof(*r->view->columns));
	if ((size_t)cJSON_GetArraySize(list) > r->n)
		return error_set(err, ERR_INVALID,
				 "columns: more names than the table has columns");
	json_each(node, list) {
		const char *name = cJSON_GetStringValue(node);
		size_t i = 0;

		if (!name)
			return error_set(err, ERR_INVALID,
					 "columns: want a list of names");
		while (i < r->n && !str_eq(r->fields[i].name, name))
			i++;
		if (i == r->n)
			return error_set(err, ERR_INVALID, "columns: no column '%.100s'",
					 name);
		r->view->columns[i] = true;
	}
	return 0;
}

static int read_filter(struct reading *r, const cJSON *node, struct error *err)
{
	cleanup_free char *text = json_text(node);

	predicate_free(STEAL(r->view->filter));
	if (predicate_parse(&r->view->filter, text, strlen(text), r->fields, r->n, err)) {
		err->kind = ERR_INVALID;
		return error_wrap(err, "filter");
	}
	if (predicate_conditions(r->view->filter) > MAX_CONDITIONS)
		return error_set(err, ERR_INVALID, "filter: more than %d conditions",
				 MAX_CONDITIONS);
	return 0;
}

static int read_batch_rows(struct reading *r, const cJSON *node, struct error *err)
{
	if (json_int_of(node, &r->view->batch_rows) && r->view->batch_rows > 0)
		return 0;
	return error_set(err, ERR_INVALID, "batchRows: want a whole number, 1 or more");
}

static const struct {
	const char *key;
	int (*read)(struct reading *r, const cJSON *node, struct error *err);
} keys[] = {
	{ "columns", read_columns },
	{ "filter", read_filter },
	{ "batchRows", read_batch_rows },
};
enum { N_KEYS = N_ELEMENTS(keys) };

bool view_has_key(const char *key)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (str_eq(keys[i].key, key))
			return true;
	return false;
}

static int read_key(struct reading *r, const cJSON *node, struct error *err)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (str_eq(keys[i].key, node->string))
			return keys[i].read(r, node, err);
	return error_set(err, ERR_INVALID, "unknown key '%.100s'",
			 node->string ? node->string : "");
}

int view_read(struct view **ret, const cJSON *doc, const struct field *fields, size_t n,
	      struct error *err)
{
	struct reading r = { xcalloc(1, sizeof(*r.view)), fields, n };
	const cJSON *node;

	json_each(node, doc)
		if (read_key(&r, node, err)) {
			view_free(r.view);
			return -1;
		}
	*ret = r.view;
	return 0;
}

int view_parse(struct view **ret, const void *text, size_t len,
	       const struct field *fields, size_t n, struct error *err)
{
	cleanup_json cJSON *doc = NULL;

	if (len && json_parse(&doc, text, len, err))
		return -1;
	return view_read(ret, doc, fields, n, err);
}

void view_free(struct view *v)
{
	if (!v)
		return;
	free(v->columns);
	predicate_free(v->filter);
	free(v);
}

struct field *view_fields(const struct view *v, const struct field *fields, size_t n,
			  size_t *ret_n)
{
	struct field *list = xcalloc(n + 1, sizeof(*list));

	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		if (!v->columns || v->columns[i])
			list[(*ret_n)++] = fields[i];
	return list;
}

static int filter_rows(const struct view *v, struct batch *b, struct error *err)
{
	struct budget budget = { .limit = SIZE_MAX / 2 };
	size_t size = bits_bytes((uint64_t)b->n);
	cleanup_free uint8_t *keep = xcalloc(size + BLOCK_SLACK, 1);

	bits_fill(keep, 0, true, (uint64_t)b->n);
	for (size_t i = 0; i < predicate_conditions(v->filter); i++)
		predicate_rows(v->filter, i, &b->columns[predicate_column(v->filter, i)],
			       keep);
	return batch_select(b, keep, &budget, err);
}

/* Move invisible columns to the end, where batch_release() still frees them. */
int view_apply(const struct view *v, struct batch *b, struct error *err)
{
	size_t kept = 0;

	if (v->filter && b->n && filter_rows(v, b, err))
		return -1;
	for (size_t i = 0; i < b->n_columns && v->columns; i++) {
		struct array a = b->columns[i];

		if (!v->columns[i])
			continue;
		b->columns[i] = b->columns[kept];
		b->columns[kept++] = a;
	}
	return 0;
}
