/*
 * rawterm.h - the terminal of standard input as one of another machine: each key is a byte.
 *
 * A child process restores it when this process ends without rawterm_end(), however that
 * happens. After SIGCONT it is raw again.
 */
#ifndef CMD_RAWTERM_H
#define CMD_RAWTERM_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

struct rawterm {
	struct termios before;
	int changed; /* readable when the size may have changed; rawterm_size() reads it */
	int guard;   /* the child ends when it is closed */
	pid_t child;
};

/* Before the first thread: blocks SIGWINCH and SIGCONT. */
void rawterm_prepare(void);
MUST_CHECK int rawterm_begin(struct rawterm *t, struct error *err);
bool rawterm_size(struct rawterm *t, int *ret_columns, int *ret_rows);
void rawterm_end(struct rawterm *t);

#endif
