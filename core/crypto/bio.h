/*
 * bio.h - mbedTLS's callbacks for a socket that never blocks. Private to core/crypto.
 *
 * The context is a pointer to the descriptor. No SIGPIPE.
 */
#ifndef CRYPTO_BIO_H
#define CRYPTO_BIO_H

#include <stddef.h>

/* Bytes sent or received; MBEDTLS_ERR_SSL_WANT_* or MBEDTLS_ERR_NET_CONN_RESET. */
int bio_send(void *fd, const unsigned char *data, size_t len);
int bio_receive(void *fd, unsigned char *data, size_t len);

#endif
