/*
 * firsterror.h - the error that ended a process, with its traceback.
 *
 * When a rank fails, its peers fail because it is gone ("Connection closed by peer"): an
 * error that does not blame a peer counts more than one that does. Otherwise the first
 * counts, unless FIRST_ERROR_TOGETHER_MS have passed since: it was handled then.
 * Exceptions that Python chains ("During handling of the above exception, ...") are one
 * error, with the last one's text and the first one's reason. So is one with the traceback
 * of another process in its text, such as a DataLoader's worker, whose error it is. Text on
 * the lines after the one that names the error is added to that and to the traceback.
 */
#ifndef LOGTEXT_FIRSTERROR_H
#define LOGTEXT_FIRSTERROR_H

#include <stdint.h>

#include "base/buf.h"

enum {
	FIRST_ERROR_TEXT = 8192, /* bytes of a traceback; the rest is dropped */
	FIRST_ERROR_LINE = 512,  /* of each of its lines */
	FIRST_ERROR_TOGETHER_MS = 15000,
};

/* The errors of one process. {0} is empty. */
struct first_error {
	struct buf line;      /* names the error; empty: there is none */
	struct buf traceback; /* without its first line, each line indented; or empty */
	int64_t ms;           /* when */
	bool peer;            /* the error blames the end of a peer */

	struct buf begun; /* a traceback whose last line has not come */
	bool within, chained, recorded;
	bool nested; /* the chained traceback is the text of the error */
	bool open;   /* the error's text is on the next line */
	int more;    /* lines that may belong to the error's text */
};

/*
 * The process's next line, without colors or a rank's mark (logtext/traceback.h). True: it
 * is one of a traceback, but not the last, which names the error.
 */
bool first_error_line(struct first_error *e, const char *line, size_t len,
		      int64_t now_ms);

/* The error's line; NULL: none, or it blames a peer. */
const char *first_error_own(const struct first_error *e);
/* The lines of a traceback that has begun, if the last one has not come; or NULL. */
const struct buf *first_error_unfinished(const struct first_error *e);
/* The bytes of `line` or `traceback` as a string; "" for none. */
const char *first_error_text(const struct buf *b);

/* Does this error count more than `than`, which may be NULL? */
bool first_error_before(const struct first_error *e, const struct first_error *than);

/* Does the line blame the end of a peer, or a connection to it? */
bool first_error_blames_peer(const char *line, size_t len);
/*
 * Does it name an error: "ValueError: boom", or an exception of any name where it ends a
 * traceback? Not a launcher's report of other processes.
 */
bool first_error_names(const char *line, size_t len, bool ends_traceback);
/* "RuntimeError: ": its text is on the lines that follow. */
bool first_error_is_open(const char *line, size_t len);

/* How a line begins that says that the error before it caused the next one. */
#define FIRST_ERROR_CAUSE "The above exception was the direct cause "
/*
 * "During handling of the above exception, another exception occurred:", or what comes
 * before the error of another process.
 */
bool first_error_is_chain(const char *line, size_t len);

void first_error_forget(struct first_error *e);

#endif
