/*
 * token_review.h - authenticates and authorizes the callers of a server in a cluster by
 * TokenReview.
 *
 * Verdicts are cached, of 1024 tokens each: accepted ones for 60 s, refused ones for 10
 * s, failed reviews for 1 s. While reviews fail, a token accepted less than 10 minutes
 * ago remains accepted. If all groups are of ServiceAccounts, a token whose claims do not
 * match is refused without a review. Requests wait in the order of kube/authenticator.h.
 * A token is never logged.
 */
#ifndef KUBE_TOKEN_REVIEW_H
#define KUBE_TOKEN_REVIEW_H

#include "kube/kube.h"

struct token_review;

/* Not copied: all of it must outlive the token_review. */
struct token_review_conf {
	struct kube *kube;
	const char *audience;      /* required in tokens; NULL: the API server's own */
	const char *const *groups; /* members of one of these may call; ends with NULL */
};

/* Starts a thread, for reviews. Fails only if that does. */
MUST_CHECK int token_review_new(struct token_review **ret,
				const struct token_review_conf *conf, struct error *err);
void token_review_free(struct token_review *t); /* NULL is fine */

/*
 * Judge a caller by its Authorization header (NULL: none) and address (NULL: unknown). 0:
 * it may call; -1: it may not; 1: the review is pending. Never blocks. ERR_INVALID: the
 * token is missing or not valid; ERR_DENIED: its user is in none of the groups; ERR_BUSY:
 * the review failed, or too many tokens wait (err->code 429).
 */
int token_review_judge(struct token_review *t, const char *peer,
		       const char *authorization, struct error *err);

/* Call news after each review, in the reviewing thread; NULL: stop calling it. */
void token_review_watch(struct token_review *t, void (*news)(void *arg), void *arg);

#endif
