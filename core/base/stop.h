/*
 * stop.h - ask this process to stop, and find out that it was asked.
 *
 * SIGTERM and SIGINT (or stop_request()) set a flag and make a descriptor readable
 * forever. Functions that block also poll that descriptor, and return ERR_STOPPED.
 */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Install the handlers, ignore SIGPIPE, and take back what a caller may have left us:
 * SIGCHLD ignored, these signals blocked. Once, before the first thread.
 */
MUST_CHECK int stop_setup(struct error *err);

void stop_request(void); /* as if a signal had come; safe in a signal handler */
bool stop_requested(void);
int stop_count(void); /* number of requests */
/*
 * Number of SIGINTs. The second Ctrl-C means "at once"; a terminal that closes sends
 * SIGHUP more than once, which does not.
 */
int stop_interrupts(void);
int stop_signal(void); /* the first signal, or 0 */
int stop_fd(void);     /* readable once asked; -1 before stop_setup(). Never read it. */

/* Sleep; true at once when the process is stopping meanwhile. ms < 0: forever. */
bool stop_wait(int64_t ms);

#endif
