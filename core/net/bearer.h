/*
 * bearer.h - tokens of "Authorization: Bearer <token>" (RFC 6750 2.1).
 */
#ifndef NET_BEARER_H
#define NET_BEARER_H

#include <stdbool.h>

#include "base/arena.h"

/*
 * The token in the value of an Authorization header (NULL: no header): the scheme in any
 * case, two words, any white space, as upstream's pkg/statusserver reads it. In the arena;
 * NULL: none.
 */
const char *bearer_token(struct arena *arena, const char *authorization);

/* The value carries this token. How long the comparison takes tells at most the length. */
bool bearer_is(const char *authorization, const char *token);

#endif
