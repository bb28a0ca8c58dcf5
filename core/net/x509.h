/*
 * x509.h - certificates of our own making (mbedTLS).
 *
 * A CA for the webhooks and a server certificate signed by it, as PEM. The CA's
 * key is RSA-2048 in PKCS#1 form, because upstream's rotator reads that and no
 * other and a cluster can be handed back to it; the server's key is P-256 in SEC1
 * form, which Go's X509KeyPair takes.
 */
#ifndef NET_X509_H
#define NET_X509_H

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
/* For `dns_name` (or an IP address), serverAuth, with a key of its own. */
MUST_CHECK int x509_new_server(struct x509_pair *ret, const struct x509_pair *ca,
			       const char *dns_name, int64_t now, int64_t until,
			       struct error *err);

/*
 * Does the certificate (chain) belong to the key, is it signed by ca_pem, valid at `at`
 * and for dns_name as a server? The reason is in err: ERR_INVALID ("expires", "for
 * another name", "signed by another CA"), ERR_FORMAT.
 */
MUST_CHECK int x509_check_server(const struct x509_pair *p, const char *ca_pem,
				 const char *dns_name, int64_t at, struct error *err);
/* Is it a CA that is valid at `at`, with this key (key_pem may be NULL)? */
MUST_CHECK int x509_check_ca(const struct x509_pair *p, int64_t at, struct error *err);

/* When the first certificate of the PEM ends, in seconds since 1970. */
MUST_CHECK int x509_expiry(int64_t *ret, const char *cert_pem, struct error *err);

#endif
