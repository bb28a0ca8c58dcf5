/*
 * x509.h - make and check our own certificates (mbedTLS).
 *
 * A CA for the webhooks and a server certificate signed by it, as PEM. The CA's key is
 * RSA-2048 in PKCS#1 form, the only one that upstream's rotator reads, so that a cluster
 * can be handed back to it; the server's key is P-256 in SEC1 form, which Go's
 * X509KeyPair reads.
 */
#ifndef CRYPTO_X509_H
#define CRYPTO_X509_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct x509_pair {
	char *cert_pem, *key_pem; /* owned: x509_pair_release() wipes the key */
};
void x509_pair_release(struct x509_pair *p);
#define cleanup_x509_pair __attribute__((cleanup(x509_pair_release)))

/* `now` and `until`: seconds since 1970. Valid from an hour before now. */
MUST_CHECK int x509_new_ca(struct x509_pair *ret, const char *common_name,
			   const char *organization, int64_t now, int64_t until,
			   struct error *err);
/* The same with a P-256 key, which is made in a millisecond instead of hundreds. */
MUST_CHECK int x509_new_p256_ca(struct x509_pair *ret, const char *common_name,
				const char *organization, int64_t now, int64_t until,
				struct error *err);
/* A server certificate for `dns_name` (or an IP address) with a new key. */
MUST_CHECK int x509_new_server(struct x509_pair *ret, const struct x509_pair *ca,
			       const char *dns_name, int64_t now, int64_t until,
			       struct error *err);

/*
 * Check that the certificate (chain) belongs to the key, is signed by ca_pem, and is
 * valid at `at` for the server dns_name. ERR_INVALID ("expires", "for another name",
 * "signed by another CA"), ERR_FORMAT.
 */
MUST_CHECK int x509_check_server(const struct x509_pair *p, const char *ca_pem,
				 const char *dns_name, int64_t at, struct error *err);
/*
 * Check only the times: the chain and a CA of the PEM are valid at `from` and at `until`.
 * No signature is checked.
 */
MUST_CHECK int x509_check_times(const char *cert_pem, const char *ca_pem, int64_t from,
				int64_t until, struct error *err);
/* Check that it is a CA valid at `at`, with this key (key_pem may be NULL). */
MUST_CHECK int x509_check_ca(const struct x509_pair *p, int64_t at, struct error *err);

/*
 * Check a client's certificate (the first of the PEM) and its key as Go's
 * tls.X509KeyPair(). Other blocks of the texts are skipped. ERR_FORMAT, ERR_UNSUPPORTED
 * (names the algorithm), ERR_INVALID (not a pair); *ret_of_key: the error is in the key.
 */
MUST_CHECK int x509_check_client(const char *cert_pem, const char *key_pem,
				 bool *ret_of_key, struct error *err);
/*
 * Check that a PEM text has a certificate that can be used as a CA; others are skipped.
 * ERR_FORMAT: none; the message explains the first.
 */
MUST_CHECK int x509_check_bundle(const char *pem, struct error *err);

/* The expiry of the first certificate of the PEM, in seconds since 1970. */
MUST_CHECK int x509_expiry(int64_t *ret, const char *cert_pem, struct error *err);

#endif
