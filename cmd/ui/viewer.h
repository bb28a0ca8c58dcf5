/*
 * viewer.h - show a job's output; on a terminal with one status line below, elsewhere as
 * plain lines.
 *
 * The job's output goes to stdout, our messages to stderr. A closed stdout does not end
 * the job. One thread at a time. Lines are folded (cmd/ui/fold.h).
 */
#ifndef CMD_VIEWER_H
#define CMD_VIEWER_H

#include <stdint.h>

#include "cmd/ui/fold.h"
#include "trainer/progress_line.h"

struct viewer {
	struct fold fold;          /* its bars with the status */
	const char *name;          /* the job's */
	const char *named;         /* in a command */
	bool quiet;                /* show only the job's output */
	bool live;                 /* show the phase in the terminal's last line */
	bool stdout_closed;        /* drop the job's lines */
	struct progress_pace pace; /* of lines that are not redrawn */
};

/*
 * Initializes the viewer and gives stdout a large buffer. `named`: the job in a command, as
 * "--local NAME". Both names must remain valid.
 */
void viewer_begin(struct viewer *v, const char *name, const char *named, bool quiet);

/* Callbacks for the observers of local/run.h and client/follow.h; ctx is the viewer. */
void viewer_progress(void *ctx, const char *line);
void viewer_note(void *ctx, const char *line);
void viewer_line(void *ctx, const char *prefix, const char *line, size_t len);
void viewer_state(void *ctx, const char *prefix, const char *line, size_t len, bool bar);
/*
 * Flushes stdout: no lines follow for now or, with `last`, at all. Returns when to call it
 * again; -1: never.
 */
int64_t viewer_pause(void *ctx, bool last);

/* Shows lines that are held, erases the status line: others can print. */
void viewer_erase(struct viewer *v);
/* Prints "NAME: failed in 3m 05s, exit code 3". word: complete, failed, interrupted. */
void viewer_end(struct viewer *v, const char *word, int exit_code, int64_t ms);

#endif
