/*
 * claim.h - decide which head may assign the rows of a worker.
 *
 * A head sends a secret with each call to its workers: the token in a file, if there is
 * one, or random bytes. Without a file, a worker accepts only the head that called last;
 * after 10 s without a call, also another one. Upstream's head has no secret: it is
 * accepted if neither a file nor authentication is required and no head of ours calls.
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
 * as upstream's head. A call renews the head's claim. ERR_DENIED.
 */
MUST_CHECK int claim_check(struct claim *c, const char *value, bool puts,
			   struct error *err);

#endif
