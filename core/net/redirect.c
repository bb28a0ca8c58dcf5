#include "net/redirect.h"

#include <string.h>
#include <strings.h>

#include "net/http_impl.h"

enum { MAX_HOPS = 10 };

/* A URL's scheme, host and port, as libcurl has them. */
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

/* *ret is to be released in any case. */
static bool origin_of(struct origin *ret, CURLU *u)
{
	return u && !curl_url_get(u, CURLUPART_SCHEME, &ret->scheme, 0) &&
	       !curl_url_get(u, CURLUPART_HOST, &ret->host, 0) &&
	       !curl_url_get(u, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT) &&
	       (!strcmp(ret->scheme, "http") || !strcmp(ret->scheme, "https"));
}

static bool is_same(const struct origin *a, const struct origin *b)
{
	return !strcmp(a->scheme, b->scheme) && !strcasecmp(a->host, b->host) &&
	       !strcmp(a->port, b->port);
}

/* An absolute URL, or one relative to what is there. */
static bool go_to(CURLU *u, const char *url)
{
	return u && !curl_url_set(u, CURLUPART_URL, url, CURLU_DISALLOW_USER);
}

bool http_same_origin(const char *a, const char *b)
{
	cleanup_url CURLU *x = curl_url(), *y = curl_url();
	cleanup_origin struct origin of_a = { 0 }, of_b = { 0 };

	return go_to(x, a) && go_to(y, b) && origin_of(&of_a, x) && origin_of(&of_b, y) &&
	       is_same(&of_a, &of_b);
}

bool redirect_status(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 ||
	       status == 308;
}

int redirect_follow(struct redirect *r, struct arena *arena, const char *location,
		    struct error *err)
{
	cleanup_url CURLU *u = curl_url();
	cleanup_origin struct origin from = { 0 }, to = { 0 };
	char *whole = NULL;

	if (r->hops == MAX_HOPS)
		return error_set(err, ERR_LIMIT, "more than %d redirects: is it a loop?",
				 MAX_HOPS);
	if (!go_to(u, r->url) || !origin_of(&from, u) || !go_to(u, location) ||
	    !origin_of(&to, u) || curl_url_get(u, CURLUPART_URL, &whole, 0))
		return error_set(err, ERR_FORMAT,
				 "the server redirects to what is no URL of http or "
				 "https");
	r->hops++;
	r->away |= !is_same(&from, &to);
	r->plain |= !strcmp(from.scheme, "https") && !strcmp(to.scheme, "http");
	r->url = arena_strdup(arena, whole);
	curl_free(whole);
	return 0;
}
