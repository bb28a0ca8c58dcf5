#include "net/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "crypto/x509.h"
#include "tests/unit/command.h"
#include "tests/unit/net/scripted.h"

static struct scripted server;

static int start_plain(void **state)
{
	scripted_start(&server, NULL);
	return 0;
}

static int stop_server(void **state)
{
	scripted_stop(&server);
	return 0;
}

static struct http_client *client_of(const struct http_conf *conf)
{
	struct http_client *client;
	struct error err = { 0 };

	if (http_client_new(&client, conf, &err))
		fail_msg("%s", err.msg);
	return client;
}

static struct http_client *plain_client(void)
{
	return client_of(&(struct http_conf){ .proxy = "", .user_agent = "tests/1" });
}

static void get(struct http_client *client, const char *url, struct http_response *ret)
{
	struct http_request req = { .method = "GET", .url = url, .timeout_ms = 30000 };
	struct error err = { 0 };

	if (http_do(client, &req, ret, &err))
		fail_msg("%s: %s", url, err.msg);
}

/* The call fails like that, and its message has these words. */
static void get_fails(struct http_client *client, const struct http_request *req,
		      enum error_kind kind, const char *words)
{
	struct http_response resp = { .status = 77 };
	struct error err = { 0 };

	if (!http_do(client, req, &resp, &err))
		fail_msg("%s: answered %d", words, resp.status);
	if (err.kind != kind || !strstr(err.msg, words))
		fail_msg("got %s (%d), want %s (%d)", err.msg, err.kind, words, kind);
	assert_int_equal(resp.status, 77); /* as it was before */
}

static void test_what_is_sent_and_what_comes(void **state)
{
	static const char *const headers[] = { "Accept: text/a", "X-B: c", NULL };
	struct http_client *client = plain_client();
	cleanup_http_response struct http_response resp = { 0 };
	struct http_request req = { .method = "PATCH",
				    .url = scripted_url(&server, "http", "/p?q=%20"),
				    .headers = headers,
				    .body = "{\"a\":1}",
				    .body_len = 7 };
	struct error err = { 0 };
	const cJSON *r;

	scripted_script(
		&server,
		"[{'status':201,'body':'hello','headers':{'Content-Type':'application/json; charset=utf-8','Retry-After':'7','Warning':['299 - \\\"one \\\\\\\"1\\\\\\\"\\\"','199 - \\\"not\\\"','299 a \\\"two\\\" \\\"date\\\"']}}]");
	assert_int_equal(http_do(client, &req, &resp, &err), 0);
	assert_int_equal(resp.status, 201);
	assert_string_equal(resp.body.data, "hello");
	assert_int_equal(resp.retry_after_ms, 7000);
	check_text("type", resp.content_type, "application/json");
	check_text("first warning", resp.warnings[0], "one \"1\"");
	check_text("second warning", resp.warnings[1], "two");
	assert_null(resp.warnings[2]);
	r = scripted_request(&server, 0);
	check_text("method", json_str(r, "method"), "PATCH");
	check_text("path", json_str(r, "path"), "/p?q=%20");
	check_text("body", json_str(r, "body"), "{\"a\":1}");
	check_text("Accept", json_str(r, "headers", "accept"), "text/a");
	check_text("X-B", json_str(r, "headers", "x-b"), "c");
	check_text("User-Agent", json_str(r, "headers", "user-agent"), "tests/1");
	assert_null(json_get(r, "headers", "expect"));
	http_client_free(client);
}

/* Of whoever has written the value it would be another header, or another request. */
static void test_a_line_break_in_a_header_is_not_sent(void **state)
{
	static const char *const bad[] = {
		"If-Match: \"a\"\r\nX-Evil: yes", "If-Match: \"a\"\nX-Evil: yes",
		"If-Match: \"a\"\r", "If-Match: a\r\n\r\nGET /evil HTTP/1.1\r\nH: h"
	};
	struct http_client *client = plain_client();

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		const char *const headers[] = { "Accept: a", bad[i], NULL };
		const struct http_request req = { .method = "GET",
						  .url = scripted_url(&server, "http",
								      "/"),
						  .headers = headers };

		scripted_script(&server, "[{}]");
		get_fails(client, &req, ERR_INVALID,
			  "request not sent: header If-Match contains a line break");
		assert_int_equal(scripted_count(&server), 0);
	}
	get_fails(client,
		  &(struct http_request){
			  .method = "GET",
			  .url = scripted_url(&server, "http", "/a\r\nX-Evil: yes") },
		  ERR_INVALID, "invalid URL");
	http_client_free(client);
}

