/*
 * logs_lines.h - split a container's log into lines and report each once, however often
 * the connection breaks.
 *
 * Each line begins with its timestamp ("2026-01-31T23:59:59.123456789Z text"). A further
 * request asks from log_lines_since() on, a whole second as the API has it. As many of
 * the repeated lines are skipped as were shown since then, at most those that are not
 * newer than the newest one. So neither lines with equal timestamps nor lines slightly
 * out of order (two threads write stdout and stderr) are lost or shown twice. A line
 * without a timestamp (a message of the kubelet) is reported as it is.
 *
 * Lines are reported as a terminal would show them (base/screen.h): of a progress bar,
 * the final state. With `raw`, bytes pass unchanged.
 */
#ifndef CLIENT_LOGS_LINES_H
#define CLIENT_LOGS_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/screen.h"

struct log_stamp {
	int64_t sec; /* since 1970 */
	int32_t nsec;
};

struct log_lines {
	/* a line without its newline and, unless `timestamps`, without its stamp */
	void (*on_line)(void *ctx, const char *line, size_t len);
	/* the newest state of an unfinished line; `bar`: of several. May be NULL */
	void (*on_state)(void *ctx, const char *line, size_t len, bool bar);
	/* with `raw`: the log's bytes, in place of on_line. May be NULL */
	void (*on_bytes)(void *ctx, const char *data, size_t len);
	void *ctx;
	size_t max; /* bytes of a line; the rest is dropped, which is marked */
	bool raw;   /* no byte is changed or dropped: a longer line is several */
	bool timestamps;
	bool partial; /* the first request omits older lines (--tail, --since) */

	struct screen screen;
	struct buf part; /* the start of a line whose stamp is not complete */
	struct buf line; /* with `raw`: an incomplete line */
	bool begun, stamped, skipped; /* the line: its stamp is known, and is `at` */
	struct log_stamp at;
	uint64_t passed; /* bytes of the incomplete line that were passed on */
	uint64_t again;  /* of them, not yet sent again after a broken connection */
	bool any;        /* `first` and `newest` are set */
	struct log_stamp first, newest;
	/* Lines shown of newest.sec, and of the second before. */
	uint64_t n_last, n_before;
	uint64_t skip;            /* this many of them are to be skipped */
	char second[24], zone[8]; /* the last timestamp's text; its value: */
	int64_t sec;
};

/* Call before each request: an incomplete line is dropped, as it will be sent again. */
void log_lines_begin(struct log_lines *l);
/* The second (since 1970) from which the request asks; -1: the same as the first one. */
int64_t log_lines_since(const struct log_lines *l);
/* Report the complete lines of these bytes; the rest is buffered. */
void log_lines_feed(struct log_lines *l, const char *data, size_t len);
/* The log has ended: report a last line without a newline, and free the buffer. */
void log_lines_end(struct log_lines *l);
void log_lines_release(struct log_lines *l); /* reports nothing */

#endif
