/*
 * reading.c - sends rows of a memtable, as stored or through a view (cache/memtable.h).
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/select.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/memtable_impl.h"

enum { SKIP = 8 }; /* messages to filter without a result, before yielding */

struct reading {
	struct memtable *m;
	struct rows rows; /* rows still to send */
	size_t at;        /* index of the message with the first of them */
	bool begun;

	struct view *view; /* NULL: rows as stored */
	struct field *fields;
	size_t n_fields;
	uint8_t *body; /* a copy of a message's body, filtered in place */
	size_t body_len;
	struct batch batch; /* of it */
	int64_t next;       /* row of the batch */
};

/* The message that has the row. */
static size_t find(const struct memtable *m, int64_t row)
{
	size_t low = 0, high = m->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->messages[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void *memtable_read(struct memtable *m, struct rows rows, struct view *take_view)
{
	struct reading *r = xcalloc(1, sizeof(*r));

	r->m = memtable_ref(m);
	r->rows = rows_meet(rows, m->rows);
	if (r->rows.first < r->rows.end)
		r->at = find(m, r->rows.first);
	r->view = take_view;
	if (r->view)
		r->fields = view_fields(r->view, m->fields, m->n_fields, &r->n_fields);
	return r;
}

/* ---- messages made for a reader ---------------------------------------------------- */

static struct h2_piece make(const struct reading *r, const struct batch *b, int64_t first,
			    int64_t n)
{
	cleanup_ipc_plan struct ipc_plan p = { 0 };
	uint32_t unused;
	size_t head;
	uint8_t *to;

	ipc_plan(&p, b, first, n, r->m->form);
	if (r->view)
		ipc_pack(&p, r->view->codec);
	head = message_head(NULL, &p, &unused);
	to = xmalloc(head + p.body);
	message_head(to, &p, &unused);
	ipc_body(&p, to + head);
	return (struct h2_piece){ .data = to, .len = head + p.body, .take = to };
}

/* View a message as a batch. Cannot fail: the message is our own. */
static void view_message(const struct reading *r, const struct message *msg,
			 const uint8_t *body, struct batch *ret)
{
	const struct ipc_message from = { { msg->data + msg->metadata, msg->n_metadata },
					  { body, msg->len - msg->body } };
	struct error err = { 0 };

	if (ipc_view(ret, r->m->fields, r->m->n_fields, from, r->m->form, &err))
		abort();
}

static struct h2_piece cut(const struct reading *r, const struct message *msg,
			   struct rows rows)
{
	cleanup_ipc_view struct batch b = { 0 };

	view_message(r, msg, msg->data + msg->body, &b);
	return make(r, &b, rows.first - msg->first, rows.end - rows.first);
}

static struct h2_piece schema_of(const struct reading *r)
{
	struct buf out = { 0 };

	if (!r->view)
		return (struct h2_piece){ .data = r->m->schema.data,
					  .len = r->m->schema.len };
	memtable_schema(&out, r->fields, r->n_fields, r->m->form);
	return (struct h2_piece){ .data = out.data, .len = out.len, .take = out.data };
}

/* ---- views ------------------------------------------------------------------------- */

static void drop_batch(struct reading *r)
{
	ipc_view_release(&r->batch);
	free(STEAL(r->body));
	r->next = 0;
}

/* Deselect rows before and after the requested ones, too. */
static void keep_rows(struct batch *b, int64_t first, int64_t end)
{
	struct budget budget = { .limit = SIZE_MAX / 2 };
	cleanup_free uint8_t *keep = xcalloc(bits_bytes((uint64_t)b->n) + BLOCK_SLACK, 1);
	struct error err = { 0 };

	bits_fill(keep, (uint64_t)first, true, (uint64_t)(end - first));
	if (batch_select(b, keep, &budget, &err))
		abort();
}

/* Build the next message through the view, in at most 2 GiB of memory. */
static void take_batch(struct reading *r, const struct message *msg, struct rows some)
{
	size_t len = msg->len - msg->body;
	struct error err = { 0 };

	r->body_len = len;
	r->body = xmalloc(len + BLOCK_SLACK);
	memcpy(r->body, msg->data + msg->body, len);
	view_message(r, msg, r->body, &r->batch);
	if (some.end - some.first < r->batch.n)
		keep_rows(&r->batch, some.first - msg->first, some.end - msg->first);
	if (view_apply(r->view, &r->batch, &err))
		abort();
}

static struct h2_piece next_of_batch(struct reading *r)
{
	int64_t n = r->batch.n - r->next, most = r->view->batch_rows;
	struct batch seen = r->batch;
	struct h2_piece ret;

	if (most && n > most)
		n = most;
	seen.n_columns = r->n_fields;
	ret = make(r, &seen, r->next, n);
	r->next += n;
	if (r->next == r->batch.n)
		drop_batch(r);
	return ret;
}

/* ---- pieces ------------------------------------------------------------------------ */

/* The next message with requested rows; NULL: none. */
static const struct message *next_message(struct reading *r, struct rows *ret)
{
	const struct message *msg;

	if (r->rows.first >= r->rows.end)
		return NULL;
	msg = &r->m->messages[r->at++];
	*ret = rows_meet((struct rows){ msg->first, msg->first + msg->n }, r->rows);
	r->rows.first = ret->end;
	return msg;
}

static struct h2_piece next_wanted(struct reading *r)
{
	const struct message *msg;
	struct rows some;

	for (int i = 0; !r->body; i++) {
		msg = next_message(r, &some);
		if (!msg)
			return (struct h2_piece){ 0 };
		take_batch(r, msg, some);
		if (!r->batch.n && i < SKIP)
			drop_batch(r);
	}
	return next_of_batch(r);
}

static struct h2_piece next_kept(struct reading *r)
{
	struct rows some;
	const struct message *msg = next_message(r, &some);

	if (!msg)
		return (struct h2_piece){ 0 };
	if (some.end - some.first < msg->n)
		return cut(r, msg, some);
	return (struct h2_piece){ .data = msg->data, .len = msg->len };
}

void memtable_read_next(void *ctx, struct h2_piece *ret)
{
	struct reading *r = ctx;

	if (!r->begun)
		*ret = schema_of(r);
	else
		*ret = r->view ? next_wanted(r) : next_kept(r);
	r->begun = true;
	ret->held = (ret->take ? ret->len : 0) + (r->body ? r->body_len : 0);
}

void memtable_read_release(void *ctx)
{
	struct reading *r = ctx;

	drop_batch(r);
	view_free(r->view);
	free(r->fields);
	memtable_unref(r->m);
	free(r);
}
