/* Who may read the page. */
#include "tests/unit/unit.h"

#include <stdio.h>

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
	return gate_judge(
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
	assert_int_equal(gate_judge(&gate, &req, &why), GATE_REFUSED);
	h[3].value = h[2].value;
	assert_int_equal(gate_judge(&gate, &req, &why), GATE_OPEN);
}

TEST(csrf_token)
{
	assert_true(gate_csrf(&gate, gate.csrf));
	assert_false(gate_csrf(&gate, NULL));
	assert_false(gate_csrf(&gate, ""));
	assert_false(gate_csrf(&gate, gate.cookie));
}

RUN_TESTS(setup, NULL)
