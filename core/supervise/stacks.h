/*
 * stacks.h - the stacks of a job's processes, equal ones together, the odd ones first
 * (private to core/supervise).
 *
 * No I/O.
 */
#ifndef SUPERVISE_STACKS_H
#define SUPERVISE_STACKS_H

#include <stdint.h>

#include "base/buf.h"

enum {
	STACK_MAX = 2000,  /* bytes of a stack */
	STACK_FRAMES = 24, /* of it, innermost first */
	STACK_GROUPS = 32, /* different ones */
	STACK_NAMES = 8,   /* of a group, by name */
};

/*
 * Append the stack of the thread that got ABRT, of what Python's faulthandler wrote, a
 * frame a line: "wait (threading.py:320)". Nothing: there is none. Characters that are
 * not printable become '?'. Frames that out->max has no room for are left out.
 */
void stack_read(struct buf *out, const char *text, size_t len);

/* { 0 }: none. */
struct stacks {
	struct stack_group {
		struct buf text, names;
		uint32_t n, n_names;
		uint32_t rank, who; /* the last name */
	} groups[STACK_GROUPS];
	size_t n;
	uint32_t all, left_out;
};

/*
 * A process `who` (NO_RANK: its environment has no RANK) of that rank. `text`: by
 * stack_read(), or what a peer sent as such.
 */
void stacks_add(struct stacks *s, uint32_t rank, uint32_t who, const struct buf *text);
/* A line for each: the group's title, its frames. */
void stacks_print(struct stacks *s, void (*say)(void *ctx, const char *line), void *ctx);
void stacks_release(struct stacks *s);

#endif
