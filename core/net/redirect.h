/*
 * redirect.h - where answers lead, and whether credentials may go along.
 *
 * URLs are read by the parser that the client asks with (libcurl's): what is compared
 * here is where a request goes.
 */
#ifndef NET_REDIRECT_H
#define NET_REDIRECT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* A request and the redirects that it meets. Begin with .url alone, and its credentials. */
struct redirect {
	const char *url; /* to ask now; absolute */
	/*
	 * It has led to another origin: from then on no credentials go along, back at
	 * the first one, neither: whoever is in between has chosen what is asked there.
	 */
	bool away;
	bool plain; /* it has led from https to http: anybody may have read it, or led it on */
	int hops;
};

bool redirect_status(int status); /* 301, 302, 303, 307, 308 */

/*
 * Go on to `location`, absolute or relative to r->url. ERR_FORMAT: it is no URL of http or
 * https, or has a user in it; ERR_LIMIT: the tenth redirect has been followed.
 */
MUST_CHECK int redirect_follow(struct redirect *r, struct arena *arena,
			       const char *location, struct error *err);

/* The same scheme, host and port. What is no URL of http or https has no origin. */
bool http_same_origin(const char *a, const char *b);

#endif
