/*
 * claim.h - which head may assign the rows of a worker.
 *
 * A head sends a secret with each call to its workers: the token in a file, if there is
 * one, or random bytes. Without a file, a worker obeys the head that called last, and
 * another one only after that has been silent for 10 s. Upstream's head has no secret; it
 * is obeyed if neither a file nor authentication is required and no head of ours calls.
 */
#ifndef CACHE_CLAIM_H
#define CACHE_CLAIM_H

#include "cache/serve.h"

#define CLAIM_HEADER "kftrainer-head" /* its value: "Bearer SECRET" */

struct claim;

struct claim *claim_new(const struct cache_conf *conf); /* must outlive it */
void claim_free(struct claim *c);

/*
 * May a caller with this value of the header (NULL: none) assign rows? `puts`: by DoPut,
 * as upstream's head. Such a call, of a head, is also its sign of life. ERR_DENIED.
 */
MUST_CHECK int claim_check(struct claim *c, const char *value, bool puts,
			   struct error *err);

#endif
