/*
 * jwt.h - tokens that say who their bearer is (RFC 7519), signed with HMAC-SHA256 (HS256 of
 * RFC 7518): the key both makes and checks them.
 */
#ifndef NET_JWT_H
#define NET_JWT_H

#include "base/json.h"

/* Adds the token of these claims. `key`: text of any length. */
void jwt_make(struct buf *out, const char *key, const cJSON *claims);

/*
 * Its claims, the caller's; NULL: not signed with this key. Checks no times (exp, nbf):
 * the caller does.
 */
cJSON *jwt_read(const char *key, const char *token);

#endif
