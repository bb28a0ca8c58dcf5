/* http_fail.c - error messages of failed calls (net/http.h). */
#include <errno.h>
#include <string.h>

#include "crypto/cert.h"
#include "net/http_impl.h"

bool call_is_with_proxy(const struct call *c)
{
	return c->proxy->tls && c->handshakes % 2;
}

/* The peer of the last handshake: "h:443", or "h:443: its proxy p:443". */
static const char *peer_of(struct call *c)
{
	if (!call_is_with_proxy(c))
		return c->host;
	return arena_printf(&c->arena, "%s: its proxy %s (%s)", c->host, c->proxy->shown,
			    c->proxy->setting);
}

static int fail_certificate(struct call *c)
{
	const char *setting = c->client->ca_setting;

	if (c->check.unknown_ca)
		return error_set(c->err, ERR_UNTRUSTED,
				 "%s: its certificate is signed by an untrusted CA; "
				 "check the address%s%s (its CA: %s)",
				 peer_of(c), setting ? " and " : "",
				 setting ? setting : "", c->check.why);
	if (*c->check.why)
		return error_set(c->err, ERR_UNTRUSTED, "%s: %s", peer_of(c),
				 c->check.why);
	return error_set(c->err, ERR_UNTRUSTED, "%s: cannot verify its certificate: %s",
			 peer_of(c), c->why);
}

/* Parts of mbedTLS's messages of failed handshakes, and advice for each. */
static const struct {
	const char *said, *help;
} handshakes[] = {
	{ "X509", "; supported: " CERT_SUPPORTED },
	{ "PK - ", "; supported: " CERT_SUPPORTED },
	{ "fatal alert", "; supported: TLS 1.2 and 1.3 with ECDHE and AES-GCM or "
			 "ChaCha20-Poly1305; certificates with " CERT_SUPPORTED },
	{ "invalid SSL record", "; does it speak TLS, or is http:// meant?" },
};

static int fail_handshake(struct call *c)
{
	const char *help = "";

	for (size_t i = 0; !*help && i < N_ELEMENTS(handshakes); i++)
		if (strstr(c->why, handshakes[i].said))
			help = handshakes[i].help;
	return error_set(c->err, ERR_IO, "%s: TLS handshake failed: %s%s", peer_of(c),
			 c->why, help);
}

/* The proxy refused the CONNECT request. */
static int fail_tunnel(struct call *c, long status)
{
	const char *help = "";

	if (status == 407)
		help = strchr(c->proxy->url, '@')
			       ? ": the user name or password in its URL is wrong, or "
				 "has special characters that are not written as %XX"
			       : ": write a user name and password into its URL, "
				 "http://USER:PASSWORD@HOST:PORT";
	return error_set(c->err, status == 407 ? ERR_DENIED : ERR_IO,
			 "%s: the proxy %s (%s) refused the connection with HTTP %ld%s",
			 c->host, c->proxy->shown, c->proxy->setting, status, help);
}

static int fail_proxy(struct call *c)
{
	return error_set(c->err, ERR_IO, "%s: the proxy %s (%s) failed: %s", c->host,
			 c->proxy->shown, c->proxy->setting, c->why);
}

static int fail_proxy_name(struct call *c)
{
	return error_set(c->err, ERR_IO,
			 "%s: cannot resolve the name of its proxy %s (%s)", c->host,
			 c->proxy->shown, c->proxy->setting);
}

static int fail_proxy_connect(struct call *c, long oserr)
{
	error_set(c->err, ERR_IO, "%s: cannot connect to its proxy %s (%s): %s", c->host,
		  c->proxy->shown, c->proxy->setting,
		  oserr ? strerror((int)oserr) : c->why);
	c->err->code = (int)oserr;
	return -1;
}

static int fail_connect(struct call *c)
{
	long oserr = 0;

	curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &oserr);
	if (c->proxy->url)
		return fail_proxy_connect(c, oserr);
	if (oserr == ECONNREFUSED)
		error_set(c->err, ERR_IO,
			  "%s: connection refused: is the server running, and is "
			  "this its address?",
			  c->host);
	else
		error_set(c->err, ERR_IO, "%s: cannot connect: %s", c->host,
			  oserr ? strerror((int)oserr) : c->why);
	c->err->code = (int)oserr;
	return -1;
}

