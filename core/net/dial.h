/*
 * dial.h - TCP connections to a name, with a deadline (clock_ms()).
 *
 * The stage says how far it came: a name that does not resolve yet, and a port that
 * nobody listens on yet, are different things to wait for.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <stdint.h>

#include "base/error.h"

enum dial_stage { DIAL_RESOLVE, DIAL_CONNECT };

/*
 * A connected, non-blocking socket, the caller's; all addresses of the name are tried
 * once and share the time. Looking up a name may outlast the deadline by the resolver's own timeout.
 * ERR_NOT_FOUND (no such name), ERR_BUSY (the resolver fails now), ERR_TIMEOUT,
 * ERR_IO with the errno.
 */
MUST_CHECK int dial(int *ret, const char *host, int port, int64_t deadline,
		    enum dial_stage *ret_stage, struct error *err);

/* A peer that has vanished fails the connection after about that many seconds. */
void dial_watch(int fd, int seconds);

#endif
