/*
 * The value of an Authorization header: its token is the second of exactly two words, as
 * a slower reader finds them, and that token alone is recognized.
 */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/bearer.h"
#include "tests/fuzz/fuzz.h"

/* The words between blanks and tabs; 3 means more than two. */
static int words(struct arena *arena, const char *text, const char *ret[2])
{
	int n = 0;

	for (const char *p = text; *p; p++) {
		size_t len = strcspn(p, " \t");

		if (!len)
			continue;
		if (n == 2)
			return 3;
		ret[n++] = str_slice(arena, p, len);
		p += len - 1;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = str_slice(&arena, (const char *)data, size);
	const char *token = bearer_token(&arena, text), *two[2];
	bool good = words(&arena, text, two) == 2 && !strcasecmp(two[0], "Bearer");

	FUZZ_CHECK(!token == !good);
	FUZZ_CHECK(!bearer_is(text, ""));
	if (!token)
		return 0;
	FUZZ_CHECK(!strcmp(token, two[1]));
	FUZZ_CHECK(bearer_is(text, token));
	FUZZ_CHECK(!bearer_is(text, arena_printf(&arena, "%sx", token)));
	FUZZ_CHECK(!bearer_is(text, token + 1));
	return 0;
}
