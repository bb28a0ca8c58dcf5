/*
 * logs_lines.h - the bytes of a container's log into its lines, each of them once,
 * however often the connection breaks.
 *
 * Each line comes with its timestamp ("2026-01-31T23:59:59.123456789Z text"). A request
 * that goes on asks from log_lines_since() on, a whole second as the API has it; of what
 * comes again as many lines are left out as were shown since then, at most those that are
 * not newer than the newest. So neither equal timestamps nor lines a little out of order
 * (stdout and stderr are written by two threads) are lost or shown twice. A line without
 * a timestamp (words of the kubelet) is shown as it is.
 */
#ifndef CLIENT_LOGS_LINES_H
#define CLIENT_LOGS_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct log_stamp {
	int64_t sec; /* since 1970 */
	int32_t nsec;
};

struct log_lines {
	/* a line without its newline and, unless `timestamps`, without its stamp */
	void (*on_line)(void *ctx, const char *line, size_t len);
	void *ctx;
	size_t max; /* bytes of a line, the rest is left out and marked */
	bool timestamps;
	bool partial; /* the first request leaves out what came before (--tail, --since) */

	struct buf part; /* a line whose end is still to come */
	bool cut;        /* its rest is left out */
	bool any;        /* there is a first and a newest: */
	struct log_stamp first, newest;
	uint64_t n_last,
		n_before;         /* lines shown of newest.sec and of the second before */
	uint64_t skip;            /* so many of them are to come again */
	char second[24], zone[8]; /* of the last stamp, as text, and what they mean: */
	int64_t sec;
};

/* Another request begins. */
void log_lines_begin(struct log_lines *l);
/* From which second on it asks; -1: from where the first one did. */
int64_t log_lines_since(const struct log_lines *l);
void log_lines_feed(struct log_lines *l, const char *data, size_t len);
/* Nothing comes any more: a line without newline is a line, too. Gives its memory back. */
void log_lines_end(struct log_lines *l);
void log_lines_release(struct log_lines *l);

#endif
