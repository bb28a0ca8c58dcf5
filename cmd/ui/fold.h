/*
 * fold.h - print a job's lines: tracebacks that repeat or blame a lost peer
 * (logtext/traceback.h) and what PyTorch writes about itself (logtext/lognoise.h) are
 * folded, a process of several in a pod has its own prefix, scripts have their own names,
 * and progress bars stay below (cmd/ui/bars.h).
 */
#ifndef CMD_FOLD_H
#define CMD_FOLD_H

#include <stdint.h>

#include "cmd/ui/bars.h"

struct traceback_filter;
struct lognoise;

struct fold {
	struct bars bars;
	struct traceback_filter *tracebacks; /* lines go through this, then this: */
	struct lognoise *noise;
	int64_t lines_ms; /* of the first line since the last pause; -1: none. Or set by the
			   caller before each line: when it was written */
};

/* `named`, the job in a command, must remain valid. Nothing is released. */
void fold_begin(struct fold *f, const char *named);

/* A line; prefix NULL: none. */
void fold_line(struct fold *f, const char *prefix, const char *line, size_t len);

/* The lines of these processes are complete: report what has been folded of them. */
void fold_flush(struct fold *f);

/*
 * No lines follow for now or, with `last`, at all: draws the bars. Returns when to call it
 * again; -1: never. The caller flushes stdout.
 */
int64_t fold_pause(struct fold *f, bool last);

/* Have tracebacks been folded that blame a lost peer? */
bool fold_any(const struct fold *f);
/* Prints to stderr the traceback that ended a process first, if any. */
void fold_traceback(const struct fold *f);

#endif
