/* A worker's assignments and loads, step by step, without its thread. */
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/holdings_impl.h"
#include "cache/memtable_impl.h"
#include "tests/unit/unit.h"

static const struct cache_conf conf;
static const struct error none;

static struct memtable *loaded(struct rows rows)
{
	struct memtable *m = xcalloc(1, sizeof(*m));

	m->refs = 1;
	m->rows = rows;
	return m;
}

static void assign(struct holdings *h, const struct rows *rows, size_t n)
{
	const struct assignment a = { .rows = rows, .n = n, .total = 100 };

	holdings_assign(h, &a);
}

/* Load all; rows from `bad` on fail. Returns how many were loaded. */
static int load(struct holdings *h, int64_t bad)
{
	struct error err = { 0 };
	int n = 0;

	error_set(&err, ERR_IO, "no storage");
	holdings_next(h);
	for (struct holding *it = holdings_begin(h, NULL); it; it = holdings_begin(h, it))
		if (it->rows.first < bad)
			holdings_end(h, it, loaded(it->rows), (n++, &none));
		else
			holdings_end(h, it, NULL, &err);
	return n;
}

static enum error_kind reads(struct holdings *h, int64_t first, int64_t end)
{
	struct error err = { 0 };
	void *reading;

	if (holdings_read(h, &(struct ticket){ .rows = { first, end } }, IPC_PLAIN,
			  &reading, &err))
		return err.kind;
	memtable_read_release(reading);
	return 0;
}

TEST(test_own_and_loans)
{
	static const struct rows own = { 10, 20 }, both[] = { { 10, 20 }, { 40, 50 } };
	struct holdings *h = holdings_new(&conf);

	assert_int_equal(reads(h, 10, 20), ERR_BUSY);
	assign(h, &own, 1);
	assert_false(holdings_ready(h));
	assert_int_equal(load(h, 100), 1);
	assert_false(holdings_ready(h)); /* the head does not know */
	holdings_report(h);
	assert_true(holdings_ready(h));
	assert_int_equal(reads(h, 10, 20), 0);
	assert_int_equal(reads(h, 12, 15), 0);
	assert_int_equal(reads(h, 0, 0), 0);
	assert_int_equal(reads(h, 9, 11), ERR_BUSY);
	assert_int_equal(reads(h, 19, 21), ERR_BUSY);
	assign(h, both, 2);
	assert_int_equal(reads(h, 10, 20), 0); /* remain readable */
	assert_int_equal(load(h, 100), 1);
	assert_int_equal(reads(h, 10, 20), 0);
	assert_int_equal(reads(h, 45, 50), 0);
	assign(h, &own, 1);
	assert_int_equal(load(h, 100), 0);
	assert_int_equal(reads(h, 45, 50), ERR_BUSY);
	holdings_free(h);
}

/* Rows that failed are loaded again when they are assigned again. */
TEST(test_failed)
{
	static const struct rows both[] = { { 10, 20 }, { 40, 50 } };
	struct holdings *h = holdings_new(&conf);

	assign(h, both, 2);
	assert_int_equal(load(h, 0), 0);
	assert_int_equal(reads(h, 10, 20), ERR_BUSY);
	assign(h, both, 2);
	assert_int_equal(load(h, 40), 1);
	assert_int_equal(reads(h, 10, 20), 0);
	assert_int_equal(reads(h, 40, 50), ERR_BUSY);
	assign(h, both, 2);
	assert_int_equal(load(h, 100), 1);
	assert_int_equal(reads(h, 40, 50), 0);
	holdings_free(h);
}

/* A ticket that names its table gets no rows of another one with as many rows. */
TEST(test_other_table)
{
	static const struct rows own = { 10, 20 };
	static char names[2][TABLE_NAME + 1] = { "0123456789abcdef", "fedcba9876543210" };
	struct assignment a = { .rows = &own, .n = 1, .total = 100, .table = names[0] };
	struct ticket t = { own, { 0 }, { names[0], TABLE_NAME } };
	struct holdings *h = holdings_new(&conf);
	struct error err = { 0 };
	void *reading;

	for (int i = 0; i < 2; i++) {
		a.table = names[i];
		holdings_assign(h, &a);
		assert_int_equal(load(h, 100), 1);
		assert_int_equal(reads(h, 10, 20), 0);
		assert_int_equal(holdings_read(h, &t, IPC_PLAIN, &reading, &err), -i);
		if (!i)
			memtable_read_release(reading);
	}
	assert_int_equal(err.kind, ERR_BUSY);
	assert_true(strstr(err.msg, "another table"));
	holdings_free(h);
}

/* A new assignment ends the load, and rows of another table are not kept. */
TEST(test_replaced)
{
	static const struct rows own = { 10, 20 }, other = { 10, 30 };
	const struct assignment grown = { .rows = &other, .n = 1, .total = 101 };
	struct holdings *h = holdings_new(&conf);
	struct error stopped = { 0 };
	struct holding *it;

	error_set(&stopped, ERR_STOPPED, "stopped");
	assign(h, &own, 1);
	holdings_next(h);
	it = holdings_begin(h, NULL);
	assign(h, &own, 1);
	assert_false(h->cancel);
	assign(h, &other, 1);
	assert_true(h->cancel);
	holdings_end(h, it, NULL, &stopped);
	assert_int_equal(it->state, CACHE_LOADING);
	assert_string_equal(it->error, "");
	assert_null(holdings_begin(h, NULL));
	assert_int_equal(load(h, 100), 1);
	assert_int_equal(reads(h, 10, 30), 0);
	holdings_assign(h, &grown);
	assert_int_equal(load(h, 100), 1);
	assert_int_equal(reads(h, 10, 30), 0);
	holdings_free(h);
}

/* An assignment that waits when the worker stops is not loaded. */
TEST(test_stopped)
{
	static const struct rows own = { 10, 20 };
	struct holdings *h = holdings_new(&conf);

	assign(h, &own, 1);
	holdings_stop(h);
	assert_int_equal(load(h, 100), 0);
	holdings_free(h);
}

RUN_TESTS(NULL, NULL)
