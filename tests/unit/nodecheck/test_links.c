/* What rank 0 concludes from the answers of the other nodes, and what a node does that is asked. */
#include "nodecheck/nodecheck.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sock.h"
#include "tests/unit/base/base_test.h"

enum { N = 4, FAR = 24 * 3600 * 1000 };

#define GOOD "{\"rate\":900000000,\"rtt\":100,\"sent\":1000,\"lost\":0}"
#define SLOW "{\"rate\":1000000,\"rtt\":100,\"sent\":1000,\"lost\":0}"

/* A rank's answers to an order: this text so many times, and then good ones. */
struct answer {
	uint32_t rank;
	const char *todo;
	const char *text; /* NULL: it does not answer */
	int times;
};

/* Rank 0's port is taken, so that it is not measured itself; it measures the others, which answer at once. */
struct world {
	struct nodecheck c;
	struct nodecheck_peers p;
	const char *names[N];
	bool here[N];
	cJSON *last[N];
	struct answer special;
	int64_t clock_off;         /* rank 1's */
	const char *const *orders; /* for a world in which this is not rank 0 */
	struct buf rows, answers;
	int listener;
};

static void add_row(void *ctx, const struct nodecheck_row *row)
{
	struct world *w = ctx;

	if (strcmp(row->check, "ports") == 0 && row->device &&
	    strcmp(row->device, "n0") == 0)
		return;
	buf_printf(&w->rows, "%s%s %s: %s", row->bad ? "" : "good ", row->check,
		   row->device ? row->device : "all", row->message);
	if (row->unit)
		buf_printf(&w->rows, " %.1f %s", row->value, row->unit);
	buf_adds(&w->rows, "\n");
}

static int send_to(void *ctx, uint32_t rank, const cJSON *doc, struct error *err)
{
	struct world *w = ctx;

	(void)err;
	cJSON_Delete(w->last[rank]);
	w->last[rank] = cJSON_Duplicate(doc, true);
	if (w->orders) {
		json_print(&w->answers, doc);
		buf_adds(&w->answers, "\n");
	}
	return 0;
}

static int64_t unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int receive_from(void *ctx, uint32_t rank, cJSON **ret, struct error *err)
{
	struct world *w = ctx;
	const char *todo = json_str(w->last[rank], "do");
	bool special = !w->orders && w->special.rank == rank &&
		       strcmp(w->special.todo, todo) == 0 && w->special.times-- > 0;
	const char *text = w->orders ? *w->orders++ : special ? w->special.text : GOOD;

	if (!text)
		return error_set(err, ERR_IO, "gone");
	*ret = doc_of(text);
	if (!w->orders && strcmp(todo, "clock") == 0)
		json_put_int(*ret, unix_ms() + (rank == 1 ? w->clock_off : 0), "ms");
	return 0;
}

static void begin(struct world *w)
{
	struct error err = { 0 };

	*w = (struct world){ .names = { "n0", "n1", "n2", "n3" },
			     .here = { true, true, true, true },
			     .special.todo = "",
			     .rows.max = 1 << 16,
			     .answers.max = 1 << 16 };
	assert_int_equal(sock_listen(&w->listener, NULL, 0, &err), 0);
	w->c = (struct nodecheck){ add_row, w, clock_ms() + FAR };
	w->p = (struct nodecheck_peers){ .n = N,
					 .names = w->names,
					 .port = sock_port(w->listener),
					 .here = w->here,
					 .send = send_to,
					 .receive = receive_from,
					 .ctx = w };
}

static void end(struct world *w)
{
	for (int i = 0; i < N; i++)
		cJSON_Delete(w->last[i]);
	buf_release(&w->rows);
	buf_release(&w->answers);
	close(w->listener);
}

static const char *rows(struct world *w)
{
	nodecheck_links(&w->c, &w->p);
	return w->rows.len ? (const char *)w->rows.data : "";
}

