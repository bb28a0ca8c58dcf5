/* What holds of authenticator.h: verdicts are remembered, and a flood delays nobody. */

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "kube/authenticator.h"
#include "tests/unit/unit.h"

#define ATTACKER "10.0.0.66"

/* Reviews of tokens: "ok..." is accepted, "away..." fails, others are refused. */
struct world {
	struct authenticator *a;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hold;        /* reviews wait */
	int began;        /* reviews that did */
	struct buf order; /* their tokens, a space after each */
};

static int review(void *ctx, struct arena *arena, const struct authenticator_request *r,
		  const char **ret_value, struct error *why, struct error *err)
{
	struct world *w = ctx;
	bool yes;

	pthread_mutex_lock(&w->lock);
	w->began++;
	buf_printf(&w->order, "%s ", r->token);
	pthread_cond_broadcast(&w->changed);
	while (w->hold)
		cond_wait_until(&w->changed, &w->lock, -1);
	yes = str_starts(r->token, "ok");
	pthread_mutex_unlock(&w->lock);
	if (str_starts(r->token, "away"))
		return error_set(err, ERR_IO, "it is away");
	if (yes)
		*ret_value = arena_printf(arena, "%s of %s", r->token, r->subject);
	else
		error_set(why, ERR_DENIED, "no: %s", r->token);
	return 0;
}

static void world_start(struct world *w, size_t max, int64_t accepted_ms)
{
	const struct authenticator_conf conf = {
		.review = review, .ctx = w, .max = max, .accepted_ms = accepted_ms
	};
	struct error err = { 0 };

	*w = (struct world){ .order = { .max = 65536 } };
	pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->changed);
	buf_adds(&w->order, "");
	if (authenticator_new(&w->a, &conf, &err))
		fail_msg("%s", err.msg);
}

static void world_hold(struct world *w, bool hold)
{
	pthread_mutex_lock(&w->lock);
	w->hold = hold;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void world_stop(struct world *w)
{
	world_hold(w, false);
	authenticator_free(w->a);
	buf_release(&w->order);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
}

/* The verdict, and its value or error in *ret_text. */
static enum authenticator_verdict judge(struct world *w, bool wait, const char *peer,
					const char *token, char ret_text[100])
{
	const struct authenticator_request r = { peer, "s", token };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *value = NULL;
	enum authenticator_verdict v = (wait ? authenticator_wait : authenticator_poll)(
		w->a, &arena, &r, &value, &err);

	snprintf(ret_text, 100, "%s", value ? value : err.msg);
	return v;
}

static enum authenticator_verdict wait_for(struct world *w, const char *peer,
					   const char *token)
{
	char text[100];

	return judge(w, true, peer, token, text);
}

static enum authenticator_verdict poll_for(struct world *w, const char *peer,
					   const char *token)
{
	char text[100];

	return judge(w, false, peer, token, text);
}

TEST(test_verdicts)
{
	static const struct {
		const char *token;
		enum authenticator_verdict verdict;
		const char *text;
		int asked;
	} rows[] = {
		{ "ok", AUTHENTICATOR_ACCEPTED, "ok of s", 1 },
		{ "ok", AUTHENTICATOR_ACCEPTED, "ok of s", 1 },
		{ "bad", AUTHENTICATOR_REFUSED, "no: bad", 2 },
		{ "bad", AUTHENTICATOR_REFUSED, "no: bad", 2 },
		{ "away", AUTHENTICATOR_FAILED, "it is away", 3 },
		{ "ok2", AUTHENTICATOR_ACCEPTED, "ok2 of s", 4 },
	};
	struct world w;

	world_start(&w, 10, 1000 * 1000);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char text[100];

		assert_int_equal(judge(&w, true, "p", rows[i].token, text),
				 rows[i].verdict);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(w.began, rows[i].asked);
	}
	world_stop(&w);
}

static void wait_began(struct world *w, int n)
{
	pthread_mutex_lock(&w->lock);
	while (w->began < n)
		cond_wait_until(&w->changed, &w->lock, -1);
	pthread_mutex_unlock(&w->lock);
}

