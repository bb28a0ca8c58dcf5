#include "tests/unit/net/client.h"

#include <sys/resource.h>

#include "base/xmalloc.h"

#define AFTER "GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define H     "Host: h\r\n"

/* What comes back for some bytes, followed by a request that ends the connection. */
static void exchange(struct world *w, const char *data, size_t len, struct buf *out)
{
	int fd = client_connect(w->port, NULL);

	client_send(fd, data, len);
	client_say(fd, AFTER);
	client_read_all(fd, out);
	close(fd);
}

struct row {
	const char *statuses; /* of all answers, the one to AFTER included */
	const char *request;
	size_t len; /* 0: it is a string */
};
#define BYTES(s) s, sizeof(s) - 1

static const struct row good[] = {
	{ "200 200", "GET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "\r\nGET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200", "GET / HTTP/1.0\r\n\r\n", 0 },
	{ "200", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 0 },
	{ "200", "GET / HTTP/1.1\r\n" H "Connection: foo , CLOSE\r\n\r\n", 0 },
	{ "200 200", "GET / HTTP/1.1\r\n" H "Connection: closed\r\n\r\n", 0 },
	{ "200 200", "GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\n\r\n", 0 },
	{ "200 200", "GET http://h/x HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0 },
	{ "404 200", "GET /nothing HTTP/1.1\r\n" H "\r\n", 0 },
	{ "204 200", "DELETE /empty HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "HEAD / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "GET / HTTP/1.1\r\n" H "X-Test:\t \xc3\xa4 b \t\r\n\r\n", 0 },
	{ "200 200", "GET / HTTP/1.1\r\n" H "X-Empty:\r\n\r\n", 0 },
	{ "200 200", "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", 0 },
	{ "200 200", "POST / HTTP/1.1\r\n" H "Content-Length: 0003\r\n\r\nabc", 0 },
	{ "200 200",
	  "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n"
	  "3;a=\"b\";c\r\nabc\r\n00A\r\n0123456789\r\n0\r\nx: y\r\nz:\r\n\r\n",
	  0 },
	{ "200 200",
	  "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0 },
};

/* Each could be read in two ways, by us and by somebody in front of us. */
static const struct row bad[] = {
	{ "400",
	  "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
	  0 },
	{ "400",
	  "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\ncontent-length: 4\r\n\r\nabc",
	  0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\nabc", 0 },
	{ "400",
	  "POST / HTTP/1.1\r\n" H
	  "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "0\r\n\r\n",
	  0 },
	{ "400",
	  "POST / HTTP/1.1\r\n" H
	  "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
	  "0\r\n\r\n",
	  0 },
	{ "400",
	  "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
	  "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
	  0 },
	{ "501",
	  "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	  0 },
	{ "501", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	  0 },
	{ "501", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n",
	  0 },
	{ "501", "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n", 0 },
	{ "400", "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	  0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\na", 0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\na", 0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: 1 1\r\n\r\na", 0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: \r\n\r\na", 0 },
	{ "400", "POST / HTTP/1.1\r\n" H "Content-Length: 1.0\r\n\r\na", 0 },
	{ "413", "POST / HTTP/1.1\r\n" H "Content-Length: 65537\r\n\r\n", 0 },
	{ "413", "POST / HTTP/1.1\r\n" H "Content-Length: 9223372036854775807\r\n\r\n",
	  0 },
	{ "413", "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551617\r\n\r\n",
	  0 },
	{ "413",
	  "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999999999\r\n\r\n",
	  0 },
	/* The lines' ends, and blanks. */
	{ "400", "GET / HTTP/1.1\n" H "\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\nHost: h\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "Content-Length : 3\r\n\r\nabc", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X\t: 3\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: a\r\n\tb: c\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n X: a\r\n" H "\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H ": a\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X(y): a\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X\xc3\xa4: a\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: a\x7f\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\n" H "X: \x1b[0m\r\n\r\n", 0 },
	{ "400", BYTES("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n") },
	{ "400", BYTES("GET / HTTP/1.1\r\n" H "X\0: b\r\n\r\n") },
	{ "400", BYTES("GET /\0 HTTP/1.1\r\n" H "\r\n") },
	{ "400", BYTES("GET / HTTP/1.1\0\r\n" H "\r\n") },
	{ "400", BYTES("\0\r\n\r\n") },
	/* The first line. */
	{ "400", "GET  / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET /  HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", " GET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET / HTTP/1.1 \r\n" H "\r\n", 0 },
	{ "400", "GET\t/\tHTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET /\r\n\r\n", 0 },
	{ "400", "GET\r\n\r\n", 0 },
	{ "400", "hello\r\n\r\n", 0 },
	{ "400", "GET x HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET http://h HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "CONNECT h:443 HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET /#x HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "G@T / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET / http/1.1\r\n" H "\r\n", 0 },
	{ "400", "GET / HTTP/1.11\r\n" H "\r\n", 0 },
	{ "400", "GET / HTTP/x.1\r\n" H "\r\n", 0 },
	{ "505", "GET / HTTP/1.2\r\n" H "\r\n", 0 },
	{ "505", "GET / HTTP/2.0\r\n" H "\r\n", 0 },
	{ "505", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0 },
	{ "400", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 0 },
	/* Whose server it is for. */
	{ "400", "GET / HTTP/1.1\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 0 },
	{ "400", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 0 },
	{ "417", "GET / HTTP/1.1\r\n" H "Expect: a miracle\r\n\r\n", 0 },
	{ "417",
	  "GET / HTTP/1.1\r\n" H "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n",
	  0 },
};

#define CHUNKED "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
static const struct row bad_chunks[] = {
	{ "400", CHUNKED "\r\n", 0 },
	{ "400", CHUNKED "x\r\n", 0 },
	{ "400", CHUNKED "-1\r\n", 0 },
	{ "400", CHUNKED "+1\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED " 1\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1 \r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "0x1\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1_0\r\n", 0 },
	{ "400", CHUNKED "1\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1\r\nab\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1\r\na\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1\r\na0\r\n\r\n", 0 },
	{ "400", CHUNKED "2\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1;a\nb\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "1;a\rb\r\na\r\n0\r\n\r\n", 0 },
	{ "400", BYTES(CHUNKED "1;\0\r\na\r\n0\r\n\r\n") },
	{ "400", CHUNKED "0\r\n x\r\n\r\n", 0 },
	{ "400", CHUNKED "0\r\nx: y\n\r\n", 0 },
	{ "400", CHUNKED "0\r\n\n", 0 },
	{ "400", CHUNKED "100000000\r\n", 0 },
	{ "400", CHUNKED "FFFFFFFFFFFFFFFF\r\n", 0 },
	{ "400", CHUNKED "10000000000000001\r\na\r\n0\r\n\r\n", 0 },
	{ "400", CHUNKED "000000001\r\na\r\n0\r\n\r\n", 0 },
};

static void check_rows(const struct row *rows, size_t n)
{
	struct world w = { 0 };

	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf out = { .max = 65536 };
		const char *request = rows[i].request;
		char statuses[64];

		exchange(&w, request, rows[i].len ? rows[i].len : strlen(request), &out);
		client_statuses(&out, statuses, sizeof(statuses));
		if (!str_eq(statuses, rows[i].statuses))
			fail_msg("%zu: %s: '%s', not '%s'", i, request, statuses,
				 rows[i].statuses);
		/* What is refused is refused for good: nothing behind it is heard. */
		if (str_starts(rows[i].statuses, "4") && !strchr(rows[i].statuses, ' '))
			assert_null(strstr((char *)out.data, "/after"));
	}
	world_stop(&w);
}

static void test_good_requests(void **state)
{
	(void)state;
	check_rows(good, sizeof(good) / sizeof(good[0]));
}

static void test_bad_requests(void **state)
{
	(void)state;
	check_rows(bad, sizeof(bad) / sizeof(bad[0]));
	check_rows(bad_chunks, sizeof(bad_chunks) / sizeof(bad_chunks[0]));
}

/* The same answers when each byte comes alone. */
static void test_byte_by_byte(void **state)
{
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cleanup_buf struct buf out = { .max = 65536 };
		int fd = client_connect(w.port, NULL);
		char statuses[64];

		for (const char *p = good[i].request; *p; p++)
			client_send(fd, p, 1);
		client_say(fd, AFTER);
		client_read_all(fd, &out);
		client_statuses(&out, statuses, sizeof(statuses));
		assert_string_equal(statuses, good[i].statuses);
		close(fd);
	}
	world_stop(&w);
}

static void expect_answer(struct world *w, const char *request, const char *body)
{
	cleanup_buf struct buf out = { .max = 1024 * 1024 };
	const char *got;

	exchange(w, request, strlen(request), &out);
	got = strstr((char *)out.data, "\r\n\r\n");
	assert_non_null(got);
	if (!str_starts(got + 4, body))
		fail_msg("%s: '%s', not '%s'", request, got + 4, body);
}

/* What the handler is given. */
static void test_request(void **state)
{
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	expect_answer(&w, "GET /a%2fb/../c?d=e?f HTTP/1.1\r\n" H "X-TEST:  v w \r\n\r\n",
		      "<GET /a%2fb/../c d=e?f 0 127.0.0.1 v w>HTTP/1.1 200");
	expect_answer(&w, "GET /? HTTP/1.1\r\n" H "x-test: a\r\nX-Test: b\r\n\r\n",
		      "<GET /  0 127.0.0.1 none>HTTP");
	expect_answer(&w, "GET HTTPS://host:1/x?y HTTP/1.1\r\n" H "\r\n",
		      "<GET /x y 0 127.0.0.1 none>HTTP");
	expect_answer(&w, "PUT /b HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\na\r\n\r\n",
		      "<PUT /b  5 127.0.0.1 none>a\r\n\r\nHTTP");
	expect_answer(&w,
		      CHUNKED
		      "3\r\nabc\r\n2;x\r\n\r\n\r\n1\r\nd\r\n0\r\nX-Test: no\r\n\r\n",
		      "<POST /  -1 127.0.0.1 none>abc\r\ndHTTP");
	/* An answer to HEAD says how long it would be, and is not. */
	expect_answer(&w, "HEAD / HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200");
	expect_answer(&w, "GET /empty HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200");
	world_stop(&w);
}

static void test_head_limits(void **state)
{
	static const struct {
		const char *statuses;
		size_t path, headers, value; /* lengths, and how many */
	} rows[] = {
		{ "200 200", 8000, 1, 1 }, { "414", 8192, 1, 1 },
		{ "414", 70000, 0, 0 },    { "200 200", 1, 99, 1 },
		{ "431", 1, 100, 1 },      { "200 200", 1, 1, 16000 },
		{ "431", 1, 1, 17000 },    { "431", 1, 1, 100000 },
		{ "431", 7000, 90, 100 },
	};
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_buf struct buf out = { .max = 65536 },
				       request = { .max = 1024 * 1024 };
		char statuses[64];

		buf_adds(&request, "GET ");
		for (size_t j = 0; j < rows[i].path; j++)
			buf_adds(&request, "/");
		buf_adds(&request, " HTTP/1.1\r\n" H);
		for (size_t j = 0; j < rows[i].headers; j++) {
			buf_adds(&request, "X: ");
			for (size_t k = 0; k < rows[i].value; k++)
				buf_adds(&request, "x");
			buf_adds(&request, "\r\n");
		}
		buf_adds(&request, "\r\n");
		exchange(&w, (char *)request.data, request.len, &out);
		client_statuses(&out, statuses, sizeof(statuses));
		if (!str_eq(statuses, rows[i].statuses))
			fail_msg("%zu: '%s'", i, statuses);
	}
	world_stop(&w);
}

/* Bodies up to the limit come whole, also when a chunk is a byte; one more is too large. */
static void test_body_limits(void **state)
{
	enum { LIMIT = 100 * 1000 };
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_body = LIMIT });
	for (int chunk = 0; chunk <= 4096; chunk = chunk ? chunk * 64 : 1)
		for (int len = LIMIT; len <= LIMIT + 1; len++) {
			cleanup_buf struct buf out = { .max = 1024 * 1024 },
					       request = { .max = 1024 * 1024 };
			char statuses[64];
			int n;

			if (chunk)
				buf_adds(&request, CHUNKED);
			else
				buf_printf(&request,
					   "POST / HTTP/1.1\r\n" H
					   "Content-Length: %d\r\n\r\n",
					   len);
			for (int i = 0; i < len; i += n) {
				n = !chunk || chunk > len - i ? len - i : chunk;
				if (chunk)
					buf_printf(&request, "%x\r\n", n);
				for (int j = 0; j < n; j++)
					buf_adds(&request, (i + j) % 7 ? "a" : "b");
				buf_adds(&request, chunk ? "\r\n" : "");
			}
			buf_adds(&request, chunk ? "0\r\n\r\n" : "");
			exchange(&w, (char *)request.data, request.len, &out);
			client_statuses(&out, statuses, sizeof(statuses));
			assert_string_equal(statuses, len > LIMIT ? "413" : "200 200");
			if (len == LIMIT) {
				const char *body = strstr((char *)out.data, "none>");

				assert_non_null(body);
				for (int j = 0; j < len; j++)
					assert_int_equal(body[5 + j], j % 7 ? 'a' : 'b');
			}
		}
	world_stop(&w);
}

/* Extensions and trailers are read over, within bounds. */
static void test_chunk_extras(void **state)
{
	static const struct {
		const char *statuses;
		int extension, chunks, trailer;
	} rows[] = {
		{ "200 200", 200, 10, 1000 }, { "400", 300, 1, 0 },
		{ "400", 200, 100, 0 },       { "400", 1, 1, 20000 },
		{ "400", 150, 50, 10000 },
	};
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_buf struct buf out = { .max = 65536 },
				       request = { .max = 1024 * 1024 };
		char statuses[64];

		buf_adds(&request, CHUNKED);
		for (int chunk = 0; chunk < rows[i].chunks; chunk++)
			buf_printf(&request, "1;%0*d\r\nx\r\n", rows[i].extension, 0);
		buf_printf(&request, "0\r\nT: %0*d\r\n\r\n", rows[i].trailer, 0);
		exchange(&w, (char *)request.data, request.len, &out);
		client_statuses(&out, statuses, sizeof(statuses));
		if (!str_eq(statuses, rows[i].statuses))
			fail_msg("%zu: '%s'", i, statuses);
	}
	world_stop(&w);
}

static void test_large(void **state)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_body = 10, .on_large = world_large });
	expect_answer(&w, "POST /x HTTP/1.1\r\n" H "Content-Length: 11\r\n\r\n",
		      "{\"length\":11}");
	expect_answer(&w, CHUNKED "b\r\n01234567890\r\n0\r\n\r\n", "{\"length\":-1}");
	expect_answer(&w, "POST / HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n0123456789",
		      "<POST /  10");
	assert_int_equal(w.large, 2);
	assert_int_equal(w.handled, 2); /* the good one, and AFTER */

	/* Who asks first is told before it sends; who sends anyway still hears it. */
	fd = client_connect(w.port, NULL);
	client_say(fd, "POST / HTTP/1.1\r\n" H "Content-Length: 99\r\n"
		       "Expect: 100-continue\r\n\r\n");
	client_read_all(fd, &out);
	assert_true(str_starts((char *)out.data, "HTTP/1.1 413 "));
	close(fd);
	fd = client_connect(w.port, NULL);
	client_say(fd, "POST / HTTP/1.1\r\n" H "Content-Length: 500000\r\n\r\n");
	for (int i = 0; i < 50; i++) {
		static const char piece[10000];

		client_send(fd, piece, sizeof(piece));
	}
	buf_clear(&out);
	client_read_all(fd, &out);
	assert_true(str_starts((char *)out.data, "HTTP/1.1 413 "));
	close(fd);
	world_stop(&w);
}

static void test_continue(void **state)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	fd = client_connect(w.port, NULL);
	client_say(fd, "POST /c HTTP/1.1\r\n" H "Content-Length: 2\r\n"
		       "Expect: 100-Continue\r\n\r\n");
	client_read_until(fd, &out, "\r\n\r\n");
	assert_string_equal(out.data, "HTTP/1.1 100 Continue\r\n\r\n");
	client_say(fd, "ok");
	client_read_until(fd, &out, "none>ok");
	assert_true(str_starts((char *)out.data, "HTTP/1.1 200 OK\r\n"));
	assert_null(strstr((char *)out.data, "Server:"));
	/* Nothing to wait for: no 100. */
	client_say(fd, "POST /c HTTP/1.1\r\n" H "Expect: 100-continue\r\n\r\n");
	client_read_until(fd, &out, "none>");
	assert_true(str_starts((char *)out.data, "HTTP/1.1 200 OK\r\n"));
	close(fd);
	world_stop(&w);
}

static void test_pipelining(void **state)
{
	enum { N = 200 };
	cleanup_buf struct buf out = { .max = 1024 * 1024 }, in = { .max = 1024 * 1024 };
	struct world w = { 0 };
	const char *at;

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < N; i++)
		if (i % 3)
			buf_printf(&in, "GET /%d HTTP/1.1\r\n" H "\r\n", i);
		else
			buf_printf(&in,
				   "POST /%d HTTP/1.1\r\n" H "Transfer-Encoding: "
				   "chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
				   i);
	exchange(&w, (char *)in.data, in.len, &out);
	at = (char *)out.data;
	for (int i = 0; i < N; i++) {
		char want[64];

		snprintf(want, sizeof(want), i % 3 ? "<GET /%d  0" : "<POST /%d  -1", i);
		at = strstr(at, want);
		assert_non_null(at);
	}
	assert_int_equal(w.handled, N + 1);
	world_stop(&w);
}

