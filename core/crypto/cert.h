/*
 * cert.h - read certificates as Go's crypto/x509 does (mbedTLS). Private to
 * core/crypto and core/net.
 */
#ifndef CRYPTO_CERT_H
#define CRYPTO_CERT_H

#include <stdbool.h>

#include "base/buf.h"

struct mbedtls_x509_crt;

/* The keys and signatures that mbedTLS verifies; for messages. */
#define CERT_SUPPORTED "RSA, and ECDSA with P-256, P-384 and P-521"

enum { CERT_MAX_PEM = 1024 * 1024, CERT_MAX_DER = 64 * 1024, CERT_WHY = 240 };

/*
 * The next PEM block CERTIFICATE at or after *pem, decoded; *pem moves behind it. As in
 * Go, blocks of another name, with headers, or that are not base64 are skipped. False:
 * there is none.
 */
bool cert_next_pem(const char **pem, struct buf *ret_der);

/* The numbers of certificates read and skipped. */
struct cert_count {
	size_t used, skipped;
	char why[CERT_WHY]; /* of the first skipped: "certificate 2: ..." */
};

/*
 * Append the certificates of a PEM text to an initialized chain, as Go's
 * CertPool.AppendCertsFromPEM(): those that do not parse are skipped.
 */
void cert_read_pem(struct mbedtls_x509_crt *chain, const char *pem,
		   struct cert_count *ret);

/* Why a certificate in DER failed to parse with mbedTLS's rc; names the algorithm. */
void cert_explain(char ret_why[CERT_WHY], const struct buf *der, int rc);

/* Extensions that mbedTLS does not parse. */
enum { CERT_OID = 80 };
struct cert_extensions {
	/* The first critical extension that Go does not handle either, or "". */
	char unknown[CERT_OID];
	const unsigned char *constraints; /* the value of nameConstraints; NULL: none */
	size_t constraints_len;
	bool constraints_critical;
};
/* ret->constraints points into crt. */
void cert_extensions(struct cert_extensions *ret, const struct mbedtls_x509_crt *crt);

#endif
