/*
 * Behind mbedTLS's hooks for other implementations (MBEDTLS_GCM_ALT, SHA256_ALT,
 * SHA1_PROCESS_ALT): nettle's AES-GCM, SHA-256 and SHA-1 for x86-64, which ask the
 * CPU at start and take AES-NI, PCLMUL and SHA-NI where it has them, 5 to 9 times
 * as fast as stock. There is no cryptography in this file: it maps one interface to
 * the other. Built into libmbedcrypto.a by vendor/recipes.sh; tests/unit/net/
 * test_crypto.c holds it against NIST's vectors, whatever the CPU has.
 */
#include <string.h>

#include <mbedtls/constant_time.h>
#include <mbedtls/error.h>
#include <mbedtls/gcm.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>

#include "ghash-internal.h"
#include "sha1.h"

enum { BLOCK = 16 };

void mbedtls_gcm_init(mbedtls_gcm_context *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
}

void mbedtls_gcm_free(mbedtls_gcm_context *ctx)
{
	if (ctx)
		mbedtls_platform_zeroize(ctx, sizeof(*ctx));
}

int mbedtls_gcm_setkey(mbedtls_gcm_context *ctx, mbedtls_cipher_id_t cipher,
		       const unsigned char *key, unsigned int keybits)
{
	if (cipher != MBEDTLS_CIPHER_ID_AES)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	switch (keybits) {
	case 128:
		aes128_set_encrypt_key(&ctx->cipher.aes128, key);
		ctx->encrypt = (nettle_cipher_func *)aes128_encrypt;
		break;
	case 192:
		aes192_set_encrypt_key(&ctx->cipher.aes192, key);
		ctx->encrypt = (nettle_cipher_func *)aes192_encrypt;
		break;
	case 256:
		aes256_set_encrypt_key(&ctx->cipher.aes256, key);
		ctx->encrypt = (nettle_cipher_func *)aes256_encrypt;
		break;
	default:
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	}
	gcm_set_key(&ctx->key, &ctx->cipher, ctx->encrypt);
	return 0;
}

int mbedtls_gcm_starts(mbedtls_gcm_context *ctx, int mode, const unsigned char *iv,
		       size_t iv_len)
{
	if (!ctx->encrypt || iv_len == 0 || (uint64_t)iv_len >> 61)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ctx->mode = mode;
	ctx->add_len = ctx->len = 0;
	gcm_set_iv(&ctx->gcm, &ctx->key, iv_len, iv);
	return 0;
}

int mbedtls_gcm_update_ad(mbedtls_gcm_context *ctx, const unsigned char *add,
			  size_t add_len)
{
	size_t offset = ctx->add_len % BLOCK;
	size_t n = BLOCK - offset < add_len ? BLOCK - offset : add_len;

	if (add_len == 0)
		return 0;
	if (ctx->len || (ctx->add_len + add_len) >> 61 ||
	    ctx->add_len + add_len < ctx->add_len)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ctx->add_len += add_len;
	if (offset) {
		memcpy(ctx->part + offset, add, n);
		if (offset + n < BLOCK)
			return 0;
		gcm_update(&ctx->gcm, &ctx->key, BLOCK, ctx->part);
		add += n;
		add_len -= n;
	}
	n = add_len % BLOCK;
	gcm_update(&ctx->gcm, &ctx->key, add_len - n, add);
	memcpy(ctx->part, add + add_len - n, n);
	return 0;
}

/* The last, incomplete block of what is authenticated only. */
static void end_ad(mbedtls_gcm_context *ctx)
{
	if (ctx->len == 0 && ctx->add_len % BLOCK)
		gcm_update(&ctx->gcm, &ctx->key, ctx->add_len % BLOCK, ctx->part);
}

/* A block that is complete, or the last one filled up with zeros: `n` bytes count. */
static void hash_part(mbedtls_gcm_context *ctx, size_t n)
{
	memset(ctx->part + n, 0, BLOCK - n);
	_nettle_ghash_update(&ctx->key, &ctx->gcm.x, 1, ctx->part);
	ctx->gcm.data_size += n;
}

static void next_mask(mbedtls_gcm_context *ctx)
{
	unsigned char *counter = ctx->gcm.ctr.b + BLOCK - 4;

	ctx->encrypt(&ctx->cipher, BLOCK, ctx->mask, ctx->gcm.ctr.b);
	for (int i = 3; i >= 0 && ++counter[i] == 0; i--)
		continue;
}

/* Less than a block, at `offset` of it. `in` may be `out`. */
static void crypt_part(mbedtls_gcm_context *ctx, size_t offset, const unsigned char *in,
		       unsigned char *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char old = in[i], new = old ^ ctx->mask[offset + i];

		ctx->part[offset + i] = ctx->mode == MBEDTLS_GCM_ENCRYPT ? new : old;
		out[i] = new;
	}
}

static void crypt_blocks(mbedtls_gcm_context *ctx, const unsigned char *in,
			 unsigned char *out, size_t len)
{
	if (out < in && in < out + len) { /* nettle: the same place, or another */
		memmove(out, in, len);
		in = out;
	}
	if (ctx->mode == MBEDTLS_GCM_ENCRYPT)
		gcm_encrypt(&ctx->gcm, &ctx->key, &ctx->cipher, ctx->encrypt, len, out,
			    in);
	else
		gcm_decrypt(&ctx->gcm, &ctx->key, &ctx->cipher, ctx->encrypt, len, out,
			    in);
}

