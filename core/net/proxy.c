/* proxy.c - URLs of proxies, and the variables of the environment (net/proxy.h). */
#include "net/proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_PORT = 65535 };

/* ---- URLs ----------------------------------------------------------------------- */

static const struct {
	const char *name, *curl; /* in settings, and in libcurl with the same meaning */
	int port;
} schemes[] = {
	{ "http", "http", 80 },
	{ "https", "https", 443 },
	{ "socks5", "socks5h", 1080 },
	{ "socks5h", "socks5h", 1080 },
};
enum { N_SCHEMES = N_ELEMENTS(schemes) };

static int find_scheme(const char *name)
{
	int i = 0;

	while (i < N_SCHEMES && strcasecmp(schemes[i].name, name) != 0)
		i++;
	return i;
}

/* Split "host", "host:port" or "[v6]:port"; *ret_port "": none. */
static int split_port(struct arena *arena, const char *authority, const char **ret_host,
		      const char **ret_port)
{
	const char *end = *authority == '[' ? strchr(authority, ']') : NULL;
	const char *colon = strrchr(authority, ':');

	if (*authority == '[' && !end)
		return -1;
	if (end ? end[1] && end[1] != ':' : colon && strchr(authority, ':') != colon)
		return -1;
	if (end)
		colon = end[1] ? end + 1 : NULL;
	*ret_port = colon ? colon + 1 : "";
	*ret_host = colon ? str_slice(arena, authority, (size_t)(colon - authority))
			  : authority;
	return 0;
}

static bool is_host(const char *host)
{
	for (const unsigned char *p = (const unsigned char *)host; *p; p++)
		if (*p <= ' ' || *p == 0x7f || strchr("\"<>\\^`{|}@/?#%", *p))
			return false;
	return *host && strcmp(host, "[]") != 0;
}

/* True for a valid "user:password" of a URL. */
static bool is_userinfo(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			return false;
	return true;
}

/* "user:p@ss" with each "@" as libcurl needs it. */
static const char *escape_at(struct arena *arena, const char *user)
{
	char **parts = str_split(arena, user, '@', NULL);

	return str_join(arena, (const char *const *)parts, "%40");
}

static int parse_authority(struct proxy *ret, struct arena *arena, int scheme,
			   const char *rest, struct error *err)
{
	const char *whole = str_slice(arena, rest, strcspn(rest, "/?#"));
	const char *at = strrchr(whole, '@'), *host, *port;
	const char *user = at ? str_slice(arena, whole, (size_t)(at - whole)) : "";
	int64_t number = schemes[scheme].port;

	if (split_port(arena, at ? at + 1 : whole, &host, &port) || !is_host(host) ||
	    !is_userinfo(user) || (*port && str_int(&number, port, 1, MAX_PORT, err)))
		return error_set(err, ERR_INVALID,
				 "not a URL of a proxy; expected "
				 "%s://[USER:PASSWORD@]HOST[:PORT], with %%XX for "
				 "special characters of the password",
				 schemes[scheme].name);
	ret->shown = arena_printf(arena, "%s:%d", host, (int)number);
	ret->url = arena_printf(arena, "%s://%s%s%s", schemes[scheme].curl,
				escape_at(arena, user), at ? "@" : "", ret->shown);
	ret->tls = !strcmp(schemes[scheme].curl, "https");
	return 0;
}

int proxy_parse(struct proxy *ret, struct arena *arena, const char *url,
		struct error *err)
{
	const char *rest = strstr(url, "://");
	const char *name = rest ? str_slice(arena, url, (size_t)(rest - url)) : "";
	int scheme = find_scheme(name);

	*ret = (struct proxy){ 0 };
	if (!rest)
		return error_set(err, ERR_INVALID,
				 "not a URL of a proxy; expected http://HOST:PORT, "
				 "https://... or socks5://...");
	if (scheme == N_SCHEMES)
		return error_set(
			err, ERR_INVALID,
			"unsupported scheme '%.20s'; expected http, https or socks5",
			str_visible(arena, name, false));
	return parse_authority(ret, arena, scheme, rest + strlen("://"), err);
}

/* ---- NO_PROXY ------------------------------------------------------------------- */

struct address {
	int bits; /* 32 or 128; 0: none */
	unsigned char bytes[16];
};

/* Parse an address; a mapped one (::ffff:10.0.0.1) is IPv4, as in Go. */
static struct address address_of(const char *text)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct address a = { 0 };

	if (inet_pton(AF_INET, text, a.bytes) == 1) {
		a.bits = 32;
	} else if (inet_pton(AF_INET6, text, a.bytes) == 1) {
		a.bits = 128;
		if (!memcmp(a.bytes, mapped, sizeof(mapped))) {
			a.bits = 32;
			memmove(a.bytes, a.bytes + sizeof(mapped), 4);
		}
	}
	return a;
}

