/*
 * random.h - cryptographically random bytes of the kernel: getrandom(2).
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

#include "base/error.h"

MUST_CHECK int random_bytes(void *data, size_t len, struct error *err);

enum { RANDOM_KEY_SIZE = 65 };
/* A secret: 32 random bytes in hexadecimal, and a 0. */
MUST_CHECK int random_key(char ret[RANDOM_KEY_SIZE], struct error *err);

#endif
