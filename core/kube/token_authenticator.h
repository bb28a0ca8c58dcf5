/*
 * token_authenticator.h - authenticates and authorizes the callers of a server in a cluster
 * by TokenReview.
 *
 * Verdicts are cached, of 1024 tokens each: accepted ones for 60 s, refused ones for 10
 * s, failed reviews for 1 s. While reviews fail, a token accepted less than 10 minutes
 * ago remains accepted. If all groups are of ServiceAccounts, a token whose claims do not
 * match is refused without a review. Requests wait in the order of kube/authenticator.h.
 * A token is never logged.
 */
#ifndef KUBE_TOKEN_AUTHENTICATOR_H
#define KUBE_TOKEN_AUTHENTICATOR_H

#include "kube/kube.h"

struct token_authenticator;

/* Not copied: all of it must outlive the authenticator. */
struct token_authenticator_conf {
	struct kube *kube;
	const char *audience;      /* required in tokens; NULL: the API server's own */
	const char *const *groups; /* members of one of these may call; ends with NULL */
};

/* Starts a thread, for reviews. Fails only if that does. */
MUST_CHECK int token_authenticator_new(struct token_authenticator **ret,
				       const struct token_authenticator_conf *conf,
				       struct error *err);
void token_authenticator_free(struct token_authenticator *t); /* NULL is fine */

/*
 * Judge a caller by its Authorization header (NULL: none) and address (NULL: unknown). 0:
 * it may call; -1: it may not; 1: the review is pending. Never blocks. ERR_INVALID: the
 * token is missing or not valid; ERR_DENIED: its user is in none of the groups; ERR_BUSY:
 * the review failed, or too many tokens wait (err->code 429).
 */
int token_authenticator_judge(struct token_authenticator *t, const char *peer,
			      const char *authorization, struct error *err);

/* Call news after each review, in the reviewing thread; NULL: stop calling it. */
void token_authenticator_watch(struct token_authenticator *t, void (*news)(void *arg),
			       void *arg);

#endif
