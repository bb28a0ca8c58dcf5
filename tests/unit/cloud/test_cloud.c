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

TEST(test_domain)
{
	static const char *const rows[][2] = {
		{ "us-east-1", "amazonaws.com" },
		{ "us-gov-west-1", "amazonaws.com" },
		{ "cn-north-1", "amazonaws.com.cn" },
		{ "eusc-de-east-1", "amazonaws.eu" },
		{ "us-iso-east-1", "c2s.ic.gov" },
		{ "us-isob-east-1", "sc2s.sgov.gov" },
		{ "", "amazonaws.com" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(aws_domain(rows[i][0]), rows[i][1]);
}

RUN_TESTS(NULL, NULL)
