#include "net/httpd_parse.h"
#include "tests/unit/net/client.h"

struct row {
	const char *statuses; /* of all answers, the one to AFTER included */
	const char *request;
	size_t len; /* 0: it is a string */
};
#define BYTES(s) s, sizeof(s) - 1

static const struct row good[] = {
	{ "200 200", "GET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "\r\nGET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200", "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "200 200 200",
	  "GET / HTTP/1.1\r\n" H "\r\n\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n\r\n\r\n", 0 },
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
	{ "400", "\r\n\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "400", "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", 0 },
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

TEST(test_good_requests)
{
	check_rows(good, N_ELEMENTS(good));
}

TEST(test_bad_requests)
{
	check_rows(bad, N_ELEMENTS(bad));
	check_rows(bad_chunks, N_ELEMENTS(bad_chunks));
}

/* The same answers when each byte comes alone. */
TEST(test_byte_by_byte)
{
	struct world w = { 0 };

	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < N_ELEMENTS(good); i++) {
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

/* The host of the target counts, so that whom a request is for has one answer. */
TEST(test_host_of_the_target)
{
	static const struct {
		const char *text, *host, *path;
		int status;
	} rows[] = {
		{ "GET http://h.x:1/a?b HTTP/1.1\r\nHost: other\r\n\r\n", "h.x:1", "/a",
		  0 },
		{ "GET HTTPS:///a HTTP/1.1\r\nhost: other\r\n\r\n", "", "/a", 0 },
		{ "GET /a HTTP/1.1\r\nHost: other\r\n\r\n", "other", "/a", 0 },
		{ "GET http://h\"/ HTTP/1.1\r\nHost: h\r\n\r\n", NULL, NULL, 400 },
		{ "GET http://h/ HTTP/1.1\r\n\r\n", NULL, NULL, 400 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct httpd_head head;
		char text[128];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		assert_int_equal(httpd_parse_head(&head, text, strlen(text)),
				 rows[i].status);
		if (rows[i].status)
			continue;
		assert_string_equal(httpd_header(&head.req, "Host"), rows[i].host);
		assert_string_equal(head.req.path, rows[i].path);
	}
}

/* What the handler is given. */
TEST(test_request)
{
	struct world w = { 0 };

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

TEST(test_head_limits)
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

	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
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

/* A POST of that many bytes, of which every seventh is a b; in chunks, or whole. */
static void add_request(struct buf *out, int len, int chunk)
{
	int n;

	if (chunk)
		buf_adds(out, CHUNKED);
	else
		buf_printf(out, "POST / HTTP/1.1\r\n" H "Content-Length: %d\r\n\r\n",
			   len);
	for (int i = 0; i < len; i += n) {
		n = !chunk || chunk > len - i ? len - i : chunk;
		if (chunk)
			buf_printf(out, "%x\r\n", n);
		for (int j = 0; j < n; j++)
			buf_adds(out, (i + j) % 7 ? "a" : "b");
		buf_adds(out, chunk ? "\r\n" : "");
	}
	buf_adds(out, chunk ? "0\r\n\r\n" : "");
}

/* Bodies up to the limit come whole, also when a chunk is a byte; one more is too large. */
TEST(test_body_limits)
{
	enum { LIMIT = 100 * 1000 };
	static const int chunks[] = { 0, 1, 64, 4096, 65536 };
	struct world w = { 0 };

	world_start(&w, (struct httpd_conf){ .max_body = LIMIT });
	for (size_t i = 0; i < 2 * N_ELEMENTS(chunks); i++) {
		cleanup_buf struct buf out = { .max = 1024 * 1024 },
				       request = { .max = 1024 * 1024 };
		const char *body;
		char statuses[64];

		add_request(&request, LIMIT + (int)(i % 2), chunks[i / 2]);
		exchange(&w, (char *)request.data, request.len, &out);
		client_statuses(&out, statuses, sizeof(statuses));
		assert_string_equal(statuses, i % 2 ? "413" : "200 200");
		body = strstr((char *)out.data, "none>");
		assert_int_equal(!body, i % 2);
		for (int j = 0; body && j < LIMIT; j++)
			assert_int_equal(body[5 + j], j % 7 ? 'a' : 'b');
	}
	world_stop(&w);
}

/* Extensions and trailers are read over, within bounds. */
TEST(test_chunk_extras)
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

	world_start(&w, (struct httpd_conf){ 0 });
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
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

TEST(test_large)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

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

TEST(test_continue)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

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

TEST(test_pipelining)
{
	enum { N = 200 };
	cleanup_buf struct buf out = { .max = 1024 * 1024 }, in = { .max = 1024 * 1024 };
	struct world w = { 0 };
	const char *at;

	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < N; i++)
		if (i % 3)
			buf_printf(&in, "GET /%d HTTP/1.1\r\n" H "\r\n", i);
		else
			buf_printf(&in,
				   "POST /%d HTTP/1.1\r\n" H
				   "Transfer-Encoding: chunked\r\n"
				   "\r\n"
				   "4\r\n"
				   "body\r\n"
				   "0\r\n"
				   "\r\n",
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

/* ---- a body in pieces ---- */

enum { PIECES = 300 };

static void send_pieces(void *ctx, struct httpd_stream *s)
{
	char piece[1000];

	memset(piece, 'x', sizeof(piece));
	for (int i = 0; i < PIECES && httpd_listens(s); i++)
		if (httpd_send(s, piece, sizeof(piece)))
			return;
}

static void count_release(void *ctx)
{
	++*(atomic_int *)ctx;
}

/* Until the client hangs up; it never reads. */
static void send_forever(void *ctx, struct httpd_stream *s)
{
	char piece[65536] = "";

	while (!httpd_send(s, piece, sizeof(piece)))
		;
}

static void stream(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	resp->status = 200;
	resp->headers.max = 100;
	buf_adds(&resp->headers, "X-Ours: 1\r\n");
	resp->stream = str_eq(req->path, "/forever") ? send_forever : send_pieces;
	resp->release = count_release;
	resp->stream_ctx = ctx;
}

/* All that comes until the server closes. */
static size_t read_all(int fd, struct buf *out)
{
	char data[65536];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		buf_add(out, data, (size_t)n);
	return out->len;
}

static size_t unchunk(const char *text, const char *end)
{
	size_t total = 0, n = 1;

	while (n && text < end) {
		char *after;

		n = strtoul(text, &after, 16);
		assert_true(!strncmp(after, "\r\n", 2));
		total += n;
		text = after + 2 + n + 2;
	}
	assert_ptr_equal(text, end);
	return total;
}

TEST(test_stream)
{
	static const char ask[] = "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n";
	atomic_int released = 0;
	const struct httpd_conf conf = { .host = "127.0.0.1",
					 .handle = stream,
					 .ctx = &released };
	cleanup_buf struct buf out = { .max = 1024 * 1024 };
	struct httpd *d = NULL;
	struct error err = { 0 };
	const char *body;
	int fd;

	assert_int_equal(httpd_start(&d, &conf, &err), 0);
	fd = client_connect(httpd_port(d), NULL);
	assert_true(client_send(fd, ask, strlen(ask)));
	read_all(fd, &out);
	close(fd);
	body = strstr((char *)out.data, "\r\n\r\n") + 4;
	assert_non_null(strstr((char *)out.data, "Transfer-Encoding: chunked\r\n"));
	assert_non_null(strstr((char *)out.data, "X-Ours: 1\r\n"));
	assert_int_equal(unchunk(body, (char *)out.data + out.len), PIECES * 1000);
	httpd_stop(d, 0);
	assert_int_equal(released, 1);
}

/* One that reads nothing is dropped, and what the stream had is released. */
TEST(test_slow_reader)
{
	static const char ask[] = "GET /forever HTTP/1.1\r\n" H "\r\n";
	atomic_int released = 0;
	const struct httpd_conf conf = {
		.host = "127.0.0.1", .handle = stream, .ctx = &released, .request_ms = 200
	};
	struct httpd *d = NULL;
	struct error err = { 0 };
	int fd;

	assert_int_equal(httpd_start(&d, &conf, &err), 0);
	fd = client_connect(httpd_port(d), NULL);
	assert_true(client_send(fd, ask, strlen(ask)));
	for (int64_t until = clock_ms() + PATIENCE_MS; !released && clock_ms() < until;)
		clock_sleep_ms(10);
	assert_int_equal(released, 1);
	close(fd);
	httpd_stop(d, 0);
}

RUN_TESTS(NULL, NULL)
