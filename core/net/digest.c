#include "net/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <mbedtls/md5.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>

#include "base/xmalloc.h"

struct digest {
	enum digest_type type;
	uint32_t crc;
	union {
		mbedtls_sha256_context sha256;
		mbedtls_sha1_context sha1;
		mbedtls_md5_context md5;
	} u;
};

/* mbedTLS can refuse these calls only where hardware of its own fails. */
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
	case DIGEST_CRC32C:
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
	case DIGEST_CRC32C:
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
	case DIGEST_CRC32C:
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
	case DIGEST_CRC32C:
		d->crc = crc32c(d->crc, data, len);
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
	case DIGEST_CRC32C:
		for (; len < 4; len++)
			out[len] = (unsigned char)(d->crc >> (24 - 8 * len));
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

/* A bit at a time, for a byte: the polynomial reflected. */
static uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	return crc;
}

static uint32_t crc_plain(uint32_t crc, const unsigned char *p, size_t len)
{
	uint32_t table[16]; /* four bits at a time */

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 4; bit++)
			v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
		table[i] = v;
	}
	for (; len > 0; len--, p++) {
		crc ^= *p;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_machine(uint32_t crc,
							      const unsigned char *p,
							      size_t len)
{
	uint64_t wide, word;

	for (; len && (uintptr_t)p % 8; len--, p++)
		crc = crc_byte(crc, *p);
	for (wide = crc; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	for (crc = (uint32_t)wide; len; len--, p++)
		crc = crc_byte(crc, *p);
	return crc;
}

static bool has_machine(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t crc_machine(uint32_t crc, const unsigned char *p, size_t len)
{
	return len ? crc_byte(crc, *p) : crc;
}

static bool has_machine(void)
{
	return false;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	crc = ~crc;
	return ~(has_machine() ? crc_machine(crc, data, len) : crc_plain(crc, data, len));
}
