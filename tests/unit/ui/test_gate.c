/* Who may read the page. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ui/gate.h"

static struct gate gate;

static int setup(void **state)
{
	struct error err = { 0 };

	gate = (struct gate){ .port = 4000 };
	return gate_init(&gate, &err);
}

static enum gate_verdict ask(const char *host, const char *origin, const char *cookie,
			     const char *query)
{
	struct httpd_header h[4] = { { 0 } };
	size_t n = 0;
	const char *why;

	if (host)
		h[n++] = (struct httpd_header){ "Host", host };
	if (origin)
		h[n++] = (struct httpd_header){ "Origin", origin };
	if (cookie)
		h[n++] = (struct httpd_header){ "Cookie", cookie };
	return gate_check(
		&gate,
		&(struct httpd_request){
			.method = "GET", .path = "/", .query = query, .headers = h },
		&why);
}

TEST(the_token_is_good_once)
{
	char query[100];

	snprintf(query, sizeof(query), "token=%s", gate.token);
	assert_int_equal(ask("127.0.0.1:4000", NULL, NULL, "token=x"), GATE_REFUSED);
	assert_int_equal(ask("evil.example:4000", NULL, NULL, query), GATE_REFUSED);
	assert_int_equal(ask("127.0.0.1:4000", NULL, NULL, query), GATE_ENTER);
	assert_int_equal(ask("127.0.0.1:4000", NULL, NULL, query), GATE_REFUSED);
}

TEST(the_cookie_opens_for_this_host_and_origin_only)
{
	char cookie[128], other[128];

	snprintf(cookie, sizeof(cookie), "a=1; kftrainer-4000=%s", gate.cookie);
	snprintf(other, sizeof(other), "kftrainer-4001=%s", gate.cookie);
	assert_int_equal(ask("localhost:4000", NULL, cookie, ""), GATE_OPEN);
	assert_int_equal(ask("localhost:4000", "http://localhost:4000", cookie, ""),
			 GATE_OPEN);
	assert_int_equal(ask("localhost:4000", "null", cookie, ""), GATE_REFUSED);
	assert_int_equal(ask("localhost:4000", "http://evil.example", cookie, ""),
			 GATE_REFUSED);
	assert_int_equal(ask("localhost", NULL, cookie, ""), GATE_REFUSED);
	assert_int_equal(ask("rebind.example:4000", NULL, cookie, ""), GATE_REFUSED);
	assert_int_equal(ask(NULL, NULL, cookie, ""), GATE_REFUSED);
	assert_int_equal(ask("localhost:4000", NULL, other, ""), GATE_REFUSED);
	assert_int_equal(ask("localhost:4000", NULL, "kftrainer-4000=", ""),
			 GATE_REFUSED);
}

/* Names by which a foreign page, or another server of this machine, could be reached. */
TEST(no_other_name_opens)
{
	static const char *const hosts[] = {
		"",
		"127.0.0.1",
		"127.0.0.1:04000",
		"127.0.0.1:4001",
		"127.0.0.1.:4000",
		"127.0.0.1:4000.evil.example",
		"127.0.0.1.nip.io:4000",
		"127.1:4000",
		"2130706433:4000",
		"0.0.0.0:4000",
		"[::1]:4000",
		"[::ffff:127.0.0.1]:4000",
		"localhost.:4000",
		"foo.localhost:4000",
	};
	static const char *const origins[] = {
		"",
		"file://",
		"https://127.0.0.1:4000",
		"http://127.0.0.1:4000/",
		"http://127.0.0.1:4000.evil.example",
		"http://127.0.0.1:4000 http://evil.example",
		"http://127.0.0.1:4001",
		"http://[::1]:4000",
	};
	char cookie[128];

	snprintf(cookie, sizeof(cookie), "kftrainer-4000=%s", gate.cookie);
	for (size_t i = 0; i < N_ELEMENTS(hosts); i++)
		assert_int_equal(ask(hosts[i], NULL, cookie, ""), GATE_REFUSED);
	for (size_t i = 0; i < N_ELEMENTS(origins); i++)
		assert_int_equal(ask("127.0.0.1:4000", origins[i], cookie, ""),
				 GATE_REFUSED);
	assert_int_equal(ask("LOCALHOST:4000", "http://127.0.0.1:4000", cookie, ""),
			 GATE_OPEN);
}

/* %s: the key */
TEST(no_other_form_of_the_cookie_opens)
{
	static const char *const forms[] = {
		"kftrainer-4000=\"%s\"",  "kftrainer-4000 = %s", "xkftrainer-4000=%s",
		"a=b, kftrainer-4000=%s", "kftrainer-4000=%sx",  "kftrainer-4000=x%s",
		"KFTRAINER-4000=%s",
	};
	static const char *const good[] = {
		"a=b;kftrainer-4000=%s",
		"kftrainer-4000=0; kftrainer-4000=%s",
		"kftrainer-4000=%s; kftrainer-4000=0",
	};

	for (size_t i = 0; i < N_ELEMENTS(forms) + N_ELEMENTS(good); i++) {
		bool opens = i >= N_ELEMENTS(forms);
		cleanup_buf struct buf cookie = { .max = 256 };
		const char *form = opens ? good[i - N_ELEMENTS(forms)] : forms[i];
		const char *key = strstr(form, "%s");

		buf_printf(&cookie, "%.*s%s%s", (int)(key - form), form, gate.cookie,
			   key + 2);
		assert_int_equal(
			ask("127.0.0.1:4000", NULL, (const char *)cookie.data, ""),
			opens ? GATE_OPEN : GATE_REFUSED);
	}
}

TEST(each_of_two_origins_is_judged)
{
	char cookie[128];
	struct httpd_header h[] = { { "Host", "localhost:4000" },
				    { "Cookie", cookie },
				    { "Origin", "http://localhost:4000" },
				    { "origin", "http://evil.example" },
				    { 0 } };
	const struct httpd_request req = {
		.method = "GET", .path = "/", .query = "", .headers = h
	};
	const char *why;

	snprintf(cookie, sizeof(cookie), "kftrainer-4000=%s", gate.cookie);
	assert_int_equal(gate_check(&gate, &req, &why), GATE_REFUSED);
	h[3].value = h[2].value;
	assert_int_equal(gate_check(&gate, &req, &why), GATE_OPEN);
}

TEST(csrf_token)
{
	assert_true(gate_csrf(&gate, gate.csrf));
	assert_false(gate_csrf(&gate, NULL));
	assert_false(gate_csrf(&gate, ""));
	assert_false(gate_csrf(&gate, gate.cookie));
}

RUN_TESTS(setup, NULL)
