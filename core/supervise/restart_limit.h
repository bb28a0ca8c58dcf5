/*
 * restart_limit.h - limit the restarts of a failing command by its progress.
 *
 * Allows RESTART_LIMIT restarts in a row without progress, and none for a command that runs
 * out of memory twice at the same step. Progress is a percentage or a step above the
 * maximum so far. A job that never reported progress is not limited.
 *
 * No I/O.
 */
#ifndef SUPERVISE_RESTART_LIMIT_H
#define SUPERVISE_RESTART_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { RESTART_LIMIT = 3 };

struct training_progress {
	uint32_t percent, step;
};

/* { 0 } to begin. */
struct restart_limit {
	bool reported;                 /* there was a report */
	struct training_progress high; /* the maximum of all starts */
	struct training_progress now;  /* the maximum of this start */
	uint32_t without;              /* restarts since the last progress */
	bool memory;                   /* the last start ran out of memory, at `last` */
	struct training_progress last;
};

/* A report of this start. True: it is above the maximum so far. */
bool restart_limit_report(struct restart_limit *g, struct training_progress at);
/* Why the command must not be restarted; NULL: it may be. `memory`: it was out of memory. */
const char *restart_limit_refuse(const struct restart_limit *g, bool memory);
/* The command is restarted after a failure. */
void restart_limit_restart(struct restart_limit *g, bool memory);

#endif
