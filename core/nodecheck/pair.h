/*
 * pair.h - measure the TCP connection between two nodes.
 *
 * One node connects to the other, sends the token of this check, and measures up to 50 round
 * trips of a byte. Then each end sends for PAIR_SEND_MS, and the other counts the bytes.
 * Connections without the token are closed.
 */
#ifndef NODECHECK_PAIR_H
#define NODECHECK_PAIR_H

#include "base/error.h"
#include "base/json.h"

enum { PAIR_TOKEN = 32, PAIR_SEND_MS = 100, PAIR_MS = 4000 };

struct pair_result {
	int64_t rate;       /* bytes/s received by this end */
	int64_t rtt_us;     /* the shortest round trip; 0: not measured by this end */
	int64_t sent, lost; /* TCP segments that this end sent, and retransmitted */
};

/* Fail at the deadline (clock_ms()) with ERR_TIMEOUT. */
MUST_CHECK int pair_connect(struct pair_result *ret, const char *host, int port,
			    const char token[PAIR_TOKEN], int64_t deadline,
			    struct error *err);
MUST_CHECK int pair_serve(struct pair_result *ret, int listener,
			  const char token[PAIR_TOKEN], int64_t deadline,
			  struct error *err);

#endif
