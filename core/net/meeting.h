/*
 * meeting.h - connect the nodes of a job with rank 0, to exchange JSON lines over TLS
 * with a pre-shared key (crypto/psk.h), which authenticates both ends.
 */
#ifndef NET_MEETING_H
#define NET_MEETING_H

#include "base/json.h"
#include "crypto/psk.h"

enum { MEETING_MAX = 1024, MEETING_LINE_MAX = 1 << 20 };

struct meeting {
	uint32_t n, rank;
	const char *host; /* address of rank 0; not used there */
	int port;
	unsigned char key[PSK_KEY_SIZE];
	int64_t deadline; /* clock_ms(); applies to each call */
	/* Called for a refused connection; or NULL. */
	void (*refused)(void *ctx, const char *peer, const char *why);
	void *ctx;

	struct psk *psk;
	struct meeting_link *links; /* on rank 0 one for each rank, else one */
};

/*
 * On rank 0: wait for all others; ret[rank] is the first message of each, the caller's;
 * NULL for those that did not connect by the deadline. Strangers delay no rank: a
 * connection has 5 s for its message, and of 256 that have sent none the oldest is
 * refused for the next, after 1 s. On others: connect and send `hello`. ERR_UNTRUSTED:
 * rank 0 has another key.
 */
MUST_CHECK int meeting_open(struct meeting *m, const cJSON *hello, cJSON **ret,
			    struct error *err);
/* Send to, receive from a rank; ranks other than 0 always use rank 0. */
MUST_CHECK int meeting_send(struct meeting *m, uint32_t rank, const cJSON *doc,
			    struct error *err);
MUST_CHECK int meeting_receive(struct meeting *m, uint32_t rank, cJSON **ret,
			       struct error *err);
void meeting_close(struct meeting *m); /* { 0 } is fine */

/*
 * Remove the first line from `in`, whose maximum is MEETING_LINE_MAX, and parse it. *ret
 * NULL: no complete line has arrived.
 */
MUST_CHECK int meeting_line(struct buf *in, cJSON **ret, struct error *err);

#endif
