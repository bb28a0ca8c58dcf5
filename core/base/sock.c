/* sock.c - reads and writes TCP sockets with deadlines (base/sock.h). */
#include "base/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

enum { BACKLOG = 256 };

int sock_wait(int fd, short events, int64_t deadline, struct error *err)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left = deadline - clock_ms();
		int n;

		if (left <= 0)
			return error_set(err, ERR_TIMEOUT,
					 "timed out waiting for the peer");
		n = poll(&p, 1, left > 60000 ? 60000 : (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
	}
}

static bool would_block(int errnum)
{
	return errnum == EAGAIN || errnum == EWOULDBLOCK;
}

int sock_read(int fd, void *data, size_t max, size_t *ret_n, int64_t deadline,
	      struct error *err)
{
	for (;;) {
		ssize_t n;

		/* Check the deadline even if the socket is always ready. */
		if (clock_ms() >= deadline)
			return error_set(err, ERR_TIMEOUT,
					 "timed out waiting for the peer");
		n = recv(fd, data, max, 0);
		if (n >= 0) {
			*ret_n = (size_t)n;
			return 0;
		}
		if (errno == EINTR)
			continue;
		if (!would_block(errno))
			return error_errno(err, errno, "recv");
		if (sock_wait(fd, POLLIN, deadline, err))
			return -1;
	}
}

int sock_write(int fd, const void *data, size_t len, int64_t deadline, struct error *err)
{
	const char *from = data;

	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n >= 0) {
			from += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (!would_block(errno))
			return error_errno(err, errno, "send");
		if (sock_wait(fd, POLLOUT, deadline, err))
			return -1;
	}
	return 0;
}

static int listen_at(const struct addrinfo *a)
{
	cleanup_fd int fd =
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, ret;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG))
		return -1;
	ret = fd;
	fd = -1;
	return ret;
}

/* Listen on the first address that can be bound, IPv6 first if `v6_first`. */
static int listen_first(const struct addrinfo *list, bool v6_first)
{
	for (int pass = 0; pass < 2; pass++)
		for (const struct addrinfo *a = list; a; a = a->ai_next) {
			bool v6 = a->ai_family == AF_INET6;
			int fd = v6 == (v6_first == !pass) ? listen_at(a) : -1;

			if (fd >= 0)
				return fd;
		}
	return -1;
}

int sock_listen(int *ret, const char *host, int port, struct error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	bool any = !host || !host[0], v6 = !any && strchr(host, ':');
	struct addrinfo *list = NULL;
	char service[16];
	int rc, fd;

	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(any ? NULL : host, service, &hints, &list);
	if (rc)
		return error_set(err, ERR_IO, "listen on %s%s%s:%d: %s", v6 ? "[" : "",
				 any ? "" : host, v6 ? "]" : "", port, gai_strerror(rc));
	/* An IPv6 socket accepts IPv4, too; without IPv6 in the kernel use IPv4. */
	fd = listen_first(list, any);
	rc = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return error_errno(err, rc, "listen on %s%s%s:%d", v6 ? "[" : "",
				   any ? "" : host, v6 ? "]" : "", port);
	*ret = fd;
	return 0;
}

bool sock_split(struct arena *arena, const char *text, const char **ret_host,
		const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	struct in6_addr unused;
	const char *address;

	if (!colon)
		return false;
	*ret_host = str_slice(arena, text + bracketed, len - 2 * bracketed);
	*ret_port = colon + 1;
	if (!strchr(*ret_host, ':'))
		return true;
	address = str_slice(arena, *ret_host, strcspn(*ret_host, "%")); /* without zone */
	return inet_pton(AF_INET6, address, &unused) == 1;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

int sock_port(int fd)
{
	union address a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len))
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

int sock_accept(int fd, char ret_peer[SOCK_ADDRESS_SIZE])
{
	union address a = { 0 };
	socklen_t len = sizeof(a);
	int on = 1, peer = accept4(fd, &a.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer < 0)
		return -1;
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	ret_peer[0] = '\0';
	if (a.any.sa_family == AF_INET)
		inet_ntop(AF_INET, &a.v4.sin_addr, ret_peer, SOCK_ADDRESS_SIZE);
	else if (IN6_IS_ADDR_V4MAPPED(&a.v6.sin6_addr))
		inet_ntop(AF_INET, &a.v6.sin6_addr.s6_addr[12], ret_peer,
			  SOCK_ADDRESS_SIZE);
	else
		inet_ntop(AF_INET6, &a.v6.sin6_addr, ret_peer, SOCK_ADDRESS_SIZE);
	return peer;
}
