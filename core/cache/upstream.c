/* upstream.c - upstream's workers, with only DoPut and DoGet (cache/fleet_impl.h). */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/fleet_impl.h"
#include "cache/flight.h"
#include "cache/index.h"
#include "cache/ticket.h"
#include "net/grpc_client.h"

enum { CALL_MS = 10 * 1000, MAX_MESSAGE = 64 * 1024 * 1024 };

static int count(void *ctx, const void *data, size_t len, struct error *err)
{
	int *n = ctx;

	++*n;
	return 0;
}

/*
 * Read one row by DoGet. *ret_n: the number of messages: 1, the schema, or 2 if the
 * worker has the row.
 */
static int read_row(struct remote *r, int64_t at, int *ret_n, struct error *err)
{
	const struct rows row = { at, at + 1 };
	cleanup_buf struct buf message = { .max = 64 };
	uint8_t ticket[TICKET_MAX];
	struct grpc_request req = {
		.origin = r->origin,
		.path = FLIGHT "DoGet",
		.timeout_ms = CALL_MS,
		.on_message = count,
		.ctx = ret_n,
		.max_message = MAX_MESSAGE,
	};

	*ret_n = 0;
	pb_put_bytes(&message, 1, ticket, ticket_write(ticket, row));
	req.message = message.data;
	req.len = message.len;
	return grpc_request(r->http, &req, err);
}

/* The files of the worker's rows, which are whole files. */
static char **files_of(const struct remote *r, size_t *ret_n, struct arena *arena)
{
	const struct table *t = r->fleet->table;
	char **list = arena_alloc(arena, (table_units(t) + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < table_units(t); i++) {
		struct table_unit u = table_unit(t, i);

		if (u.rows.first >= r->polled_rows.first &&
		    u.rows.end <= r->polled_rows.end &&
		    (!n || !str_eq(list[n - 1], u.file)))
			list[n++] = arena_strdup(arena, u.file);
	}
	*ret_n = n;
	return list;
}

/* Assign files by DoPut, which upstream answers only once the rows are loaded. */
static int assign_files(struct remote *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };
	int answers = 0;
	struct grpc_request req = {
		.origin = r->origin,
		.path = FLIGHT "DoPut",
		.framed = true,
		.on_message = count,
		.ctx = &answers,
	};
	size_t n;
	char **files = files_of(r, &n, &arena);

	log_info("assigning files to upstream's worker", LOG_STR("worker", r->origin),
		 LOG_INT("first", r->polled_rows.first), LOG_INT("files", (int64_t)n));
	index_write(&message, (uint64_t)(r - r->fleet->remotes), r->polled_rows, files,
		    n);
	req.message = message.data;
	req.len = message.len;
	return grpc_request(r->http, &req, err);
}

static int has_rows(struct remote *r, bool *ret, struct error *err)
{
	int first, last;

	*ret = false;
	if (read_row(r, r->polled_rows.first, &first, err) ||
	    read_row(r, r->polled_rows.end - 1, &last, err))
		return -1;
	*ret = first > 1 && last > 1;
	return 0;
}

bool upstream_is(struct remote *r)
{
	struct error err = { 0 };
	int n;

	if (!read_row(r, r->polled_rows.first, &n, &err))
		return true;
	return err.code != 0 && err.kind != ERR_BUSY;
}

/* Record that the worker does not answer: another, perhaps ours, may replace it. */
static bool record_away(struct remote *r)
{
	pthread_mutex_lock(&r->fleet->lock);
	r->upstream = false;
	pthread_mutex_unlock(&r->fleet->lock);
	r->unanswered_ms = r->unanswered_ms ? r->unanswered_ms : clock_ms();
	return false;
}

/* Assign the rows. 0: the rows are loaded. Failures are retried after a pause. */
static int assign_rows(struct remote *r, bool *has, struct error *err)
{
	bool failed;

	if (r->failed_ms && clock_ms() - r->failed_ms < FAILED_MS)
		return error_set(err, ERR_BUSY, "%.900s", r->trouble);
	pthread_mutex_lock(&r->fleet->lock);
	r->ready = false;
	snprintf(r->trouble, sizeof(r->trouble), "loading its files");
	pthread_mutex_unlock(&r->fleet->lock);
	failed = assign_files(r, err) || has_rows(r, has, err);
	r->failed_ms = clock_ms();
	if (failed)
		return -1;
	return *has ? 0 : error_set(err, ERR_FORMAT, "it has not loaded its files");
}

bool upstream_poll(struct remote *r, char trouble[FLEET_TEXT])
{
	struct error err = { 0 };
	bool has;

	trouble[0] = 0;
	if (r->polled_rows.first == r->polled_rows.end)
		return true; /* upstream's worker remains without a table */
	if (has_rows(r, &has, &err) && !err.code) {
		snprintf(trouble, FLEET_TEXT, "%s", err.msg);
		return record_away(r);
	}
	r->unanswered_ms = 0;
	if (!has && assign_rows(r, &has, &err))
		snprintf(trouble, FLEET_TEXT, "%s", err.msg);
	r->failed_ms = has ? 0 : r->failed_ms;
	return has;
}
