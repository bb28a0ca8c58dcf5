/* plan.c - computes the rows that a descriptor requests (cache/plan.h). */
#include "cache/plan.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum equal { EQUAL_NO, EQUAL_DROP, EQUAL_PAD };

struct command {
	int64_t rank, world, start;
	enum equal equal;
	char *snapshot; /* NULL: any */
	cJSON *view;    /* keys of view.h; NULL: none */
};

/* ---- a path ------------------------------------------------------------------------ */

/* A decimal number as Rust's usize reads one. */
static bool take_number(struct iovec text, int64_t *ret)
{
	const char *at = text.iov_base;
	size_t n = text.iov_len;
	uint64_t v = 0;

	if (n && *at == '+') {
		at++;
		n--;
	}
	if (!n)
		return false;
	for (; n; n--, at++)
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return false;
	*ret = v > INT64_MAX ? INT64_MAX : (int64_t)v;
	return true;
}

/* Messages and the order of checks are upstream's. */
static int read_path(struct command *c, const struct descriptor *d, struct error *err)
{
	if (!d->n_path)
		return error_set(err, ERR_INVALID, "Missing local_rank in path");
	if (d->n_path < 2)
		return error_set(err, ERR_INVALID, "Missing total in path");
	if (!take_number(d->path[1], &c->world))
		return error_set(err, ERR_INVALID, "Invalid total value");
	if (!take_number(d->path[0], &c->rank))
		return error_set(err, ERR_INVALID, "Invalid local_rank value");
	return 0;
}

/* ---- a command --------------------------------------------------------------------- */

static int read_count(int64_t *ret, const cJSON *node, struct error *err)
{
	if (json_int_of(node, ret) && *ret >= 0)
		return 0;
	return error_set(err, ERR_INVALID, "command: %s: want a whole number, 0 or more",
			 node->string);
}

static int read_equal(enum equal *ret, const cJSON *node, struct error *err)
{
	const char *word = cJSON_GetStringValue(node);

	if (!word || (!str_eq(word, "drop") && !str_eq(word, "pad")))
		return error_set(err, ERR_INVALID,
				 "command: equal: want \"drop\" or \"pad\"");
	*ret = str_eq(word, "drop") ? EQUAL_DROP : EQUAL_PAD;
	return 0;
}

static int read_snapshot(struct command *c, const cJSON *node, struct error *err)
{
	char text[JSON_MAX_NUMBER + 1];
	const char *name = cJSON_GetStringValue(node);

	if (!name && !cJSON_IsNumber(node))
		return error_set(
			err, ERR_INVALID,
			"command: snapshot: want an ID, or the name of a branch or tag");
	c->snapshot = xstrdup(name ? name : json_number_text(node, text));
	return 0;
}

static int read_member(struct command *c, const cJSON *node, struct error *err)
{
	if (str_eq(node->string, "rank"))
		return read_count(&c->rank, node, err);
	if (str_eq(node->string, "world"))
		return read_count(&c->world, node, err);
	if (str_eq(node->string, "start"))
		return read_count(&c->start, node, err);
	if (str_eq(node->string, "equal"))
		return read_equal(&c->equal, node, err);
	if (str_eq(node->string, "snapshot"))
		return read_snapshot(c, node, err);
	if (view_has_key(node->string)) {
		if (!c->view)
			c->view = cJSON_CreateObject();
		json_put(c->view, json_dup(node), node->string);
		return 0;
	}
	return error_set(err, ERR_INVALID,
			 "command: unknown key '%.100s': want rank, world, start, "
			 "equal, snapshot, columns, filter or batchRows",
			 node->string);
}

static int read_command(struct command *c, struct iovec text, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	const cJSON *node;

	c->world = 1;
	if (json_parse(&doc, text.iov_base, text.iov_len, err)) {
		err->kind = ERR_INVALID;
		return error_wrap(err, "command: not JSON");
	}
	if (!cJSON_IsObject(doc))
		return error_set(err, ERR_INVALID, "command: want an object");
	json_each(node, doc)
		if (read_member(c, node, err))
			return -1;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------- */

static void add_part(struct plan *p, int64_t first, int64_t end)
{
	if (first < end)
		p->parts[p->n++] = (struct rows){ first, end };
}

static struct plan make(const struct command *c, int64_t n)
{
	int64_t each = n / c->world + (c->equal == EQUAL_PAD && n % c->world > 0);
	struct rows r = table_shard(n, c->rank, c->world);
	struct plan p = { 0 };
	int64_t left;

	if (c->equal != EQUAL_NO && n) {
		r.first = (int64_t)((__int128)c->rank * each % n);
		r.end = r.first + each;
	}
	left = r.end - r.first - c->start;
	if (left > 0) {
		r.first = (r.first + c->start) % n;
		r.end = r.first + left;
		add_part(&p, r.first, r.end < n ? r.end : n);
		add_part(&p, 0, r.end - n);
	}
	if (!p.n)
		p.n = 1;
	return p;
}

static int plan(struct plan *ret, const struct command *c, const struct table *t,
		struct error *err)
{
	const struct field *fields;
	size_t n;

	if (c->rank >= c->world)
		return error_set(err, ERR_LIMIT, "Invalid partition range");
	if (c->snapshot && !table_is_snapshot(t, c->snapshot))
		return error_set(err, ERR_INVALID,
				 "command: snapshot: the cache has not loaded '%.100s'",
				 c->snapshot);
	*ret = make(c, table_rows(t));
	if (!c->view)
		return 0;
	fields = table_columns(t, &n);
	if (view_read(&ret->view, c->view, fields, n, err))
		return error_wrap(err, "command");
	ret->view_text = json_text(c->view);
	return 0;
}

int plan_read(struct plan *ret, const struct descriptor *d, const struct table *t,
	      struct error *err)
{
	struct command c = { 0 };
	int rc =
		d->is_command ? read_command(&c, d->command, err) : read_path(&c, d, err);

	*ret = (struct plan){ 0 };
	if (!rc)
		rc = plan(ret, &c, t, err);
	free(c.snapshot);
	cJSON_Delete(c.view);
	return rc;
}

void plan_release(struct plan *p)
{
	view_free(p->view);
	free(p->view_text);
}

int64_t plan_rows(const struct plan *p)
{
	int64_t n = 0;

	if (p->view && p->view->filter)
		return -1;
	for (size_t i = 0; i < p->n; i++)
		n += p->parts[i].end - p->parts[i].first;
	return n;
}
