/*
 * A descriptor of any bytes: the plan has rows of the table only, and a view that it
 * accepts is accepted again by a worker, from the ticket.
 */
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "cache/flight.h"
#include "cache/plan.h"
#include "cache/table_impl.h"
#include "cache/ticket.h"
#include "tests/fuzz/fuzz.h"

enum { ROWS = 1000, COLUMNS = 4 };

#define COLUMN(name_, ...)                                                        \
	{                                                                         \
		.name = (char *)(uintptr_t)(name_), .nullable = true, __VA_ARGS__ \
	}

static struct field columns[COLUMNS] = {
	COLUMN("b", .kind = ARROW_BOOL),
	COLUMN("i", .kind = ARROW_INT64, .width = 8),
	COLUMN("d", .kind = ARROW_DOUBLE, .width = 8),
	COLUMN("s", .kind = ARROW_STRING),
};

/* The ticket that the head makes of it, as a worker reads it. */
static void check_ticket(const struct plan *p, struct rows rows)
{
	const struct flight_location at = { FLIGHT_PLAIN, "::1", 1 };
	cleanup_buf struct buf info = { .max = 1 << 20 };
	static char table[] = "0123456789abcdef";
	const char *wanted = p->view_text;
	const struct ticket what = { rows,
				     { p->view_text, wanted ? strlen(wanted) : 0 },
				     { table, TABLE_NAME } };
	struct iovec endpoint, inner, ticket;
	struct view *view = NULL;
	struct error err = { 0 };
	struct ticket back;

	flight_endpoint(&info, at, &what);
	FUZZ_CHECK(!pb_bytes(&endpoint, (struct iovec){ info.data, info.len }, 3, &err));
	FUZZ_CHECK(!pb_bytes(&inner, endpoint, 1, &err));
	FUZZ_CHECK(!flight_ticket(&ticket, inner, &err));
	FUZZ_CHECK(!ticket_read(&back, ticket, &err));
	FUZZ_CHECK(back.rows.end - back.rows.first == rows.end - rows.first);
	FUZZ_CHECK(rows.first == rows.end || back.rows.first == rows.first);
	FUZZ_CHECK(!wanted == !back.view.iov_len);
	FUZZ_CHECK(back.table.iov_len == TABLE_NAME &&
		   !memcmp(back.table.iov_base, table, TABLE_NAME));
	FUZZ_CHECK(!view_parse(&view, back.view.iov_base, back.view.iov_len, columns,
			       COLUMNS, &err));
	FUZZ_CHECK(!p->view || view->batch_rows == p->view->batch_rows);
	view_free(view);
}

static void check_plan(const struct plan *p)
{
	FUZZ_CHECK(p->n >= 1 && p->n <= PLAN_PARTS);
	FUZZ_CHECK(plan_rows(p) >= -1 && plan_rows(p) <= ROWS);
	for (size_t i = 0; i < p->n; i++) {
		const struct rows r = p->parts[i];

		FUZZ_CHECK(r.first >= 0 && r.first <= r.end && r.end <= ROWS);
		check_ticket(p, r);
	}
}

static void check(const struct descriptor *d)
{
	const struct table t = { .columns = columns, .n_columns = COLUMNS, .rows = ROWS };
	struct plan p = { 0 };
	struct error err = { 0 };

	if (plan_read(&p, d, &t, &err))
		FUZZ_CHECK(err.kind == ERR_INVALID || err.kind == ERR_LIMIT);
	else
		check_plan(&p);
	plan_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iovec all = { (void *)(uintptr_t)data, size };
	struct descriptor d;
	struct view *view = NULL;
	struct error err = { 0 };

	d = (struct descriptor){ .is_command = true, .command = all };
	check(&d);
	if (!descriptor_read(&d, all, &err))
		check(&d);
	if (!view_parse(&view, data, size, columns, COLUMNS, &err))
		FUZZ_CHECK(view->batch_rows >= 0);
	view_free(view);
	return 0;
}
