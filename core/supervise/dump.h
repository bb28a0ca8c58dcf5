/*
 * dump.h - dump the stacks of a command's processes, and measure what they write (private
 * to core/supervise).
 *
 * Python writes its stacks when it gets ABRT and PYTHONFAULTHANDLER is set. ABRT ends the
 * processes; no core is dumped.
 */
#ifndef SUPERVISE_DUMP_H
#define SUPERVISE_DUMP_H

#include "supervise/relay.h"

enum { DUMP_MS = 4000 };

struct dump {
	struct relay *out; /* two: the stacks are read from their tail */
	/* Logs a line, given without a newline. */
	void (*say)(void *ctx, const char *text);
	/* Gets the output of stack_read(). */
	void (*stack)(void *ctx, uint32_t who, const struct buf *text);
	void *say_ctx, *stack_ctx;
};

/* Dump all descendants of this process, one after the other; takes at most DUMP_MS. */
void dump_processes(const struct dump *d);

/*
 * Have all descendants together written at least a MiB a second since the last measurement,
 * as a silent command that saves a checkpoint? Measures at most once in `every_ms`, and
 * returns false in between.
 */
struct dump_writes {
	int64_t at, bytes;
};
bool dump_is_writing(struct dump_writes *before, int64_t every_ms, int64_t now);

#endif