/* ---- time --------------------------------------------------------------------------- */

/* A byte now and then does not keep a request alive, whatever part of it they are. */
static void test_slow_request(void **state)
{
	static const char *const begin[] = {
		"",
		"GET / HTTP/1.1\r\n" H "X: ",
		"POST / HTTP/1.1\r\n" H "Content-Length: 10000\r\n\r\n",
		CHUNKED "fff\r\n",
		CHUNKED "1;",
	};
	struct world w = { 0 };

	(void)state;
	world_start(&w, (struct httpd_conf){ .request_ms = 300 });
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		cleanup_buf struct buf out = { .max = 65536 };
		int fd = client_connect(w.port, NULL);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t until = clock_ms() + PATIENCE_MS;

		client_say(fd, begin[i]);
		while (poll(&p, 1, 20) == 0 && client_say(fd, "a"))
			assert_true(clock_ms() < until);
		client_read_all(fd, &out);
		assert_true(!out.len ||
			    str_starts((char *)out.data, "HTTP/1.1 408 Request Timeout"));
		close(fd);
	}
	assert_int_equal(w.handled, 0);
	world_stop(&w);
}

static void test_idle(void **state)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

	(void)state;
	world_start(&w, (struct httpd_conf){ .idle_ms = 200 });
	fd = client_connect(w.port, NULL);
	assert_true(client_is_cut(fd));
	close(fd);
	fd = client_connect(w.port, NULL);
	client_say(fd, "GET / HTTP/1.1\r\n" H "\r\n");
	client_read_until(fd, &out, "none>");
	assert_true(client_is_cut(fd));
	close(fd);
	world_stop(&w);
}

