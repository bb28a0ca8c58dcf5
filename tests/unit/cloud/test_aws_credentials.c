/* Keys of a role that expire while others are still told where they are from. */
#include <stdio.h>

#include "base/clock.h"
#include "cloud/aws_credentials.h"
#include "net/httpd.h"
#include "tests/unit/base/base_test.h"

static int calls;

/* STS: a key that is about to expire. */
static void answer(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	char ends[TIME_TEXT_SIZE];

	(void)ctx, (void)req;
	calls++;
	resp->status = 200;
	resp->body.max = 4096;
	buf_printf(&resp->body,
		   "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
		   "<AccessKeyId>A%d</AccessKeyId><SecretAccessKey>S</SecretAccessKey>"
		   "<SessionToken>T</SessionToken><Expiration>%s</Expiration>"
		   "</Credentials></AssumeRoleResult></AssumeRoleResponse>",
		   calls, time_text(clock_now() + 60, ends));
}

static const char *env(void *ctx, const char *name)
{
	const char *const rows[][2] = {
		{ "ACCESS_KEY_ID", "A" },
		{ "SECRET_ACCESS_KEY", "S" },
		{ "ROLE_ARN", "arn:aws:iam::1:role/r" },
		{ "AWS_ENDPOINT_URL_STS", ctx },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!strcmp(name, rows[i][0]))
			return rows[i][1];
	return NULL;
}

TEST(test_source)
{
	const struct httpd_conf conf = { .host = "127.0.0.1", .handle = answer };
	struct cloud_conf cloud = { .env = env, .retry.tries = 1 };
	cleanup_arena struct arena arena = { 0 };
	struct aws_credentials *c;
	const struct sigv4_key *key;
	const char *source;
	struct error err = { 0 };
	const struct http_conf direct = { .proxy = "" };
	struct http_client *http;
	struct httpd *d;
	char url[64];

	assert_int_equal(httpd_start(&d, &conf, &err), 0);
	assert_int_equal(http_client_new(&http, &direct, &err), 0);
	cloud.retry.http = http;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", httpd_port(d));
	cloud.ctx = url;
	c = aws_credentials_new(&cloud, "us-east-1");
	assert_string_equal(aws_credentials_source(c, &arena), "no credentials");
	if (aws_credentials_get(c, false, &arena, &key, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(key->access, "A1");
	source = aws_credentials_source(c, &arena);
	clock_sleep_ms(1100); /* it is renewed once a second at most */
	assert_int_equal(aws_credentials_get(c, false, &arena, &key, &err), 0);
	assert_string_equal(key->access, "A2");
	assert_string_equal(source, "role ROLE_ARN");
	aws_credentials_free(c);
	http_client_free(http);
	httpd_stop(d, 0);
}

RUN_TESTS(NULL, NULL)
