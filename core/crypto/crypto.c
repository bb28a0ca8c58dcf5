/* crypto.c - initializes mbedTLS, converts its errors, parses chains (crypto/crypto.h). */
#include "crypto/crypto.h"

#include <stddef.h>

#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>

#include "base/random.h"

int crypto_start(struct error *err)
{
	psa_status_t status = psa_crypto_init();

	if (status != PSA_SUCCESS)
		return error_set(err, ERR_IO, "cannot start mbedTLS (%d)", (int)status);
	return 0;
}

int crypto_fail(struct error *err, enum error_kind kind, int rc, const char *what)
{
	char text[200] = "";

	mbedtls_strerror(rc, text, sizeof(text));
	return error_set(err, kind, "%s: %s", what, text);
}

int crypto_random(void *unused, unsigned char *data, size_t len)
{
	struct error err = { 0 };

	return random_bytes(data, len, &err) ? MBEDTLS_ERR_ENTROPY_SOURCE_FAILED : 0;
}

/* Accept unknown extensions here; the verification uses cert_extensions() (cert.h). */
static int skip_extension(void *unused, const mbedtls_x509_crt *crt,
			  const mbedtls_x509_buf *oid, int critical,
			  const unsigned char *p, const unsigned char *end)
{
	(void)unused, (void)crt, (void)oid, (void)critical, (void)p, (void)end;
	return 0;
}

int crypto_parse_certificate(mbedtls_x509_crt *chain, const unsigned char *der,
			     size_t len)
{
	return mbedtls_x509_crt_parse_der_with_ext_cb(chain, der, len, 1, skip_extension,
						      NULL);
}

/*
 * Called by mbedTLS's handshake (the linker's --wrap, see LIBS in the Makefile), whose
 * own parser refuses chains with unknown critical extensions, such as name constraints.
 */
int __wrap_mbedtls_x509_crt_parse_der(mbedtls_x509_crt *chain, const unsigned char *der,
				      size_t len);
int __wrap_mbedtls_x509_crt_parse_der(mbedtls_x509_crt *chain, const unsigned char *der,
				      size_t len)
{
	return crypto_parse_certificate(chain, der, len);
}
