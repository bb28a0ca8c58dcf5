/* pair.c - the two ends of a measured connection (nodecheck/pair.h). */
#include "nodecheck/pair.h"

#include <errno.h>
#include <limits.h>
#include <linux/tcp.h> /* segs_out, which glibc lacks */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "base/xmalloc.h"
#include "net/dial.h"

enum {
	PINGS = 50,
	PING_MS = 500, /* no more of them after that */
	CHUNK = 64 * 1024,
	BUFFER = 256 * 1024, /* unsent, so that a slow link is not waited for long */
	CALLERS = 64,
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void tune(int fd)
{
	int one = 1, bytes = BUFFER;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int read_exactly(int fd, void *data, size_t len, int64_t deadline,
			struct error *err)
{
	for (size_t done = 0, n; done < len; done += n) {
		if (sock_read(fd, (char *)data + done, len - done, &n, deadline, err))
			return -1;
		if (!n)
			return error_set(err, ERR_IO, "the other end closed");
	}
	return 0;
}

/* The last question is a 1, the others are 0. */
static int ping(struct pair_result *ret, int fd, int64_t deadline, struct error *err)
{
	int64_t until = clock_ms() + PING_MS;
	char byte = 0;

	for (int i = 1; !byte; i++) {
		int64_t began = now_us(), us;

		byte = i >= PINGS || clock_ms() >= until;
		if (sock_write(fd, &byte, 1, deadline, err) ||
		    read_exactly(fd, &byte, 1, deadline, err))
			return -1;
		us = now_us() - began;
		if (!ret->rtt_us || us < ret->rtt_us)
			ret->rtt_us = us;
	}
	return 0;
}

static int answer_pings(int fd, int64_t deadline, struct error *err)
{
	char byte = 0;

	while (!byte)
		if (read_exactly(fd, &byte, 1, deadline, err) ||
		    sock_write(fd, &byte, 1, deadline, err))
			return -1;
	return 0;
}

/* Each end sends its last byte as 1, the others as 0. */
static int send_stream(int fd, int64_t deadline, struct error *err)
{
	cleanup_free char *chunk = xcalloc(1, CHUNK);
	int64_t until = clock_ms() + PAIR_SEND_MS;

	while (clock_ms() < until)
		if (sock_write(fd, chunk, CHUNK, deadline, err))
			return -1;
	return sock_write(fd, "\1", 1, deadline, err);
}

static int count_stream(struct pair_result *ret, int fd, int64_t deadline,
			struct error *err)
{
	cleanup_free char *chunk = xcalloc(1, CHUNK);
	int64_t bytes = 0, began = 0, us;
	size_t n;

	do {
		if (sock_read(fd, chunk, CHUNK, &n, deadline, err))
			return -1;
		if (!n)
			return error_set(err, ERR_IO, "the other end closed");
		began = began ? began : now_us();
		bytes += (int64_t)n;
	} while (!chunk[n - 1]);
	us = now_us() - began;
	ret->rate = us > 0 ? (int64_t)((double)bytes * 1e6 / (double)us) : INT64_MAX;
	return 0;
}

static void count_lost(struct pair_result *ret, int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return;
	ret->sent = info.tcpi_segs_out;
	ret->lost = info.tcpi_total_retrans;
}

int pair_connect(struct pair_result *ret, const char *host, int port,
		 const char token[PAIR_TOKEN], int64_t deadline, struct error *err)
{
	enum dial_stage stage;
	cleanup_fd int fd = -1;

	*ret = (struct pair_result){ 0 };
	if (dial(&fd, host, port, deadline, &stage, err))
		return -1;
	tune(fd);
	if (sock_write(fd, token, PAIR_TOKEN, deadline, err) ||
	    ping(ret, fd, deadline, err) || send_stream(fd, deadline, err) ||
	    count_stream(ret, fd, deadline, err))
		return -1;
	count_lost(ret, fd);
	return sock_write(fd, "", 1, deadline, err); /* this end has all */
}

/* ---- who connects ---- */

/* Connections without a whole token yet, the oldest first: none makes the others wait. */
struct callers {
	struct caller {
		int fd;
		size_t n;
		char token[PAIR_TOKEN];
	} list[CALLERS];
	size_t n;
};

static void remove_caller(struct callers *c, size_t i)
{
	c->n--;
	memmove(&c->list[i], &c->list[i + 1], (c->n - i) * sizeof(c->list[0]));
}

static void add_caller(struct callers *c, int listener)
{
	char peer[SOCK_ADDRESS_SIZE];
	int fd = sock_accept(listener, peer);

	if (fd < 0)
		return;
	if (c->n == CALLERS) {
		close(c->list[0].fd);
		remove_caller(c, 0);
	}
	c->list[c->n++] = (struct caller){ .fd = fd };
}

/* True: it is whole, or the connection has ended. */
static bool receive_token(struct caller *c)
{
	ssize_t n = recv(c->fd, c->token + c->n, PAIR_TOKEN - c->n, MSG_DONTWAIT);

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	c->n += (size_t)n;
	return !n || c->n == PAIR_TOKEN;
}

/* The connection with the token, no longer in the list, or -1. Closes those with others. */
static int find_peer(struct callers *c, const struct pollfd *p,
		     const char token[PAIR_TOKEN])
{
	for (size_t i = c->n; i-- > 0;) {
		struct caller *one = &c->list[i];
		int fd = one->fd;
		bool right;

		if (!p[i].revents || !receive_token(one))
			continue;
		right = one->n == PAIR_TOKEN && !memcmp(one->token, token, PAIR_TOKEN);
		remove_caller(c, i);
		if (right)
			return fd;
		close(fd);
	}
	return -1;
}

static int wait_for_callers(const struct callers *c, int listener,
			    struct pollfd p[CALLERS + 1], int64_t deadline,
			    struct error *err)
{
	int64_t left = deadline - clock_ms();

	for (size_t i = 0; i < c->n; i++)
		p[i] = (struct pollfd){ c->list[i].fd, POLLIN, 0 };
	p[c->n] = (struct pollfd){ listener, POLLIN, 0 };
	if (left <= 0 || !poll(p, c->n + 1, left < INT_MAX ? (int)left : INT_MAX))
		return error_set(err, ERR_TIMEOUT, "timed out waiting for the peer");
	return 0;
}

/* *ret: the connection with the token; others are closed. */
static int accept_peer(int *ret, int listener, const char token[PAIR_TOKEN],
		       int64_t deadline, struct error *err)
{
	struct pollfd p[CALLERS + 1] = { { 0 } };
	struct callers c = { 0 };
	int fd = -1;

	while (fd < 0 && !wait_for_callers(&c, listener, p, deadline, err)) {
		bool more = p[c.n].revents;

		fd = find_peer(&c, p, token);
		if (fd < 0 && more)
			add_caller(&c, listener);
	}
	while (c.n) {
		close(c.list[0].fd);
		remove_caller(&c, 0);
	}
	*ret = fd;
	return fd < 0 ? -1 : 0;
}

int pair_serve(struct pair_result *ret, int listener, const char token[PAIR_TOKEN],
	       int64_t deadline, struct error *err)
{
	cleanup_fd int fd = -1;
	char byte;

	*ret = (struct pair_result){ 0 };
	if (accept_peer(&fd, listener, token, deadline, err))
		return -1;
	tune(fd);
	if (answer_pings(fd, deadline, err) || count_stream(ret, fd, deadline, err) ||
	    send_stream(fd, deadline, err) || read_exactly(fd, &byte, 1, deadline, err))
		return -1;
	count_lost(ret, fd);
	return 0;
}
