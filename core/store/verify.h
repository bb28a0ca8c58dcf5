/*
 * verify.h - check downloaded bytes against the digest of their source.
 */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/store.h"

struct verify;

/* NULL: no digest. o->size is known, o outlives it. */
struct verify *verify_new(const struct store_object *o);
void verify_add(struct verify *v, const void *data, size_t len);
/* After all bytes, in order. false: mismatch. Call it once. */
bool verify_end(struct verify *v);
void verify_free(struct verify *v); /* NULL is fine */

/* Is the sum certainly one of the contents? An ETag may not be: see scheme->correct_sum. */
bool verify_is_authoritative(const struct store_object *o);

/* Does it protect against an attacker (SHA-256), not only against errors? */
bool verify_is_proof(const struct store_object *o);

/* "sha256:<hex>": names the contents; or NULL. */
const char *verify_name(struct arena *arena, const struct store_object *o);

/* Verify a whole open file: 1: match, 0: mismatch, -1: read error, or stopped. */
MUST_CHECK int verify_fd(const struct store_object *o, int fd, struct error *err);

#endif
