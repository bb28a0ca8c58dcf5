/* gate.c - lets browsers in that have the token or its cookie. */
#include "ui/gate.h"

#include <stdio.h>
#include <strings.h>

#include "base/str.h"

#define COOKIE "kftrainer"

int gate_init(struct gate *g, struct error *err)
{
	return random_key(g->token, err) || random_key(g->cookie, err) ||
			       random_key(g->csrf, err)
		       ? -1
		       : 0;
}

/* In constant time; b has RANDOM_KEY_SIZE - 1 bytes. */
static bool same_key(const char *a, size_t len, const char *b)
{
	unsigned differ = 0;

	if (len != RANDOM_KEY_SIZE - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

bool gate_csrf(const struct gate *g, const char *token)
{
	return token && same_key(token, strlen(token), g->csrf);
}

/* "127.0.0.1:PORT" or "localhost:PORT", after an optional scheme. */
static bool names_us(const struct gate *g, const char *text, const char *scheme)
{
	const char *const hosts[] = { "127.0.0.1", "localhost" };
	char want[64];

	for (size_t i = 0; i < N_ELEMENTS(hosts); i++) {
		snprintf(want, sizeof(want), "%s%s:%d", scheme, hosts[i], g->port);
		if (!strcasecmp(text, want))
			return true;
	}
	return false;
}

/* Does one of the pairs of the header, "a=1; kftrainer-PORT=KEY", have our key? */
static bool has_cookie(const struct gate *g, const char *header)
{
	char name[32];
	size_t n = (size_t)snprintf(name, sizeof(name), COOKIE "-%d=", g->port);

	while (header && *header) {
		size_t len;

		header += strspn(header, "; ");
		len = strcspn(header, ";");
		if (len > n && !memcmp(header, name, n) &&
		    same_key(header + n, len - n, g->cookie))
			return true;
		header += len;
	}
	return false;
}

/* httpd_header() has none of two: each must be ours. */
static bool has_foreign_origin(const struct gate *g, const struct httpd_request *req)
{
	for (const struct httpd_header *h = req->headers; h->name; h++)
		if (!strcasecmp(h->name, "Origin") && !names_us(g, h->value, "http://"))
			return true;
	return false;
}

enum gate_verdict gate_check(struct gate *g, const struct httpd_request *req,
			     const char **ret_why)
{
	const char *host = httpd_header(req, "Host");

	if (!host || !names_us(g, host, "")) {
		*ret_why = "This page is served only as 127.0.0.1 or localhost, with its "
			   "own port. From another machine, forward that port as itself: "
			   "ssh -L PORT:127.0.0.1:PORT HOST. Then open the URL that "
			   "'kftrainer ui' printed.\n";
		return GATE_REFUSED;
	}
	if (has_foreign_origin(g, req)) {
		*ret_why = "Requests from other pages are refused.\n";
		return GATE_REFUSED;
	}
	if (has_cookie(g, httpd_header(req, "Cookie")))
		return GATE_OPEN;
	if (str_eq(req->method, "GET") && !strncmp(req->query, "token=", 6) && !g->used &&
	    same_key(req->query + 6, strlen(req->query + 6), g->token)) {
		g->used = true;
		return GATE_ENTER;
	}
	*ret_why = "Open the URL that 'kftrainer ui' printed; it is good once. "
		   "For another browser, start 'kftrainer ui' again.\n";
	return GATE_REFUSED;
}

/* "no-referrer" would make the Origin of our own forms "null" (Fetch, 3.2). */
void gate_headers(struct buf *out)
{
	buf_adds(out, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
		      "style-src 'self'; connect-src 'self'; img-src 'self'; "
		      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"
		      "X-Content-Type-Options: nosniff\r\n"
		      "Referrer-Policy: same-origin\r\n"
		      "Cross-Origin-Resource-Policy: same-origin\r\n"
		      "Cache-Control: no-store\r\n");
}

/* Cookies ignore ports: two pages of one browser differ by name. */
void gate_set_cookie(const struct gate *g, struct buf *out)
{
	buf_printf(out,
		   "Set-Cookie: " COOKIE "-%d=%s; HttpOnly; SameSite=Strict; Path=/\r\n",
		   g->port, g->cookie);
}
