/*
 * Tokens that strangers send, as text and as claims that are signed: nothing is read of a
 * token without a good signature, and the claims of one that has it are those that it was
 * made of. What is said of a ServiceAccount's is within them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/bearer.h"
#include "crypto/jwt.h"
#include "kube/service_token.h"
#include "tests/fuzz/fuzz.h"

#define KEY      "key"
#define PREFIX   "system:serviceaccount:"
#define AUDIENCE "a"

enum { NOW = 1800000000 };

static void check_claims(const char *token)
{
	cleanup_arena struct arena arena = { 0 };
	struct service_token t;
	const char *user;

	if (!service_token_read(&t, &arena, token))
		return;
	FUZZ_CHECK(t.ns && cJSON_IsObject(t.claims));
	user = t.user ? str_after(str_after(t.user, PREFIX), t.ns) : ":";
	FUZZ_CHECK(user && user[0] == ':');
	/* For no audience there are fewer faults. */
	if (service_token_fault(&t, NULL, NOW))
		FUZZ_CHECK(service_token_fault(&t, AUDIENCE, NOW));
	cJSON_Delete(t.claims);
}

static void check_token(struct arena *arena, const char *text)
{
	cleanup_json cJSON *claims = jwt_unverified(text);
	const char *token = bearer_token(arena, arena_printf(arena, "Bearer %s", text));

	FUZZ_CHECK(!jwt_read(KEY, text)); /* nobody guesses 256 bits */
	FUZZ_CHECK(!claims || cJSON_IsObject(claims));
	FUZZ_CHECK(!claims || !strpbrk(text, " \t\r\n"));
	FUZZ_CHECK(!token || strstr(text, token));
	check_claims(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf token = { .max = 1 << 20 };
	cleanup_json cJSON *doc = NULL, *read = NULL;
	struct error err = { 0 };

	check_token(&arena, str_slice(&arena, (const char *)data, size));
	if (json_parse(&doc, data, size, &err) || !cJSON_IsObject(doc) || size > 8192)
		return 0;
	jwt_make(&token, KEY, doc);
	read = jwt_read(KEY, (const char *)token.data);
	FUZZ_CHECK(json_equal(doc, read));
	FUZZ_CHECK(!jwt_read(KEY "2", (const char *)token.data));
	check_claims((const char *)token.data);
	return 0;
}
