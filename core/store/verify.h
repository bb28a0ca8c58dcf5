/*
 * verify.h - do the bytes have the digest that the place gave for them?
 */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/store.h"

struct verify;

/* NULL: there is nothing to hold them against. o->size is known, o outlives it. */
struct verify *verify_new(const struct store_object *o);
void verify_add(struct verify *v, const void *data, size_t len);
/* All bytes have come, in order. false: they are others; call it once. */
bool verify_end(struct verify *v);
void verify_free(struct verify *v); /* NULL is fine */

/* Is there a sum of just these bytes? An ETag may be something else: scheme->doubt. */
bool sum_is_authoritative(const struct store_object *o);

/* Does it prove whose bytes they are? The others keep faults out, and no enemy. */
bool sum_is_proof(const struct store_object *o);

/* "sha256:<hex>": how the object's contents are called, or NULL. */
const char *verify_name(struct arena *arena, const struct store_object *o);

/* Of a whole open file: 1 right, 0 wrong, -1 it cannot be read or the work stops. */
MUST_CHECK int verify_fd(const struct store_object *o, int fd, struct error *err);

#endif
