/*
 * psk.h - TLS 1.3 between two processes with the same key (mbedTLS).
 *
 * RFC 8446, 2.2: an external pre-shared key with X25519 (psk_dhe_ke). No certificates, no
 * other version, no resumption: each end proves that it has the key, and a key that leaks
 * later does not decrypt recorded connections.
 *
 * A psk has the settings of one end; its connections must be freed before it. A psk_conn
 * uses a non-blocking descriptor owned by the caller and never blocks: it returns the
 * event to wait for. One thread at a time may use a psk.
 */
#ifndef CRYPTO_PSK_H
#define CRYPTO_PSK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct psk;
struct psk_conn;

enum { PSK_KEY_SIZE = 32 };
enum psk_side { PSK_CLIENT, PSK_SERVER };

/* The result of a call. */
enum psk_state {
	PSK_OK,
	PSK_WANT_READ,  /* call again when the descriptor is readable */
	PSK_WANT_WRITE, /* call again, with the same arguments, when it is writable */
	PSK_END,        /* the peer has closed the connection properly */
	PSK_FAILED,     /* err: ERR_UNTRUSTED (another key, another protocol), ERR_IO */
};

/*
 * Derive the key from a private key that both ends have: HKDF-SHA-256 (RFC 5869) of its
 * DER bytes, no salt, `info` as given. ERR_FORMAT when `pem` is not a private key, or one
 * with a passphrase.
 */
MUST_CHECK int psk_key(unsigned char ret[PSK_KEY_SIZE], const char *pem, const char *info,
		       struct error *err);

/* `identity` is sent in the clear. Both are copied. */
MUST_CHECK int psk_new(struct psk **ret, enum psk_side side,
		       const unsigned char key[PSK_KEY_SIZE], const char *identity,
		       struct error *err);
void psk_free(struct psk *p); /* NULL is fine */

MUST_CHECK int psk_conn_new(struct psk_conn **ret, struct psk *p, int fd,
			    struct error *err);
/* Sends close_notify if that is possible without blocking. NULL is fine. */
void psk_conn_free(struct psk_conn *c);

enum psk_state psk_handshake(struct psk_conn *c, struct error *err);
/* With PSK_OK, *ret_n is at least 1. */
enum psk_state psk_read(struct psk_conn *c, void *data, size_t max, size_t *ret_n,
			struct error *err);
enum psk_state psk_write(struct psk_conn *c, const void *data, size_t len, size_t *ret_n,
			 struct error *err);
/* True: there are buffered bytes, which poll(2) does not report. */
bool psk_pending(const struct psk_conn *c);

#endif
