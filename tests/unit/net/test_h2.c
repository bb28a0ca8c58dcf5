/* One connection, frame by frame: what it answers, and what a hostile peer gets. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "net/grpc.h"
#include "net/h2.h"
#include "tests/unit/unit.h"

enum { DATA, HEADERS, RST = 3, SETTINGS, PING = 6, GOAWAY, WINDOW = 8, CONTINUATION };
enum { END_STREAM = 1, END_HEADERS = 4 };
enum { MAX_BODY = 1000, PIECE = 100000, MAX_SEEN = 5000 };
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct peer {
	struct h2_conn *conn;
	struct buf out; /* for the connection */
	struct buf in;  /* from it */
	size_t asked, released;
	bool borrowed; /* parts of `piece` itself were listed */
	int broken;    /* h2_feed() failed */
	/* Of what it sent: */
	int seen[MAX_SEEN]; /* types */
	size_t n, data, largest;
	uint32_t goaway, rst; /* codes of the last ones; 0 is NO_ERROR */
	int n_rst;
};

static uint8_t piece[PIECE];
static struct peer *current;
static struct h2_budget held = { .max = SIZE_MAX / 2 };
static size_t body_held, piece_held;

static void next(void *ctx, struct h2_piece *ret)
{
	static const struct h2_header trailers[] = { { "grpc-status", "0" } };
	struct peer *p = ctx;

	*ret = (struct h2_piece){ .data = piece,
				  .len = p->asked++ < 3 ? PIECE : 0,
				  .held = p->asked <= 3 ? piece_held : 0,
				  .trailers = trailers,
				  .n_trailers = 1 };
}

static void release(void *ctx)
{
	((struct peer *)ctx)->released++;
}

static void handle(void *ctx, struct h2_stream *s)
{
	static const struct h2_header headers[] = { { ":status", "200" } };
	struct h2_body body = { next, release, current, body_held };

	h2_respond(s, headers, 1, h2_header(s, "x-body") ? &body : NULL);
}

static struct h2_budget budget = { .max = SIZE_MAX / 2 };

/* A request with "x-no" is refused by its headers. */
static enum h2_verdict begin(void *ctx, struct h2_stream *s, size_t *max_body)
{
	static const struct h2_header headers[] = { { ":status", "403" } };

	assert_int_equal(*max_body, MAX_BODY);
	if (!h2_header(s, "x-no"))
		return H2_ACCEPTED;
	h2_respond(s, headers, 1, NULL);
	return H2_ANSWERED;
}

