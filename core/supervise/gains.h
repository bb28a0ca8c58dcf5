/*
 * gains.h - may a command that failed be started again, by the progress that it made?
 *
 * At most GAINS_RESTARTS restarts in a row without progress between them, and none for a
 * command that runs out of memory twice at the same step. Progress is a percentage or a
 * step higher than any before. A job that never reported any is not judged.
 *
 * No I/O.
 */
#ifndef SUPERVISE_GAINS_H
#define SUPERVISE_GAINS_H

#include <stdbool.h>
#include <stdint.h>

enum { GAINS_RESTARTS = 3 };

struct place {
	uint32_t percent, step;
};

/* { 0 }: nothing is known. */
struct gains {
	bool reported;
	struct place high; /* ever */
	struct place now;  /* in this start */
	uint32_t without;  /* restarts since the last progress */
	bool memory;       /* the last start ran out of memory, at `last` */
	struct place last;
};

/* A report of this start. True: it is higher than any before. */
bool gains_report(struct gains *g, struct place at);
/* Why the command is not to be started again, or NULL; `memory`: it ran out of it. */
const char *gains_refuse(const struct gains *g, bool memory);
/* The command starts again after a failure. */
void gains_restart(struct gains *g, bool memory);

#endif