static bool is_within(const struct address *a, const struct address *network, int bits)
{
	int whole = bits / 8, rest = bits % 8;

	if (a->bits != network->bits || memcmp(a->bytes, network->bytes, (size_t)whole))
		return false;
	return !rest || !((a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest));
}

static bool is_loopback(const struct address *a)
{
	static const struct address v4 = { 32, { 127 } }, v6 = { 128, { [15] = 1 } };

	return is_within(a, &v4, 8) || is_within(a, &v6, 128);
}

/* True for a network, "10.0.0.0/8"; *ret_within: the address is in it. */
static bool is_network(struct arena *arena, const char *entry, const struct address *a,
		       bool *ret_within)
{
	const char *slash = strchr(entry, '/');
	struct address network;
	int64_t bits;

	if (!slash)
		return false;
	network = address_of(str_slice(arena, entry, (size_t)(slash - entry)));
	if (!network.bits || str_int(&bits, slash + 1, 0, network.bits, IGNORED))
		return false;
	*ret_within = is_within(a, &network, (int)bits);
	return true;
}

/* "b.c" matches b.c and its subdomains; ".b.c" and "*.b.c" only the subdomains. */
static bool has_domain(const char *host, const char *domain)
{
	size_t len = strlen(host), tail;
	bool itself;

	domain += str_starts(domain, "*.");
	itself = *domain != '.';
	domain += !itself;
	tail = strlen(domain);
	if (itself && !strcasecmp(host, domain))
		return true;
	return len > tail && host[len - tail - 1] == '.' &&
	       !strcasecmp(host + len - tail, domain);
}

static bool is_excluded(struct arena *arena, const char *entry, const char *host,
			const char *port, const struct address *a)
{
	const char *name = entry, *its_port = "";
	bool within = false;
	struct address address;

	if (!strcmp(entry, "*"))
		return true;
	if (is_network(arena, entry, a, &within))
		return within;
	if (split_port(arena, entry, &name, &its_port))
		name = entry;
	if (*name == '[')
		name = str_slice(arena, name + 1, strcspn(name + 1, "]"));
	if (!*name || (*its_port && strcmp(its_port, port) != 0))
		return false;
	address = address_of(name);
	if (address.bits)
		return a->bits && is_within(a, &address, address.bits);
	return !a->bits && has_domain(host, name);
}

static const char *variable(const char *const *names, const char **ret_name)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		*ret_name = *names;
		if (value && *value)
			return value;
	}
	return NULL;
}

static bool is_direct(struct arena *arena, const struct proxy_target *t)
{
	static const char *const names[] = { "NO_PROXY", "no_proxy", NULL };
	const char *name, *list = variable(names, &name), *host = t->host;
	struct address a;
	char **entries;

	if (*host == '[')
		host = str_slice(arena, host + 1, strcspn(host + 1, "]"));
	a = address_of(host);
	if (!strcasecmp(host, "localhost") || (a.bits && is_loopback(&a)))
		return true;
	entries = str_split(arena, arena_strdup(arena, list ? list : ""), ',', NULL);
	for (; *entries; entries++) {
		const char *entry = str_trim(arena, *entries);

		if (*entry && is_excluded(arena, entry, host, t->port, &a))
			return true;
	}
	return false;
}

int proxy_of_environment(struct proxy *ret, struct arena *arena,
			 const struct proxy_target *t, struct error *err)
{
	static const char *const https[] = { "HTTPS_PROXY", "https_proxy", NULL };
	static const char *const http[] = { "HTTP_PROXY", "http_proxy", NULL };
	static const char *const all[] = { "ALL_PROXY", "all_proxy", NULL };
	bool plain = !strcmp(t->scheme, "http");
	const char *name, *url = variable(plain ? http : https, &name);
	bool refused = plain && url && getenv("REQUEST_METHOD");
	cleanup_arena struct arena scratch = { 0 };

	*ret = (struct proxy){ 0 };
	if (!url && t->all)
		url = variable(all, &name);
	if (!url)
		return 0;
	if (refused)
		return error_set(err, ERR_INVALID,
				 "%s: not used in a CGI program (REQUEST_METHOD is set), "
				 "where a client can set it",
				 name);
	if (is_direct(&scratch, t))
		return 0;
	if (!strstr(url, "://"))
		url = arena_printf(arena, "http://%s", url);
	if (proxy_parse(ret, arena, url, err))
		return error_wrap(err, "%s", name);
	ret->setting = name;
	return 0;
}