/* ---- many --------------------------------------------------------------------------- */

static void request_on(int fd)
{
	cleanup_buf struct buf out = { .max = 65536 };

	assert_true(client_say(fd, "GET / HTTP/1.1\r\n" H "\r\n"));
	client_read_until(fd, &out, "none>");
}

static void test_makes_room(void **state)
{
	enum { PLACES = 5 };
	struct world w = { 0 };
	int fds[PLACES], late;

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_connections = PLACES });
	for (int i = 0; i < PLACES; i++) {
		fds[i] = client_connect(w.port, NULL);
		request_on(fds[i]);
		clock_sleep_ms(10);
	}
	/* The first has been waiting longest until it is heard of again; then it is the
	 * second, though it has begun a request. */
	request_on(fds[0]);
	client_say(fds[1], "GET / HTTP/1.1\r\n");
	clock_sleep_ms(10);
	late = client_connect(w.port, NULL);
	request_on(late);
	assert_true(client_is_cut(fds[1]));
	request_on(fds[0]);
	for (int i = 2; i < PLACES; i++)
		request_on(fds[i]);
	for (int i = 0; i < PLACES; i++)
		close(fds[i]);
	close(late);
	world_stop(&w);
}

static void wait_inside(struct world *w, int n)
{
	int64_t until = clock_ms() + PATIENCE_MS;

	while (w->inside != n) {
		assert_true(clock_ms() < until);
		clock_sleep_ms(2);
	}
}

