/* relay.c - from a pipe to standard output (supervise/relay.h). */
#include "supervise/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "pack/receive.h"

enum {
	PIPE_SIZE =
		256 * 1024, /* two of 64 supervisors are half of what a user may have */
	CHUNK = 32 * 1024,  /* with less in the pipe, copies cost less than splice() */
	DRAIN_MS = 50,
	FOLLOWER_MS = 10 * 1000,
};

static const uint64_t one = 1;

/* The copy of pages that are in both pipes, of which only the last bytes are read. */
struct bulk {
	bool tried, usable;
	int null, pages[2];
};

void tail_add(struct tail *t, const char *data, size_t len)
{
	size_t keep;

	t->added = clock_ms();
	if (t->tap)
		t->tap(t->tap_ctx, data, len);
	pthread_mutex_lock(&t->lock);
	if (t->capture)
		buf_add(t->capture, data, len);
	if (len > TAIL_SIZE) {
		data += len - TAIL_SIZE;
		len = TAIL_SIZE;
	}
	keep = t->len + len > TAIL_SIZE ? TAIL_SIZE - len : t->len;
	memmove(t->bytes, t->bytes + t->len - keep, keep);
	memcpy(t->bytes + keep, data, len);
	t->len = keep + len;
	pthread_mutex_unlock(&t->lock);
}

void tail_clean(struct tail *t)
{
	char *end = t->bytes + t->len;
	size_t n;

	for (char *p = t->bytes; p < end; p += n ? n : 1) {
		n = utf8_length(p, end);
		if (!n)
			*p = '?';
	}
}

/* false: nobody reads it any longer. */
static bool pass_on(int to, const char *data, size_t len)
{
	struct pollfd p = { .fd = to, .events = POLLOUT };

	while (len) {
		ssize_t n = write(to, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EPIPE) {
			return false;
		} else if (errno == EAGAIN) { /* made so by another who has it open */
			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return true; /* a full disk */
		}
	}
	return true;
}

/* ---- a follower ---- */

static bool has_follower(const struct relay *r)
{
	return r->tail->follower && r->tail->follower->fd >= 0;
}

static bool send_all(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN ? poll(&p, 1, FOLLOWER_MS) <= 0
					   : errno != EINTR) {
			return false;
		}
	}
	return true;
}

static void follow(const struct relay *r, const char *data, size_t len)
{
	unsigned char header[FRAME_HEADER];
	struct follower *f = r->tail->follower;
	int fd;

	pthread_mutex_lock(&f->lock);
	fd = f->fd;
	receive_header(header, r->to == STDOUT_FILENO ? 'O' : 'R', len);
	if (fd >= 0 &&
	    (!send_all(fd, header, sizeof(header)) || !send_all(fd, data, len)))
		shutdown(fd, SHUT_RDWR);
	pthread_mutex_unlock(&f->lock);
}

/* false: at the end of the pipe, or after relay_finish() of what was in it then. */
static bool wait_for_output(struct relay *r)
{
	struct pollfd p[2] = { { .fd = r->from, .events = POLLIN },
			       { .fd = r->quit, .events = POLLIN } };
	int waiting = 0;

	r->idle = true;
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	r->idle = false;
	if (p[1].revents && r->most < 0 && !ioctl(r->from, FIONREAD, &waiting))
		r->most = r->passed + waiting;
	return p[0].revents && (r->most < 0 || r->passed < r->most);
}

