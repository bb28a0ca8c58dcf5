/*
 * reply.h - parse the headers of a response to a range request (RFC 9110, 14.4).
 */
#ifndef STORE_REPLY_H
#define STORE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct reply {
	int status;
	int64_t from, to; /* Content-Range, both ends included; -1: absent */
	int64_t total;    /* bytes of the whole object; -1: unknown */
	int64_t length;   /* Content-Length; -1: unknown */
	const char *etag, *modified;
	const char *encoding; /* Content-Encoding, without "x-"; NULL: identity */
};

#define REPLY_NONE ((struct reply){ .from = -1, .to = -1, .total = -1, .length = -1 })

/* Parse one header. Strings are in the arena. ERR_FORMAT. */
MUST_CHECK int reply_header(struct reply *r, struct arena *arena, int status,
			    const char *name, const char *value, struct error *err);

/*
 * Is the encoding that of the file itself? Apache's AddEncoding, for one, sends x.tar.gz as
 * it is, with Content-Encoding: x-gzip.
 */
bool reply_is_as_named(const struct reply *r, const char *path);

/* May other credentials help? That a token has expired is 400 of S3 (ExpiredToken). */
static inline bool reply_refuses(int status)
{
	return status == 400 || status == 401 || status == 403;
}

/*
 * Are the tags equal, without quotes? Some S3 servers leave these out. Weak tags suffice
 * to distinguish versions.
 */
bool reply_same_tag(const char *a, const char *b);

#endif
