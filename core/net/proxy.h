/*
 * proxy.h - the proxy of a server, chosen by the rules of Go's net/http and
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
	bool tls;            /* connect to the proxy by TLS */
};

/*
 * Parse a proxy's URL. Schemes: http, https, socks5 and socks5h; the last two resolve
 * names at the proxy. Default ports: 80, 443, 1080. ERR_INVALID; of the URL, the message
 * has only the scheme.
 */
MUST_CHECK int proxy_parse(struct proxy *ret, struct arena *arena, const char *url,
			   struct error *err);

struct proxy_target {
	const char *scheme, *host, *port; /* of the server's URL */
	bool all; /* use ALL_PROXY, as curl and Python do, but Go does not */
};

/*
 * Choose the proxy by the variables of the environment; ret->url NULL: none. ERR_INVALID
 * (a URL; HTTP_PROXY in a CGI program, where a client can set it); the message names the
 * variable.
 */
MUST_CHECK int proxy_of_environment(struct proxy *ret, struct arena *arena,
				    const struct proxy_target *target, struct error *err);

#endif
