/* sign.c - signs with HMAC-SHA256 and RS256 (crypto/sign.h). */
#include "crypto/sign.h"

#include <mbedtls/constant_time.h>
#include <mbedtls/md.h>
#include <mbedtls/pk.h>

#include "crypto/crypto.h"

enum { MAX_SIGNATURE = 1024 }; /* RSA of 8,192 bits */

static const mbedtls_md_info_t *sha256(void)
{
	return mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
}

void sign_sha256(const void *data, size_t len, unsigned char ret[SIGN_SHA256_SIZE])
{
	mbedtls_md(sha256(), data, len, ret);
}

void sign_hmac(const void *key, size_t key_len, const void *data, size_t len,
	       unsigned char ret[SIGN_SHA256_SIZE])
{
	mbedtls_md_hmac(sha256(), key, key_len, data, len, ret);
}

bool sign_equal(const unsigned char a[SIGN_SHA256_SIZE],
		const unsigned char b[SIGN_SHA256_SIZE])
{
	return !mbedtls_ct_memcmp(a, b, SIGN_SHA256_SIZE);
}

static int sign(struct buf *out, mbedtls_pk_context *key, const char *pem,
		const unsigned char *hash, struct error *err)
{
	unsigned char signature[MAX_SIGNATURE];
	size_t len = 0;
	int rc = mbedtls_pk_parse_key(key, (const unsigned char *)pem, strlen(pem) + 1,
				      NULL, 0, crypto_random, NULL);

	if (rc)
		return crypto_fail(err, ERR_INVALID, rc, "the private key");
	if (!mbedtls_pk_can_do(key, MBEDTLS_PK_RSA))
		return error_set(err, ERR_INVALID, "the private key is not an RSA key");
	rc = mbedtls_pk_sign(key, MBEDTLS_MD_SHA256, hash, SIGN_SHA256_SIZE, signature,
			     sizeof(signature), &len, crypto_random, NULL);
	if (rc)
		return crypto_fail(err, ERR_INVALID, rc, "signing");
	buf_add(out, signature, len);
	return buf_check(out, "a signature", err);
}

int sign_rs256(struct buf *out, const char *pem, const void *data, size_t len,
	       struct error *err)
{
	unsigned char hash[SIGN_SHA256_SIZE];
	mbedtls_pk_context key;
	int rc;

	if (crypto_start(err))
		return -1;
	sign_sha256(data, len, hash);
	mbedtls_pk_init(&key);
	rc = sign(out, &key, pem, hash, err);
	mbedtls_pk_free(&key);
	return rc;
}
