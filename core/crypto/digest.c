/* digest.c - SHA-256, SHA-1, MD5 and CRCs, piece by piece (crypto/digest.h). */
#include "crypto/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <mbedtls/md5.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>

#include "base/xmalloc.h"
#include "crypto/crc.h"

struct digest {
	enum digest_type type;
	uint64_t crc;
	union {
		mbedtls_sha256_context sha256;
		mbedtls_sha1_context sha1;
		mbedtls_md5_context md5;
	} u;
};

/* The CRC of a digest type. */
static enum crc_type crc_of(enum digest_type type)
{
	return type == DIGEST_CRC32C  ? CRC_32C
	       : type == DIGEST_CRC32 ? CRC_32
				      : CRC_64NVME;
}

/* For calls of mbedTLS that can only fail with hardware accelerators. */
static void must(int rc)
{
	if (rc)
		abort();
}

void digest_reset(struct digest *d)
{
	switch (d->type) {
	case DIGEST_SHA256:
		must(mbedtls_sha256_starts(&d->u.sha256, 0));
		break;
	case DIGEST_SHA1:
		must(mbedtls_sha1_starts(&d->u.sha1));
		break;
	case DIGEST_MD5:
		must(mbedtls_md5_starts(&d->u.md5));
		break;
	case DIGEST_CRC32:
	case DIGEST_CRC32C:
	case DIGEST_CRC64NVME:
		d->crc = 0;
		break;
	}
}

struct digest *digest_new(enum digest_type type)
{
	struct digest *d = xcalloc(1, sizeof(*d));

	d->type = type;
	switch (type) {
	case DIGEST_SHA256:
		mbedtls_sha256_init(&d->u.sha256);
		break;
	case DIGEST_SHA1:
		mbedtls_sha1_init(&d->u.sha1);
		break;
	case DIGEST_MD5:
		mbedtls_md5_init(&d->u.md5);
		break;
	case DIGEST_CRC32:
	case DIGEST_CRC32C:
	case DIGEST_CRC64NVME:
		break;
	}
	digest_reset(d);
	return d;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	switch (d->type) {
	case DIGEST_SHA256:
		mbedtls_sha256_free(&d->u.sha256);
		break;
	case DIGEST_SHA1:
		mbedtls_sha1_free(&d->u.sha1);
		break;
	case DIGEST_MD5:
		mbedtls_md5_free(&d->u.md5);
		break;
	case DIGEST_CRC32:
	case DIGEST_CRC32C:
	case DIGEST_CRC64NVME:
		break;
	}
	free(d);
}

void digest_add(struct digest *d, const void *data, size_t len)
{
	switch (d->type) {
	case DIGEST_SHA256:
		must(mbedtls_sha256_update(&d->u.sha256, data, len));
		break;
	case DIGEST_SHA1:
		must(mbedtls_sha1_update(&d->u.sha1, data, len));
		break;
	case DIGEST_MD5:
		must(mbedtls_md5_update(&d->u.md5, data, len));
		break;
	case DIGEST_CRC32:
	case DIGEST_CRC32C:
	case DIGEST_CRC64NVME:
		d->crc = crc_add(crc_of(d->type), d->crc, data, len);
		break;
	}
}

size_t digest_end(struct digest *d, unsigned char out[DIGEST_MAX])
{
	size_t len = 0;

	switch (d->type) {
	case DIGEST_SHA256:
		must(mbedtls_sha256_finish(&d->u.sha256, out));
		len = 32;
		break;
	case DIGEST_SHA1:
		must(mbedtls_sha1_finish(&d->u.sha1, out));
		len = 20;
		break;
	case DIGEST_MD5:
		must(mbedtls_md5_finish(&d->u.md5, out));
		len = 16;
		break;
	case DIGEST_CRC32:
	case DIGEST_CRC32C:
	case DIGEST_CRC64NVME:
		len = d->type == DIGEST_CRC64NVME ? 8 : 4;
		for (size_t i = 0; i < len; i++)
			out[i] = (unsigned char)(d->crc >> 8 * (len - 1 - i));
		break;
	}
	digest_reset(d);
	return len;
}

static const char *to_hex(const unsigned char *raw, size_t len, char hex[DIGEST_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	char *p = hex;

	for (size_t i = 0; i < len; i++) {
		*p++ = digits[raw[i] >> 4];
		*p++ = digits[raw[i] & 15];
	}
	*p = 0;
	return hex;
}

const char *digest_end_hex(struct digest *d, char hex[DIGEST_HEX_SIZE])
{
	unsigned char raw[DIGEST_MAX];
	size_t len = digest_end(d, raw);

	return to_hex(raw, len, hex);
}

size_t digest_of(enum digest_type type, const void *data, size_t len,
		 unsigned char out[DIGEST_MAX])
{
	cleanup_digest struct digest *d = digest_new(type);

	digest_add(d, data, len);
	return digest_end(d, out);
}

const char *digest_hex_of(enum digest_type type, const void *data, size_t len,
			  char hex[DIGEST_HEX_SIZE])
{
	unsigned char raw[DIGEST_MAX];
	size_t n = digest_of(type, data, len, raw);

	return to_hex(raw, n, hex);
}
