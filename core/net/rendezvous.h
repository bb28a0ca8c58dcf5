/*
 * rendezvous.h - connect the nodes of a job with rank 0, to exchange JSON lines over TLS
 * with a pre-shared key (crypto/psk.h), which authenticates both ends.
 */
#ifndef NET_RENDEZVOUS_H
#define NET_RENDEZVOUS_H

#include "base/json.h"
#include "crypto/psk.h"

enum { RENDEZVOUS_MAX = 1024, RENDEZVOUS_LINE_MAX = 1 << 20 };

struct rendezvous {
	uint32_t n, rank;
	const char *host; /* address of rank 0; not used there */
	int port;
	unsigned char key[PSK_KEY_SIZE];
	int64_t deadline; /* clock_ms(); applies to each call */
	/* Called for a refused connection; or NULL. */
	void (*refused)(void *ctx, const char *peer, const char *why);
	void *ctx;

	struct psk *psk;
	struct rendezvous_link *links; /* on rank 0 one for each rank, else one */
};

/*
 * Rank 0: wait until all others have connected; ret[rank] is the first message of each,
 * which the caller owns; NULL: it did not connect by the deadline. Unauthenticated
 * connections delay no rank: each has 5 s for its message, and when 256 have sent none, the
 * oldest one is closed for the next, after 1 s. Other ranks: connect and send `hello`.
 * ERR_UNTRUSTED: rank 0 has another key.
 */
MUST_CHECK int rendezvous_open(struct rendezvous *m, const cJSON *hello, cJSON **ret,
			       struct error *err);
/* Send to or receive from a rank; ranks but 0 ignore `rank` and use rank 0. */
MUST_CHECK int rendezvous_send(struct rendezvous *m, uint32_t rank, const cJSON *doc,
			       struct error *err);
MUST_CHECK int rendezvous_receive(struct rendezvous *m, uint32_t rank, cJSON **ret,
				  struct error *err);
void rendezvous_close(struct rendezvous *m); /* { 0 } is fine */

/*
 * Remove the first line from `in`, whose maximum is RENDEZVOUS_LINE_MAX, and parse it. *ret:
 * NULL if no complete line has arrived; the caller owns it.
 */
MUST_CHECK int rendezvous_line(struct buf *in, cJSON **ret, struct error *err);

#endif