#define LARGE_LENGTH "POST /wait HTTP/1.1\r\n" H "Content-Length: 2097152\r\n\r\n"
#define LARGE_CHUNK \
	"POST /wait HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n200000\r\n"

/* Large bodies have a common limit; what is small passes whatever the others do. */
static void test_bodies_together(void **state)
{
	enum { LARGE = 2 * 1024 * 1024, FIT = 12 }; /* (4 * 2 + 16) MiB of it */
	cleanup_free char *piece = calloc(1, LARGE);
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int fds[FIT], late;

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_body = LARGE });
	for (int i = 0; i < FIT; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], i % 2 ? LARGE_LENGTH : LARGE_CHUNK);
		client_send(fds[i], piece, LARGE);
		client_say(fds[i], i % 2 ? "" : "\r\n0\r\n\r\n");
	}
	wait_inside(&w, FIT);
	for (int i = 0; i < 2; i++) {
		late = client_connect(w.port, NULL);
		client_say(late, i ? LARGE_LENGTH : LARGE_CHUNK);
		client_send(late, piece, LARGE);
		buf_clear(&out);
		client_read_all(late, &out);
		assert_true(str_starts((char *)out.data, "HTTP/1.1 503 "));
		close(late);
	}
	expect_answer(&w, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
		      "<POST /  3 127.0.0.1 none>abc");
	w.hold = false;
	for (int i = 0; i < FIT; i++)
		client_read_until(fds[i], &out, "none>");
	late = client_connect(w.port, NULL);
	client_say(late, LARGE_LENGTH);
	client_send(late, piece, LARGE);
	client_read_until(late, &out, "none>");
	for (int i = 0; i < FIT; i++)
		close(fds[i]);
	close(late);
	world_stop(&w);
}

