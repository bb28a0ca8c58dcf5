/* token_authenticator.c - callers by TokenReview (kube/token_authenticator.h). */
#include "kube/token_authenticator.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"
#include "kube/authenticator.h"
#include "kube/permission.h"
#include "kube/review.h"
#include "kube/service_token.h"

#define ACCOUNTS "system:serviceaccounts"

enum {
	MAX_TOKENS = 1024,
	ACCEPTED_MS = 60 * 1000,
	STALE_MS = 10 * 60 * 1000,
	SAME_MS = 60 * 1000, /* between two logs of the same error */
};

struct token_authenticator {
	struct token_authenticator_conf conf;
	struct authenticator *tokens;
	struct log_last logged; /* the reviewing thread's */
};

static int refuse_user(const struct token_authenticator *t, const char *user,
		       struct error *err)
{
	return error_set(err, ERR_DENIED,
			 "%.100s is in none of the groups that can read: %.100s%s",
			 user ? user : "the token's user", t->conf.groups[0],
			 t->conf.groups[1] ? ", ..." : "");
}

/* ---- unverified claims ---- */

/* True: only ServiceAccounts can be in the groups. */
static bool is_for_accounts(const struct token_authenticator *t)
{
	for (const char *const *g = t->conf.groups; *g; g++) {
		const char *rest = str_after(*g, ACCOUNTS);

		if (!rest || (*rest && *rest != ':'))
			return false;
	}
	return true;
}

static bool is_in_groups(const struct token_authenticator *t, const char *ns)
{
	for (const char *const *g = t->conf.groups; *g; g++) {
		const char *rest = str_after(*g, ACCOUNTS);

		if (!*rest || str_eq(rest + 1, ns))
			return true;
	}
	return false;
}

/* Refuses a token that the API server cannot accept, or whose account may not call. */
static int check_claims(const struct token_authenticator *t, struct arena *arena,
			const char *token, struct error *err)
{
	struct service_token claims;
	const char *fault;
	int rc = 0;

	if (!is_for_accounts(t))
		return 0;
	if (!service_token_read(&claims, arena, token))
		return error_set(err, ERR_INVALID,
				 "the bearer token is refused: it is not a token of a "
				 "ServiceAccount");
	fault = service_token_fault(&claims, t->conf.audience, clock_now());
	if (fault)
		rc = error_set(err, ERR_INVALID, "the bearer token is refused: %s",
			       fault);
	else if (!is_in_groups(t, claims.ns))
		rc = refuse_user(t, claims.user, err);
	cJSON_Delete(claims.claims);
	return rc;
}

/* ---- a review ---- */

static bool in_groups(const struct token_authenticator *t, const cJSON *groups)
{
	for (const char *const *g = t->conf.groups; *g; g++)
		if (json_has_str(groups, *g))
			return true;
	return false;
}

/* authenticator_conf.review */
static int review(void *ctx, struct arena *arena, const struct authenticator_request *r,
		  const char **ret_value, struct error *why, struct error *err)
{
	struct token_authenticator *t = ctx;
	cleanup_json cJSON *user = NULL;

	if (token_review(t->conf.kube, r->token, t->conf.audience, &user, why, err)) {
		permission_explain(err);
		error_wrap(err, "the API server cannot review tokens");
		if (log_is_news(&t->logged, err->msg, SAME_MS))
			log_warn(err->msg);
		return -1;
	}
	if (!user)
		error_wrap(why, "the bearer token is refused");
	else if (in_groups(t, json_get(user, "groups")))
		*ret_value = "";
	else
		refuse_user(t, json_str(user, "username"), why);
	return 0;
}

/* ---- callers ---- */

int token_authenticator_judge(struct token_authenticator *t, const char *peer,
			      const char *authorization, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct authenticator_request r = {
		.peer = peer, .token = bearer_token(&arena, authorization)
	};
	const char *unused;

	if (!r.token)
		return error_set(err, ERR_INVALID,
				 "a bearer token is required: send the header "
				 "authorization");
	if (check_claims(t, &arena, r.token, err))
		return -1;
	switch (authenticator_poll(t->tokens, &arena, &r, &unused, err)) {
	case AUTHENTICATOR_ACCEPTED:
		return 0;
	case AUTHENTICATOR_PENDING:
		return 1;
	case AUTHENTICATOR_FAILED:
		err->kind = ERR_BUSY;
		return -1;
	case AUTHENTICATOR_REFUSED:
		break;
	}
	return -1;
}

void token_authenticator_watch(struct token_authenticator *t, void (*news)(void *arg),
			       void *arg)
{
	authenticator_watch(t->tokens, news, arg);
}

int token_authenticator_new(struct token_authenticator **ret,
			    const struct token_authenticator_conf *conf,
			    struct error *err)
{
	struct token_authenticator *t = xcalloc(1, sizeof(*t));
	const struct authenticator_conf tokens = {
		.review = review,
		.ctx = t,
		.max = MAX_TOKENS,
		.accepted_ms = ACCEPTED_MS,
		.stale_ms = STALE_MS,
	};

	t->conf = *conf;
	if (authenticator_new(&t->tokens, &tokens, err)) {
		free(t);
		return -1;
	}
	*ret = t;
	return 0;
}

void token_authenticator_free(struct token_authenticator *t)
{
	if (!t)
		return;
	authenticator_free(t->tokens);
	free(t);
}
