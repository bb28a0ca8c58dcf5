/*
 * permanent.h - would a command that failed fail so again?
 */
#ifndef SUPERVISE_PERMANENT_H
#define SUPERVISE_PERMANENT_H

#include <stddef.h>

#include "supervise/message.h"

/*
 * `text`: the last output. CAUSE_PERMANENT if the last exception of Python in it is of the
 * program's text or of a module that is missing: SyntaxError, IndentationError,
 * ImportError, ModuleNotFoundError; or if the last words are of a command line that is
 * wrong: a script that is not there, arguments that argparse refuses. CAUSE_MEMORY if it says that memory is out, that of
 * the node or of a GPU. What torchrun says of its ranks does not count.
 */
enum peer_cause permanent_cause(const char *text, size_t len);

/*
 * How many processes of a container the kernel has ended as its memory was out, of the
 * text of memory.events (cgroup v2); 0: unknown.
 */
int64_t permanent_oom_kills(const char *events);
int64_t permanent_oom_kills_here(void); /* of this container */

#endif