#define CLOCKS   "good clocks all: alike on all nodes\n"
#define ALL_GOOD CLOCKS "good links all: the slowest of 3 links 900.0 MB/s\n"
#define WAY      "(expected 225.0), 0.1 ms to an answer (expected 5.0), "
#define CHECK    ": check the network between them\n"

TEST(test_verdicts)
{
	static const struct {
		struct answer a;
		const char *rows;
	} table[] = {
		{ { 0, "", "", 0 }, ALL_GOOD },
		{ { 2, "connect", SLOW, 1 }, ALL_GOOD }, /* other load, once */
		{ { 2, "connect", SLOW, 9 },
		  CLOCKS "links n1-n2: from n1 to n2 1.0 MB/s " WAY
			 "0 of 1000 packets lost" CHECK },
		{ { 1, "serve", SLOW, 99 },
		  CLOCKS
		  "links n1: node rank 1: all of its links are bad: exclude it\n" },
		{ { 2, "connect",
		    "{\"rate\":900000000,\"rtt\":100,\"sent\":1000,\"lost\":50}", 9 },
		  CLOCKS "links n1-n2: from n2 to n1 900.0 MB/s " WAY
			 "50 of 1000 packets lost" CHECK },
		{ { 2, "connect",
		    "{\"rate\":900000000,\"rtt\":100,\"sent\":1000,\"lost\":4}", 9 },
		  ALL_GOOD }, /* fewer than five are chance */
		{ { 2, "connect",
		    "{\"rate\":900000000,\"rtt\":20000,\"sent\":1000,\"lost\":0}", 9 },
		  CLOCKS
		  "links n1-n2: from n2 to n1 900.0 MB/s (expected 225.0), 20.0 ms "
		  "to an answer (expected 5.0), 0 of 1000 packets lost" CHECK },
		{ { 2, "connect", "{\"error\":\"no route\"}", 1 }, ALL_GOOD },
		{ { 2, "connect", "{\"error\":\"no route\"}", 2 },
		  CLOCKS "links n1-n2: no route\n" },
		{ { 2, "listen", "{\"error\":\"in use\"}", 1 },
		  CLOCKS "ports n2: node rank 2: in use: end what uses the port\n"
			 "good links all: the slowest of 1 links 900.0 MB/s\n" },
		{ { 2, "listen", NULL, 1 },
		  CLOCKS "links n2: node rank 2: gone\n"
			 "good links all: the slowest of 1 links 900.0 MB/s\n" },
		/* What no program of ours says. */
		{ { 2, "connect",
		    "{\"rate\":\"fast\",\"rtt\":null,\"sent\":-1,\"lost\":true}", 9 },
		  CLOCKS
		  "links n1-n2: from n1 to n2 0.0 MB/s (expected 225.0), 0.0 ms to "
		  "an answer (expected 5.0), 0 of 1000 packets lost" CHECK },
		{ { 2, "connect",
		    "{\"rate\":900000000,\"rtt\":100,\"sent\":1,\"lost\":9223372036854775807}",
		    9 },
		  CLOCKS "links n1-n2: from n2 to n1 900.0 MB/s " WAY
			 "9223372036854775807 of 1 packets lost" CHECK },
		{ { 2, "connect", "[]", 9 },
		  CLOCKS
		  "links n1-n2: from n1 to n2 0.0 MB/s (expected 225.0), 0.0 ms to "
		  "an answer (expected 5.0), 0 of 1000 packets lost" CHECK },
	};

	for (size_t i = 0; i < N_ELEMENTS(table); i++) {
		char row[20];
		struct world w;

		begin(&w);
		w.special = table[i].a;
		snprintf(row, sizeof(row), "row %zu", i);
		check_text(row, rows(&w), table[i].rows);
		end(&w);
	}
}

TEST(test_a_node_that_goes_away_is_named)
{
	struct world w;

	begin(&w);
	w.special = (struct answer){ 2, "connect", NULL, 1 };
	assert_non_null(strstr(rows(&w), "links n2: node rank 2: gone\n"));
	assert_non_null(strstr((char *)w.rows.data, "n1-n2: it was not measured"));
	end(&w);
}

