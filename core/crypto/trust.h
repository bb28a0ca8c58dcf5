/*
 * trust.h - verifies the certificates of servers for a TLS client by the rules of Go's
 * crypto/x509 instead of mbedTLS's own. Private to core/crypto and core/net.
 *
 * Each certificate of the pool is a trust anchor: a root, an intermediate, or the
 * server's own. All chains through the certificates sent by the server are tried. Names
 * are in subject alternative names, not in the Common Name. Name constraints of DNS names
 * and addresses are checked; those of other kinds refuse certificates that have such
 * names. The key usage of the server's own certificate is ignored, the extended one is
 * not. Signatures with SHA-1 or MD5, RSA below 1024 bits, and curves other than P-256,
 * P-384 and P-521 are refused.
 */
#ifndef CRYPTO_TRUST_H
#define CRYPTO_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct mbedtls_x509_crt;
struct trust;

/*
 * The pool of a PEM text, immutable and thread-safe. Certificates that cannot be read are
 * left out. ERR_FORMAT: none could be read; the message explains the first.
 */
MUST_CHECK int trust_new(struct trust **ret, const char *pem, struct error *err);
void trust_free(struct trust *t);

enum { TRUST_WHY = 400 };

/* The check of one handshake; must outlive the handshake. */
struct trust_check {
	const struct trust *trust; /* NULL: accept every certificate */
	const char *host;          /* the server's name or address, without brackets */
	bool unknown_ca;           /* no chain leads to the pool; `why` names the CA */
	char why[TRUST_WHY]; /* "its certificate has expired, ..."; "" when accepted */
};

/* Make a mbedtls_ssl_config verify with `check`, whose result the handshake fills. */
void trust_apply(struct trust_check *check, void *ssl_config);

/* mbedTLS's callback, for tests: `crt` is the server's at depth 0, with its chain. */
int trust_verify(void *check, struct mbedtls_x509_crt *crt, int depth, uint32_t *flags);

#endif