static int fail_timeout(struct call *c)
{
	curl_off_t connected = 0, secured = 0;

	curl_easy_getinfo(c->easy, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(c->easy, CURLINFO_PRETRANSFER_TIME_T, &secured);
	if (secured)
		return error_set(c->err, ERR_TIMEOUT, "%s: no response within %lld ms",
				 c->host, (long long)c->req->timeout_ms);
	if (connected)
		return error_set(c->err, ERR_TIMEOUT,
				 "%s: connected, but no response; does it speak TLS?",
				 c->host);
	return error_set(c->err, ERR_TIMEOUT,
			 "%s: cannot connect: no response; check the address; is a "
			 "proxy, VPN or firewall in the way?",
			 c->host);
}

static int fail_certificates(struct call *c)
{
	return error_set(c->err, ERR_INVALID, "%s: invalid certificate or key: %s",
			 c->host, c->why);
}

static const struct {
	CURLcode code;
	int (*report)(struct call *c); /* or NULL: */
	enum error_kind kind;
	const char *meaning; /* printed before curl's message */
	bool alone;          /* curl's message is left out */
} failures[] = {
	{ CURLE_COULDNT_CONNECT, fail_connect, 0, NULL, false },
	{ CURLE_OPERATION_TIMEDOUT, fail_timeout, 0, NULL, false },
	{ CURLE_PEER_FAILED_VERIFICATION, fail_certificate, 0, NULL, false },
	{ CURLE_SSL_CERTPROBLEM, fail_certificates, 0, NULL, false },
	{ CURLE_URL_MALFORMAT, NULL, ERR_INVALID, "invalid URL", true },
	{ CURLE_COULDNT_RESOLVE_HOST, NULL, ERR_IO, "cannot resolve the host name",
	  true },
	{ CURLE_COULDNT_RESOLVE_PROXY, fail_proxy_name, 0, NULL, false },
	{ CURLE_PROXY, fail_proxy, 0, NULL, false },
	{ CURLE_SSL_CONNECT_ERROR, fail_handshake, 0, NULL, false },
	{ CURLE_GOT_NOTHING, NULL, ERR_IO, "connection closed before a response", true },
	{ CURLE_RECV_ERROR, NULL, ERR_IO, "connection lost", false },
	{ CURLE_SEND_ERROR, NULL, ERR_IO, "connection lost", false },
	{ CURLE_PARTIAL_FILE, NULL, ERR_IO, "connection lost", false },
	{ CURLE_HTTP2, NULL, ERR_IO, "connection lost", false },
	{ CURLE_HTTP2_STREAM, NULL, ERR_IO, "connection lost", false },
	{ CURLE_UNSUPPORTED_PROTOCOL, NULL, ERR_FORMAT, "not an HTTP response", true },
	{ CURLE_WEIRD_SERVER_REPLY, NULL, ERR_FORMAT, "not an HTTP response", false },
};

static int fail_code(struct call *c, CURLcode code)
{
	long tunnel = 0;

	curl_easy_getinfo(c->easy, CURLINFO_HTTP_CONNECTCODE, &tunnel);
	if (tunnel >= 300)
		return fail_tunnel(c, tunnel);
	for (size_t i = 0; i < N_ELEMENTS(failures); i++) {
		if (failures[i].code != code)
			continue;
		if (failures[i].report)
			return failures[i].report(c);
		return error_set(c->err, failures[i].kind, "%s: %s%s%s", c->host,
				 failures[i].meaning, failures[i].alone ? "" : ": ",
				 failures[i].alone ? "" : c->why);
	}
	return error_set(c->err, ERR_IO, "%s: %s", c->host, c->why);
}

void call_fail(struct call *c, CURLcode code)
{
	if (c->failed)
		return;
	c->why[strcspn(c->why, "\r\n")] = 0;
	if (!*c->why)
		snprintf(c->why, sizeof(c->why), "%s", curl_easy_strerror(code));
	fail_code(c, code);
	if (c->proxy->url && !strstr(c->err->msg, " proxy "))
		error_set(c->err, c->err->kind, "%s (through the proxy %s of %s)",
			  arena_strdup(&c->arena, c->err->msg), c->proxy->shown,
			  c->proxy->setting);
}
