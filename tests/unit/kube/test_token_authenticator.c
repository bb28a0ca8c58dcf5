/* What holds of token_authenticator.h: who may call; random tokens keep nobody out. */
#include "base/clock.h"
#include "crypto/jwt.h"
#include "kube/token_authenticator.h"
#include "tests/unit/manager/standin.h"

#define REVIEWS          "/apis/authentication.k8s.io/v1/tokenreviews"
#define CLAIMS(ns, more) "{sub: 'system:serviceaccount:" ns ":a', aud: [cache]" more "}"
#define USER(group)                                                               \
	"{status: {authenticated: true, audiences: [cache], user: {username: u, " \
	"groups: [" group "]}}}"

static const char *const accounts[] = { "system:serviceaccounts:ns", NULL };
static const char *const anybody[] = { "system:serviceaccounts:ns", "team", NULL };

struct world {
	struct standin api;
	struct token_authenticator *review;
	struct arena arena;
};

static void world_start(struct world *w, const char *const *groups)
{
	struct token_authenticator_conf conf = { .audience = "cache", .groups = groups };
	struct error err = { 0 };

	*w = (struct world){ 0 };
	standin_start(&w->api);
	conf.kube = w->api.kube;
	if (token_authenticator_new(&w->review, &conf, &err))
		fail_msg("%s", err.msg);
}

static void world_stop(struct world *w)
{
	token_authenticator_free(w->review);
	standin_stop(&w->api);
	arena_clear(&w->arena);
}

static const char *bearer(struct world *w, const char *claims)
{
	cleanup_buf struct buf out = { .max = 65536 };
	cleanup_json cJSON *doc = standin_doc(claims);

	buf_adds(&out, "Bearer ");
	jwt_make(&out, "key", doc);
	return arena_strdup(&w->arena, (const char *)out.data);
}

/* Until there is a verdict. */
static int judge(struct world *w, const char *authorization, struct error *err)
{
	int rc;

	*err = (struct error){ 0 };
	while ((rc = token_authenticator_judge(w->review, "10.0.0.1", authorization,
					       err)) > 0)
		clock_sleep_ms(1);
	return rc;
}

TEST(test_who_may_call)
{
	static const struct {
		const char *claims; /* NULL: "Bearer random" */
		const char *const *groups;
		const char *review; /* NULL: must not be asked */
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ CLAIMS("ns", ""), accounts, USER("'system:serviceaccounts:ns'"),
		  ERR_NONE, "" },
		{ CLAIMS("ns", ""), accounts, USER("other"), ERR_DENIED,
		  "u is in none of the groups that can read: system:serviceaccounts:ns" },
		{ CLAIMS("ns", ""), accounts, "{status: {error: no such key}}",
		  ERR_INVALID, "the bearer token is refused: no such key" },
		{ CLAIMS("ns2", ""), accounts, NULL, ERR_DENIED,
		  "system:serviceaccount:ns2:a is in none of the groups" },
		{ CLAIMS("ns", ", exp: 1"), accounts, NULL, ERR_INVALID,
		  "it has expired" },
		{ "{sub: 'system:serviceaccount:ns:a', aud: x}", accounts, NULL,
		  ERR_INVALID, "another audience" },
		/* As in the token of a Secret. */
		{ "{sub: 'system:serviceaccount:ns:a', iss: kubernetes/serviceaccount}",
		  accounts, USER("'system:serviceaccounts:ns'"), ERR_NONE, "" },
		{ NULL, accounts, NULL, ERR_INVALID, "not a token of a ServiceAccount" },
		{ NULL, anybody, USER("team"), ERR_NONE, "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct standin_answer answers[] = {
			{ REVIEWS, 201, rows[i].review }, { NULL, 0, NULL }
		};
		const char *token;
		struct error err;
		struct world w;

		world_start(&w, rows[i].groups);
		standin_set(&w.api, answers);
		token = rows[i].claims ? bearer(&w, rows[i].claims) : "Bearer random";
		if (judge(&w, token, &err) != (rows[i].kind ? -1 : 0) ||
		    err.kind != rows[i].kind || !strstr(err.msg, rows[i].text))
			fail_msg("row %zu: %s", i, err.msg);
		if (!rows[i].review != !w.api.asked.len)
			fail_msg("row %zu: %s", i, (char *)w.api.asked.data);
		world_stop(&w);
	}
}

/* The attack: more random tokens than can wait. A good one gets its verdict all the same. */
TEST(test_random_tokens)
{
	static const struct standin_answer answers[] = {
		{ REVIEWS, 201, USER("'system:serviceaccounts:ns'") }, { NULL, 0, NULL }
	};
	struct error err;
	struct world w;

	world_start(&w, accounts);
	standin_set(&w.api, answers);
	for (int i = 0; i < 1000; i++) {
		err = (struct error){ 0 };
		assert_int_equal(token_authenticator_judge(
					 w.review, "10.0.0.1",
					 arena_printf(&w.arena, "Bearer random.%d.x", i),
					 &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_int_equal(judge(&w, bearer(&w, CLAIMS("ns", "")), &err), 0);
	assert_int_equal(w.api.calls, 1);
	/* Made up with its claims: those are asked about in turns (kube/authenticator.h). */
	for (int i = 0; i < 1000; i++) {
		const char *forged = bearer(
			&w, arena_printf(&w.arena, CLAIMS("ns", ", jti: '%d'"), i));

		token_authenticator_judge(w.review, "10.0.0.66", forged, &err);
	}
	assert_int_equal(judge(&w, bearer(&w, CLAIMS("ns", ", jti: new")), &err), 0);
	world_stop(&w);
}

RUN_TESTS(NULL, NULL)
