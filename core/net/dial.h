/*
 * dial.h - TCP connections to a name, with a deadline (clock_ms()).
 *
 * On failure the stage distinguishes a name that does not resolve yet from a port on
 * which nobody listens yet.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <stdint.h>

#include "base/error.h"

enum dial_stage { DIAL_RESOLVE, DIAL_CONNECT };

/*
 * *ret: a connected, non-blocking socket, the caller's. All addresses of the name are
 * tried once and share the time. A lookup may exceed the deadline by the resolver's own
 * timeout. ERR_NOT_FOUND (no such name), ERR_BUSY (a temporary failure of the resolver),
 * ERR_TIMEOUT, ERR_IO with the errno.
 */
MUST_CHECK int dial(int *ret, const char *host, int port, int64_t deadline,
		    enum dial_stage *ret_stage, struct error *err);

/* Has the name an address? Errors as of dial(). */
MUST_CHECK int dial_resolve(const char *host, struct error *err);

/* TCP keepalive: the connection fails about `seconds` after its peer has vanished. */
void dial_watch(int fd, int seconds);

#endif
