/* redirect.c - follows redirects, by one rule for all callers (net/redirect.h). */
#include "net/redirect.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "net/http_impl.h"
#include "net/uri.h"

enum { MAX_HOPS = 10 };

/* A URL's scheme, host and port, as parsed by libcurl. */
struct origin {
	char *scheme, *host, *port;
};

static void origin_release(struct origin *o)
{
	curl_free(o->scheme);
	curl_free(o->host);
	curl_free(o->port);
}
#define cleanup_origin __attribute__((cleanup(origin_release)))

static void url_release(CURLU **u)
{
	curl_url_cleanup(*u);
}
#define cleanup_url __attribute__((cleanup(url_release)))

/* Parse the origin. False: no http or https URL. *ret must be released in any case. */
static bool origin_of(struct origin *ret, CURLU *u)
{
	return u && !curl_url_get(u, CURLUPART_SCHEME, &ret->scheme, 0) &&
	       !curl_url_get(u, CURLUPART_HOST, &ret->host, 0) &&
	       !curl_url_get(u, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT) &&
	       (!strcmp(ret->scheme, "http") || !strcmp(ret->scheme, "https"));
}

/* An upgrade to https is the same server: the secrets were already sent there. */
static bool is_same_server(const struct origin *from, const struct origin *to)
{
	bool upgrade = !strcmp(from->scheme, "http") && !strcmp(to->scheme, "https");

	return !strcasecmp(from->host, to->host) &&
	       (upgrade ||
		(!strcmp(from->scheme, to->scheme) && !strcmp(from->port, to->port)));
}

/*
 * Set an absolute URL, or one relative to the current one. Blanks and other bytes that a
 * server should have written as %XX are, as in browsers and curl. False: invalid.
 */
static bool go_to(CURLU *u, const char *url)
{
	const unsigned flags = CURLU_DISALLOW_USER | CURLU_URLENCODE | CURLU_ALLOW_SPACE;

	return u && !curl_url_set(u, CURLUPART_URL, url, flags);
}

bool http_same_server(const char *from, const char *to)
{
	cleanup_url CURLU *x = curl_url(), *y = curl_url();
	cleanup_origin struct origin a = { 0 }, b = { 0 };

	return go_to(x, from) && go_to(y, to) && origin_of(&a, x) && origin_of(&b, y) &&
	       is_same_server(&a, &b);
}

static bool is_redirect(const struct http_response *answer)
{
	int status = answer->status;

	return answer->location && (status == 301 || status == 302 || status == 303 ||
				    status == 307 || status == 308);
}

static int check_rules(const struct redirect *r, const struct redirect *next,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (r->leave_advice && next->cross_origin)
		return error_set(err, ERR_DENIED, "redirects to %s, another server: %s",
				 uri_shown(&arena, next->url), r->leave_advice);
	if (r->secure_only && next->downgraded)
		return error_set(err, ERR_DENIED,
				 "redirects from https to http, where anyone can change "
				 "the content, and no SHA-256 is known to verify it");
	return 0;
}

int redirect_follow(struct redirect *r, const struct http_response *answer,
		    bool *ret_again, struct error *err)
{
	cleanup_url CURLU *u = curl_url();
	cleanup_origin struct origin from = { 0 }, to = { 0 };
	struct redirect next = *r;
	char *whole = NULL;

	*ret_again = is_redirect(answer);
	if (!*ret_again)
		return 0;
	if (r->hops == MAX_HOPS)
		return error_set(err, ERR_LIMIT, "more than %d redirects: is it a loop?",
				 MAX_HOPS);
	if (strlen(answer->location) > URI_MAX || !go_to(u, r->url) ||
	    !origin_of(&from, u) || !go_to(u, answer->location) || !origin_of(&to, u) ||
	    curl_url_get(u, CURLUPART_URL, &whole, 0))
		return error_set(err, ERR_FORMAT,
				 "redirects to an invalid URL: expected http or https");
	next.url = arena_strdup(r->arena, whole);
	curl_free(whole);
	next.hops++;
	next.cross_origin |= !is_same_server(&from, &to);
	next.downgraded |= !strcmp(from.scheme, "https") && !strcmp(to.scheme, "http");
	if (check_rules(r, &next, err))
		return -1;
	*r = next;
	return 0;
}

int redirect_retry(struct redirect *r, struct http_retrier *retrier, const char *what,
		   const struct http_request *req, struct http_response *ret,
		   struct error *err)
{
	bool again = true;

	while (again) {
		struct http_response answer = { 0 };
		struct http_request next = *req;

		next.url = r->url;
		next.headers = redirect_headers(r, req->headers);
		if (http_retry(retrier, what, &next, &answer, err))
			return -1;
		if (redirect_follow(r, &answer, &again, err)) {
			http_response_release(&answer);
			return error_wrap(err, "%s", what);
		}
		if (again)
			http_response_release(&answer);
		else
			*ret = answer;
	}
	return 0;
}