/* What is after '?' may be a signature. */
static void test_a_query_is_in_no_message(void **state)
{
	struct http_client *client = plain_client();
	struct http_response resp = { 0 };
	struct error err = { 0 };

	assert_int_equal(http_do(client,
				 &(struct http_request){
					 .method = "GET",
					 .url = "gopher://h/x?Signature=secret#secret" },
				 &resp, &err),
			 -1);
	assert_null(strstr(err.msg, "secret"));
	http_client_free(client);
}

static void test_entity_tags(void **state)
{
	static const char *const good[] = { "\"\"", "\"a\"", "W/\"a\"",
					    "\"!#~\xc3\xa4<\"" };
	static const char *const bad[] = { "",         "a",        "\"",      "W/",
					   "W/a",      "w/\"a\"",  "\"a",     "a\"",
					   "\"a\"b",   "\"a\"b\"", "\"a b\"", "\"a\tb\"",
					   "\"\r\n\"", "\"\x7f\"", "W/ \"a\"" };

	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		if (!http_is_etag(good[i]))
			fail_msg("%s is one", good[i]);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		if (http_is_etag(bad[i]))
			fail_msg("%s is none", bad[i]);
}

static void test_rate_limits(void **state)
{
	static const struct {
		const char *script;
		int64_t ms;
	} rows[] = {
		{ "'status':429,'headers':{'RateLimit':'\\\"api\\\";r=0;t=55'}", 56000 },
		{ "'status':429,'headers':{'RateLimit':'\\\"api\\\";r=0;t=5;x',"
		  "'Retry-After':'2'}",
		  2000 },
		{ "'status':429,'headers':{'RateLimit':'\\\"api\\\";r=0;t=-5'}", -1 },
		{ "'status':429,'headers':{'RateLimit':';t='}", -1 },
		{ "'status':200,'headers':{'RateLimit':'\\\"api\\\";r=9;t=55'}", -1 },
		{ "'status':503,'headers':{'Retry-After':'Fri, 07 Nov 2014 "
		  "23:59:59 GMT'}",
		  0 },
		{ "'status':503,'headers':{'Retry-After':'Fri, 07 Nov 2098 "
		  "23:59:59 GMT'}",
		  1000000000 },
		{ "'status':503,'headers':{'Retry-After':'soon'}", -1 },
		{ "'status':503,'headers':{'Date':'Fri, 07 Nov 2014 23:59:49 GMT',"
		  "'Retry-After':'Fri, 07 Nov 2014 23:59:59 GMT'}",
		  10000 },
		{ "'status':429,'headers':{'Retry-After':'1771404540'}", -1 },
	};
	struct http_client *client = plain_client();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_http_response struct http_response resp = { 0 };
		struct http_request req = { .method = "GET",
					    .url = scripted_url(&server, "http", "/") };
		struct error err = { 0 };

		scripted_script(&server, arena_printf(&a, "[{%s}]", rows[i].script));
		assert_int_equal(http_do(client, &req, &resp, &err), 0);
		assert_int_equal(resp.retry_after_ms, rows[i].ms);
	}
	http_client_free(client);
}

static void test_methods(void **state)
{
	static const char *const methods[] = { "GET", "DELETE", "POST",
					       "PUT", "HEAD",   NULL };
	struct http_client *client = plain_client();

	for (const char *const *m = methods; *m; m++) {
		cleanup_http_response struct http_response resp = { 0 };
		struct http_request req = { .method = *m,
					    .url = scripted_url(&server, "http", "/"),
					    .timeout_ms = 30000 };
		struct error err = { 0 };

		scripted_script(&server, "[{'status':200,'close':true}]");
		if (http_do(client, &req, &resp, &err))
			fail_msg("%s: %s", *m, err.msg);
		check_text(*m, json_str(scripted_request(&server, 0), "method"), *m);
		check_text(*m, (char *)resp.body.data, "");
		assert_null(resp.content_type);
		assert_int_equal(resp.retry_after_ms, -1);
	}
	http_client_free(client);
}

