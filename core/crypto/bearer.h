/*
 * bearer.h - tokens of "Authorization: Bearer <token>" (RFC 6750 2.1).
 */
#ifndef CRYPTO_BEARER_H
#define CRYPTO_BEARER_H

#include <stdbool.h>

#include "base/arena.h"

/*
 * The token in the value of an Authorization header (NULL: no header), parsed as by
 * upstream's pkg/statusserver: two words with any white space, the scheme in any case. In
 * the arena; NULL: none.
 */
const char *bearer_token(struct arena *arena, const char *authorization);

/* True: the value has this token. The time reveals at most the length. */
bool bearer_is(const char *authorization, const char *token);

#endif
