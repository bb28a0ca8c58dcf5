/*
 * crypto.h - what the users of mbedTLS share. Private to core/net.
 */
#ifndef NET_CRYPTO_H
#define NET_CRYPTO_H

#include "base/error.h"

/* Before any other call of mbedTLS; any number of times, from any thread. */
MUST_CHECK int crypto_start(struct error *err);

/* "what: mbedTLS's own words" for a result of its functions. Returns -1. */
int crypto_fail(struct error *err, enum error_kind kind, int rc, const char *what);

/* mbedtls_f_rng_t over the kernel's generator, which has no state to share or seed. */
int crypto_random(void *unused, unsigned char *data, size_t len);

#endif