/* Nobody who is being served makes room. */
static void test_all_busy(void **state)
{
	enum { PLACES = 3 };
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int fds[PLACES], late;

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_connections = PLACES });
	for (int i = 0; i < PLACES; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], "GET /wait HTTP/1.1\r\n" H "\r\n");
	}
	wait_inside(&w, PLACES);
	late = client_connect(w.port, NULL);
	assert_true(client_is_cut(late));
	close(late);
	w.hold = false;
	for (int i = 0; i < PLACES; i++) {
		client_read_until(fds[i], &out, "none>");
		close(fds[i]);
	}
	world_stop(&w);
}

static void test_per_peer(void **state)
{
	struct world w = { 0 };
	int fds[3], other, late;

	(void)state;
	world_start(&w, (struct httpd_conf){ .max_per_peer = 3 });
	for (int i = 0; i < 3; i++) {
		fds[i] = client_connect(w.port, NULL);
		request_on(fds[i]);
	}
	late = client_connect(w.port, NULL);
	assert_true(client_is_cut(late));
	close(late);
	other = client_connect(w.port, "127.0.0.2");
	request_on(other);
	for (int i = 0; i < 3; i++)
		request_on(fds[i]);
	/* A place is free again when one has left. */
	close(fds[0]);
	for (bool served = false; !served;) {
		char c;

		fds[0] = client_connect(w.port, NULL);
		client_say(fds[0], "GET / HTTP/1.1\r\n" H "\r\n");
		served = recv(fds[0], &c, 1, 0) == 1;
		if (!served)
			close(fds[0]);
	}
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close(other);
	world_stop(&w);
}

