/* What S3 and STS say when they refuse. */
#include "cloud/aws_error.h"
#include "tests/unit/base/base_test.h"

TEST(test_errors)
{
	static const struct {
		const char *xml, *code, *message, *region, *endpoint;
	} rows[] = {
		{ "<Error><Code>NoSuchKey</Code><Message>a\nb</Message></Error>",
		  "NoSuchKey", "a\\x0ab", NULL, NULL },
		{ "<ErrorResponse><Error><Code>AccessDenied</Code></Error></"
		  "ErrorResponse>",
		  "AccessDenied", "", NULL, NULL },
		{ "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</"
		  "Region></Error>",
		  "AuthorizationHeaderMalformed", "", "eu-west-1", NULL },
		{ "<Error><Code>PermanentRedirect</Code><Endpoint>s3.x.com</Endpoint></"
		  "Error>",
		  "PermanentRedirect", "", NULL, "s3.x.com" },
		{ "<Error><Code>x</Code>", "", "", NULL, NULL },
		{ "not found", "", "", NULL, NULL },
		{ "", "", "", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_buf struct buf body = { .max = 1000 };
		struct aws_error e;

		buf_adds(&body, rows[i].xml);
		e = aws_error_read(&arena, &body);
		check_text(rows[i].xml, e.code, rows[i].code);
		check_text(rows[i].xml, e.message, rows[i].message);
		check_text(rows[i].xml, e.region, rows[i].region);
		check_text(rows[i].xml, e.endpoint, rows[i].endpoint);
	}
}

TEST(test_what_passes)
{
	static const struct {
		int status;
		const char *xml, *want;
	} rows[] = {
		{ 400,
		  "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate "
		  "exceeded</Message></Error></ErrorResponse>",
		  "Throttling: Rate exceeded" },
		{ 400, "<Error><Code>RequestTimeout</Code></Error>", "RequestTimeout: " },
		{ 400,
		  "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>"
		  "Couldn't retrieve verification key from your identity "
		  "provider</Message></Error></ErrorResponse>",
		  "InvalidIdentityToken: Couldn't retrieve verification key from your "
		  "identity provider" },
		{ 400,
		  "<Error><Code>InvalidIdentityToken</Code><Message>Incorrect token "
		  "audience</Message></Error>",
		  NULL },
		{ 403, "<Error><Code>AccessDenied</Code></Error>", NULL },
		{ 400, "", NULL },
		/* its status suffices */
		{ 503, "<Error><Code>SlowDown</Code></Error>", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct http_response r = { .status = rows[i].status, .body.max = 1000 };

		buf_adds(&r.body, rows[i].xml);
		check_text(rows[i].xml, aws_error_passes(&arena, &r), rows[i].want);
		buf_release(&r.body);
	}
}

RUN_TESTS(NULL, NULL)
