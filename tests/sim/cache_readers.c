/* cache_readers.c - readers, who count each row, and go on where an error ended them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/flight.h"
#include "tests/sim/cache.h"

enum { STAY_MS = 10 * 1000, AGAIN_MS = 3000, READY_MS = 2000 };

static void on_step(void *ctx);

/* Row k of a reader, by plan.h and nothing of the program. */
static int64_t row_at(const struct consumer *o, int64_t k)
{
	int64_t n = o->lake->table.rows, each = n / o->world, more = n % o->world;

	if (!o->equal)
		return o->lake->base + o->rank * each +
		       (o->rank < more ? o->rank : more) + k;
	each += str_eq(o->equal, "pad") && more;
	return o->lake->base + (o->rank * each + k) % n;
}

static int64_t rows_of(const struct consumer *o)
{
	int64_t n = o->lake->table.rows, each = n / o->world, more = n % o->world;

	if (!o->equal)
		return each + (o->rank < more);
	return each + (str_eq(o->equal, "pad") && more);
}

/* Those that pass the filter, before row k. */
static int64_t passed(const struct consumer *o, int64_t k)
{
	int64_t n = 0;

	for (int64_t i = 0; i < k; i++)
		n += row_at(o, i) >= o->floor;
	return n;
}

static int64_t wanted_row(const struct consumer *o, int64_t k)
{
	int64_t i = 0;

	while (passed(o, i + 1) <= k)
		i++;
	return row_at(o, i);
}

static int on_schema(void *ctx, const struct field *fields, size_t n, struct error *err)
{
	struct consumer *o = ctx;

	if (n != 1 || !str_eq(fields[0].name, "row"))
		sim_broken(o->c->sim, "reader %d: another schema", o->i);
	return 0;
}

static int on_batch(void *ctx, const struct batch *b, struct error *err)
{
	struct consumer *o = ctx;

	for (int64_t i = 0; i < b->n; i++) {
		int64_t row;

		memcpy(&row, b->columns[0].values.data + 8 * i, sizeof(row));
		if (o->got == o->want)
			sim_broken(o->c->sim, "reader %d: row %lld after the last", o->i,
				   (long long)row);
		else if (row != wanted_row(o, o->got))
			sim_broken(o->c->sim, "reader %d: row %lld instead of %lld", o->i,
				   (long long)row, (long long)wanted_row(o, o->got));
		if (o->got < o->want)
			o->got++;
	}
	return 0;
}

/* Where the next read begins: rows of the shard, before the filter. */
static void make_command(struct consumer *o)
{
	cleanup_buf struct buf text = { .max = sizeof(o->command) };

	if (o->floor || o->careless)
		o->got = 0;
	buf_printf(&text, "{\"rank\":%lld,\"world\":%lld,\"start\":%lld",
		   (long long)o->rank, (long long)o->world, (long long)o->got);
	if (o->equal)
		buf_printf(&text, ",\"equal\":\"%s\"", o->equal);
	if (o->floor)
		buf_printf(&text, ",\"filter\":[[\"row\",\">=\",%lld]],\"batchRows\":3",
			   (long long)o->floor);
	snprintf(o->command, sizeof(o->command), "%.*s}", (int)text.len, text.data);
	o->conf.command = o->careless && !o->equal && !o->floor ? NULL : o->command;
}

static void again(struct consumer *o, const char *why)
{
	sim_note(o->c->sim, "reader %d fails after %lld rows: %s", o->i,
		 (long long)o->got, why);
	client_end(STEAL(o->r));
	sim_after(o->c->sim, AGAIN_MS, on_step, o);
}

/* Loans stay: a FlightInfo is good for a while, unless a fault comes after it. */
static void check_refusal(struct consumer *o, const struct call *call,
			  const struct error *err)
{
	int64_t age = call->served_ms - o->informed_ms;

	if (!o->c->mirrors && strstr(err->msg, "are not all on this worker") &&
	    o->faults == o->c->faults && age < STAY_MS)
		sim_broken(o->c->sim, "reader %d: refused after %lld ms: %s", o->i,
			   (long long)age, err->msg);
}

/* Its FlightInfo is of this table; the rows before those it goes on with do not matter. */
static void begin_table(struct consumer *o, const struct lake *lake)
{
	o->lake = lake;
	o->want = passed(o, rows_of(o));
	o->got = o->got < o->want ? o->got : o->want;
}

static void on_call_end(void *ctx, int rc, const struct error *err)
{
	struct consumer *o = ctx;
	const struct call *call = STEAL(o->call);

	if (str_ends(call->path, "GetFlightInfo")) {
		o->informed_ms = call->served_ms;
		o->faults = call->faults;
		if (call->lake)
			begin_table(o, call->lake);
	} else if (rc) {
		check_refusal(o, call, err);
	}
	if (client_answered(o->r, rc)) {
		again(o, err->msg);
		return;
	}
	sim_after(o->c->sim, 1 + sim_dice(o->c->sim, sim_dice(o->c->sim, 4) ? 50 : 15000),
		  on_step, o);
}

static int on_call_message(void *ctx, const void *data, size_t len, struct error *err)
{
	struct consumer *o = ctx;

	return client_message(o->r, data, len, err);
}

static void finish(struct consumer *o)
{
	struct error err = { 0 };

	if (!o->careless && client_check(o->r, &err)) {
		again(o, err.msg);
		return;
	}
	if (o->got != o->want)
		sim_broken(o->c->sim,
			   "reader %d: %lld rows instead of %lld, and no error", o->i,
			   (long long)o->got, (long long)o->want);
	sim_note(o->c->sim, "reader %d has all of %lld rows", o->i, (long long)o->got);
	client_end(STEAL(o->r));
	o->done = true;
}

static int server_of(const char *uri)
{
	return uri[strlen(FLIGHT_PLAIN)] == 'w' ? uri[strlen(FLIGHT_PLAIN) + 1] - '0'
						: HEAD;
}

static void on_step(void *ctx)
{
	struct consumer *o = ctx;
	struct client_call next;

	if (o->c->over)
		return;
	if (!o->r) {
		make_command(o);
		o->r = client_begin(&o->conf);
	}
	if (!client_next(o->r, &next)) {
		finish(o);
		return;
	}
	o->call = call_new(o->c, server_of(next.uri), next.path,
			   &(struct iovec){ (void *)(uintptr_t)next.message, next.len });
	o->call->on_message = on_call_message;
	o->call->on_end = on_call_end;
	o->call->ctx = o;
	call_send(o->call);
}

void consumer_start(struct cache *c, int i)
{
	static const char *const equals[] = { NULL, NULL, "drop", "pad" };
	struct consumer *o = &c->consumers[i];
	int64_t n = c->lake->table.rows;

	*o = (struct consumer){ .c = c, .i = i, .lake = c->lake };
	o->world = 1 + sim_dice(c->sim, 3);
	o->rank = sim_dice(c->sim, o->world);
	o->equal = n ? equals[sim_dice(c->sim, 4)] : NULL;
	o->floor = !sim_dice(c->sim, 3) ? sim_dice(c->sim, n + 1) : 0;
	/* Upstream's workers send nothing for rows that they lack: count. */
	o->careless = !sim_dice(c->sim, 2) && c->theirs < 0;
	o->conf = (struct client_conf){ .head = FLIGHT_PLAIN "head:1",
					.rank = o->rank,
					.world = o->world,
					.on_schema = on_schema,
					.on_batch = on_batch,
					.ctx = o };
	sim_after(c->sim, sim_dice(c->sim, READY_MS * 10), on_step, o);
}
