/*
 * dump.h - look at a command's processes: do they write files? Show where they are, and
 * end them by ABRT (private to core/supervise).
 *
 * Python writes its stacks when it gets ABRT and PYTHONFAULTHANDLER is set. No core is
 * dumped.
 */
#ifndef SUPERVISE_DUMP_H
#define SUPERVISE_DUMP_H

#include "supervise/relay.h"

enum { DUMP_MS = 4000 };

struct dump {
	struct relay *out; /* two: what the processes write is found in their tail */
	/* A line for the log, without its end. */
	void (*say)(void *ctx, const char *text);
	/* A stack, as of stack_read(). */
	void (*stack)(void *ctx, uint32_t who, const struct buf *text);
	void *say_ctx, *stack_ctx;
};

/* All descendants of this process, one after the other: takes at most DUMP_MS. */
void dump_processes(const struct dump *d);

/*
 * What a silent command does that saves a checkpoint: have all descendants together written
 * a MiB a second since the look before? At most one look in `every_ms`; else: no.
 */
struct dump_writes {
	int64_t at, bytes;
};
bool dump_is_writing(struct dump_writes *before, int64_t every_ms, int64_t now);

#endif
