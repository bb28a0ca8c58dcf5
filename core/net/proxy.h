/*
 * proxy.h - through which proxy a server is reached, by the rules of Go's net/http and
 * golang.org/x/net/http/httpproxy.
 *
 * A proxy that is set for a server (proxy-url of a kubeconfig) is always used. The
 * variables HTTPS_PROXY and HTTP_PROXY count for servers other than this machine and
 * those in NO_PROXY: names (with their subdomains, unless they begin with "."),
 * addresses, networks (10.0.0.0/8), each of the first two with ":port"; "*" is all. Of
 * two spellings, the capitals win.
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include <stdbool.h>

#include "base/arena.h"

struct proxy {
	const char *url;   /* for libcurl; may have a password. NULL: there is no proxy */
	const char *shown; /* "host:port", for messages */
	const char *setting; /* where it is set: "proxy-url", "HTTPS_PROXY" */
	bool tls;            /* it is reached by TLS */
};

/*
 * Schemes http, https, socks5 and socks5h, which both resolve names at the proxy. Without
 * a port: 80, 443 or 1080. ERR_INVALID; the message has no part of the URL but its scheme.
 */
MUST_CHECK int proxy_parse(struct proxy *ret, struct arena *arena, const char *url,
			   struct error *err);

struct proxy_target {
	const char *scheme, *host, *port; /* of the server's URL */
	bool all; /* ALL_PROXY counts, too: for curl and Python it does, not for Go */
};

/*
 * By the variables of the environment. ERR_INVALID (a URL; HTTP_PROXY in a CGI program,
 * where a client can set it); the message names the variable.
 */
MUST_CHECK int proxy_of_environment(struct proxy *ret, struct arena *arena,
				    const struct proxy_target *target, struct error *err);

#endif