/* So many tokens that it made up. */
static void flood(struct world *w, const char *peer, int n)
{
	char token[32];

	for (int i = 0; i < n; i++) {
		snprintf(token, sizeof(token), "forged-%d", i);
		poll_for(w, peer, token);
	}
}

/* The attack: an address keeps the queue full of tokens that it made up. */
static void check_flood(const char *known, const char *order)
{
	char text[100];
	struct world w;

	world_start(&w, 100, 1);
	assert_int_equal(wait_for(&w, "10.0.0.1", "ok-known"), AUTHENTICATOR_ACCEPTED);
	clock_sleep_ms(1100); /* its verdict has ended: it is asked about again */
	world_hold(&w, true);
	assert_int_equal(poll_for(&w, ATTACKER, "forged"), AUTHENTICATOR_PENDING);
	wait_began(&w, 2);
	buf_clear(&w.order);
	flood(&w, ATTACKER, 200);
	assert_int_equal(judge(&w, false, ATTACKER, "one-more", text),
			 AUTHENTICATOR_FAILED);
	assert_non_null(strstr(text, "too many tokens are waiting"));
	/* Others have a place, also a pod that is new; the known go first. */
	assert_int_equal(poll_for(&w, "10.0.0.2", "ok-new"), AUTHENTICATOR_PENDING);
	assert_int_equal(poll_for(&w, "10.0.0.1", "ok-next"), AUTHENTICATOR_PENDING);
	assert_int_equal(poll_for(&w, known, "ok-known"), AUTHENTICATOR_PENDING);
	world_hold(&w, false);
	assert_int_equal(wait_for(&w, "10.0.0.2", "ok-new"), AUTHENTICATOR_ACCEPTED);
	if (!str_starts((char *)w.order.data, order))
		fail_msg("%.200s", (char *)w.order.data);
	world_stop(&w);
}

TEST(test_flood)
{
	check_flood("10.0.0.1", "ok-known ok-next ok-new ");
	/* Behind one address with it, as with NAT: a token that was accepted before. */
	check_flood(ATTACKER, "ok-known ok-next forged-0 ok-new ");
}

/* Verdicts are bounded, and refused ones do not displace those that were accepted. */
TEST(test_bounded)
{
	struct world w;
	char token[32];

	world_start(&w, 10, 1000 * 1000);
	assert_int_equal(wait_for(&w, "p", "ok"), AUTHENTICATOR_ACCEPTED);
	for (int i = 0; i < 300; i++) {
		snprintf(token, sizeof(token), "forged-%d", i);
		assert_int_equal(wait_for(&w, token, token), AUTHENTICATOR_REFUSED);
	}
	assert_int_equal(w.began, 301);
	assert_int_equal(wait_for(&w, "p", "ok"), AUTHENTICATOR_ACCEPTED);
	assert_int_equal(wait_for(&w, "p", "forged-299"), AUTHENTICATOR_REFUSED);
	assert_int_equal(w.began, 301);
	assert_int_equal(wait_for(&w, "p", "forged-0"), AUTHENTICATOR_REFUSED);
	assert_int_equal(w.began, 302);
	for (int i = 0; i < 10; i++) {
		snprintf(token, sizeof(token), "ok-%d", i);
		assert_int_equal(wait_for(&w, "p", token), AUTHENTICATOR_ACCEPTED);
	}
	assert_int_equal(wait_for(&w, "p", "ok"), AUTHENTICATOR_ACCEPTED);
	assert_int_equal(w.began, 313);
	world_stop(&w);
}

/* Nobody waits for a server that is away: not those either who come after it. */
TEST(callers_do_not_wait_for_a_server_that_is_away)
{
	struct world w;

	world_start(&w, 10, 1000 * 1000);
	world_hold(&w, true);
	assert_int_equal(poll_for(&w, "p", "away"), AUTHENTICATOR_PENDING);
	wait_began(&w, 1);
	assert_int_equal(poll_for(&w, "p", "ok"), AUTHENTICATOR_PENDING);
	world_hold(&w, false);
	assert_int_equal(wait_for(&w, "p", "ok"), AUTHENTICATOR_FAILED);
	assert_int_equal(w.began, 1);
	world_stop(&w);
}

RUN_TESTS(NULL, NULL)
