/*
 * certset.h - what the Secret of the webhooks' certificate holds, and its renewal.
 *
 * Keys and rules are those of cert-controller's pkg/rotator, so that a Secret may go
 * from one to the other and back.
 */
#ifndef MANAGER_CERTSET_H
#define MANAGER_CERTSET_H

#include "base/json.h"
#include "net/x509.h"

enum { CERT_LOOKAHEAD = 90 * 24 * 3600 }; /* seconds: ends sooner, is renewed */

struct cert_set {
	struct x509_pair ca; /* cert_pem: the CA, and after it perhaps the one before */
	struct x509_pair server;
	const char *served; /* the CA of the certificate in use, borrowed; or NULL */
};
void cert_set_release(struct cert_set *set); /* wipes keys */
#define cleanup_cert_set __attribute__((cleanup(cert_set_release)))

/* Missing keys, and those that are not base64, are NULL. */
void cert_set_read(struct cert_set *ret, const cJSON *secret);
void cert_set_write(const struct cert_set *set, cJSON *secret);

enum cert_change { CERT_KEPT, CERT_NEW_SERVER, CERT_NEW_CA };

/* Replaces what is invalid now or in CERT_LOOKAHEAD; `why` then says why. */
MUST_CHECK int cert_set_renew(struct cert_set *set, const char *dns_name, int64_t now,
			      enum cert_change *ret, struct error *why,
			      struct error *err);

#endif
