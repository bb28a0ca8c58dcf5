/* dial.c - connect with getaddrinfo(3) and connect(2) (net/dial.h). */
#include "net/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"

static int resolve(struct addrinfo **ret, const char *host, int port, struct error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	char service[16];
	int rc;

	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(host, service, &hints, ret);
	if (!rc)
		return 0;
	return error_set(err, rc == EAI_AGAIN ? ERR_BUSY : ERR_NOT_FOUND, "%s: %s", host,
			 gai_strerror(rc));
}

int dial_resolve(const char *host, struct error *err)
{
	struct addrinfo *list = NULL;

	if (resolve(&list, host, 1, err))
		return -1;
	freeaddrinfo(list);
	return 0;
}

static int finish(int fd, int64_t deadline, struct error *err)
{
	socklen_t len = sizeof(int);
	int status = 0;

	if (sock_wait(fd, POLLOUT, deadline, err))
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &status, &len))
		status = errno;
	return status ? error_errno(err, status, "connect") : 0;
}

static int connect_to(int *ret, const struct addrinfo *a, int64_t deadline,
		      struct error *err)
{
	cleanup_fd int fd =
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return error_errno(err, errno, "socket");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, a->ai_addr, a->ai_addrlen)) {
		if (errno != EINPROGRESS)
			return error_errno(err, errno, "connect");
		if (finish(fd, deadline, err))
			return -1;
	}
	*ret = fd;
	fd = -1;
	return 0;
}

/* The deadline for one address: an equal share of the time, in case it drops packets. */
static int64_t share(int64_t deadline, const struct addrinfo *list)
{
	int64_t now = clock_ms(), n = 0;

	for (const struct addrinfo *a = list; a; a = a->ai_next)
		n++;
	return now + (deadline - now) / n;
}

int dial(int *ret, const char *host, int port, int64_t deadline,
	 enum dial_stage *ret_stage, struct error *err)
{
	struct addrinfo *list = NULL;
	int rc = -1;

	*ret_stage = DIAL_RESOLVE;
	if (resolve(&list, host, port, err))
		return -1;
	*ret_stage = DIAL_CONNECT;
	for (const struct addrinfo *a = list; a && rc; a = a->ai_next)
		rc = connect_to(ret, a, share(deadline, a), err);
	freeaddrinfo(list);
	return rc;
}

void dial_watch(int fd, int seconds)
{
	int on = 1, idle = seconds / 2, interval = seconds / 8, probes = 4;
	int timeout_ms = seconds * 1000;

	if (interval < 1)
		interval = 1;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}