static void frame(struct peer *p, int type, int flags, uint32_t stream, const void *data,
		  size_t len)
{
	const uint8_t head[9] = {
		(uint8_t)(len >> 16),    (uint8_t)(len >> 8),    (uint8_t)len,
		(uint8_t)type,           (uint8_t)flags,         (uint8_t)(stream >> 24),
		(uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream
	};

	buf_add(&p->out, head, sizeof(head));
	buf_add(&p->out, data, len);
}

static void field(struct buf *b, const char *name, const char *value)
{
	const uint8_t lens[] = { (uint8_t)strlen(name), (uint8_t)strlen(value) };

	buf_add(b, "", 1);
	buf_add(b, &lens[0], 1);
	buf_adds(b, name);
	buf_add(b, &lens[1], 1);
	buf_adds(b, value);
}

static void request(struct peer *p, uint32_t stream, const char *extra, int flags)
{
	cleanup_buf struct buf b = { .max = 1 << 20 };

	field(&b, ":method", "POST");
	field(&b, ":scheme", "http");
	field(&b, ":path", "/a.B/C");
	field(&b, ":authority", "h");
	if (extra)
		field(&b, extra, "1");
	frame(p, HEADERS, flags, stream, b.data, b.len);
}

/* SETTINGS, and a window for everything. */
static void open_peer(struct peer *p, uint32_t max_frame)
{
	static const struct h2_conf conf = { .max_body = MAX_BODY,
					     .begin = begin,
					     .handle = handle };
	const uint8_t settings[] = { 0,
				     5,
				     (uint8_t)(max_frame >> 24),
				     (uint8_t)(max_frame >> 16),
				     (uint8_t)(max_frame >> 8),
				     (uint8_t)max_frame,
				     0,
				     4,
				     0x10,
				     0,
				     0,
				     0 };

	memset(p, 0, sizeof(*p));
	p->out.max = p->in.max = 64 << 20;
	p->conn = h2_conn_new(&conf, &budget, &held);
	current = p;
	buf_adds(&p->out, PREFACE);
	frame(p, SETTINGS, 0, 0, settings, sizeof(settings));
	frame(p, WINDOW, 0, 0, "\x10\0\0\0", 4);
}

static uint32_t big(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
	       at[3];
}

static void look(struct peer *p)
{
	for (size_t at = 0; at + 9 <= p->in.len && p->n < MAX_SEEN;) {
		const uint8_t *f = p->in.data + at;
		size_t len = big(f) >> 8;

		p->seen[p->n++] = f[3];
		if (f[3] == DATA) {
			p->data += len;
			p->largest = len > p->largest ? len : p->largest;
		} else if (f[3] == GOAWAY) {
			p->goaway = big(f + 13);
		} else if (f[3] == RST) {
			p->rst = big(f + 9);
			p->n_rst++;
		}
		at += 9 + len;
	}
}

/* All that the peer says, and all that it gets, `step` bytes at a time. */
static void run(struct peer *p, size_t step)
{
	struct error err = { 0 };
	struct iovec iov[3];
	int n;

	p->broken = h2_feed(p->conn, p->out.data, p->out.len, &err);
	buf_clear(&p->out);
	while (!h2_next(p->conn, iov, 3, &n, &err) && n) {
		size_t sent = iov[0].iov_len < step ? iov[0].iov_len : step;
		uint8_t *from = iov[0].iov_base;

		p->borrowed |= from >= piece && from < piece + PIECE;
		buf_add(&p->in, from, sent);
		h2_sent(p->conn, sent);
	}
	look(p);
}

static void close_peer(struct peer *p)
{
	h2_conn_free(p->conn);
	buf_release(&p->out);
	buf_release(&p->in);
}

TEST(body_in_pieces_without_copies)
{
	struct peer p;

	for (size_t step = 999; step < 1 << 20; step *= 40) {
		open_peer(&p, 1 << 20);
		request(&p, 1, "x-body", END_HEADERS | END_STREAM);
		run(&p, step);
		assert_int_equal(p.broken, 0);
		assert_int_equal(p.data, 3 * PIECE);
		assert_int_equal(p.largest, PIECE);
		assert_true(p.borrowed);
		assert_int_equal(p.seen[p.n - 1], HEADERS); /* trailers */
		assert_int_equal(p.released, 1);
		assert_int_equal(h2_streams(p.conn), 0);
		close_peer(&p);
	}
}

TEST(test_small_frames)
{
	struct peer p;

	open_peer(&p, 16384);
	request(&p, 1, "x-body", END_HEADERS | END_STREAM);
	run(&p, 1 << 20);
	assert_int_equal(p.data, 3 * PIECE);
	assert_int_equal(p.largest, 16384);
	close_peer(&p);
}

/* Nothing is asked for beyond the window, and what was is released at the end. */
TEST(test_stalled)
{
	struct peer p;

	open_peer(&p, 1 << 20);
	buf_clear(&p.out);
	buf_adds(&p.out, PREFACE);
	frame(&p, SETTINGS, 0, 0, NULL, 0);
	request(&p, 1, "x-body", END_HEADERS | END_STREAM);
	run(&p, 1 << 20);
	assert_int_equal(p.data, 65535);
	assert_int_equal(p.asked, 1);
	frame(&p, RST, 0, 1, "\0\0\0\x8", 4);
	run(&p, 1 << 20);
	assert_int_equal(p.released, 1);
	assert_int_equal(h2_streams(p.conn), 0);
	close_peer(&p);
}

TEST(test_goaway)
{
	struct peer p;

	open_peer(&p, 1 << 20);
	request(&p, 1, NULL, END_HEADERS | END_STREAM);
	run(&p, 1 << 20);
	h2_goaway(p.conn);
	request(&p, 3, NULL, END_HEADERS | END_STREAM);
	run(&p, 1 << 20);
	assert_int_equal(p.seen[p.n - 1], GOAWAY);
	assert_true(h2_is_done(p.conn));
	close_peer(&p);
}

/* ---- hostile peers ----------------------------------------------------------------- */

static void no_http2(struct peer *p)
{
	buf_clear(&p->out);
	buf_adds(&p->out, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

static void many_streams(struct peer *p)
{
	for (uint32_t i = 0; i < 10000; i++)
		request(p, 2 * i + 1, NULL, END_HEADERS);
}

static void rapid_resets(struct peer *p)
{
	for (uint32_t i = 0; i < 10000; i++) {
		request(p, 2 * i + 1, NULL, END_HEADERS);
		frame(p, RST, 0, 2 * i + 1, "\0\0\0\x8", 4);
	}
}

static void continuations(struct peer *p)
{
	request(p, 1, NULL, 0);
	for (int i = 0; i < 1000; i++)
		frame(p, CONTINUATION, 0, 1, "", 0);
}

/* One entry of the dynamic table, 4,000 times: 16 MB. */
static void hpack_bomb(struct peer *p)
{
	cleanup_buf struct buf b = { .max = 1 << 20 };
	const uint8_t head[] = { 0x40, 1, 'a', 0x7f, 0xa1, 0x1e }; /* 4,000 bytes */

	field(&b, ":method", "POST");
	field(&b, ":scheme", "http");
	field(&b, ":path", "/");
	buf_add(&b, head, sizeof(head));
	for (int i = 0; i < 4000; i++)
		buf_add(&b, "x", 1);
	for (int i = 0; i < 4000; i++)
		buf_add(&b, "\xbe", 1);
	frame(p, HEADERS, END_HEADERS | END_STREAM, 1, b.data, b.len);
}

static void large_body(struct peer *p)
{
	request(p, 1, NULL, END_HEADERS);
	frame(p, DATA, 0, 1, piece, MAX_BODY + 1);
}

static void pings(struct peer *p)
{
	for (int i = 0; i < 100000; i++)
		frame(p, PING, 0, 0, "12345678", 8);
}

static void bad_size(struct peer *p)
{
	frame(p, PING, 0, 0, "1", 1);
}

static void data_of_no_stream(struct peer *p)
{
	frame(p, DATA, 0, 5, "x", 1);
}

TEST(test_hostile)
{
	/* How it ends: the connection at once, by a GOAWAY, or streams by a reset. */
	static const struct {
		const char *name;
		void (*say)(struct peer *p);
		bool broken, goaway;
		uint32_t code;
		int resets;
	} rows[] = {
		{ "no HTTP/2", no_http2, true, false, 0, 0 },
		{ "10,000 streams", many_streams, false, false, 7, 9900 },
		{ "rapid resets", rapid_resets, false, true, 11, 0 },
		{ "CONTINUATION", continuations, true, false, 0, 0 },
		{ "an HPACK bomb", hpack_bomb, false, false, 2, 1 },
		{ "a large body", large_body, false, false, 11, 1 },
		{ "100,000 PINGs", pings, true, false, 0, 0 },
		{ "a PING of one byte", bad_size, false, true, 6, 0 },
		{ "DATA of no stream", data_of_no_stream, false, true, 1, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct peer p;

		open_peer(&p, 1 << 20);
		rows[i].say(&p);
		run(&p, 1 << 20);
		print_message("%s: broken %d, GOAWAY %u, %d resets, the last %u\n",
			      rows[i].name, p.broken, p.goaway, p.n_rst, p.rst);
		assert_int_equal(p.broken != 0, rows[i].broken);
		if (rows[i].goaway)
			assert_int_equal(p.goaway, rows[i].code);
		if (rows[i].resets)
			assert_int_equal(p.rst, rows[i].code);
		if (rows[i].resets == 1)
			assert_int_equal(p.n_rst, 1);
		assert_in_range(h2_streams(p.conn), 0, 100);
		close_peer(&p);
	}
}

/* The server resets each because its window overflows (CVE-2025-8671). */
TEST(test_provoked_resets)
{
	struct peer p;
	uint32_t i = 0;

	open_peer(&p, 1 << 20);
	while (!p.goaway && i < 5000) {
		request(&p, 2 * i + 1, "x-body", END_HEADERS | END_STREAM);
		frame(&p, WINDOW, 0, 2 * i++ + 1, "\x7f\xff\xff\xff", 4);
		p.n = 0;
		buf_clear(&p.in);
		run(&p, 1 << 20);
	}
	assert_int_equal(p.goaway, 11);
	assert_int_equal(p.released, i);
	close_peer(&p);
}

/* ---- limits of requests -------------------------------------------------------------- */

static bool has_seen(const struct peer *p, int type)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->seen[i] == type)
			return true;
	return false;
}

/* Answered before its body: the peer shall stop, and nothing of it is kept. */
TEST(answer_before_the_body_stops_the_peer)
{
	struct peer p;

	open_peer(&p, 1 << 20);
	request(&p, 1, "x-no", END_HEADERS);
	for (int i = 0; i < 60; i++)
		frame(&p, DATA, 0, 1, piece, MAX_BODY);
	run(&p, 1 << 20);
	assert_int_equal(p.broken, 0);
	assert_true(has_seen(&p, HEADERS));
	assert_int_equal(p.n_rst, 1);
	assert_int_equal(p.rst, 0);
	assert_int_equal(budget.used, 0);
	assert_int_equal(h2_streams(p.conn), 0);
	frame(&p, DATA, END_STREAM, 1, piece, MAX_BODY); /* it was on its way */
	request(&p, 3, "x-no", END_HEADERS | END_STREAM);
	p.n = 0;
	buf_clear(&p.in);
	run(&p, 1 << 20);
	assert_true(has_seen(&p, HEADERS));
	assert_false(has_seen(&p, GOAWAY));
	assert_int_equal(p.n_rst, 1);
	close_peer(&p);
}

/* All connections share it; what one gives back, another one may have. */
TEST(test_budget)
{
	struct peer many[3];

	budget.max = 2 * MAX_BODY;
	for (size_t i = 0; i < 3; i++) {
		open_peer(&many[i], 1 << 20);
		request(&many[i], 1, NULL, END_HEADERS);
		frame(&many[i], DATA, 0, 1, piece, MAX_BODY - 100);
		run(&many[i], 1 << 20);
		assert_int_equal(many[i].n_rst, i == 2);
		assert_in_range(budget.used, (i ? 2 : 1) * (MAX_BODY - 100), budget.max);
	}
	assert_int_equal(many[2].rst, 11);
	close_peer(&many[0]);
	request(&many[2], 3, NULL, END_HEADERS);
	frame(&many[2], DATA, 0, 3, piece, MAX_BODY - 100);
	buf_clear(&many[2].in);
	run(&many[2], 1 << 20);
	assert_int_equal(many[2].n_rst, 1);
	close_peer(&many[1]);
	close_peer(&many[2]);
	assert_int_equal(budget.used, 0);
	budget.max = SIZE_MAX / 2;
}

/* Asks for a body of three pieces, and grants less than one. */
static void stall(struct peer *p)
{
	open_peer(p, 1 << 20);
	buf_clear(&p->out);
	buf_adds(&p->out, PREFACE);
	frame(p, SETTINGS, 0, 0, NULL, 0);
	request(p, 1, "x-body", END_HEADERS | END_STREAM);
	run(p, 1 << 20);
}

/* What bodies hold for peers that do not read them: all of it, and each piece. */
TEST(bytes_held_for_slow_readers_are_limited)
{
	struct peer many[3];

	for (int by_piece = 0; by_piece < 2; by_piece++) {
		held.max = 2 * PIECE;
		*(by_piece ? &piece_held : &body_held) = PIECE;
		for (int i = 0; i < 3; i++) {
			stall(&many[i]);
			assert_int_equal(many[i].n_rst, i == 2);
			assert_int_equal(many[i].data, i == 2 ? 0 : 65535);
		}
		assert_int_equal(many[2].rst, 11);
		assert_int_equal(many[2].released, 1);
		close_peer(&many[0]);
		close_peer(&many[2]);
		stall(&many[2]);
		assert_int_equal(many[2].n_rst, 0);
		frame(&many[2], WINDOW, 0, 0, "\0\x10\0\0", 4);
		frame(&many[2], WINDOW, 0, 1, "\0\x10\0\0", 4);
		many[2].data = 0;
		buf_clear(&many[2].in);
		run(&many[2], 1 << 20);
		assert_int_equal(many[2].data, 3 * PIECE - 65535);
		close_peer(&many[1]);
		close_peer(&many[2]);
		assert_int_equal(held.used, 0);
		body_held = piece_held = 0;
		held.max = SIZE_MAX / 2;
	}
}

/* ---- peers that do not read -------------------------------------------------------- */

size_t __sanitizer_get_current_allocated_bytes(void);

/* A request with so many bytes of headers that is never complete. */
static void large_request(struct peer *p, uint32_t stream)
{
	cleanup_buf struct buf b = { .max = 1 << 20 };
	char value[121] = "";

	memset(value, 'v', 120);
	field(&b, ":method", "POST");
	field(&b, ":scheme", "http");
	field(&b, ":path", "/");
	for (int i = 0; i < 95; i++)
		field(&b, "x", value);
	frame(p, HEADERS, END_HEADERS, stream, b.data, b.len);
}

static void ended_requests(struct peer *p, uint32_t stream)
{
	large_request(p, stream);
	frame(p, RST, 0, stream, "\0\0\0\x8", 4);
}

static void refused_requests(struct peer *p, uint32_t stream)
{
	request(p, stream, NULL, END_HEADERS);
}

/* What is queued stays so: how much does the connection take, in KiB, for n more? */
static size_t kept(struct peer *p, uint32_t n,
		   void (*say)(struct peer *p, uint32_t stream))
{
	struct error err = { 0 };
	struct iovec iov[3];
	size_t before;
	int listed;

	open_peer(p, 1 << 20);
	assert_int_equal(h2_feed(p->conn, p->out.data, p->out.len, &err), 0);
	buf_clear(&p->out);
	assert_int_equal(h2_next(p->conn, iov, 3, &listed, &err), 0);
	assert_true(listed);
	for (uint32_t i = 0; i < n; i++)
		say(p, 2 * i + 1);
	before = __sanitizer_get_current_allocated_bytes();
	p->broken = h2_feed(p->conn, p->out.data, p->out.len, &err);
	assert_int_equal(h2_next(p->conn, iov, 3, &listed, &err), 0);
	return (__sanitizer_get_current_allocated_bytes() - before) / 1024;
}

TEST(test_unread)
{
	struct peer p;

	assert_in_range(kept(&p, 900, ended_requests), 0, 500);
	assert_int_equal(p.broken, 0);
	close_peer(&p);
	(void)kept(&p, 20000, refused_requests);
	assert_int_equal(p.broken, -1);
	close_peer(&p);
}

RUN_TESTS(NULL, NULL)
