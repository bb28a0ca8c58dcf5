/* The examples of AWS's own pages and of its published test suite. */
#include "base/str.h"
#include "cloud/sigv4.h"
#include "net/http.h"
#include "tests/unit/base/base_test.h"

static const struct sigv4_key suite_key = {
	.access = "AKIDEXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
static const struct sigv4_key s3_key = {
	.access = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

enum { SUITE_TIME = 1440938160, S3_TIME = 1369353600 }; /* 2015-08-30, 2013-05-24 */

#define PAIRS(...) ((const struct sigv4_pair[]){ __VA_ARGS__, { NULL, NULL } })

static const char *authorization(const char *const *headers)
{
	for (; *headers; headers++)
		if (str_starts(*headers, "Authorization: "))
			return *headers;
	return NULL;
}

TEST(test_suite)
{
	const struct {
		const char *name, *method, *path;
		const struct sigv4_pair *query, *headers;
		const char *signature;
	} rows[] = {
		{ "get-vanilla", "GET", "/", NULL, NULL,
		  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
		{ "post-vanilla", "POST", "/", NULL, NULL,
		  "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
		{ "get-vanilla-query-order-key-case", "GET", "/",
		  PAIRS({ "Param2", "value2" }, { "Param1", "value1" }), NULL,
		  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
		{ "post-header-key-sort", "POST", "/", NULL,
		  PAIRS({ "my-header1", "value1" }),
		  "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct sigv4_request r = {
			.method = rows[i].method,
			.host = "example.amazonaws.com",
			.path = rows[i].path,
			.query = sigv4_query(&arena, rows[i].query),
			.headers = rows[i].headers,
			.region = "us-east-1",
			.service = "service",
			.now = SUITE_TIME,
		};
		const char *got = authorization(sigv4_sign(&arena, &r, &suite_key));

		check_text(rows[i].name, strstr(got, "Signature=") + 10,
			   rows[i].signature);
	}
}

TEST(test_s3)
{
	const struct {
		const char *name, *method, *path;
		const struct sigv4_pair *query, *headers;
		const char *payload, *names, *signature;
	} rows[] = {
		{ "GET Object", "GET", "/test.txt", NULL, PAIRS({ "range", "bytes=0-9" }),
		  NULL, "host;range;x-amz-content-sha256;x-amz-date",
		  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
		{ "PUT Object", "PUT", "/test%24file.text", NULL,
		  PAIRS({ "date", "Fri, 24 May 2013 00:00:00 GMT" },
			{ "x-amz-storage-class", "REDUCED_REDUNDANCY" }),
		  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
		  "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
		  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
		{ "GET Bucket Lifecycle", "GET", "/", PAIRS({ "lifecycle", "" }), NULL,
		  NULL, "host;x-amz-content-sha256;x-amz-date",
		  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
		{ "List Objects", "GET", "/",
		  PAIRS({ "max-keys", "2" }, { "prefix", "J" }), NULL, NULL,
		  "host;x-amz-content-sha256;x-amz-date",
		  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct sigv4_request r = {
			.method = rows[i].method,
			.host = "examplebucket.s3.amazonaws.com",
			.path = rows[i].path,
			.query = sigv4_query(&arena, rows[i].query),
			.headers = rows[i].headers,
			.payload = rows[i].payload,
			.region = "us-east-1",
			.service = "s3",
			.now = S3_TIME,
		};

		check_text(
			rows[i].name, authorization(sigv4_sign(&arena, &r, &s3_key)),
			arena_printf(&arena,
				     "Authorization: AWS4-HMAC-SHA256 "
				     "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/"
				     "s3/aws4_request, SignedHeaders=%s, Signature=%s",
				     rows[i].names, rows[i].signature));
	}
}

TEST(test_token_and_nobody)
{
	cleanup_arena struct arena arena = { 0 };
	const struct sigv4_pair *headers = PAIRS({ "x-amz-checksum-mode", "ENABLED" });
	const struct sigv4_request r = { .method = "GET",
					 .host = "h",
					 .path = "/",
					 .query = "",
					 .headers = headers,
					 .region = "r",
					 .service = "s3",
					 .now = S3_TIME };
	const struct sigv4_key key = { "a", "s", "the token" };
	const char *const *got = sigv4_sign(&arena, &r, NULL);

	check_text("nobody", got[0], "x-amz-checksum-mode: ENABLED");
	assert_null(got[1]);
	got = sigv4_sign(&arena, &r, &key);
	check_text("token", got[3], "x-amz-security-token: the token");
	assert_non_null(strstr(got[4], "SignedHeaders=host;x-amz-checksum-mode;"
				       "x-amz-content-sha256;x-amz-date;"
				       "x-amz-security-token, "));
}

TEST(test_escape)
{
	static const struct {
		const char *in, *path, *value;
	} rows[] = {
		{ "", "", "" },
		{ "a/b", "a/b", "a%2Fb" },
		{ "-._~09azAZ", "-._~09azAZ", "-._~09azAZ" },
		{ "a b+c", "a%20b%2Bc", "a%20b%2Bc" },
		{ "\xe1\x88\xb4", "%E1%88%B4", "%E1%88%B4" },
		{ "%41*'()", "%2541%2A%27%28%29", "%2541%2A%27%28%29" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf path = { .max = 100 }, value = { .max = 100 };

		buf_adds(&path, "");
		buf_adds(&value, "");
		http_escape_path(&path, rows[i].in);
		http_escape(&value, rows[i].in);
		check_text(rows[i].in, (char *)path.data, rows[i].path);
		check_text(rows[i].in, (char *)value.data, rows[i].value);
	}
}

TEST(test_query)
{
	cleanup_arena struct arena arena = { 0 };

	check_text("none", sigv4_query(&arena, NULL), "");
	check_text("by name, then by value",
		   sigv4_query(&arena, PAIRS({ "a-b", "2" }, { "a", "9" }, { "b", "x y" },
					     { "b", "=" }, { "B", "" })),
		   "B=&a=9&a-b=2&b=%3D&b=x%20y");
}

RUN_TESTS(NULL, NULL)
