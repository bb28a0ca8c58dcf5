/*
 * URIs, references beside them, patterns and names of files of any bytes: what is taken
 * apart is whole, a name that passes leads nowhere else, what is shown hides the rest.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/relpath.h"
#include "base/str.h"
#include "net/uri.h"
#include "store/filter.h"
#include "tests/fuzz/fuzz.h"

static void check_path(const char *path)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	char **parts;

	if (relpath_check(path, &err)) {
		FUZZ_CHECK(err.kind && *err.msg);
		return;
	}
	FUZZ_CHECK(*path && *path != '/' && utf8_valid(path, strlen(path)));
	for (parts = str_split(&a, path, '/', NULL); *parts; parts++)
		FUZZ_CHECK(**parts && !str_eq(*parts, "..") && !str_eq(*parts, "."));
}

static void check_uri(const char *text, const char *reference)
{
	static const char *const named[] = { "file", "pvc", "hf", "s3",
					     "s3a",  "s3n", "gs", NULL };
	cleanup_arena struct arena a = { 0 };
	const char *shown = uri_shown(&a, text), *found = NULL;
	struct error err = { 0 };
	struct uri u;

	FUZZ_CHECK(!strpbrk(shown, "\r\n"));
	if (uri_parse(&u, &a, text, &err))
		return;
	FUZZ_CHECK(*u.scheme && !strchr(u.host, '/'));
	if (str_in(u.scheme, named)) {
		FUZZ_CHECK(!u.query && !u.fragment);
		FUZZ_CHECK(str_ends(text, u.path));
	} else {
		FUZZ_CHECK(!strpbrk(shown, "?#") && !strpbrk(u.path, "?#"));
	}
	if (!uri_resolve(&found, &a, text, reference, &err))
		FUZZ_CHECK(*found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	char *text = str_slice(&a, (const char *)data, size);
	char *rest = strchr(text, '\n');
	const char *second = rest ? rest + 1 : "", *decoded = NULL;
	struct error err = { 0 };

	if (rest)
		*rest = 0;
	check_path(text);
	check_uri(text, second);
	if (strlen(text) < 64 && strlen(second) < 64)
		filter_fnmatch(text, second);
	FUZZ_CHECK(filter_fnmatch("*", text));
	if (!uri_decode(&decoded, &a, text, &err))
		check_path(decoded);
	return 0;
}
