/*
 * pair.h - measure the TCP connection between two nodes.
 *
 * One connects to the other, says the token of this job's check, and asks up to 50
 * times for an answer of a byte; then each sends for PAIR_SEND_MS what the other counts. What arrives
 * from others than that peer is closed.
 */
#ifndef NODECHECK_PAIR_H
#define NODECHECK_PAIR_H

#include "base/error.h"
#include "base/json.h"

enum { PAIR_TOKEN = 32, PAIR_SEND_MS = 100, PAIR_MS = 4000 };

struct pair_result {
	int64_t rate;       /* bytes/s that arrived here */
	int64_t rtt_us;     /* the shortest; 0: not measured here */
	int64_t sent, lost; /* TCP segments of this end, and those it sent again */
};

/* Both have until the deadline. */
MUST_CHECK int pair_connect(struct pair_result *ret, const char *host, int port,
			    const char token[PAIR_TOKEN], int64_t deadline,
			    struct error *err);
MUST_CHECK int pair_serve(struct pair_result *ret, int listener,
			  const char token[PAIR_TOKEN], int64_t deadline,
			  struct error *err);

#endif
