/* Profiles of AWS's files: which lines are whose. */
#include "base/str.h"
#include "cloud/aws_profile.h"
#include "tests/unit/base/base_test.h"

TEST(test_lines)
{
	static const struct {
		const char *name, *text, *profile, *region; /* region NULL: not said */
		bool config, found;
	} rows[] = {
		{ "plain", "[default]\nregion = a\n", "default", "a", true, true },
		{ "no blanks, no end", "[default]\nregion=a", "default", "a", true,
		  true },
		{ "CR LF", "[default]\r\nregion = a\r\n", "default", "a", true, true },
		{ "a byte order mark", "\xef\xbb\xbf[default]\nregion = a\n", "default",
		  "a", true, true },
		{ "another", "[profile b]\nregion = a\n", "default", NULL, true, false },
		{ "by name", "[profile b]\nregion = a\n[profile c]\nregion = d\n", "b",
		  "a", true, true },
		{ "quotes", "[ profile\t'b c' ]\nregion = a\n", "b c", "a", true, true },
		{ "default as a profile", "[profile default]\nregion = a\n", "default",
		  "a", true, true },
		{ "no word profile", "[b]\nregion = a\n", "b", NULL, true, false },
		{ "credentials have none", "[b]\nregion = a\n", "b", "a", false, true },
		{ "nor is it one there", "[profile b]\nregion = a\n", "b", NULL, false,
		  false },
		{ "comments", "#[b]\n[b]\n#region = x\n;region = y\nregion = a\n", "b",
		  "a", false, true },
		{ "any case", "[b]\nRegion = a\n", "b", "a", false, true },
		{ "nested", "[b]\nregion = a\ns3 =\n  region = x\n\tregion = y\n", "b",
		  "a", false, true },
		{ "after that", "[b]\ns3 =\n  region = x\nregion = a\n", "b", "a", false,
		  true },
		{ "all further in", "  [b]\n  region = a\n", "b", "a", false, true },
		{ "of another kind", "[sso-session b]\nregion = a\n", "b", NULL, true,
		  false },
		{ "the last one", "[b]\nregion = x\n[b]\nregion = a\n", "b", "a", false,
		  true },
		{ "a colon, as boto3 reads it", "[b]\nregion : a=b:c\n", "b", "a=b:c",
		  false, true },
		{ "behind the equals sign", "[b]\nregion=a:b\n", "b", "a:b", false,
		  true },
		{ "no value", "[b]\nregion =\n", "b", NULL, false, true },
		{ "no key", "[b]\nregion\n=\n", "b", NULL, false, true },
		{ "nothing", "", "b", NULL, true, false },
		{ "an open bracket", "[b\nregion = a\n[", "b", "a", false, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct aws_profile p = { 0 };
		bool found = aws_profile_read(&p, &arena, rows[i].text, rows[i].config,
					      rows[i].profile);

		if (found != rows[i].found || !str_eq(p.region, rows[i].region))
			fail_msg("%s: %d, region %s", rows[i].name, found,
				 p.region ? p.region : "(none)");
	}
}

TEST(test_services)
{
#define S3(url) "s3 =\n  endpoint_url = " url "\n"
	static const struct {
		const char *what, *text, *s3, *sts; /* NULL: not said */
		bool found;
	} rows[] = {
		{ "plain", "[services a]\n" S3("x"), "x", NULL, true },
		{ "several", "[services a]\n" S3("x") "sts =\n\tendpoint_url=y\n", "x",
		  "y", true },
		{ "quotes", "[services 'a']\n" S3("x"), "x", NULL, true },
		{ "capitals", "[services a]\nS3 =\n Endpoint_URL = x\n", "x", NULL,
		  true },
		{ "others beside it",
		  "[services a]\nec2 =\n  endpoint_url = y\ns3 =\n  a = b\n"
		  "  endpoint_url = x\n  c = d\nelasticbeanstalk =\n  endpoint_url = z\n",
		  "x", NULL, true },
		{ "another's", "[services b]\n" S3("x"), NULL, NULL, false },
		{ "behind another", "[services b]\n" S3("y") "[services a]\n" S3("x"),
		  "x", NULL, true },
		{ "before another", "[services a]\n" S3("x") "[services b]\n" S3("y"),
		  "x", NULL, true },
		{ "a profile", "[profile a]\n" S3("x"), NULL, NULL, false },
		{ "a bare name", "[a]\n" S3("x"), NULL, NULL, false },
		{ "default is no services", "[default]\n" S3("x"), NULL, NULL, false },
		{ "not further in", "[services a]\ns3 =\nendpoint_url = x\n", NULL, NULL,
		  true },
		{ "with a value of its own", "[services a]\ns3 = y\n  endpoint_url = x\n",
		  NULL, NULL, true },
		{ "comments", "[services a]\ns3 =\n# no\n\n  endpoint_url = x\n", "x",
		  NULL, true },
		{ "CR LF", "[services a]\r\ns3 =\r\n  endpoint_url = x\r\n", "x", NULL,
		  true },
		{ "no value", "[services a]\n" S3(""), NULL, NULL, true },
		{ "nothing before it", "[services a]\n  endpoint_url = x\n", NULL, NULL,
		  true },
		{ "nothing", "", NULL, NULL, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct aws_profile p = { 0 };
		bool found = aws_services_read(&p, &arena, rows[i].text, "a");

		if (found != rows[i].found || !str_eq(p.s3_endpoint, rows[i].s3) ||
		    !str_eq(p.sts_endpoint, rows[i].sts) || p.endpoint)
			fail_msg("%s: %d, %s, %s", rows[i].what, found,
				 p.s3_endpoint ? p.s3_endpoint : "(none)",
				 p.sts_endpoint ? p.sts_endpoint : "(none)");
	}
}

static const char *env(void *ctx, const char *name)
{
	char *const *pairs = ctx;

	for (; *pairs; pairs += 2)
		if (!strcmp(pairs[0], name))
			return pairs[1];
	return NULL;
}

/* As AWS's command line has it, AWS_PROFILE comes first. */
TEST(test_which)
{
	static const struct {
		const char *first, *second, *profile, *setting;
	} rows[] = {
		{ "a", "b", "a", "AWS_PROFILE" },
		{ "", "b", "b", "AWS_DEFAULT_PROFILE" },
		{ " \n", " b\n", "b", "AWS_DEFAULT_PROFILE" },
		{ "", "", "default", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *pairs[] = { "AWS_PROFILE",
					rows[i].first,
					"AWS_DEFAULT_PROFILE",
					rows[i].second,
					"HOME",
					"/h",
					NULL };
		const struct cloud_conf conf = { .env = env, .ctx = pairs };
		cleanup_arena struct arena arena = { 0 };
		struct aws_files files = aws_files_of(&arena, &conf);

		assert_string_equal(files.profile, rows[i].profile);
		assert_true(str_eq(files.setting, rows[i].setting));
		assert_string_equal(files.config, "/h/.aws/config");
	}
}

RUN_TESTS(NULL, NULL)
