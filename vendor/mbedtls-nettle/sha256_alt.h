/*
 * SHA-256 for mbedTLS by nettle: see glue.c. Included by mbedtls/sha256.h.
 */
#ifndef MBEDTLS_NETTLE_SHA256_ALT_H
#define MBEDTLS_NETTLE_SHA256_ALT_H

#include <nettle/sha2.h>

typedef struct mbedtls_sha256_context {
	struct sha256_ctx sha256;
	int is224;
} mbedtls_sha256_context;

#endif