static void test_a_connection_is_used_again(void **state)
{
	struct http_client *client = plain_client();
	const char *url = scripted_url(&server, "http", "/");

	scripted_script(&server, "[{},{},{'status':500,'body':'no'},{}]");
	for (int i = 0; i < 4; i++) {
		cleanup_http_response struct http_response resp = { 0 };

		get(client, url, &resp);
		assert_int_equal(resp.status, i == 2 ? 500 : 200);
	}
	assert_int_equal(json_int(scripted_request(&server, 0), -1, "connection"),
			 json_int(scripted_request(&server, 3), -2, "connection"));
	http_client_free(client);
}

/* The server hung up after the answer, unannounced: that is nobody's failure. */
static void test_a_kept_connection_that_was_closed(void **state)
{
	struct http_client *client = plain_client();
	const char *url = scripted_url(&server, "http", "/");

	scripted_script(&server, "[{'close':true},{'body':'again'}]");
	for (int i = 0; i < 2; i++) {
		cleanup_http_response struct http_response resp = { 0 };

		get(client, url, &resp);
		check_text("body", (char *)resp.body.data, i ? "again" : "");
	}
	http_client_free(client);
}

/* On a kept connection that has broken, a request is sent once more: not this one. */
static void test_what_is_not_idempotent_is_sent_once(void **state)
{
	struct http_client *client = plain_client();

	for (int once = 0; once < 2; once++) {
		struct http_response resp = { 0 };
		const struct http_request post = { .method = "POST",
						   .url = scripted_url(&server, "http",
								       "/"),
						   .body = "x",
						   .body_len = 1,
						   .once = once };
		struct error err = { 0 };
		int rc;

		scripted_script(&server, "[{'body':'kept'},{'raw':''},{'body':'x'}]");
		get(client, scripted_url(&server, "http", "/"), &resp);
		http_response_release(&resp);
		rc = http_do(client, &post, &resp, &err);
		assert_int_equal(rc, once ? -1 : 0);
		http_response_release(&resp);
		assert_int_equal(scripted_count(&server), once ? 2 : 3);
	}
	http_client_free(client);
}

/* Where reading ends early there is an error, and nobody is told it was all. */
struct source {
	size_t len;
	size_t most; /* at once */
};

static int read_source(void *ctx, size_t at, void *data, size_t max, size_t *ret_n,
		       struct error *err)
{
	const struct source *s = ctx;
	size_t n = max < s->most ? max : s->most;

	if (at >= s->len)
		return error_set(err, ERR_CONFLICT, "it has become shorter");
	*ret_n = n < s->len - at ? n : s->len - at;
	for (size_t i = 0; i < *ret_n; i++)
		((char *)data)[i] = (char)('a' + (at + i) % 26);
	return 0;
}

static void test_a_body_that_is_read(void **state)
{
	enum { LEN = 300000 };
	struct http_client *client = plain_client();
	struct source source = { .len = LEN, .most = 1000 };
	struct http_request put = { .method = "PUT",
				    .url = scripted_url(&server, "http", "/"),
				    .body_len = LEN,
				    .read = read_source,
				    .read_ctx = &source };
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };
	const char *body;

	scripted_script(&server, "[{'body':'ok'}]");
	if (http_do(client, &put, &resp, &err))
		fail_msg("%s", err.msg);
	body = json_str(scripted_request(&server, 0), "body");
	assert_int_equal(strlen(body), LEN);
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(body[i], 'a' + i % 26);
	source.len = LEN / 2;
	scripted_script(&server, "[{'body':'ok'}]");
	get_fails(client, &put, ERR_CONFLICT, "it has become shorter");
	http_client_free(client);
}

static void test_limits(void **state)
{
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/"),
				    .max_body = 1000 };
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };

	scripted_script(&server, "[{'body':'0123456789','times':100},"
				 "{'body':'0123456789','times':101},"
				 "{'headers':{'X-Long':'0'},'chunks':['0123456789',"
				 "'0123456789']}]");
	assert_int_equal(http_do(client, &req, &resp, &err), 0);
	assert_int_equal(resp.body.len, 1000);
	get_fails(client, &req, ERR_LIMIT, "exceeds 1000 bytes");
	req.max_body = 15;
	get_fails(client, &req, ERR_LIMIT, "exceeds 15 bytes");
	http_client_free(client);
}

