#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/jwt.h"
#include "tests/unit/unit.h"

/* {"alg":"HS256","typ":"JWT"} and {"a":1}, signed by openssl dgst -sha256 -hmac secret. */
#define KNOWN                                              \
	"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ." \
	"57TF7smP9XDhIexBqPC-F1toZReYZLWb_YRU5tv0sxM"

TEST(token_of_known_claims)
{
	cleanup_buf struct buf token = { .max = 4096 };
	cleanup_json cJSON *claims = cJSON_CreateObject(), *got = NULL;

	json_put_int(claims, 1, "a");
	jwt_make(&token, "secret", claims);
	assert_string_equal((char *)token.data, KNOWN);
	got = jwt_read("secret", KNOWN);
	assert_true(json_equal(got, claims));
}

TEST(test_refused)
{
	static const char *const tokens[] = {
		"",
		".",
		"..",
		"...",
		"a.b.c",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.",
		"eyJhbGciOiJub25lIn0.eyJhIjoxfQ.",
		KNOWN "A",
		KNOWN "=",
		"x" KNOWN,
		KNOWN "." KNOWN,
	};

	for (size_t i = 0; i < N_ELEMENTS(tokens); i++)
		assert_null(jwt_read("secret", tokens[i]));
	assert_null(jwt_read("Secret", KNOWN));
	assert_null(jwt_read("", KNOWN));
}

/* Each byte of a token counts. */
TEST(test_changed)
{
	for (size_t i = 0; i < strlen(KNOWN); i++) {
		char token[] = KNOWN;

		token[i] = (char)(token[i] == 'A' ? 'B' : 'A');
		assert_null(jwt_read("secret", token));
	}
}

/* What nobody has signed, or signed with another key, has claims all the same. */
TEST(test_unverified)
{
	static const char *const rows[] = {
		"",
		"..",
		"a.b.c",
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ", /* no signature */
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.",
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.eA\n",
		"eyJhbGciOiJub25lIn0.eyJhIjoxfQ.eA",     /* none */
		"eyJhbGciOiJOb25FIn0.eyJhIjoxfQ.eA",     /* NonE */
		"e30.eyJhIjoxfQ.eA",                     /* {} */
		"eyJhbGciOjF9.eyJhIjoxfQ.eA",            /* alg: 1 */
		"eyJhbGciOiJIUzI1NiJ9.WzFd.eA",          /* [1] */
		"eyJhbGciOiJIUzI1NiJ9.bnVsbA.eA",        /* null */
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.eA.eA", /* four parts, as of JWE five */
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ==.eA",  /* padding */
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjo\nxfQ.eA",
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxLCJhIjoyfQ.eA", /* a twice */
	};
	cleanup_json cJSON *got = jwt_unverified("eyJhbGciOiJSUzI1NiJ9.eyJhIjoxfQ.eB");

	assert_int_equal(json_int(got, 0, "a"), 1);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (jwt_unverified(rows[i]))
			fail_msg("%s", rows[i]);
}

RUN_TESTS(NULL, NULL)
