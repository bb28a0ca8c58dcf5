/*
 * uri.h - a URI's components, and references relative to it (RFC 3986).
 *
 * Follows Python's urllib.parse.urlparse, as upstream's initializers do: the scheme
 * becomes lower case, nothing is decoded. Unlike there, '?' and '#' are part of the path
 * of file, pvc, hf, s3, s3a, s3n and gs, as the AWS CLI and huggingface_hub have it. No
 * control characters or NUL; spaces in the path only, and not in http's; at most URI_MAX
 * bytes. Messages never contain a user name, a query or a fragment.
 */
#ifndef NET_URI_H
#define NET_URI_H

#include <stdbool.h>

#include "base/arena.h"

enum { URI_MAX = 16 * 1024 }; /* signed URLs are long */

struct uri {
	const char *scheme;           /* "hf" */
	const char *host;             /* "bucket", "org", "host:port"; may be "" */
	const char *path;             /* without the leading '/'; may be "" */
	const char *query, *fragment; /* without '?', '#'; NULL: none, or in the path */
};

/* Parse "SCHEME://...". ERR_INVALID; ERR_LIMIT: longer than URI_MAX. */
MUST_CHECK int uri_parse(struct uri *ret, struct arena *arena, const char *text,
			 struct error *err);

/* Resolve `reference` (absolute, "//host/x", "/x", "x", "?x") against `base`. */
MUST_CHECK int uri_resolve(const char **ret, struct arena *arena, const char *base,
			   const char *reference, struct error *err);

/* scheme://host/path, without user, query and fragment, for messages. In the arena. */
const char *uri_shown(struct arena *arena, const char *text);

/* Percent-decode: %41 becomes A. ERR_INVALID: %00, % without two digits. */
MUST_CHECK int uri_decode(const char **ret, struct arena *arena, const char *text,
			  struct error *err);

#endif
