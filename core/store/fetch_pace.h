/*
 * fetch_pace.h - how many connections pay: their number is doubled while that brings more
 * bytes a second. Where the machine or its link is the narrow place they stay few: then
 * files come in order, each by one, and are hashed as they come. So they do while this
 * process waits for processors: more of them would only wait with it. Private to the engine.
 */
#ifndef STORE_FETCH_PACE_H
#define STORE_FETCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* To begin: .begin_ms alone. */
struct pace {
	bool cpu_bound; /* the caller's: short of processors, no more connections */
	int64_t begin_ms;
	int64_t ms, bytes; /* when the rate began to be measured */
	int64_t due_ms;    /* and when it is known */
	int64_t next_ms;   /* not before that are more tried */
	int64_t pause_ms;  /* after the last try that brought nothing */
	int64_t before;    /* bytes a second before the last doubling */
	unsigned from;     /* and how many there were; 0: it has been judged */
	bool settling;
};

/* How many of at most `max` from now on. `bytes` have come in all, at `ms`. */
unsigned pace_look(struct pace *p, unsigned now, unsigned max, int64_t bytes, int64_t ms);

#endif
