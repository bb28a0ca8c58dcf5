/*
 * SigV4's canonical forms: what is escaped comes back and has only what may stand in a
 * URL, a query is sorted whatever the order, no header is more than one line of ours.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/sigv4.h"
#include "net/http.h"
#include "net/uri.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_PAIRS = 8 };

static void check_escape(struct arena *arena, const char *s, bool slash)
{
	cleanup_buf struct buf b = { .max = 3 * strlen(s) + 1 };
	struct error err = { 0 };
	const char *back = NULL;

	buf_adds(&b, "");
	(slash ? http_escape_path : http_escape)(&b, s);
	FUZZ_CHECK(!b.overflowed && strlen((char *)b.data) == b.len);
	for (size_t i = 0; i < b.len; i++)
		FUZZ_CHECK(isalnum(b.data[i]) || strchr("-._~%", b.data[i]) ||
			   (slash && b.data[i] == '/'));
	FUZZ_CHECK(!uri_decode(&back, arena, (char *)b.data, &err) && !strcmp(back, s));
}

/* The text as "name=value" lines. */
static size_t pairs_of(struct arena *arena, const char *text,
		       struct sigv4_pair pairs[MAX_PAIRS + 1])
{
	size_t n = 0;

	for (char **line = str_split(arena, text, '\n', NULL); *line && n < MAX_PAIRS;
	     line++) {
		char *eq = strchr(*line, '=');

		if (eq)
			*eq = 0;
		pairs[n++] = (struct sigv4_pair){ *line, eq ? eq + 1 : "" };
	}
	pairs[n] = (struct sigv4_pair){ NULL, NULL };
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	struct sigv4_pair pairs[MAX_PAIRS + 1], turned[MAX_PAIRS + 1] = { 0 };
	const struct sigv4_key key = { "AK", "secret", size % 2 ? "token" : NULL };
	const char *text = str_slice(&arena, (const char *)data, size);
	size_t n = pairs_of(&arena, text, pairs), headers = 0;
	const char *query = sigv4_query(&arena, pairs);
	struct sigv4_request r = { .method = "GET",
				   .host = "h",
				   .path = "/",
				   .query = query,
				   .headers = pairs,
				   .region = "r",
				   .service = "s3",
				   .now = (int64_t)size * 100003 };
	const char *const *got = sigv4_sign(&arena, &r, &key);

	check_escape(&arena, text, true);
	check_escape(&arena, text, false);
	for (size_t i = 0; i < n; i++)
		turned[i] = pairs[n - 1 - i];
	FUZZ_CHECK(!strcmp(query, sigv4_query(&arena, turned)));
	for (; got[headers]; headers++)
		FUZZ_CHECK(!strchr(got[headers], '\n'));
	FUZZ_CHECK(headers == n + 3 + (key.token != NULL));
	FUZZ_CHECK(str_starts(got[headers - 1], "Authorization: AWS4-HMAC-SHA256 "));
	return 0;
}
