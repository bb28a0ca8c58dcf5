/*
 * token_review.h - who may call a server in a cluster: asks the API server's TokenReview.
 *
 * A verdict is kept: 60 s for a token that may call, 10 s for one that may not, 1 s where
 * the API server cannot be asked; of 1024 tokens of each sort. While it cannot be asked, a
 * token that was accepted less than 10 minutes ago stays accepted. Where only ServiceAccounts
 * can read, a token whose claims do not fit is refused without asking; those who wait do so
 * in the order of kube/authenticator.h. No token is ever logged.
 */
#ifndef KUBE_TOKEN_REVIEW_H
#define KUBE_TOKEN_REVIEW_H

#include "kube/kube.h"

struct token_review;

/* Everything outlives it. */
struct token_review_conf {
	struct kube *kube;
	const char *audience;      /* that tokens must have; NULL: the API server's own */
	const char *const *groups; /* a user in one of these may call; ends with NULL */
};

/* Starts a thread. */
MUST_CHECK int token_review_new(struct token_review **ret,
				const struct token_review_conf *conf, struct error *err);
void token_review_free(struct token_review *t); /* NULL is fine */

/*
 * May who sent this Authorization header (NULL: none) from that address (NULL: unknown)
 * call? 0: yes; -1: no; 1: it is being reviewed. Never blocks. ERR_INVALID: the token is
 * missing or not valid; ERR_DENIED: its user is in none of the groups; ERR_BUSY: the API
 * server cannot be asked, or too many tokens wait.
 */
int token_review_judge(struct token_review *t, const char *peer,
		       const char *authorization, struct error *err);

/* Called after each review, from its thread; NULL: no more. */
void token_review_watch(struct token_review *t, void (*news)(void *arg), void *arg);

#endif
