/* Settings of all providers: paths, and the domain that a region is in. */
#include "base/str.h"
#include "cloud/aws_domain.h"
#include "cloud/aws_profile.h"
#include "tests/unit/base/base_test.h"

static const char *env(void *ctx, const char *name)
{
	const char *const rows[][2] = {
		{ "HOME", "/h" },
		{ "A_1", "/a" },
		{ "NONE", "" },
		{ "AWS_CONFIG_FILE", "~/config" },
		{ "AWS_SHARED_CREDENTIALS_FILE", "$A_1/credentials" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!strcmp(name, rows[i][0]))
			return rows[i][1];
	return NULL;
}

TEST(home_and_variables_in_paths)
{
	static const char *const rows[][2] = {
		{ "/x", "/x" },
		{ "~/x", "/h/x" },
		{ "~x", "~x" },
		{ "/~/x", "/~/x" },
		{ "$A_1/x", "/a/x" },
		{ "x${A_1}1", "x/a1" },
		{ "$A_1$A_1", "/a/a" },
		{ "$A_10/x", "$A_10/x" },
		{ "${A_1/x", "${A_1/x" },
		{ "$NONE/$OTHER/${}$", "$NONE/$OTHER/${}$" },
		{ "\xc3\xbc$", "\xc3\xbc$" },
	};
	const struct cloud_conf conf = { .env = env };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };

		assert_string_equal(cloud_path(&arena, &conf, rows[i][0]), rows[i][1]);
	}
}

TEST(test_aws_files)
{
	const struct cloud_conf conf = { .env = env };
	cleanup_arena struct arena arena = { 0 };
	struct aws_files files = aws_files_of(&arena, &conf);

	assert_string_equal(files.config, "/h/config");
	assert_string_equal(files.credentials, "/a/credentials");
}

TEST(test_hosts)
{
	static const struct {
		const char *service, *region, *want;
		struct aws_variant variant;
	} rows[] = {
		{ "s3", "us-east-1", "s3.us-east-1.amazonaws.com", { 0 } },
		{ "s3", "us-gov-west-1", "s3.us-gov-west-1.amazonaws.com", { 0 } },
		{ "s3", "cn-north-1", "s3.cn-north-1.amazonaws.com.cn", { 0 } },
		{ "s3", "eusc-de-east-1", "s3.eusc-de-east-1.amazonaws.eu", { 0 } },
		{ "s3", "us-iso-east-1", "s3.us-iso-east-1.c2s.ic.gov", { 0 } },
		{ "sts", "us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov", { 0 } },
		{ "s3",
		  "cn-north-1",
		  "s3.dualstack.cn-north-1.amazonaws.com.cn",
		  { .dualstack = true } },
		{ "sts",
		  "cn-north-1",
		  "sts.cn-north-1.api.amazonwebservices.com.cn",
		  { .dualstack = true } },
		{ "sts",
		  "us-east-1",
		  "sts-fips.us-east-1.amazonaws.com",
		  { .fips = true } },
		{ "s3",
		  "us-east-1",
		  "s3-fips.dualstack.us-east-1.amazonaws.com",
		  { .fips = true, .dualstack = true } },
		{ "sts",
		  "us-east-1",
		  "sts-fips.us-east-1.api.aws",
		  { .fips = true, .dualstack = true } },
		{ "s3",
		  "us-gov-west-1",
		  "s3-fips.us-gov-west-1.amazonaws.com",
		  { .fips = true } },
		{ "sts",
		  "us-gov-west-1",
		  "sts.us-gov-west-1.amazonaws.com",
		  { .fips = true } },
		{ "sts",
		  "us-gov-west-1",
		  "sts-fips.us-gov-west-1.api.aws",
		  { .fips = true, .dualstack = true } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };

		check_text(rows[i].want,
			   aws_host(&arena, rows[i].service, rows[i].region,
				    rows[i].variant),
			   rows[i].want);
	}
}

static const char *variant_env(void *ctx, const char *name)
{
	const char *const *set = ctx;

	return !strcmp(name, "AWS_USE_FIPS_ENDPOINT")        ? set[0]
	       : !strcmp(name, "AWS_USE_DUALSTACK_ENDPOINT") ? set[1]
							     : NULL;
}

TEST(test_variants)
{
	static const struct {
		const char *fips, *dualstack;
		struct aws_profile profile;
		bool want_fips, want_dualstack;
	} rows[] = {
		{ NULL, NULL, { 0 }, false, false },
		{ "true", NULL, { 0 }, true, false },
		{ "no", "TRUE\n", { .fips = "true" }, false, true },
		{ NULL, NULL, { .fips = "True", .dualstack = "true" }, true, true },
		{ NULL, "false", { .dualstack = "true" }, false, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *set[] = { rows[i].fips, rows[i].dualstack };
		const struct cloud_conf conf = { .env = variant_env, .ctx = set };
		struct aws_variant v = aws_variant_of(&conf, &rows[i].profile);

		assert_int_equal(v.fips, rows[i].want_fips);
		assert_int_equal(v.dualstack, rows[i].want_dualstack);
	}
}

RUN_TESTS(NULL, NULL)
