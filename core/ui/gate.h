/*
 * gate.h - admit only the browser that opened the page's URL.
 *
 * The URL has a token that is valid once; it is exchanged for a cookie. Requests must name
 * this server in Host, so that a foreign name that resolves to 127.0.0.1 (DNS rebinding)
 * is refused; those with an Origin must come from this page.
 */
#ifndef UI_GATE_H
#define UI_GATE_H

#include "base/random.h"
#include "net/httpd.h"

struct gate {
	int port;
	bool used; /* the token; guarded by the caller's lock */
	char token[RANDOM_KEY_SIZE], cookie[RANDOM_KEY_SIZE], csrf[RANDOM_KEY_SIZE];
};

MUST_CHECK int gate_init(struct gate *g, struct error *err);

/* GATE_REFUSED: *ret_why is the reason, a sentence. GATE_ENTER: the token is valid. */
enum gate_verdict { GATE_REFUSED, GATE_ENTER, GATE_OPEN };
enum gate_verdict gate_check(struct gate *g, const struct httpd_request *req,
			     const char **ret_why);

/* Is it the token of this page's forms? NULL: no. */
bool gate_csrf(const struct gate *g, const char *token);

/* The headers of every response: "default-src 'none'", no sniffing, no caching, ... */
void gate_headers(struct buf *out);
void gate_set_cookie(const struct gate *g, struct buf *out);

#endif
