/*
 * auth.h - authenticate the callers of the data cache's servers by a bearer token.
 *
 * The token is in a file, which is read again when it changes, so the token can be
 * replaced while servers run; while the file is unreadable, the last token is valid.
 */
#ifndef CACHE_AUTH_H
#define CACHE_AUTH_H

#include "base/arena.h"
#include "cache/serve.h"

struct auth;

/* ERR_INVALID: the file has no token. */
MUST_CHECK int auth_new(struct auth **ret, const char *path, struct error *err);
void auth_free(struct auth *a); /* NULL is fine */

struct cache_auth auth_callbacks(struct auth *a); /* a must outlive them */

#endif
