/*
 * meeting.h - the nodes of a job in a star around rank 0, with JSON lines over TLS with a
 * pre-shared key (net/psk.h): who does not have the key is not let in, nor believed.
 */
#ifndef NET_MEETING_H
#define NET_MEETING_H

#include "base/json.h"
#include "net/psk.h"

enum { MEETING_MAX = 1024, MEETING_LINE_MAX = 1 << 20 };

struct meeting {
	uint32_t n, rank;
	const char *host; /* of rank 0; not used there */
	int port;
	unsigned char key[PSK_KEY_SIZE];
	int64_t deadline; /* clock_ms(), of each call */
	/* A connection that is refused; or NULL. */
	void (*refused)(void *ctx, const char *peer, const char *why);
	void *ctx;

	struct psk *psk;
	struct meeting_link *links; /* of rank 0 one a rank, else one */
};

/*
 * Rank 0: wait for all; *ret[rank] is what each has said first, NULL of those that have not
 * come by the deadline. Others: connect, say `hello`. ERR_UNTRUSTED: rank 0 has another key.
 */
MUST_CHECK int meeting_open(struct meeting *m, const cJSON *hello, cJSON **ret,
			    struct error *err);
/* To and from a rank; where ours is not 0, to and from rank 0. */
MUST_CHECK int meeting_tell(struct meeting *m, uint32_t rank, const cJSON *doc,
			    struct error *err);
MUST_CHECK int meeting_hear(struct meeting *m, uint32_t rank, cJSON **ret,
			    struct error *err);
void meeting_close(struct meeting *m); /* { 0 } is fine */

#endif
