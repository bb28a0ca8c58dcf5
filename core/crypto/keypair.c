/* keypair.c - generates keys for SSH and CURVE (crypto/keypair.h). */
#include "crypto/keypair.h"

#include <stdbool.h>
#include <stdint.h>

#include <mbedtls/ecp.h>
#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>
#include <psa/crypto.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/crypto.h"

enum {
	P521_POINT_SIZE = 133,
	SEC1_PEM_SIZE = 1024,
	RSA_MAX = 2048, /* bytes of a number: 16,384 bits */
	CURVE_KEY_SIZE = 32,
};

/* The curves of RFC 5656, 6.1 and 10.1. */
static const struct ssh_curve {
	mbedtls_ecp_group_id id;
	const char *type, *name;
} ssh_curves[] = {
	{ MBEDTLS_ECP_DP_SECP256R1, "ecdsa-sha2-nistp256", "nistp256" },
	{ MBEDTLS_ECP_DP_SECP384R1, "ecdsa-sha2-nistp384", "nistp384" },
	{ MBEDTLS_ECP_DP_SECP521R1, "ecdsa-sha2-nistp521", "nistp521" },
};

/* Append a string: its length and its bytes (RFC 4251, 5). */
static void add_string(struct buf *b, const void *data, size_t len)
{
	const unsigned char size[] = { (unsigned char)(len >> 24),
				       (unsigned char)(len >> 16),
				       (unsigned char)(len >> 8), (unsigned char)len };

	buf_add(b, size, sizeof(size));
	buf_add(b, data, len);
}

/* A line of authorized_keys: the key's type and its blob (RFC 4253, 6.6). */
static const char *authorized_key(struct arena *arena, const char *type,
				  const struct buf *blob)
{
	cleanup_buf struct buf text = { .max = 8 * 1024 };

	base64_encode(&text, blob->data, blob->len);
	return arena_printf(arena, "%s %s\n", type, (const char *)text.data);
}

/* The blob of an ECDSA key (RFC 5656, 3.1). *ret_type NULL: no curve of SSH. */
static int ecdsa_blob(struct buf *blob, const mbedtls_ecp_keypair *key,
		      const char **ret_type, struct error *err)
{
	mbedtls_ecp_group_id id = mbedtls_ecp_keypair_get_group_id(key);
	unsigned char point[P521_POINT_SIZE];
	size_t len = 0;
	int rc;

	for (size_t i = 0; i < N_ELEMENTS(ssh_curves); i++) {
		const struct ssh_curve *c = &ssh_curves[i];

		if (c->id != id)
			continue;
		rc = mbedtls_ecp_write_public_key(key, MBEDTLS_ECP_PF_UNCOMPRESSED, &len,
						  point, sizeof(point));
		if (rc)
			return crypto_fail(err, ERR_FORMAT, rc, "the public key");
		add_string(blob, c->type, strlen(c->type));
		add_string(blob, c->name, strlen(c->name));
		add_string(blob, point, len);
		*ret_type = c->type;
	}
	return 0;
}

/* Append an mpint, whose first bit is 0 (RFC 4251, 5). */
static void add_number(struct buf *blob, const unsigned char *number, size_t len)
{
	cleanup_buf struct buf b = { .max = RSA_MAX + 1 };

	if (number[0] & 0x80)
		buf_add(&b, "", 1);
	buf_add(&b, number, len);
	add_string(blob, b.data, b.len);
}

static int export_number(struct buf *blob, const mbedtls_mpi *number)
{
	unsigned char bytes[RSA_MAX];
	size_t len = mbedtls_mpi_size(number);
	int rc = len && len <= RSA_MAX ? mbedtls_mpi_write_binary(number, bytes, len)
				       : MBEDTLS_ERR_RSA_BAD_INPUT_DATA;

	if (!rc)
		add_number(blob, bytes, len);
	return rc;
}

/* The blob of an RSA key (RFC 4253, 6.6). */
static int rsa_blob(struct buf *blob, const mbedtls_rsa_context *key, struct error *err)
{
	mbedtls_mpi n, e;
	int rc;

	mbedtls_mpi_init(&n);
	mbedtls_mpi_init(&e);
	add_string(blob, "ssh-rsa", strlen("ssh-rsa"));
	rc = mbedtls_rsa_export(key, &n, NULL, NULL, NULL, &e);
	if (!rc)
		rc = export_number(blob, &e);
	if (!rc)
		rc = export_number(blob, &n);
	mbedtls_mpi_free(&n);
	mbedtls_mpi_free(&e);
	return rc ? crypto_fail(err, ERR_FORMAT, rc, "the public key") : 0;
}

