/*
 * lognoise.h - fold what launchers write that says nothing about the job.
 *
 * torchrun frames a setting of OMP_NUM_THREADS with stars, reports a failure that the
 * processes have reported themselves in a box, and prints a trace if a peer leaves its
 * exit barrier first, which does not matter. PyTorch prints the C++ frames of a connection
 * that a peer has closed. Such lines are replaced by one that says how many they are. Only
 * lines that are exactly PyTorch's are folded, as PyTorch 1.13 to 2.15
 * write them (torch/distributed/run.py, elastic/agent/server/api.py,
 * elastic/multiprocessing/api.py and errors/__init__.py). Log files have every line.
 */
#ifndef LOGTEXT_LOGNOISE_H
#define LOGTEXT_LOGNOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOGNOISE_WAIT_MS = 1000 };

struct lognoise;

/* `name`: the job in a command, for the hint where the lines are; it must remain valid. */
struct lognoise *lognoise_new(void (*on_line)(void *ctx, const char *prefix,
					      const char *line, size_t len),
			      void *ctx, const char *name);
void lognoise_free(struct lognoise *f);

/* A line of the process that `prefix` names. */
void lognoise_line(struct lognoise *f, const char *prefix, const char *line, size_t len,
		   int64_t now_ms);

/* When to call lognoise_flush(), in the clock of lognoise_line(); -1: nothing is folded. */
int64_t lognoise_wake_ms(const struct lognoise *f);
/* Report lines that were folded before `before_ms`. */
void lognoise_flush(struct lognoise *f, int64_t before_ms);

/* The state of one process's lines, and whether the next one is folded. */
struct lognoise_state {
	unsigned char within; /* of several lines that belong together */
	int lines;            /* folded lines within */
};
bool lognoise_is(struct lognoise_state *s, const char *line, size_t len);

#endif
