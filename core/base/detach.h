/*
 * detach.h - a command whose work goes on in a session of its own after it has returned.
 */
#ifndef BASE_DETACH_H
#define BASE_DETACH_H

#include "base/error.h"

/*
 * Fork, before the first thread. 0: this is the child; *ret_to is for detach_say(). 1: this
 * is the caller, and the child has said *ret_code, or ended with it. Until then SIGINT,
 * SIGTERM and SIGHUP are passed on to the child, which writes to the same stdout and stderr.
 */
MUST_CHECK int detach(int *ret_to, int *ret_code, struct error *err);

/* Once: the caller ends with this code; stdin, stdout and stderr are /dev/null from now on. */
void detach_say(int *to, int code);

#endif
