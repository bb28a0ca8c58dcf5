/* uri.c - parses, resolves and prints URIs (net/uri.h). */
#include "net/uri.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

static bool is_scheme(const char *s, size_t len)
{
	if (!len || !isalpha((unsigned char)*s))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("+-.", s[i]))
			return false;
	return true;
}

/* The length of "scheme" before ":", or 0. */
static size_t scheme_length(const char *s)
{
	size_t len = strcspn(s, ":/?#");

	return s[len] == ':' && is_scheme(s, len) ? len : 0;
}

/* True: blanks are allowed, in names of objects and files; http URLs are sent as is. */
static bool has_blanks(const char *text)
{
	return strncasecmp(text, "http:", 5) && strncasecmp(text, "https:", 6);
}

/* True: the host is followed by the name of a file or object, which may have '?', '#'. */
static bool has_name(const char *text)
{
	static const char *const schemes[] = { "file", "pvc", "hf", "s3",
					       "s3a",  "s3n", "gs", NULL };
	size_t len = scheme_length(text);

	for (const char *const *s = schemes; *s; s++)
		if (strlen(*s) == len && !strncasecmp(text, *s, len))
			return true;
	return false;
}

static int check_bytes(const char *text, bool blanks, struct error *err)
{
	size_t len = strlen(text);

	if (len > URI_MAX)
		return error_set(err, ERR_LIMIT,
				 "URI of %zu bytes exceeds the limit of %d", len,
				 URI_MAX);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < ' ' + !blanks || *p == 0x7f)
			return error_set(err, ERR_INVALID,
					 "URI contains a space or control character; "
					 "write it as %%%02X",
					 *p);
	return 0;
}

static char *lower(struct arena *arena, const char *s, size_t len)
{
	char *text = str_slice(arena, s, len);

	for (char *p = text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return text;
}

/* Cut the text at the mark; returns the rest. */
static const char *cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (!at)
		return NULL;
	*at = 0;
	return at + 1;
}

int uri_parse(struct uri *ret, struct arena *arena, const char *text, struct error *err)
{
	size_t len = scheme_length(text);
	char *rest;

	if (check_bytes(text, has_blanks(text), err))
		return -1;
	if (str_starts(text, "/"))
		return error_set(err, ERR_INVALID,
				 "'%s' is not a URI: that of a path is file://%s",
				 uri_shown(arena, text), uri_shown(arena, text));
	if (!len || !str_starts(text + len, "://"))
		return error_set(err, ERR_INVALID,
				 "'%s' is not a URI: expected SCHEME://..., such as "
				 "hf://org/name, s3://bucket/prefix or https://host/file",
				 uri_shown(arena, text));
	rest = arena_strdup(arena, text + len + 3);
	*ret = (struct uri){ .scheme = lower(arena, text, len) };
	if (!has_name(text)) {
		ret->fragment = cut(rest, '#');
		ret->query = cut(rest, '?');
	}
	ret->path = cut(rest, '/');
	if (!ret->path)
		ret->path = "";
	ret->host = rest;
	return check_bytes(rest, false, err);
}

/* "a/./b/../c" is "a/c"; ".." stops at the root. `path` begins with '/'. */
static const char *without_dots(struct arena *arena, const char *path)
{
	cleanup_arena struct arena own = { 0 };
	char **parts = str_split(&own, path + 1, '/', NULL);
	size_t n = 0;

	for (size_t i = 0; parts[i]; i++) {
		bool last = !parts[i + 1], up = str_eq(parts[i], "..");

		if (up && n)
			n--;
		if (!up && !str_eq(parts[i], "."))
			parts[n++] = parts[i];
		else if (last)
			parts[n++] = parts[i] + strlen(parts[i]);
	}
	parts[n] = NULL;
	return arena_printf(arena, "/%s",
			    str_join(&own, (const char *const *)parts, "/"));
}

static const char *joined(struct arena *arena, const struct uri *base, const char *ref)
{
	size_t path_len = strcspn(ref, "?#");
	const char *tail = ref + path_len, *path;
	const char *slash = strrchr(base->path, '/');
	int dir = slash ? (int)(slash - base->path) + 1 : 0;

	if (!path_len && *ref != '?')
		return arena_printf(arena, "%s://%s/%s%s%s%s", base->scheme, base->host,
				    base->path, base->query ? "?" : "",
				    base->query ? base->query : "", tail);
	if (!path_len)
		path = arena_printf(arena, "/%s", base->path);
	else if (*ref == '/')
		path = str_slice(arena, ref, path_len);
	else
		path = arena_printf(arena, "/%.*s%.*s", dir, base->path, (int)path_len,
				    ref);
	return arena_printf(arena, "%s://%s%s%s", base->scheme, base->host,
			    without_dots(arena, path), tail);
}

int uri_resolve(const char **ret, struct arena *arena, const char *base,
		const char *reference, struct error *err)
{
	struct uri b;

	if (check_bytes(reference, false, err) || uri_parse(&b, arena, base, err))
		return -1;
	if (scheme_length(reference))
		*ret = arena_strdup(arena, reference);
	else if (str_starts(reference, "//"))
		*ret = arena_printf(arena, "%s:%s", b.scheme, reference);
	else
		*ret = joined(arena, &b, reference);
	return 0;
}

const char *uri_shown(struct arena *arena, const char *text)
{
	char *shown = str_slice(arena, text, strcspn(text, has_name(text) ? "" : "?#"));
	char *start = strstr(shown, "://"), *end, *at;

	start = start ? start + 3 : shown;
	end = start + strcspn(start, "/");
	at = memrchr(start, '@', (size_t)(end - start));
	if (at)
		memmove(start, at + 1, strlen(at));
	return str_visible(arena, shown, false);
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

int uri_decode(const char **ret, struct arena *arena, const char *text, struct error *err)
{
	char *copy = arena_strdup(arena, text), *to = copy;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = digit(p[1]);
		low = high < 0 ? -1 : digit(p[2]);
		if (low < 0 || !(high * 16 + low))
			return error_set(err, ERR_INVALID,
					 "'%s': expected two hexadecimal digits after "
					 "%%, and not 00",
					 str_visible(arena, text, false));
		*to++ = (char)(high * 16 + low);
		p += 2;
	}
	*to = 0;
	*ret = copy;
	return 0;
}