static void test_a_header_without_end(void **state)
{
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/") };
	cleanup_buf struct buf script = { .max = 1024 * 1024 };

	buf_adds(&script, "[{'headers':{'X-Long':[''");
	for (int i = 0; i < 200; i++)
		buf_printf(&script, ",'%0500d'", i);
	buf_adds(&script, "]}}]");
	scripted_script(&server, (char *)script.data);
	get_fails(client, &req, ERR_LIMIT, "header exceeds");
	http_client_free(client);
}

struct pieces {
	struct buf all;
	int n, fail_at;
};

static int on_piece(void *ctx, const void *data, size_t len, struct error *err)
{
	struct pieces *p = ctx;

	buf_add(&p->all, data, len);
	if (++p->n == p->fail_at)
		return error_set(err, ERR_FORMAT, "enough");
	return 0;
}

static void test_pieces_as_they_come(void **state)
{
	struct http_client *client = plain_client();
	struct pieces p = { .all = { .max = 1000 } };
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/"),
				    .on_data = on_piece,
				    .max_body = 3,
				    .ctx = &p };
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };

	scripted_script(&server, "[{'chunks':['one',0.1,'two',0.1,'three']},"
				 "{'chunks':['one',0.1,'two',0.1,'three']},"
				 "{'status':404,'body':'no!'}]");
	if (http_do(client, &req, &resp, &err))
		fail_msg("%s", err.msg);
	check_text("pieces", (char *)p.all.data, "onetwothree");
	assert_true(p.n >= 3);
	check_text("body", (char *)resp.body.data, "");
	buf_clear(&p.all);
	p.n = 0;
	p.fail_at = 2;
	get_fails(client, &req, ERR_FORMAT, "enough");
	check_text("pieces", (char *)p.all.data, "onetwo");
	http_response_release(&resp);
	p.n = 0; /* what is no success is collected */
	assert_int_equal(http_do(client, &req, &resp, &err), 0);
	assert_int_equal(p.n, 0);
	check_text("body", (char *)resp.body.data, "no!");
	buf_release(&p.all);
	http_client_free(client);
}

static void test_time_limits(void **state)
{
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/"),
				    .timeout_ms = 200 };

	scripted_script(
		&server,
		"[{'hang':20},{'chunks':['a',20]},{'chunks':['a',20]},{'hang':20}]");
	get_fails(client, &req, ERR_TIMEOUT, "no response within 200 ms");
	get_fails(client, &req, ERR_TIMEOUT, "no response within 200 ms");
	req.timeout_ms = 0;
	req.idle_ms = 300;
	get_fails(client, &req, ERR_TIMEOUT, "no data received");
	req.first_ms = 300;
	get_fails(client, &req, ERR_TIMEOUT, "no data received");
	http_client_free(client);
}

/* Sockets that a child of this process would inherit. */
static int inherited(void)
{
	struct stat st;
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += !fstat(fd, &st) && S_ISSOCK(st.st_mode) &&
		     !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	return n;
}

static void test_connections_are_not_inherited(void **state)
{
	int before = inherited();
	struct http_client *client = plain_client();
	struct http_response resp = { 0 };

	scripted_script(&server, "[{'body':'x'}]");
	get(client, scripted_url(&server, "http", "/"), &resp);
	assert_int_equal(inherited(), before);
	http_response_release(&resp);
	http_client_free(client);
}

static bool cancelled;

static void on_alarm(int signum)
{
	__atomic_store_n(&cancelled, true, __ATOMIC_RELEASE);
}

static void alarm_in(int64_t ms, void (*handler)(int))
{
	struct itimerval when = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	struct sigaction act = { .sa_handler = handler };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &when, NULL);
}

static void test_cancelled(void **state)
{
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/"),
				    .cancel = &cancelled };

	scripted_script(&server, "[{'hang':60}]");
	alarm_in(100, on_alarm);
	get_fails(client, &req, ERR_STOPPED, "stopped");
	http_client_free(client);
}