static void *peer_main(void *ctx)
{
	struct world *w = ctx;

	for (int i = 0; i < 25; i++) {
		int fd = client_connect(w->port, NULL);

		for (int j = 0; j < 4; j++)
			request_on(fd);
		close(fd);
	}
	return NULL;
}

static void test_many(void **state)
{
	enum { PEERS = 16 };
	struct world w = { 0 };
	pthread_t threads[PEERS];

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < PEERS; i++)
		pthread_create(&threads[i], NULL, peer_main, &w);
	for (int i = 0; i < PEERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(w.handled, PEERS * 100);
	world_stop(&w);
}

/* ---- peers that go away --------------------------------------------------------------- */

static void reset_connection(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void test_reset(void **state)
{
	static const char *const rows[] = {
		"",
		"GET / HTTP/1.1\r\n",
		"GET / HTTP/1.1\r\n" H "\r\n",
		"POST / HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\nabc",
		"GET /big HTTP/1.1\r\n" H "\r\n",
		"GET /big HTTP/1.1\r\n" H "\r\nGET /big HTTP/1.1\r\n" H "\r\n",
		"nonsense\r\n\r\n",
	};
	struct world w = { 0 };
	int fd;

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < 70; i++) {
		fd = client_connect(w.port, NULL);
		client_say(fd, rows[i % 7]);
		if (i % 2)
			clock_sleep_ms(2);
		reset_connection(fd);
	}
	fd = client_connect(w.port, NULL);
	request_on(fd);
	close(fd);
	world_stop(&w);
}

