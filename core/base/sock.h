/*
 * sock.h - TCP sockets that never block, with deadlines.
 *
 * A deadline is a time of clock_ms(). Waiting is poll(2) on only this descriptor: another
 * thread can end it with shutdown(2). No SIGPIPE.
 */
#ifndef BASE_SOCK_H
#define BASE_SOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Wait for POLLIN or POLLOUT. ERR_TIMEOUT at the deadline. Also 0 if the peer has closed.
 */
MUST_CHECK int sock_wait(int fd, short events, int64_t deadline, struct error *err);

/* *ret_n is 0 at the end of the stream. */
MUST_CHECK int sock_read(int fd, void *data, size_t max, size_t *ret_n, int64_t deadline,
			 struct error *err);
MUST_CHECK int sock_write(int fd, const void *data, size_t len, int64_t deadline,
			  struct error *err);

/* *ret: a listening socket. host "", NULL: all of IPv6 and IPv4. port 0: any. */
MUST_CHECK int sock_listen(int *ret, const char *host, int port, struct error *err);
int sock_port(int fd); /* the port to which it is bound */

/*
 * Split "host:port", "[::1]:port" or ":port" at the last colon. *ret_host, in the arena, is
 * without brackets; *ret_port is the text after the colon, not checked. False: there is no
 * colon, or the host has colons and is no IPv6 address.
 */
bool sock_split(struct arena *arena, const char *text, const char **ret_host,
		const char **ret_port);

enum { SOCK_ADDRESS_SIZE = 48 };

/*
 * Accept a connection, non-blocking, with its peer's address (IPv4-mapped addresses as
 * IPv4). -1 with errno.
 */
int sock_accept(int fd, char ret_peer[SOCK_ADDRESS_SIZE]);

#endif
