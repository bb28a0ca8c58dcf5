/*
 * detach.h - continue a command's work in the background after the command returns.
 */
#ifndef BASE_DETACH_H
#define BASE_DETACH_H

#include "base/error.h"

/*
 * Fork; call it before the first thread starts. 0: this is the child; *ret_to is for
 * detach_say(). 1: this is the parent, and the child has reported *ret_code or ended with
 * it. Until then SIGINT, SIGTERM and SIGHUP are forwarded to the child, which writes to
 * the same stdout and stderr.
 */
MUST_CHECK int detach(int *ret_to, int *ret_code, struct error *err);

/*
 * Call it once: the parent ends with this code; stdin, stdout and stderr become
 * /dev/null.
 */
void detach_say(int *to, int code);

#endif
