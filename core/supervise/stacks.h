/*
 * stacks.h - group the equal stacks of a job's processes, and print the rarest first
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
	STACK_FRAMES = 24, /* of a stack, innermost first */
	STACK_GROUPS = 32, /* different stacks */
	STACK_NAMES = 8,   /* of the processes of a group that are named */
};

/*
 * Find the stack of the thread that got ABRT in what Python's faulthandler wrote, and append
 * it, a frame a line: "wait (threading.py:320)"; nothing if there is none. Unprintable
 * characters become '?'. Frames for which out->max has no room are omitted.
 */
void stack_read(struct buf *out, const char *text, size_t len);

struct stack_name {
	uint32_t rank, who; /* of stacks_add() */
};

/* { 0 } to begin. */
struct stacks {
	struct stack_group {
		struct buf text;
		struct stack_name names[STACK_NAMES]; /* the lowest, sorted */
		struct stack_name last;               /* the one added last */
		uint32_t n, n_names;
	} groups[STACK_GROUPS];
	size_t n;
	uint32_t all, left_out;
};

/*
 * Add the stack of a process of a rank. `who`: RANK in its environment; NO_RANK: not set.
 * `text`: from stack_read(), or, untrusted, from a peer.
 */
void stacks_add(struct stacks *s, uint32_t rank, uint32_t who, const struct buf *text);
/* Print the title, with the lowest ranks, and the frames of each group, line by line. */
void stacks_print(struct stacks *s, void (*say)(void *ctx, const char *line), void *ctx);
void stacks_release(struct stacks *s);

#endif
