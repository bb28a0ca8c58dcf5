/*
 * auth.h - who may call the data cache's servers: those with the bearer token in a file.
 *
 * The file is read again when it changes, so the token can be replaced while servers run;
 * if it cannot be read then, the last token remains valid.
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
