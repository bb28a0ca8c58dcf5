/*
 * tls.h - the server's side of TLS 1.2 and 1.3 (mbedTLS).
 *
 * A tls_server has the settings and one identity (certificate chain and key), which may
 * be replaced at any time for connections accepted later. A tls_conn is one connection,
 * used by one thread, on a descriptor owned by the caller. Reads and writes block with
 * poll(2), at most until the deadline (clock_ms()); another thread can end them with
 * shutdown(2) of the descriptor. The tls_try_*() functions do not block, for threads with
 * many connections.
 *
 * Keys: RSA, P-256, P-384, P-521. No tickets, no renegotiation; client certificates if
 * tls_accept() gets their CA. Errors: ERR_TIMEOUT; ERR_FORMAT for protocol errors;
 * ERR_IO.
 */
#ifndef CRYPTO_TLS_H
#define CRYPTO_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tls_server;
struct tls_conn;

/* The minimum version; TLS_1_2 also for settings of 1.0 and 1.1. */
enum tls_version { TLS_DEFAULT = 0, TLS_1_2, TLS_1_3 };

/* Everything is copied. */
struct tls_conf {
	enum tls_version min_version;
	/*
	 * Go's names; NULL: the default. As in Go, the suites of TLS 1.3 are always
	 * enabled.
	 */
	const char *const *ciphers;
	const char *const *alpn; /* NULL: "http/1.1" */
};

/* True for a supported cipher suite, by its name in Go's crypto/tls. */
bool tls_knows_cipher(const char *name);

MUST_CHECK int tls_server_new(struct tls_server **ret, const struct tls_conf *conf,
			      struct error *err);
void tls_server_free(struct tls_server *s); /* after its last connection */

/* Set the identity, from any thread. ERR_FORMAT: the PEM is invalid, or no pair. */
MUST_CHECK int tls_server_identity(struct tls_server *s, const char *cert_pem,
				   const char *key_pem, struct error *err);
bool tls_server_ready(const struct tls_server *s); /* an identity is set */

/*
 * CAs whose client certificates are accepted, as PEM. Immutable and thread-safe; must
 * outlive the connections. ERR_FORMAT: not certificates.
 */
struct tls_client_ca;
MUST_CHECK int tls_client_ca_new(struct tls_client_ca **ret, const char *pem,
				 struct error *err);
void tls_client_ca_free(struct tls_client_ca *ca);

/*
 * Handshake on an accepted, non-blocking socket. `client_ca`: the client must present a
 * certificate signed by one of these; NULL: none is requested. ERR_BUSY: no identity yet.
 */
MUST_CHECK int tls_accept(struct tls_conn **ret, struct tls_server *s,
			  const struct tls_client_ca *client_ca, int fd, int64_t deadline,
			  struct error *err);
/* *ret_n is 0 at the end of the stream. */
MUST_CHECK int tls_read(struct tls_conn *c, void *data, size_t max, size_t *ret_n,
			int64_t deadline, struct error *err);
MUST_CHECK int tls_write(struct tls_conn *c, const void *data, size_t len,
			 int64_t deadline, struct error *err);

/*
 * The same without waiting. After TLS_WANTS_*, repeat the call with the same arguments.
 */
enum tls_turn { TLS_FAILED = -1, TLS_DONE, TLS_WANTS_READ, TLS_WANTS_WRITE };

MUST_CHECK int tls_begin(struct tls_conn **ret, struct tls_server *s,
			 const struct tls_client_ca *client_ca, int fd,
			 struct error *err);
MUST_CHECK enum tls_turn tls_try_handshake(struct tls_conn *c, struct error *err);
MUST_CHECK enum tls_turn tls_try_read(struct tls_conn *c, void *data, size_t max,
				      size_t *ret_n, struct error *err);
/* *ret_n: bytes written, at most a record. */
enum { TLS_RECORD = 16 * 1024 };
MUST_CHECK enum tls_turn tls_try_write(struct tls_conn *c, const void *data, size_t len,
				       size_t *ret_n, struct error *err);

/* Sends close_notify if that does not block, and frees. NULL is fine. */
void tls_close(struct tls_conn *c);

#endif
