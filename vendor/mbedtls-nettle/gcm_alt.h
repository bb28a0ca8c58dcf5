/*
 * AES-GCM for mbedTLS by nettle: see glue.c. Included by mbedtls/gcm.h.
 */
#ifndef MBEDTLS_NETTLE_GCM_ALT_H
#define MBEDTLS_NETTLE_GCM_ALT_H

#include <nettle/aes.h>
#include <nettle/gcm.h>

typedef struct mbedtls_gcm_context {
	union {
		struct aes128_ctx aes128;
		struct aes192_ctx aes192;
		struct aes256_ctx aes256;
	} cipher;
	nettle_cipher_func *encrypt; /* of one of them; NULL: there is no key yet */
	int mode;
	struct gcm_key key;
	struct gcm_ctx gcm;
	uint64_t add_len, len;  /* bytes so far */
	unsigned char part[16]; /* of a block that is not complete: what is hashed next */
	unsigned char mask[16]; /* the cipher's output for that block */
} mbedtls_gcm_context;

#endif