/* An answer of 8 MB arrives whole; one that nobody reads is given up. */
static void test_big_answer(void **state)
{
	cleanup_buf struct buf out = { .max = 16 * 1024 * 1024 };
	struct world w = { 0 };
	int fd, idle;

	(void)state;
	world_start(&w, (struct httpd_conf){ .request_ms = 1000 });
	fd = client_connect(w.port, NULL);
	client_say(fd, "GET /big HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
	client_read_all(fd, &out);
	assert_non_null(strstr((char *)out.data, "Content-Length: 8388480\r\n"));
	assert_int_equal(out.len - (size_t)(strstr((char *)out.data, "\r\n\r\n") -
					    (char *)out.data),
			 8388480 + 4);
	close(fd);
	idle = client_connect(w.port, NULL);
	client_say(idle, "GET /big HTTP/1.1\r\n" H "\r\n");
	clock_sleep_ms(1500);
	buf_clear(&out);
	client_read_all(idle, &out);
	assert_true(out.len < 8388480);
	close(idle);
	world_stop(&w);
}

/* Without descriptors it waits, spending nothing, and goes on when there are some. */
static void test_no_descriptors(void **state)
{
	struct rlimit before, few;
	struct rusage at, then;
	struct world w = { 0 };
	int fds[8], low;
	double spent;

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	getrlimit(RLIMIT_NOFILE, &before);
	for (int i = 0; i < 8; i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	low = dup(0);
	close(low);
	few = (struct rlimit){ (rlim_t)low, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	for (int i = 0; i < 8; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET,
					  .sin_port = htons((uint16_t)w.port) };

		inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
		assert_int_equal(connect(fds[i], (const void *)&to, sizeof(to)), 0);
	}
	getrusage(RUSAGE_SELF, &at);
	clock_sleep_ms(1000);
	getrusage(RUSAGE_SELF, &then);
	setrlimit(RLIMIT_NOFILE, &before);
	spent = (double)(then.ru_utime.tv_sec - at.ru_utime.tv_sec) +
		(double)(then.ru_stime.tv_sec - at.ru_stime.tv_sec) +
		(double)(then.ru_utime.tv_usec - at.ru_utime.tv_usec) / 1e6 +
		(double)(then.ru_stime.tv_usec - at.ru_stime.tv_usec) / 1e6;
	assert_true(spent < 0.5); /* of the second: it does not spin */
	for (int i = 0; i < 8; i++) {
		request_on(fds[i]);
		close(fds[i]);
	}
	world_stop(&w);
}

/* ---- the end -------------------------------------------------------------------------- */

static void *stop_main(void *ctx)
{
	struct world *w = ctx;

	httpd_stop(w->d, PATIENCE_MS);
	return NULL;
}

static void test_stop_with_grace(void **state)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int idle, busy, half;
	pthread_t stopper;

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	idle = client_connect(w.port, NULL);
	request_on(idle);
	busy = client_connect(w.port, NULL);
	client_say(busy, "GET /wait HTTP/1.1\r\n" H "\r\n");
	half = client_connect(w.port, NULL);
	client_say(half, "GET /half HTTP/1.1\r\n");
	wait_inside(&w, 1);
	clock_sleep_ms(50); /* for the half request to be seen */
	pthread_create(&stopper, NULL, stop_main, &w);
	assert_true(client_is_cut(idle));
	client_say(half, H "\r\n");
	client_read_all(half, &out);
	assert_non_null(strstr((char *)out.data, "Connection: close\r\n"));
	assert_non_null(strstr((char *)out.data, "<GET /half"));
	w.hold = false;
	buf_clear(&out);
	client_read_all(busy, &out);
	assert_non_null(strstr((char *)out.data, "Connection: close\r\n"));
	assert_non_null(strstr((char *)out.data, "<GET /wait"));
	close(idle);
	close(busy);
	close(half);
	pthread_join(stopper, NULL);
}

/* What does not come to its end in time is cut off; a handler is waited for. */
static void test_stop_without_grace(void **state)
{
	struct world w = { 0 };
	int fds[20];

	(void)state;
	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < 20; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], i % 3 ? "GET / HTTP/1.1\r\n"
					 : "GET /big HTTP/1.1\r\n" H "\r\n");
	}
	world_stop(&w);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	httpd_stop(NULL, 0);
}