static void test_broken_answers(void **state)
{
	static const struct {
		const char *script;
		enum error_kind kind;
		const char *words;
	} rows[] = {
		{ "[{'raw':''}]", ERR_IO, "connection closed before a response" },
		{ "[{'raw':'HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nabc'}]",
		  ERR_IO, "connection lost" },
		{ "[{'raw':'HTTP/1.1 000 no\\r\\nContent-Length: 0\\r\\n\\r\\n'}]",
		  ERR_FORMAT, "not an HTTP response" },
		{ "[{'raw':'SSH-2.0-OpenSSH_9.2\\r\\n'}]", ERR_FORMAT,
		  "not an HTTP response" },
		{ "[{'raw':'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz'}]",
		  ERR_IO, "" },
	};
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "http", "/"),
				    .timeout_ms = 30000 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		scripted_script(&server, rows[i].script);
		get_fails(client, &req, rows[i].kind, rows[i].words);
	}
	http_client_free(client);
}

/* A port of loopback where nobody listens, and nobody can, until *ret_fd is closed. */
static int bound_port(int *ret_fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_fd = fd;
	return ntohs(at.sin_port);
}

static void test_no_way_there(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct http_client *client = plain_client();
	struct http_request req = { .method = "GET", .timeout_ms = 30000 };
	struct http_response resp = { 0 };
	struct error err = { 0 };
	int fd, port = bound_port(&fd);

	req.url = arena_printf(&a, "http://127.0.0.1:%d/", port);
	get_fails(client, &req, ERR_IO,
		  arena_printf(&a, "127.0.0.1:%d: connection refused", port));
	req.url = "http://nobody.invalid/";
	get_fails(client, &req, ERR_IO,
		  "nobody.invalid:80: cannot resolve the host name");
	req.url = "ftp://127.0.0.1/";
	get_fails(client, &req, ERR_INVALID, "invalid URL");
	req.url = "http://[::1/";
	get_fails(client, &req, ERR_INVALID, "invalid URL");
	/* Nobody is told the password. */
	req.url = "http://me:secret@127.0.0.1/";
	get_fails(client, &req, ERR_INVALID, "user name");
	assert_int_equal(http_do(client, &req, &resp, &err), -1);
	assert_null(strstr(err.msg, "secret"));
	http_client_free(client);
	close(fd);
}

struct many {
	struct http_client *client;
	const char *url;
};

