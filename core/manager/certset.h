/*
 * certset.h - the contents of the webhooks' certificate Secret, and their renewal.
 *
 * Keys and rules are those of cert-controller's pkg/rotator: each program can use a
 * Secret that the other wrote.
 */
#ifndef MANAGER_CERTSET_H
#define MANAGER_CERTSET_H

#include "base/json.h"
#include "crypto/x509.h"

/* Seconds: a certificate that expires within this time is renewed. */
enum { CERT_LOOKAHEAD = 90 * 24 * 3600 };

struct cert_set {
	struct x509_pair ca; /* cert_pem: the CA, then possibly the previous one */
	struct x509_pair server;
	const struct cert_set *served; /* in use, so checked before; borrowed, or NULL */
};
void cert_set_release(struct cert_set *set); /* wipes keys */
#define cleanup_cert_set __attribute__((cleanup(cert_set_release)))

/* Reads the Secret's data. Keys that are missing or not base64 are NULL in *ret. */
void cert_set_read(struct cert_set *ret, const cJSON *secret);
void cert_set_write(const struct cert_set *set, cJSON *secret);

enum cert_change { CERT_KEPT, CERT_NEW_SERVER, CERT_NEW_CA };

/*
 * Replaces each part that is invalid now or within CERT_LOOKAHEAD. If *ret is not
 * CERT_KEPT, `why` has the reason. Of what is served, only the times are checked.
 */
MUST_CHECK int cert_set_renew(struct cert_set *set, const char *dns_name, int64_t now,
			      enum cert_change *ret, struct error *why,
			      struct error *err);

#endif
