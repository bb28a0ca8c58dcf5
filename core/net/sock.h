/*
 * sock.h - TCP sockets that never block, with deadlines.
 *
 * A deadline is a point of clock_ms(). Waiting is poll(2) on the descriptor alone:
 * another thread ends it with shutdown(2). No SIGPIPE.
 */
#ifndef NET_SOCK_H
#define NET_SOCK_H

#include <stdint.h>

#include "base/error.h"

/* POLLIN or POLLOUT. ERR_TIMEOUT at the deadline. Also 0 when the peer is gone. */
MUST_CHECK int sock_wait(int fd, short events, int64_t deadline, struct error *err);

/* *ret_n is 0 at the end of the stream. */
MUST_CHECK int sock_read(int fd, void *data, size_t max, size_t *ret_n, int64_t deadline,
			 struct error *err);
MUST_CHECK int sock_write(int fd, const void *data, size_t len, int64_t deadline,
			  struct error *err);

/* "" or NULL: all addresses, of IPv6 and IPv4. port 0: any. */
MUST_CHECK int sock_listen(int *ret, const char *host, int port, struct error *err);
int sock_port(int fd); /* the one it is bound to */

enum { SOCK_ADDRESS_SIZE = 48 };

/*
 * The next connection, non-blocking, and who it is from; an IPv4 address that came
 * over IPv6 as IPv4. -1 with errno.
 */
int sock_accept(int fd, char ret_peer[SOCK_ADDRESS_SIZE]);

#endif
