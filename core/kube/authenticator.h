/*
 * authenticator.h - authenticates a server's callers by token review, with a cache of
 * verdicts (k8s.io/apiserver's webhook authenticator and token cache).
 *
 * A flood of invalid tokens delays no other caller. Verdicts are cached under the SHA-256
 * of subject and token, accepted and refused ones in separate caches, so that neither
 * evicts the other. Requests that need a review wait in a short queue, in this order:
 * tokens accepted before, peers whose last token was accepted, new peers, peers whose
 * last token was refused; among equals, round robin over peers. When the queue is full,
 * the last in that order fails with 429, of equals the latest of the peer with the most
 * requests. A token is in memory only until its verdict.
 */
#ifndef KUBE_AUTHENTICATOR_H
#define KUBE_AUTHENTICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct authenticator;

struct authenticator_request {
	const char *peer; /* the caller's address; NULL: all callers are one peer */
	const char
		*subject; /* the purpose of the token, part of the cache key; or NULL */
	const char *token;
};

struct authenticator_conf {
	/*
	 * Called in one of the threads. 0: reviewed; *ret_value, in the arena: accepted,
	 * or NULL: refused, and *why is filled (ERR_INVALID: the token; ERR_DENIED: its
	 * user). -1 with err filled: no review was possible.
	 */
	int (*review)(void *ctx, struct arena *arena,
		      const struct authenticator_request *r, const char **ret_value,
		      struct error *why, struct error *err);
	void *ctx;
	int threads;         /* concurrent reviews, at most 8; 0: 1 */
	size_t max;          /* entries of each cache */
	int64_t accepted_ms; /* lifetime if accepted; refused: 10 s, failed: 1 s */
	int64_t stale_ms;    /* lifetime if accepted, while reviews fail */
};

MUST_CHECK int authenticator_new(struct authenticator **ret,
				 const struct authenticator_conf *conf,
				 struct error *err);
void authenticator_free(struct authenticator *a); /* no caller may wait; NULL is fine */

enum authenticator_verdict {
	AUTHENTICATOR_ACCEPTED, /* *ret_value, in the arena */
	AUTHENTICATOR_REFUSED,  /* err: ERR_INVALID, ERR_DENIED */
	AUTHENTICATOR_FAILED,   /* err: the review failed; err->code 429: too many wait */
	AUTHENTICATOR_PENDING,  /* the request is queued: poll again */
};
/* Never blocks: the cached verdict, else the request is queued. */
enum authenticator_verdict authenticator_poll(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err);
/* Blocks until there is a verdict: never AUTHENTICATOR_PENDING. */
enum authenticator_verdict authenticator_wait(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err);

/* Call news after each review, in its thread, under the lock; NULL: stop calling it. */
void authenticator_watch(struct authenticator *a, void (*news)(void *arg), void *arg);

#endif
