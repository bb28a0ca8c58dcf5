/* When credentials are fetched again, and when those from before still do. */
#include "base/clock.h"
#include "cloud/token_cache.h"
#include "tests/unit/base/base_test.h"

struct source {
	int calls;
	bool fails;
	int64_t expires; /* what the next call says */
};

static int renew(void *ctx, int64_t *ret_expires, struct error *err)
{
	struct source *s = ctx;

	s->calls++;
	*ret_expires = s->expires;
	return s->fails ? error_set(err, ERR_DENIED, "refused") : 0;
}

TEST(test_renewal)
{
	static const struct {
		const char *name;
		int64_t valid_s; /* 0: for ever */
		int64_t age_ms;  /* since it was fetched */
		bool refused, fails;
		int calls, rc; /* of the second lock */
	} rows[] = {
		{ "good for hours", 7200, 60000, false, false, 0, 0 },
		{ "about to expire", 240, 60000, false, false, 1, 0 },
		{ "about to expire, just fetched", 240, 0, false, false, 0, 0 },
		{ "about to expire, the source fails", 240, 60000, false, true, 1, 0 },
		{ "expired, the source fails", -1, 60000, false, true, 1, -1 },
		{ "refused", 7200, 60000, true, false, 1, 0 },
		{ "refused, just fetched", 7200, 10000, true, false, 0, 0 },
		{ "refused, the source fails", 7200, 60000, true, true, 1, 0 },
		{ "for ever", 0, 60000, false, false, 0, 0 },
		{ "for ever, refused", 0, 60000, true, false, 1, 0 },
		{ "for ever, refused, just fetched", 0, 10000, true, false, 0, 0 },
		{ "for ever, refused, the source fails", 0, 60000, true, true, 1, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct source s = { 0 };
		struct token_cache c;
		struct error err = { 0 };
		int rc;

		if (rows[i].valid_s)
			s.expires = clock_now() + rows[i].valid_s;
		token_cache_init(&c, renew, &s);
		assert_int_equal(token_cache_lock(&c, false, &err), 0);
		token_cache_unlock(&c);
		c.renewed_ms -= rows[i].age_ms;
		s.calls = 0;
		s.fails = rows[i].fails;
		rc = token_cache_lock(&c, rows[i].refused, &err);
		if (!rc)
			token_cache_unlock(&c);
		check_int(rows[i].name, rc, rows[i].rc);
		check_int(rows[i].name, s.calls, rows[i].calls);
		token_cache_release(&c);
	}
}

TEST(test_a_source_that_fails_at_first_is_tried_again)
{
	struct source s = { .fails = true };
	struct token_cache c;
	struct error err = { 0 };

	token_cache_init(&c, renew, &s);
	assert_int_equal(token_cache_lock(&c, false, &err), -1);
	s.fails = false;
	assert_int_equal(token_cache_lock(&c, false, &err), 0);
	token_cache_unlock(&c);
	assert_int_equal(s.calls, 2);
	token_cache_release(&c);
}

RUN_TESTS(NULL, NULL)
