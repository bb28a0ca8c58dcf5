/*
 * digest.h - digests and checksums, computed piece by piece (mbedTLS).
 *
 * SHA-1 and MD5 are used because peers identify files by them (git, S3); they detect
 * errors, not attacks. One thread at a time may use a digest.
 */
#ifndef CRYPTO_DIGEST_H
#define CRYPTO_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum digest_type {
	DIGEST_SHA256,
	DIGEST_SHA1,
	DIGEST_MD5,
	DIGEST_CRC32, /* crc.h has these; the most significant byte first */
	DIGEST_CRC32C,
	DIGEST_CRC64NVME,
};
enum { DIGEST_MAX = 32, DIGEST_HEX_SIZE = 2 * DIGEST_MAX + 1 };

struct digest;

struct digest *digest_new(enum digest_type type);
void digest_add(struct digest *d, const void *data, size_t len);
/* The result; the digest is then reset. Returns its length: 32, 20, 16, 8, 4. */
size_t digest_end(struct digest *d, unsigned char out[DIGEST_MAX]);
const char *digest_end_hex(struct digest *d, char hex[DIGEST_HEX_SIZE]); /* lower case */
void digest_reset(struct digest *d);
void digest_free(struct digest *d); /* NULL is fine */

CLEANUP(digest, struct digest *, digest_free);
#define cleanup_digest __attribute__((cleanup(cleanup_digestp)))

/* The digest of one piece of data. */
size_t digest_of(enum digest_type type, const void *data, size_t len,
		 unsigned char out[DIGEST_MAX]);
const char *digest_hex_of(enum digest_type type, const void *data, size_t len,
			  char hex[DIGEST_HEX_SIZE]);

#endif
