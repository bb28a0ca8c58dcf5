/*
 * redirect.h - the only rule for redirects: when to follow, and with which headers.
 *
 * URLs are parsed by libcurl, which also sends the request, so the compared origin is the
 * real target.
 */
#ifndef NET_REDIRECT_H
#define NET_REDIRECT_H

#include "net/http_retry.h"

/*
 * The state of a request and its redirects. Initialize .arena, .url and the restrictions.
 */
struct redirect {
	struct arena *arena; /* of the URLs */
	const char *url;     /* to request now; absolute */
	const char *
		leave_advice; /* if set: leaving the server is an error with this advice */
	bool secure_only;     /* going from https to http is an error */
	/*
	 * A redirect has left the server: send no credentials from now on, not even back
	 * at the first one, because the server in between chose what is requested there.
	 */
	bool cross_origin;
	bool downgraded; /* from https to http: anyone may have changed the answer */
	int hops;
};

/*
 * If the answer is a redirect (301, 302, 303, 307, 308 with Location), *ret_again is true
 * and r->url the next request's; else it is false. On an error *r is unchanged.
 * ERR_FORMAT: not a URL of http or https, or with a user in it; ERR_LIMIT: more than ten
 * redirects; ERR_DENIED: refused by `leave_advice` or secure_only.
 */
MUST_CHECK int redirect_follow(struct redirect *r, const struct http_response *answer,
			       bool *ret_again, struct error *err);

/* req->headers hold credentials: NULL once they may not be sent. */
static inline const char *const *redirect_headers(const struct redirect *r,
						  const char *const *headers)
{
	return r->cross_origin ? NULL : headers;
}

/* As http_retry() of r->url, redirects followed; req->headers as redirect_headers(). */
MUST_CHECK int redirect_retry(struct redirect *r, struct http_retrier *retrier,
			      const char *what, const struct http_request *req,
			      struct http_response *ret, struct error *err);

/*
 * True: `to` may get credentials meant for `from`, because it has the same scheme, host
 * and port, or https of the same host instead of http. False if one is no URL of http or
 * https.
 */
bool http_same_server(const char *from, const char *to);

#endif