static void *many_calls(void *ctx)
{
	const struct many *many = ctx;

	for (int i = 0; i < 20; i++) {
		cleanup_http_response struct http_response resp = { 0 };

		get(many->client, many->url, &resp);
		assert_int_equal(resp.status, 599);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct many many = {
		.client = client_of(&(struct http_conf){ .proxy = "", .max_idle = 2 }),
		.url = scripted_url(&server, "http", "/"),
	};
	pthread_t threads[8];

	scripted_script(&server, "[]");
	for (size_t i = 0; i < N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, many_calls, &many);
	for (size_t i = 0; i < N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(scripted_count(&server), 160);
	http_client_free(many.client);
}

static void test_escape(void **state)
{
	cleanup_buf struct buf out = { .max = 100 };

	http_escape(&out, "aZ09-._~/ ?&=%\xc3\xa4");
	check_text("escaped", (char *)out.data, "aZ09-._~%2F%20%3F%26%3D%25%C3%A4");
}

/* ---- TLS ---- */

static struct command folder;
static struct x509_pair ca, other_ca;

/* <name>.crt and <name>.key in the folder. */
static void server_files(const char *name, const char *host, int64_t from, int64_t until)
{
	cleanup_x509_pair struct x509_pair pair = { 0 };
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	if (x509_new_server(&pair, &ca, host, from, until, &err))
		fail_msg("%s", err.msg);
	command_file(&folder, arena_printf(&a, "%s.crt", name), pair.cert_pem);
	command_file(&folder, arena_printf(&a, "%s.key", name), pair.key_pem);
}

static int make_certificates(void **state)
{
	int64_t now = clock_now(), day = 24 * 3600;
	struct error err = { 0 };

	snprintf(folder.dir, sizeof(folder.dir), "/tmp/http-test-XXXXXX");
	assert_non_null(mkdtemp(folder.dir));
	if (x509_new_ca(&ca, "test", "test", now - 100 * day, now + day, &err) ||
	    x509_new_ca(&other_ca, "test", "test", now, now + day, &err))
		fail_msg("%s", err.msg);
	server_files("good", "localhost", now, now + day);
	server_files("other", "other.example", now, now + day);
	server_files("old", "localhost", now - 50 * day, now - day);
	return 0;
}

static int remove_certificates(void **state)
{
	x509_pair_release(&ca);
	x509_pair_release(&other_ca);
	command_release(&folder);
	return 0;
}

/* name: whose certificate; client_ca: a file, or NULL */
static void start_tls(const char *name, const char *client_ca)
{
	cleanup_arena struct arena a = { 0 };
	const char *args[4] = { arena_printf(&a, "%s/%s.crt", folder.dir, name),
				arena_printf(&a, "%s/%s.key", folder.dir, name) };

	if (client_ca)
		args[2] = arena_printf(&a, "%s/%s", folder.dir, client_ca);
	scripted_start(&server, args);
	scripted_script(&server, "[{'body':'a'},{'body':'a'},{'body':'a'}]");
}

static void get_works(const struct http_conf *conf)
{
	struct http_client *client = client_of(conf);
	cleanup_http_response struct http_response resp = { 0 };

	get(client, scripted_url(&server, "https", "/"), &resp);
	check_text("body", (char *)resp.body.data, "a");
	http_client_free(client);
}

static void get_is_refused(const struct http_conf *conf, enum error_kind kind,
			   const char *words)
{
	struct http_client *client = client_of(conf);
	struct http_request req = { .method = "GET",
				    .url = scripted_url(&server, "https", "/"),
				    .timeout_ms = 30000 };

	get_fails(client, &req, kind, words);
	http_client_free(client);
}

static void test_trust(void **state)
{
	struct http_conf conf = { .proxy = "", .ca_pem = ca.cert_pem };

	start_tls("good", NULL);
	get_works(&conf);
	conf.ca_pem = other_ca.cert_pem;
	get_is_refused(&conf, ERR_UNTRUSTED, "signed by an untrusted CA");
	conf.ca_setting = "certificate-authority";
	get_is_refused(&conf, ERR_UNTRUSTED, "address and certificate-authority");
	conf.insecure = true;
	get_works(&conf);
	conf.insecure = false;
	conf.ca_pem = "-----BEGIN CERTIFICATE-----\nnonsense\n";
	{
		struct http_client *client = client_of(&conf);
		struct http_request req = { .method = "GET",
					    .url = scripted_url(&server, "https", "/") };

		get_fails(client, &req, ERR_INVALID,
			  "cannot read CA certificates from certificate-authority: "
			  "contains no certificate in PEM");
		http_client_free(client);
	}
	scripted_stop(&server);
}

static void test_the_systems_trust(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct http_conf conf = { .proxy = "" };

	start_tls("good", NULL);
	command_file(&folder, "bundle", ca.cert_pem);
	setenv("SSL_CERT_FILE", arena_printf(&a, "%s/bundle", folder.dir), 1);
	get_works(&conf);
	unsetenv("SSL_CERT_FILE");
	get_is_refused(&conf, ERR_UNTRUSTED, "localhost:");
	scripted_stop(&server);
}

static void test_what_may_be_a_servers_name(void **state)
{
	static const char *const good[] = { "",        "a",   "A.b-c_d.",
					    "1.2.3.4", "::1", "fd00::1" };
	static const char *const bad[] = { "https://a", "a:6443", "[::1]", "a b",
					   "*.a",       "a/b",    "::1%lo" };

	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		assert_true(http_is_server_name(good[i]));
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		assert_false(http_is_server_name(bad[i]));
}

static void test_names(void **state)
{
	struct http_conf conf = { .proxy = "", .ca_pem = ca.cert_pem };
	const cJSON *r;

	start_tls("other", NULL);
	get_is_refused(&conf, ERR_UNTRUSTED, "for another name");
	conf.server_name = "other.example";
	get_works(&conf);
	r = scripted_request(&server, 0);
	assert_non_null(str_after(json_str(r, "headers", "host"), "localhost:"));
	conf.server_name = "third.example";
	get_is_refused(&conf, ERR_UNTRUSTED, "for another name");
	scripted_stop(&server);
	start_tls("old", NULL);
	conf.server_name = NULL;
	get_is_refused(&conf, ERR_UNTRUSTED, "has expired");
	scripted_stop(&server);
}

/* One of our own making is a server's only. */
static void make_client_certificate(void)
{
	if (command_status(&folder, "command -v openssl")) {
		printf("# skip: openssl is not installed\n");
		skip();
	}
	command_run(&folder, "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=client "
			     "-keyout client.key -out client.crt -days 2");
}

static void test_client_certificate(void **state)
{
	struct http_conf conf = { .proxy = "", .ca_pem = ca.cert_pem };
	cleanup_free char *cert = NULL, *key = NULL;
	struct http_client *client;
	struct error err = { 0 };

	make_client_certificate();
	cert = command_read(&folder, "client.crt");
	key = command_read(&folder, "client.key");
	start_tls("good", "client.crt");
	get_is_refused(&conf, ERR_IO, "localhost:");
	conf.cert_pem = cert;
	assert_int_equal(http_client_new(&client, &conf, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	conf.key_pem = key;
	get_works(&conf);
	get_works(&conf);
	scripted_stop(&server);
}

/* http where https is meant, and the other way round. */
static void test_the_other_protocol(void **state)
{
	struct http_conf conf = { .proxy = "", .ca_pem = ca.cert_pem };
	struct http_client *client = client_of(&conf);
	struct http_request req = { .method = "GET", .timeout_ms = 30000 };

	start_tls("good", NULL);
	req.url = scripted_url(&server, "http", "/");
	get_fails(client, &req, ERR_IO, "localhost:");
	req.url = arena_printf(&server.arena, "https://localhost:%d/", server.control);
	get_fails(client, &req, ERR_IO, "TLS handshake failed");
	http_client_free(client);
	scripted_stop(&server);
}

/* While one call has the first connection, another needs a second one. */
struct inner {
	struct http_client *client;
	const char *url;
};

static int call_again(void *ctx, const void *data, size_t len, struct error *err)
{
	const struct inner *inner = ctx;
	const struct http_request req = { .method = "GET", .url = inner->url };
	struct http_response resp = { 0 };
	int rc;

	rc = http_do(inner->client, &req, &resp, err);
	http_response_release(&resp);
	return rc;
}

static void test_a_further_connection_resumes_a_session(void **state)
{
	struct http_conf conf = { .proxy = "", .ca_pem = ca.cert_pem };
	struct http_client *client = client_of(&conf);
	struct inner inner = { .client = client };
	struct http_request req = { .method = "GET",
				    .on_data = call_again,
				    .ctx = &inner };
	struct http_response resp = { 0 };
	struct error err = { 0 };

	start_tls("good", NULL);
	inner.url = req.url = scripted_url(&server, "https", "/");
	if (http_do(client, &req, &resp, &err))
		fail_msg("%s", err.msg);
	http_response_release(&resp);
	http_client_free(client);
	assert_int_equal(scripted_count(&server), 2);
	assert_false(json_bool(scripted_request(&server, 0), false, "resumed"));
	assert_true(json_bool(scripted_request(&server, 1), false, "resumed"));
	get_works(&conf); /* another client verifies for itself */
	assert_false(json_bool(scripted_request(&server, 2), false, "resumed"));
	scripted_stop(&server);
}

static void test_proxy(void **state)
{
	struct http_conf conf = { .ca_pem = ca.cert_pem };
	struct http_client *client;
	cleanup_http_response struct http_response resp = { 0 };
	struct scripted proxy;
	const char *url;

	scripted_start(&proxy, NULL);
	start_tls("good", NULL);
	conf.proxy = arena_printf(&proxy.arena, "http://127.0.0.1:%d", proxy.port);
	url = scripted_url(&server, "https", "/");
	scripted_script(&proxy, "[{'tunnel':true}]");
	client = client_of(&conf);
	get(client, url, &resp);
	check_text("body", (char *)resp.body.data, "a");
	check_text("method", json_str(scripted_request(&proxy, 0), "method"), "CONNECT");
	http_client_free(client);
	scripted_stop(&server);
	scripted_stop(&proxy);
}

struct large {
	size_t len;
	bool wrong;
};

static int on_large(void *ctx, const void *data, size_t len, struct error *err)
{
	struct large *l = ctx;

	for (size_t i = 0; i < len; i++)
		l->wrong |= ((const char *)data)[i] != "0123456789"[(l->len + i) % 10];
	l->len += len;
	return 0;
}

/* Records of TLS have 16 KiB: more of them than one, with a large buffer, come whole. */
static void test_many_records(void **state)
{
	struct http_conf conf = { .proxy = "",
				  .ca_pem = ca.cert_pem,
				  .receive_bytes = 256 * 1024 };
	struct http_client *client = client_of(&conf);
	struct large large = { 0 };
	struct http_request req = {
		.method = "GET", .on_data = on_large, .ctx = &large, .timeout_ms = 30000
	};
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };

	start_tls("good", NULL);
	scripted_script(
		&server,
		"[{'body':'0123456789','times':300000},{'body':'0'},{'chunks':['0123456789','0123456789']},{'raw':'HTTP/1.1 200 OK\\r\\nContent-Length: 11\\r\\n\\r\\n0123456789'}]");
	req.url = scripted_url(&server, "https", "/");
	for (size_t i = 0; i < 3; i++) {
		static const size_t lens[] = { 3000000, 1, 20 };

		large.len = 0;
		if (http_do(client, &req, &resp, &err))
			fail_msg("%zu: %s", i, err.msg);
		http_response_release(&resp);
		assert_int_equal(large.len, lens[i]);
	}
	large.len = 0;
	get_fails(client, &req, ERR_IO, "connection lost");
	assert_int_equal(large.len, 10);
	assert_false(large.wrong);
	assert_int_equal(json_int(scripted_request(&server, 3), -1, "connection"),
			 json_int(scripted_request(&server, 0), -2, "connection"));
	http_client_free(client);
	scripted_stop(&server);
}

/* ---- the end of the process: the last tests, for it is asked for only once ---- */

static void on_stop(int signum)
{
	stop_request();
}

static void test_stop(void **state)
{
	struct http_client *client = plain_client();
	struct http_client *last_words =
		client_of(&(struct http_conf){ .proxy = "", .after_stop = true });
	const char *url = scripted_url(&server, "http", "/");
	struct http_request req = { .method = "GET", .url = url };
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };
	int64_t start = clock_ms();

	assert_int_equal(stop_setup(&err), 0);
	/* the control's client would stop, too: one script for all */
	scripted_script(&server, "[{'hang':60},{'hang':0.3,'body':'bye'}]");
	alarm_in(300, on_stop);
	get_fails(client, &req, ERR_STOPPED, "stopped");
	assert_true(clock_ms() - start < 30000);
	get_fails(client, &req, ERR_STOPPED, "stopped");
	get(last_words, url, &resp);
	check_text("body", (char *)resp.body.data, "bye");
	http_client_free(client);
	http_client_free(last_words);
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(test_what_is_sent_and_what_comes),
		cmocka_unit_test(test_a_line_break_in_a_header_is_not_sent),
		cmocka_unit_test(test_a_query_is_in_no_message),
		cmocka_unit_test(test_entity_tags),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_what_is_not_idempotent_is_sent_once),
		cmocka_unit_test(test_a_body_that_is_read),
		cmocka_unit_test(test_rate_limits),
		cmocka_unit_test(test_a_connection_is_used_again),
		cmocka_unit_test(test_a_kept_connection_that_was_closed),
		cmocka_unit_test(test_connections_are_not_inherited),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_a_header_without_end),
		cmocka_unit_test(test_pieces_as_they_come),
		cmocka_unit_test(test_time_limits),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_broken_answers),
		cmocka_unit_test(test_no_way_there),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_escape),
	};
	const struct CMUnitTest tls[] = {
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_what_may_be_a_servers_name),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_the_systems_trust),
		cmocka_unit_test(test_client_certificate),
		cmocka_unit_test(test_the_other_protocol),
		cmocka_unit_test(test_a_further_connection_resumes_a_session),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_many_records),
	};
	const struct CMUnitTest last[] = {
		cmocka_unit_test(test_stop),
	};
	int failed;

	failed = cmocka_run_group_tests_name("http", plain, start_plain, stop_server);
	failed += cmocka_run_group_tests_name("tls", tls, make_certificates,
					      remove_certificates);
	failed += cmocka_run_group_tests_name("stop", last, start_plain, stop_server);
	return failed;
}
