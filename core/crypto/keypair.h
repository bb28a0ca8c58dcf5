/*
 * keypair.h - generate keys for the processes of a job (mbedTLS).
 *
 * SSH: ECDSA P-521; the private key as SEC1 DER in PEM ("EC PRIVATE KEY"), the
 * public one as a line of authorized_keys without comment, as upstream's MPI
 * plugin makes them. CURVE (ZeroMQ): X25519, both halves in Z85 (ZMQ RFC 32).
 */
#ifndef CRYPTO_KEYPAIR_H
#define CRYPTO_KEYPAIR_H

#include "base/arena.h"

/* *ret_public: "ecdsa-sha2-nistp521 <base64>\n". */
MUST_CHECK int keypair_ssh(struct arena *arena, const char **ret_private_pem,
			   const char **ret_authorized_key, struct error *err);

/*
 * The line of authorized_keys that belongs to a private key in PEM: ECDSA P-256, P-384
 * or P-521, or RSA. ERR_FORMAT, ERR_UNSUPPORTED (another kind).
 */
MUST_CHECK int keypair_ssh_public(struct arena *arena, const char *pem,
				  const char **ret_authorized_key, struct error *err);

MUST_CHECK int keypair_curve(char ret_public_z85[41], char ret_secret_z85[41],
			     struct error *err);

#endif
