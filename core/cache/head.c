/* head.c - the head of the data cache (cache/serve.h). */
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/stop.h"
#include "base/str.h"
#include "cache/answers.h"
#include "cache/flight.h"
#include "cache/plan.h"

/* ---- methods ----------------------------------------------------------------------- */

enum { INFO_SCHEMA = 1, INFO_DESCRIPTOR, INFO_RECORDS = 4, INFO_BYTES, INFO_ORDERED };

static void add_info(const struct head *h, struct buf *info, struct iovec descriptor,
		     const struct plan *plan, const struct holders *who)
{
	cleanup_free struct field *seen = NULL;
	const struct field *fields;
	const char *view = plan->view_text, *table = fleet_table(h->fleet);
	size_t n;

	fields = table_columns(h->table, &n);
	if (plan->view)
		seen = view_fields(plan->view, fields, n, &n);
	flight_schema(info, INFO_SCHEMA, seen ? seen : fields, n, h->form);
	pb_put_bytes(info, INFO_DESCRIPTOR, descriptor.iov_base, descriptor.iov_len);
	for (size_t i = 0; i < who->n; i++)
		flight_endpoint(
			info,
			(struct flight_location){ h->scheme, who->at[i].address->host,
						  who->at[i].address->port },
			&(struct ticket){ who->at[i].rows,
					  { plan->view_text, view ? strlen(view) : 0 },
					  { (void *)(uintptr_t)table, TABLE_NAME } });
	pb_put_uint(info, INFO_RECORDS, (uint64_t)plan_rows(plan));
	pb_put_uint(info, INFO_BYTES, UINT64_MAX); /* -1: unknown */
	pb_put_uint(info, INFO_ORDERED, true);
}

static int plan_info(const struct head *h, struct iovec descriptor,
		     const struct plan *plan, struct buf *info, struct error *err)
{
	struct holders who = { 0 };
	int rc = 0;

	for (size_t i = 0; i < plan->n && !rc; i++)
		rc = fleet_find(h->fleet, plan->parts[i], &who, err);
	if (!rc)
		add_info(h, info, descriptor, plan, &who);
	holders_release(&who);
	return rc;
}

int head_info(const struct head *h, struct iovec message, struct buf *info,
	      struct error *err)
{
	struct descriptor d;
	struct plan plan = { 0 };
	int rc = descriptor_read(&d, message, err) || plan_read(&plan, &d, h->table, err)
			 ? -1
			 : plan_info(h, message, &plan, info, err);

	plan_release(&plan);
	return rc;
}

static void answer(struct grpc_call *c, const struct buf *info, int rc,
		   const struct error *err)
{
	if (rc)
		grpc_fail(c,
			  err->kind == ERR_BUSY    ? GRPC_UNAVAILABLE
			  : err->kind == ERR_LIMIT ? GRPC_OUT_OF_RANGE
						   : GRPC_INVALID_ARGUMENT,
			  "%s", err->msg);
	else
		grpc_send(c, info->data, info->len);
}

static void get_flight_info(void *ctx, struct grpc_call *c)
{
	cleanup_buf struct buf info = { .max = SIZE_MAX / 2 };
	struct error err = { 0 };
	struct iovec message;

	if (flight_message(c, &message))
		answer(c, &info, head_info(ctx, message, &info, &err), &err);
}

/* ListFlights returns one flight: all rows, as for a single rank. */
static void list_flights(void *ctx, struct grpc_call *c)
{
	cleanup_buf struct buf descriptor = { .max = 64 }, info = { .max = SIZE_MAX / 2 };
	struct error err = { 0 };

	descriptor_write(&descriptor, "0", "1");
	answer(c, &info,
	       head_info(ctx, (struct iovec){ descriptor.data, descriptor.len }, &info,
			 &err),
	       &err);
}

static void get_schema(void *ctx, struct grpc_call *c)
{
	struct head *h = ctx;
	cleanup_buf struct buf out = { .max = SIZE_MAX / 2 };
	const struct field *fields;
	size_t n;

	fields = table_columns(h->table, &n);
	flight_schema(&out, 1, fields, n, h->form);
	grpc_send(c, out.data, out.len);
}

static void do_action(void *ctx, struct grpc_call *c)
{
	const struct head *h = ctx;
	char type[FLIGHT_ACTION_MAX];
	struct error err = { 0 };
	struct iovec message, body;

	if (!flight_message(c, &message))
		return;
	if (flight_action(type, &body, message, &err)) {
		grpc_fail(c, GRPC_INVALID_ARGUMENT, "%s", err.msg);
	} else if (str_eq(type, ACTION_HEALTH) || str_eq(type, ACTION_STATS)) {
		cleanup_json cJSON *doc = fleet_describe(h->fleet);

		cache_reply_json(c, doc);
	} else {
		grpc_fail(c, GRPC_UNIMPLEMENTED, "action '%s' does not exist", type);
	}
}

static const struct grpc_method methods[] = {
	{ FLIGHT "GetFlightInfo", get_flight_info, 0, NULL },
	{ FLIGHT "GetSchema", get_schema, 0, NULL },
	{ FLIGHT "ListFlights", list_flights, 0, NULL },
	{ FLIGHT "DoAction", do_action, 0, NULL },
	{ NULL, NULL, 0, NULL },
};

static bool is_ready(void *ctx)
{
	const struct head *h = ctx;

	return fleet_ready(h->fleet);
}

static int serve(struct head *h, const struct cache_conf *conf, struct error *err)
{
	const struct cache_servers_conf servers = { conf, methods, is_ready, h };
	int rc;

	if (fleet_start(&h->fleet, conf, h->table, err))
		return -1;
	rc = cache_servers_run(&servers, err);
	if (rc)
		stop_request();
	fleet_stop(h->fleet);
	return rc;
}

int cache_head_run(const struct cache_conf *conf, struct error *err)
{
	cleanup_dataset struct dataset *dataset = NULL;
	struct head h = { .scheme = conf->tls_cert ? FLIGHT_TLS : FLIGHT_PLAIN };

	if (cache_open(&dataset, conf, conf->snapshot, NULL, err))
		return stop_requested() ? 0 : -1;
	h.table = dataset_table(dataset);
	h.form = dataset_form(dataset);
	return serve(&h, conf, err);
}
