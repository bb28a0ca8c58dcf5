/*
 * auth.h - who may call the data cache's servers: those with the bearer token in a file.
 *
 * The file is looked at again when it changes, so that a token can be replaced while
 * servers run; what cannot be read then leaves the last token in place.
 */
#ifndef CACHE_AUTH_H
#define CACHE_AUTH_H

#include "base/arena.h"
#include "cache/serve.h"

struct auth;

/* ERR_INVALID: no token in it. */
MUST_CHECK int auth_new(struct auth **ret, const char *path, struct error *err);
void auth_free(struct auth *a); /* NULL is fine */

struct cache_auth auth_callbacks(struct auth *a); /* it outlives them */

#endif
