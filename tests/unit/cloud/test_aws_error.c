/* What S3 and STS say when they refuse. */
#include "cloud/aws_error.h"
#include "tests/unit/base/base_test.h"

TEST(test_errors)
{
	static const struct {
		const char *xml, *code, *message, *region;
	} rows[] = {
		{ "<Error><Code>NoSuchKey</Code><Message>a\nb</Message></Error>",
		  "NoSuchKey", "a\\x0ab", NULL },
		{ "<ErrorResponse><Error><Code>AccessDenied</Code></Error></"
		  "ErrorResponse>",
		  "AccessDenied", "", NULL },
		{ "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</"
		  "Region></Error>",
		  "AuthorizationHeaderMalformed", "", "eu-west-1" },
		{ "<Error><Code>x</Code>", "", "", NULL },
		{ "not found", "", "", NULL },
		{ "", "", "", NULL },
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
	}
}

RUN_TESTS(NULL, NULL)
