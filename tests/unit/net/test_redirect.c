/* Redirects: where they lead, and whether credentials go along. */
#include "net/redirect.h"

#include "base/cleanup.h"
#include "tests/unit/base/base_test.h"

/* Locations, one after the other; what holds behind the last. */
static const struct {
	const char *url, *locations[4];
	const char *want;
	bool cross_origin, downgraded;
} rows[] = {
	{ "https://a/x/y?q", { "z" }, "https://a/x/z", false, false },
	{ "https://a/x/y", { "/z?s=1" }, "https://a/z?s=1", false, false },
	{ "https://a/x", { "//b/z" }, "https://b/z", true, false },
	{ "https://a/x", { "https://A:443/z" }, "https://A:443/z", false, false },
	{ "https://a/x", { "https://a:444/z" }, "https://a:444/z", true, false },
	{ "https://a/x", { "https://a.evil/z" }, "https://a.evil/z", true, false },
	{ "http://a/x", { "https://a/z" }, "https://a/z", false, false },
	{ "http://a:8080/x",
	  { "https://A:8443/z", "y" },
	  "https://A:8443/y",
	  false,
	  false },
	{ "http://a/x", { "https://b/z" }, "https://b/z", true, false },
	{ "http://a/x", { "http://a:81/z" }, "http://a:81/z", true, false },
	{ "http://a/x", { "https://a/y", "http://a/z" }, "http://a/z", true, true },
	{ "https://a/x", { "http://a/z" }, "http://a/z", true, true },
	/* Who was led away comes back as a stranger, and plain stays plain. */
	{ "https://a/x", { "https://b/y", "https://a/z" }, "https://a/z", true, false },
	{ "https://a/x",
	  { "https://b/y", "https://a/z", "w" },
	  "https://a/w",
	  true,
	  false },
	{ "https://a/x", { "http://b/y", "https://a/z" }, "https://a/z", true, true },
	{ "https://[::1]:8/x",
	  { "https://[::1]:8/z" },
	  "https://[::1]:8/z",
	  false,
	  false },
	{ "https://[::1]/x", { "https://[::2]/z" }, "https://[::2]/z", true, false },
	{ "https://a/x",
	  { "/b c/\xc3\xa9%20[1].bin?n=d e" },
	  "https://a/b%20c/%c3%a9%20[1].bin?n=d+e",
	  false,
	  false },
	{ "https://a/x",
	  { "https://a/b c/\xc3\xa9%20[1].bin?n=d e" },
	  "https://a/b%20c/%c3%a9%20[1].bin?n=d+e",
	  false,
	  false },
};

static int follow(struct redirect *r, const char *location, struct error *err)
{
	const struct http_response answer = { .status = 302,
					      .location = (char *)location };
	bool again = false;
	int rc = redirect_follow(r, &answer, &again, err);

	assert_true(again);
	return rc;
}

TEST(test_where_redirects_lead_and_with_what)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct redirect r = { .arena = &a, .url = rows[i].url };
		struct error err = { 0 };

		for (const char *const *l = rows[i].locations; *l; l++)
			if (follow(&r, *l, &err))
				fail_msg("%zu: %s", i, err.msg);
		assert_string_equal(r.url, rows[i].want);
		assert_int_equal(r.cross_origin, rows[i].cross_origin);
		assert_int_equal(r.downgraded, rows[i].downgraded);
	}
}

TEST(test_where_none_may_lead)
{
	static const char *const bad[] = { "ftp://a/x",    "file:///etc/passwd",
					   "https://",     "https://u:p@a/x",
					   "https://a@b/", "https://a/\r\nX: y",
					   "https://a b/", "javascript:alert(1)" };

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		cleanup_arena struct arena a = { 0 };
		struct redirect r = { .arena = &a, .url = "https://a/x" };
		struct error err = { 0 };

		if (!follow(&r, bad[i], &err))
			fail_msg("%s: %s", bad[i], r.url);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_string_equal(r.url, "https://a/x");
	}
}

TEST(test_rules)
{
	static const struct {
		const char *location;
		bool stay, secure_only;
		int rc;
	} rules[] = {
		{ "/y", true, true, 0 },
		{ "https://b/y", false, true, 0 },
		{ "https://b/y", true, false, -1 },
		{ "http://a/y", false, false, 0 },
		{ "http://a/y", false, true, -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
		static const char *const secret[] = { "Authorization: x", NULL };
		cleanup_arena struct arena a = { 0 };
		struct redirect r = { .arena = &a,
				      .url = "https://a/x",
				      .leave_advice = rules[i].stay ? "do that" : NULL,
				      .secure_only = rules[i].secure_only };
		struct error err = { 0 };

		check_int(rules[i].location, follow(&r, rules[i].location, &err),
			  rules[i].rc);
		if (rules[i].rc)
			check_text(rules[i].location, r.url, "https://a/x");
		if (rules[i].rc && rules[i].stay)
			assert_non_null(
				strstr(err.msg, "https://b/y, another server: do that"));
		assert_true((redirect_headers(&r, secret) == NULL) == r.cross_origin);
	}
}

TEST(test_what_is_no_redirect)
{
	static const struct {
		int status;
		const char *location;
	} answers[] = { { 200, "/y" }, { 302, NULL }, { 304, "/y" }, { 300, "/y" } };

	for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
		const struct http_response answer = {
			.status = answers[i].status,
			.location = (char *)answers[i].location
		};
		cleanup_arena struct arena a = { 0 };
		struct redirect r = { .arena = &a, .url = "https://a/x" };
		struct error err = { 0 };
		bool again = true;

		assert_int_equal(redirect_follow(&r, &answer, &again, &err), 0);
		assert_false(again);
	}
}

TEST(test_a_loop_ends)
{
	cleanup_arena struct arena a = { 0 };
	struct redirect r = { .arena = &a, .url = "https://a/x" };
	struct error err = { 0 };
	int n = 0;

	while (!follow(&r, "/x", &err))
		n++;
	assert_int_equal(n, 10);
	assert_int_equal(err.kind, ERR_LIMIT);
}

TEST(test_same_server)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{ "https://h/a", "https://h/b?x", true },
		{ "https://h/a", "https://H:443/b", true },
		{ "http://h/a", "http://h:80/b", true },
		{ "https://h/a", "http://h/a", false },
		{ "http://h/a", "https://H/b", true },
		{ "http://h:1/a", "https://h:2/b", true },
		{ "http://h/a", "http://h:81/b", false },
		{ "http://h/a", "https://g/b", false },
		{ "https://h/a", "https://h.evil/a", false },
		{ "https://h/a", "https://h:444/a", false },
		{ "https://hub/a", "https://hub@evil/a", false },
		{ "https://hub/a", "https://hub#@evil/a", true },
		{ "https://[::1]:8/a", "https://[::1]:8/b", true },
		{ "https://[::1]/a", "https://[::2]/a", false },
		{ "https://h/a", "nothing", false },
		{ "nothing", "nothing", false },
		{ "ftp://h/a", "ftp://h/a", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
		if (http_same_server(pairs[i].a, pairs[i].b) != pairs[i].same)
			fail_msg("%s, %s", pairs[i].a, pairs[i].b);
}

RUN_TESTS(NULL, NULL)