int mbedtls_gcm_update(mbedtls_gcm_context *ctx, const unsigned char *input,
		       size_t input_length, unsigned char *output, size_t output_size,
		       size_t *output_length)
{
	size_t offset = ctx->len % BLOCK, n = 0, tail;

	if (output_size < input_length)
		return MBEDTLS_ERR_GCM_BUFFER_TOO_SMALL;
	*output_length = input_length;
	if (input_length == 0)
		return 0;
	if ((output > input && (size_t)(output - input) < input_length) ||
	    ctx->len + input_length < ctx->len ||
	    ctx->len + input_length > 0xFFFFFFFE0ull)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	end_ad(ctx);
	ctx->len += input_length;
	if (offset) {
		n = BLOCK - offset < input_length ? BLOCK - offset : input_length;
		crypt_part(ctx, offset, input, output, n);
		if (offset + n == BLOCK)
			hash_part(ctx, BLOCK);
	}
	tail = (input_length - n) % BLOCK;
	if (input_length - n - tail)
		crypt_blocks(ctx, input + n, output + n, input_length - n - tail);
	if (tail) {
		next_mask(ctx);
		crypt_part(ctx, 0, input + input_length - tail,
			   output + input_length - tail, tail);
	}
	return 0;
}

int mbedtls_gcm_finish(mbedtls_gcm_context *ctx, unsigned char *output,
		       size_t output_size, size_t *output_length, unsigned char *tag,
		       size_t tag_len)
{
	(void)output;
	(void)output_size;
	*output_length = 0;
	if (tag_len > BLOCK || tag_len < 4)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	end_ad(ctx);
	if (ctx->len % BLOCK)
		hash_part(ctx, ctx->len % BLOCK);
	gcm_digest(&ctx->gcm, &ctx->key, &ctx->cipher, ctx->encrypt, tag_len, tag);
	mbedtls_platform_zeroize(ctx->mask, sizeof(ctx->mask));
	return 0;
}

int mbedtls_gcm_crypt_and_tag(mbedtls_gcm_context *ctx, int mode, size_t length,
			      const unsigned char *iv, size_t iv_len,
			      const unsigned char *add, size_t add_len,
			      const unsigned char *input, unsigned char *output,
			      size_t tag_len, unsigned char *tag)
{
	size_t n;
	int rc = mbedtls_gcm_starts(ctx, mode, iv, iv_len);

	if (rc == 0)
		rc = mbedtls_gcm_update_ad(ctx, add, add_len);
	if (rc == 0)
		rc = mbedtls_gcm_update(ctx, input, length, output, length, &n);
	if (rc == 0)
		rc = mbedtls_gcm_finish(ctx, NULL, 0, &n, tag, tag_len);
	return rc;
}

int mbedtls_gcm_auth_decrypt(mbedtls_gcm_context *ctx, size_t length,
			     const unsigned char *iv, size_t iv_len,
			     const unsigned char *add, size_t add_len,
			     const unsigned char *tag, size_t tag_len,
			     const unsigned char *input, unsigned char *output)
{
	unsigned char is[BLOCK];
	int rc = mbedtls_gcm_crypt_and_tag(ctx, MBEDTLS_GCM_DECRYPT, length, iv, iv_len,
					   add, add_len, input, output, tag_len, is);

	if (rc == 0 && mbedtls_ct_memcmp(tag, is, tag_len)) {
		mbedtls_platform_zeroize(output, length);
		rc = MBEDTLS_ERR_GCM_AUTH_FAILED;
	}
	return rc;
}

void mbedtls_sha256_init(mbedtls_sha256_context *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
}

void mbedtls_sha256_free(mbedtls_sha256_context *ctx)
{
	if (ctx)
		mbedtls_platform_zeroize(ctx, sizeof(*ctx));
}

void mbedtls_sha256_clone(mbedtls_sha256_context *dst, const mbedtls_sha256_context *src)
{
	*dst = *src;
}

int mbedtls_sha256_starts(mbedtls_sha256_context *ctx, int is224)
{
	if (is224 != 0 && is224 != 1)
		return MBEDTLS_ERR_SHA256_BAD_INPUT_DATA;
	ctx->is224 = is224;
	if (is224)
		sha224_init(&ctx->sha256);
	else
		sha256_init(&ctx->sha256);
	return 0;
}

int mbedtls_sha256_update(mbedtls_sha256_context *ctx, const unsigned char *input,
			  size_t ilen)
{
	if (ilen)
		sha256_update(&ctx->sha256, ilen, input);
	return 0;
}

int mbedtls_sha256_finish(mbedtls_sha256_context *ctx, unsigned char *output)
{
	if (ctx->is224)
		sha224_digest(&ctx->sha256, SHA224_DIGEST_SIZE, output);
	else
		sha256_digest(&ctx->sha256, SHA256_DIGEST_SIZE, output);
	return 0;
}

int mbedtls_internal_sha256_process(mbedtls_sha256_context *ctx,
				    const unsigned char data[64])
{
	sha256_compress(ctx->sha256.state, data);
	return 0;
}

int mbedtls_internal_sha1_process(mbedtls_sha1_context *ctx, const unsigned char data[64])
{
	nettle_sha1_compress(ctx->MBEDTLS_PRIVATE(state), data);
	return 0;
}