static void test_addresses(void **state)
{
	struct httpd_conf conf = { .handle = world_tell, .host = "no.such.host.invalid" };
	struct world w = { 0 };
	struct error err = { 0 };
	struct httpd *d = NULL;
	int fd;

	(void)state;
	assert_int_equal(httpd_start(&d, &conf, &err), -1);
	assert_null(d);
	/* All addresses, and IPv4 as such. */
	world_start(&w, (struct httpd_conf){ .host = "" });
	expect_answer(&w, "GET / HTTP/1.1\r\n" H "\r\n", "<GET /  0 127.0.0.1 none>");
	/* Taken. */
	conf.host = "";
	conf.port = w.port;
	assert_int_equal(httpd_start(&d, &conf, &err), -1);
	assert_non_null(strstr(err.msg, "listen on"));
	world_stop(&w);
	world_start(&w, (struct httpd_conf){ .host = "localhost" });
	fd = client_connect(w.port, NULL);
	request_on(fd);
	close(fd);
	world_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_requests),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_head_limits),
		cmocka_unit_test(test_body_limits),
		cmocka_unit_test(test_chunk_extras),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_continue),
		cmocka_unit_test(test_pipelining),
		cmocka_unit_test(test_slow_request),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_makes_room),
		cmocka_unit_test(test_bodies_together),
		cmocka_unit_test(test_all_busy),
		cmocka_unit_test(test_per_peer),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_big_answer),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_stop_with_grace),
		cmocka_unit_test(test_stop_without_grace),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
