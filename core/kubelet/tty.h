/*
 * tty.h - a container on the caller's terminal: `submit --local -i`.
 *
 * The container gets a terminal of its own, as from `docker run -it`: keys that are typed
 * into the caller's go there, so that Ctrl-C and Ctrl-D mean what the container's command
 * makes of them; its output is read like that of other containers. The caller's is raw
 * meanwhile: lines that others print there have to end with "\r\n". A child process
 * passes keys and changes of the window's size on, and restores the caller's terminal when
 * this process ends, however it ends.
 */
#ifndef KUBELET_TTY_H
#define KUBELET_TTY_H

#include <termios.h>
#include <unistd.h>

#include "base/error.h"

struct tty {
	int keys;              /* the child ends when it is closed; -1: not attached */
	pid_t child;           /* the process that passes keys on */
	struct termios before; /* the caller's settings */
};

/*
 * A terminal with the settings and the size of standard input's. *ret_master: the side to
 * read its output from, and to write keys to; *ret_slave: the container's.
 */
MUST_CHECK int tty_open(struct tty *t, int *ret_master, int *ret_slave,
			struct error *err);
/* Pass all keys of standard input to the terminal, until tty_detach(). */
MUST_CHECK int tty_attach(struct tty *t, int master, struct error *err);
void tty_detach(struct tty *t); /* restores the caller's terminal, if attached */

#endif
