/* Metadata servers that are away when a key or token is due for renewal. */
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "cloud/aws_credentials.h"
#include "cloud/gs_token.h"
#include "net/httpd.h"
#include "tests/unit/base/base_test.h"

static int calls, status;
static bool busy; /* with the list of roles */

static void answer(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	char ends[TIME_TEXT_SIZE];

	(void)ctx;
	resp->status = status;
	resp->body.max = resp->headers.max = 4096;
	if (busy && str_ends(req->path, "/"))
		resp->status = 503;
	if (resp->status != 200)
		return;
	if (str_starts(req->path, "/computeMetadata/")) {
		buf_adds(&resp->headers, "Metadata-Flavor: Google\r\n");
		buf_printf(&resp->body, "{\"access_token\": \"A%d\", \"expires_in\": 60}",
			   ++calls);
	} else if (str_ends(req->path, "/role")) {
		buf_printf(&resp->body,
			   "{\"AccessKeyId\": \"A%d\", \"SecretAccessKey\": \"S\", "
			   "\"Expiration\": \"%s\"}",
			   ++calls, time_text(clock_now() + 60, ends));
	} else {
		buf_adds(&resp->body, "role");
	}
}

static const char *env(void *ctx, const char *name)
{
	static char google[64];

	snprintf(google, sizeof(google), "%s", (const char *)ctx + strlen("http://"));
	return !strcmp(name, "AWS_EC2_METADATA_SERVICE_ENDPOINT") ? ctx
	       : !strcmp(name, "GCE_METADATA_HOST")               ? google
	       : !strcmp(name, "HOME")                            ? "/nowhere"
								  : NULL;
}

static int of_aws(void *from, struct arena *arena, const char **ret, struct error *err)
{
	const struct sigv4_key *key = NULL;
	int rc = aws_credentials_get(from, false, arena, &key, err);

	*ret = key ? key->access : NULL;
	return rc;
}

static int of_google(void *from, struct arena *arena, const char **ret, struct error *err)
{
	return gs_token_get(from, false, arena, ret, err);
}

static void expect(int (*get)(void *, struct arena *, const char **, struct error *),
		   void *from, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *got = NULL;

	if (get(from, &arena, &got, &err))
		fail_msg("%s", err.msg);
	if (!got || strcmp(got, want))
		fail_msg("%s, wanted %s", got ? got : "anonymous", want);
	clock_sleep_ms(1100); /* it is renewed once a second at most */
}

static void check_outage(int (*get)(void *, struct arena *, const char **,
				    struct error *),
			 void *from)
{
	calls = 0;
	status = 200;
	expect(get, from, "A1");
	status = 503;
	expect(get, from, "A1");
	status = 404;
	expect(get, from, "A1");
	calls = 1;
	status = 200;
	expect(get, from, "A2");
}

/* A request that fails may be sent again, with a key. */
static void check_busy(struct aws_credentials *c)
{
	cleanup_arena struct arena arena = { 0 };
	const struct sigv4_key *key;
	struct error err = { 0 };

	status = 200;
	busy = true;
	assert_int_equal(aws_credentials_get(c, false, &arena, &key, &err), -1);
	assert_int_equal(err.kind, ERR_IO);
	assert_string_equal(err.msg, "the machine's role (IMDS): HTTP 503");
	busy = false;
}

/* Before, all further requests were anonymous: an upload of hours later failed. */
TEST(test_outages)
{
	const struct httpd_conf conf = { .host = "127.0.0.1", .handle = answer };
	struct cloud_conf cloud = { .env = env, .retry.tries = 1 };
	const struct http_conf direct = { .proxy = "" };
	struct aws_credentials *aws;
	struct http_client *http;
	struct gs_token *google;
	struct error err = { 0 };
	struct httpd *d;
	char url[64];

	assert_int_equal(httpd_start(&d, &conf, &err), 0);
	assert_int_equal(http_client_new(&http, &direct, &err), 0);
	cloud.retry.http = http;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", httpd_port(d));
	cloud.ctx = url;
	aws = aws_credentials_new(&cloud, "us-east-1");
	check_busy(aws);
	check_outage(of_aws, aws);
	aws_credentials_free(aws);
	google = gs_token_new(&cloud);
	check_outage(of_google, google);
	gs_token_free(google);
	http_client_free(http);
	httpd_stop(d, 0);
}

RUN_TESTS(NULL, NULL)