TEST(test_clocks)
{
	static const struct {
		int64_t off;
		const char *like; /* NULL: no row */
	} table[] = {
		{ -30000,
		  " behind that of node rank 0: synchronize the nodes' clocks\n" },
		{ 30000,
		  " ahead of that of node rank 0: synchronize the nodes' clocks\n" },
		{ 900, NULL },
		{ -900, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(table); i++) {
		struct world w;

		begin(&w);
		w.clock_off = table[i].off;
		rows(&w);
		assert_int_equal(!table[i].like,
				 !strncmp((char *)w.rows.data, CLOCKS, strlen(CLOCKS)));
		if (table[i].like) {
			assert_non_null(strstr((char *)w.rows.data, table[i].like));
			assert_non_null(strstr((char *)w.rows.data,
					       "clocks n1: node rank 1: its clock is "));
		}
		end(&w);
	}
}

TEST(test_a_node_that_did_not_come)
{
	struct world w;

	begin(&w);
	w.here[3] = false;
	assert_string_equal(rows(&w),
			    "links n3: node rank 3: did not connect: check its "
			    "pod\n" CLOCKS
			    "good links all: the slowest of 1 links 900.0 MB/s\n");
	assert_null(w.last[3]);
	/* All others are told the rows: those above, and rank 0's port. */
	for (int i = 1; i < 3; i++)
		assert_int_equal(cJSON_GetArraySize(json_get(w.last[i], "rows")), 4);
	end(&w);
}

TEST(test_what_is_asked_of_a_node)
{
	static const char *const orders[] = {
		"{\"do\":\"dance\"}",
		"{\"do\":\"connect\",\"host\":\"127.0.0.1\",\"session\":1}",
		"{\"do\":\"serve\",\"session\":\"one\"}",
		"{\"do\":\"listen\",\"token\":7}",
		"[]",
		"{\"rows\":[{\"check\":\"links\",\"message\":\"m\",\"device\":\"n0-n1\",\"bad\":true},"
		"7,{},{\"check\":\"links\"},{\"check\":\"clocks\",\"message\":\"c\",\"value\":\"x\"}]}",
		NULL,
	};
	struct world w;
	const char *at;
	int errors = 0;

	begin(&w);
	w.p.rank = 1;
	w.orders = orders;
	assert_string_equal(rows(&w), "links n0-n1: m\ngood clocks all: c\n");
	for (at = (char *)w.answers.data; (at = strstr(at, "\"error\"")); at++)
		errors++;
	assert_int_equal(errors, 5);
	assert_non_null(strstr((char *)w.answers.data, "it does not listen"));
	assert_non_null(strstr((char *)w.answers.data, strerror(EADDRINUSE)));
	end(&w);
}

TEST(test_rank_0_is_lost)
{
	static const char *const orders[] = { NULL };
	struct world w;

	begin(&w);
	w.p.rank = 1;
	w.orders = orders;
	assert_string_equal(rows(&w), "links n0: gone\n");
	end(&w);
}

TEST(test_names)
{
	struct world w;

	begin(&w);
	w.names[0] = w.names[1] = w.names[2] = "localhost";
	w.names[3] = "127.0.0.1";
	nodecheck_names(&w.c, &w.p);
	assert_string_equal((char *)w.rows.data,
			    "good names all: all names of the job resolve\n");
	buf_clear(&w.rows);
	w.c.deadline = clock_ms();
	w.names[2] = "no-such-name.invalid";
	nodecheck_names(&w.c, &w.p);
	assert_int_equal(strncmp((char *)w.rows.data, "names no-such-name.invalid: ", 28),
			 0);
	assert_null(strstr((char *)w.rows.data, "good"));
	end(&w);
}

RUN_TESTS(NULL, NULL)
