/*
 * authenticator.h - who may call a server: asks, and remembers the answers.
 *
 * A flood of invalid tokens delays nobody else. Verdicts are kept by the SHA-256 of what
 * was asked, accepted and refused ones apart, so that neither displaces the other. What
 * has none waits in a short queue. Its order: tokens that were accepted before, peers whose
 * last token was accepted, peers that are new, peers whose last token was refused; among
 * equals, peers take turns. When the queue is full, the last in that order is not asked
 * about: of the peer with the most. A token is in memory only while it waits.
 */
#ifndef KUBE_AUTHENTICATOR_H
#define KUBE_AUTHENTICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct authenticator;

struct authenticator_request {
	const char *peer;    /* its address; NULL: all are one */
	const char *subject; /* what the token is for, or NULL */
	const char *token;
};

struct authenticator_conf {
	/*
	 * From one of the threads. 0: accepted, with a value in the arena, or NULL: refused,
	 * and *why says so (ERR_INVALID: the token; ERR_DENIED: its user). -1: could not ask.
	 */
	int (*review)(void *ctx, struct arena *arena,
		      const struct authenticator_request *r, const char **ret_value,
		      struct error *why, struct error *err);
	void *ctx;
	int threads;         /* reviews at once; 0: 1 */
	size_t max;          /* verdicts of each sort */
	int64_t accepted_ms; /* so long a verdict holds; refused: 10 s, not asked: 1 s */
	int64_t stale_ms;    /* so long an accepted one does while nobody can be asked */
};

MUST_CHECK int authenticator_new(struct authenticator **ret,
				 const struct authenticator_conf *conf,
				 struct error *err);
void authenticator_free(struct authenticator *a); /* nobody waits; NULL is fine */

/*
 * AUTHENTICATOR_FAILED: could not ask; err->code is 429 where too many wait.
 */
enum authenticator_verdict {
	AUTHENTICATOR_ACCEPTED, /* *ret_value, in the arena */
	AUTHENTICATOR_REFUSED,  /* err: ERR_INVALID, ERR_DENIED */
	AUTHENTICATOR_FAILED,
	AUTHENTICATOR_PENDING,
};
/* Does not block. */
enum authenticator_verdict authenticator_poll(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err);
/* Until there is a verdict. */
enum authenticator_verdict authenticator_wait(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err);

/* Called after each review, from its thread; NULL: no more. */
void authenticator_watch(struct authenticator *a, void (*news)(void *arg), void *arg);

#endif
