/*
 * crypto.h - functions shared by the users of mbedTLS. Private to core/crypto.
 */
#ifndef CRYPTO_CRYPTO_H
#define CRYPTO_CRYPTO_H

#include "base/error.h"

/*
 * Initialize mbedTLS. Call it before any other function of mbedTLS, any number of times,
 * from any thread.
 */
MUST_CHECK int crypto_start(struct error *err);

/* Fill err with "what: mbedTLS's message" for a result of its functions. Returns -1. */
int crypto_fail(struct error *err, enum error_kind kind, int rc, const char *what);

/*
 * A mbedtls_f_rng_t that uses the kernel's generator, so that no state is shared or
 * seeded.
 */
int crypto_random(void *unused, unsigned char *data, size_t len);

/*
 * Append a certificate in DER to a chain. Unlike in mbedtls_x509_crt_parse_der(), and as
 * in Go, an unknown critical extension is not an error: the code that verifies the
 * certificate must call cert_extensions() (cert.h). The result is mbedTLS's.
 */
struct mbedtls_x509_crt;
int crypto_parse_certificate(struct mbedtls_x509_crt *chain, const unsigned char *der,
			     size_t len);

#endif