static int public_of(struct arena *arena, const mbedtls_pk_context *key, const char **ret,
		     struct error *err)
{
	cleanup_buf struct buf blob = { .max = 8 * 1024 };
	const char *type = NULL;
	int rc = 0;

	if (mbedtls_pk_get_type(key) == MBEDTLS_PK_ECKEY) {
		rc = ecdsa_blob(&blob, mbedtls_pk_ec(*key), &type, err);
	} else if (mbedtls_pk_get_type(key) == MBEDTLS_PK_RSA) {
		type = "ssh-rsa";
		rc = rsa_blob(&blob, mbedtls_pk_rsa(*key), err);
	}
	if (rc)
		return -1;
	if (!type)
		return error_set(err, ERR_UNSUPPORTED,
				 "the private key is neither ECDSA nor RSA");
	*ret = authorized_key(arena, type, &blob);
	return 0;
}

int keypair_ssh_public(struct arena *arena, const char *pem,
		       const char **ret_authorized_key, struct error *err)
{
	mbedtls_pk_context key;
	int rc;

	if (crypto_start(err))
		return -1;
	mbedtls_pk_init(&key);
	rc = mbedtls_pk_parse_key(&key, (const unsigned char *)pem, strlen(pem) + 1, NULL,
				  0, crypto_random, NULL);
	rc = rc ? crypto_fail(err, ERR_FORMAT, rc, "the private key")
		: public_of(arena, &key, ret_authorized_key, err);
	mbedtls_pk_free(&key);
	return rc;
}

static int make_p521(mbedtls_pk_context *key, unsigned char *pem, struct error *err)
{
	int rc = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

	if (!rc)
		rc = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP521R1, mbedtls_pk_ec(*key),
					 crypto_random, NULL);
	if (!rc)
		rc = mbedtls_pk_write_key_pem(key, pem, SEC1_PEM_SIZE);
	return rc ? crypto_fail(err, ERR_IO, rc, "making an SSH key") : 0;
}

int keypair_ssh(struct arena *arena, const char **ret_private_pem,
		const char **ret_authorized_key, struct error *err)
{
	unsigned char pem[SEC1_PEM_SIZE];
	mbedtls_pk_context key;
	int rc;

	if (crypto_start(err))
		return -1;
	mbedtls_pk_init(&key);
	rc = make_p521(&key, pem, err);
	if (!rc)
		rc = public_of(arena, &key, ret_authorized_key, err);
	if (!rc)
		*ret_private_pem = arena_strdup(arena, (const char *)pem);
	mbedtls_pk_free(&key);
	explicit_bzero(pem, sizeof(pem));
	return rc;
}

/* Encode four bytes, most significant first, as five digits of base 85 (ZMQ RFC 32). */
static void z85(char text[41], const unsigned char data[CURVE_KEY_SIZE])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
				     "PQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

	for (int i = 0; i < CURVE_KEY_SIZE / 4; i++, data += 4) {
		uint32_t v = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
			     (uint32_t)data[2] << 8 | data[3];

		for (int digit = 4; digit >= 0; digit--, v /= 85)
			text[5 * i + digit] = digits[v % 85];
	}
	text[40] = '\0';
}

int keypair_curve(char ret_public_z85[41], char ret_secret_z85[41], struct error *err)
{
	unsigned char secret[CURVE_KEY_SIZE], public[CURVE_KEY_SIZE];
	psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
	mbedtls_svc_key_id_t key = MBEDTLS_SVC_KEY_ID_INIT;
	size_t secret_len = 0, public_len = 0;
	psa_status_t status;
	bool done;

	if (crypto_start(err))
		return -1;
	psa_set_key_type(&attributes,
			 PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_MONTGOMERY));
	psa_set_key_bits(&attributes, 255);
	psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_EXPORT);
	status = psa_generate_key(&attributes, &key);
	if (status == PSA_SUCCESS)
		status = psa_export_key(key, secret, sizeof(secret), &secret_len);
	if (status == PSA_SUCCESS)
		status = psa_export_public_key(key, public, sizeof(public), &public_len);
	psa_destroy_key(key);
	done = status == PSA_SUCCESS && secret_len == sizeof(secret) &&
	       public_len == sizeof(public);
	if (done) {
		z85(ret_secret_z85, secret);
		z85(ret_public_z85, public);
	}
	explicit_bzero(secret, sizeof(secret));
	if (!done)
		return error_set(err, ERR_IO, "making a CURVE key: mbedTLS error %d",
				 (int)status);
	return 0;
}