/* false: the end of the pipe, or of the reader. */
static bool copy_some(struct relay *r)
{
	char data[CHUNK];
	ssize_t n = read(r->from, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	r->passed += n;
	tail_add(r->tail, data, (size_t)n);
	if (has_follower(r))
		follow(r, data, (size_t)n);
	return pass_on(r->to, data, (size_t)n);
}

/* ---- much output: its pages move, without copies ---- */

static bool drop(const struct bulk *b, size_t n)
{
	while (n) {
		ssize_t done = splice(b->pages[0], NULL, b->null, NULL, n, 0);

		if (done <= 0)
			return false;
		n -= (size_t)done;
	}
	return true;
}

/* Add the end of the first `n` of `len` bytes in b->pages to the tail; empty it. */
static bool keep_tail(struct relay *r, const struct bulk *b, size_t n, size_t len)
{
	size_t kept = n < TAIL_SIZE ? n : TAIL_SIZE;
	char data[TAIL_SIZE];

	if (!drop(b, n - kept))
		return false;
	for (size_t got = 0; got < kept;) {
		ssize_t more = read(b->pages[0], data + got, kept - got);

		if (more <= 0)
			return false;
		got += (size_t)more;
	}
	tail_add(r->tail, data, kept);
	return drop(b, len - n);
}

/* How many bytes moved. *ret_errno: why no more did. */
static size_t move(const struct relay *r, size_t len, int *ret_errno)
{
	struct pollfd p = { .fd = r->to, .events = POLLOUT };
	size_t moved = 0;

	while (moved < len) {
		ssize_t n = splice(r->from, NULL, r->to, NULL, len - moved, 0);

		if (n > 0) {
			moved += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			poll(&p, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			*ret_errno = errno;
			break;
		}
	}
	return moved;
}

/* As copy_some(). Where pages cannot move, as to a file in O_APPEND, b->usable ends. */
static bool move_some(struct relay *r, struct bulk *b)
{
	ssize_t len = tee(r->from, b->pages[1], PIPE_SIZE, SPLICE_F_NONBLOCK);
	int why = 0;
	size_t n;

	if (len <= 0) {
		b->usable = len < 0 && (errno == EAGAIN || errno == EINTR);
		return true;
	}
	n = move(r, (size_t)len, &why);
	r->passed += (int64_t)n;
	if (!keep_tail(r, b, n, (size_t)len) || n < (size_t)len)
		b->usable = false; /* copy_some() finds the same error, or the way */
	return why != EPIPE;
}

static void bulk_open(struct bulk *b)
{
	b->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (b->null < 0 || pipe2(b->pages, O_CLOEXEC))
		return;
	b->usable = fcntl(b->pages[1], F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE;
}

static void bulk_close(const struct bulk *b)
{
	const int fds[] = { b->null, b->pages[0], b->pages[1] };

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static bool is_captured(const struct relay *r)
{
	bool captured;

	pthread_mutex_lock(&r->tail->lock);
	captured = r->tail->capture;
	pthread_mutex_unlock(&r->tail->lock);
	return captured;
}

/* Opens b when there is much output for the first time. */
static bool is_bulk(const struct relay *r, struct bulk *b)
{
	int waiting = 0;

	if (ioctl(r->from, FIONREAD, &waiting) || waiting < CHUNK || r->tail->tap ||
	    is_captured(r) || has_follower(r))
		return false;
	if (!b->tried)
		bulk_open(b);
	b->tried = true;
	return b->usable;
}

static void *copy(void *ctx)
{
	struct relay *r = ctx;
	struct bulk b = { .null = -1, .pages = { -1, -1 } };

	while (wait_for_output(r))
		if (is_bulk(r, &b) ? !move_some(r, &b) : !copy_some(r))
			break;
	bulk_close(&b);
	close(atomic_exchange(&r->from, -1));
	r->idle = true;
	while (write(r->done, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int relay_start(struct relay *r, int to, int done, struct tail *tail, int *ret_write,
		struct error *err)
{
	int ends[2], quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (quit < 0)
		return error_errno(err, errno, "eventfd");
	if (pipe2(ends, O_CLOEXEC)) {
		error_errno(err, errno, "pipe");
		close(quit);
		return -1;
	}
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE); /* a smaller pipe is only slower */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*r = (struct relay){ .from = ends[0],
			     .to = to,
			     .quit = quit,
			     .done = done,
			     .tail = tail,
			     .most = -1 };
	if (!thread_start(&r->thread, copy, r, err)) {
		*ret_write = ends[1];
		return 0;
	}
	close(ends[0]);
	close(ends[1]);
	close(quit);
	return -1;
}

/* A pipe that has been closed by its thread has no bytes either. */
static bool is_drained(struct relay *r)
{
	int waiting = 0, from = r->from;

	return (from < 0 || ioctl(from, FIONREAD, &waiting) || !waiting) && r->idle;
}

void relay_capture(const struct relay *r, struct buf *to)
{
	pthread_mutex_lock(&r->tail->lock);
	r->tail->capture = to;
	pthread_mutex_unlock(&r->tail->lock);
}

void relay_drain(struct relay *r)
{
	for (int ms = 0; ms < DRAIN_MS && !is_drained(r); ms++)
		clock_sleep_ms(1);
}

void relay_finish(const struct relay *r)
{
	if (write(r->quit, &one, sizeof(one)) < 0)
		return; /* full: readable already */
}

void relay_join(struct relay *r)
{
	pthread_join(r->thread, NULL);
	close(r->quit);
}
