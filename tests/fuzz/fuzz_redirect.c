/*
 * Redirects of a hostile server: a URL, and where its answers lead, a line each. Whatever
 * they say, what is asked is a URL of http or https, and who was led away stays away.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/http.h"
#include "net/redirect.h"
#include "tests/fuzz/fuzz.h"

static void check_tag(const char *text)
{
	size_t len = strlen(text);

	if (!http_is_etag(text))
		return;
	FUZZ_CHECK(len >= 2 && text[len - 1] == '"' && !strpbrk(text, "\r\n \t"));
	FUZZ_CHECK(strchr(text, '"') == (*text == 'W' ? text + 2 : text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	char **lines = str_split(&a, str_slice(&a, (const char *)data, size), '\n', NULL);
	struct redirect r = { .arena = &a, .url = lines[0] };
	struct error err = { 0 };

	for (char **line = lines; *line; line++)
		check_tag(*line);
	for (char **line = lines + 1; *line && !err.kind; line++) {
		const struct http_response answer = { .status = 307, .location = *line };
		const struct redirect was = r;
		bool again;

		if (redirect_follow(&r, &answer, &again, &err)) {
			FUZZ_CHECK(r.url == was.url && r.hops == was.hops);
			break;
		}
		FUZZ_CHECK(str_starts(r.url, "http://") || str_starts(r.url, "https://"));
		FUZZ_CHECK(!strpbrk(r.url, "\r\n") && r.hops == was.hops + 1);
		FUZZ_CHECK(r.cross_origin >= was.cross_origin &&
			   r.downgraded >= was.downgraded);
		FUZZ_CHECK(r.cross_origin !=
			   (http_same_server(was.url, r.url) && !was.cross_origin));
	}
	return 0;
}
