/*
 * jwt.h - make and verify JSON Web Tokens (RFC 7519), signed with HMAC-SHA256 (HS256 of
 * RFC 7518): the same key for both. Claims are a JSON object; a token has up to 64 KiB.
 */
#ifndef CRYPTO_JWT_H
#define CRYPTO_JWT_H

#include "base/json.h"

/* Append a token with these claims. `key`: text of any length. */
void jwt_make(struct buf *out, const char *key, const cJSON *claims);

/*
 * A token's claims, owned by the caller; NULL: not signed with this key. The caller
 * checks times (exp, nbf).
 */
cJSON *jwt_read(const char *key, const char *token);

/*
 * The unverified claims of a token, owned by the caller; NULL: the token has not the form
 * of a signed one ("none" is no signature). Use them to refuse a token, never to accept.
 */
cJSON *jwt_unverified(const char *token);

#endif
