/*
 * sign.h - signatures of requests to clouds (mbedTLS): HMAC-SHA256 (RFC 2104) for AWS,
 * RSA PKCS #1 v1.5 with SHA-256 (RS256 of RFC 7518) for Google.
 */
#ifndef CRYPTO_SIGN_H
#define CRYPTO_SIGN_H

#include "base/buf.h"

enum { SIGN_SHA256_SIZE = 32 };

/* The SHA-256 of a few bytes; for files use digest.h. */
void sign_sha256(const void *data, size_t len, unsigned char ret[SIGN_SHA256_SIZE]);

void sign_hmac(const void *key, size_t key_len, const void *data, size_t len,
	       unsigned char ret[SIGN_SHA256_SIZE]);
/* Compares in constant time. */
bool sign_equal(const unsigned char a[SIGN_SHA256_SIZE],
		const unsigned char b[SIGN_SHA256_SIZE]);

/* Append the signature. `pem`: an RSA key, PKCS #1 or #8, else ERR_INVALID. */
MUST_CHECK int sign_rs256(struct buf *out, const char *pem, const void *data, size_t len,
			  struct error *err);

#endif
