/*
 * permanent.h - detect failures that a restart would repeat.
 */
#ifndef SUPERVISE_PERMANENT_H
#define SUPERVISE_PERMANENT_H

#include <stddef.h>

#include "supervise/message.h"

/*
 * Classify a failure by the last output, `text`. CAUSE_PERMANENT: the last Python exception
 * is a SyntaxError, IndentationError, ImportError or ModuleNotFoundError, or the last lines
 * report a wrong command line: no such script, or arguments that argparse refuses.
 * CAUSE_MEMORY: the node or a GPU is out of memory. torchrun's own report is ignored.
 */
enum peer_cause permanent_cause(const char *text, size_t len);

/* oom_kill in memory.events (cgroup v2): processes that the OOM killer ended; 0: unknown. */
int64_t permanent_oom_kills(const char *events);
int64_t permanent_oom_kills_here(void); /* of this container */

#endif
