/* relay.c - from a pipe to standard output (supervise/relay.h). */
#include "supervise/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

enum { CHUNK = 128 * 1024, PIPE_SIZE = 1024 * 1024 };

static const uint64_t one = 1;

void tail_add(struct tail *t, const char *data, size_t len)
{
	size_t keep;

	if (len > TAIL_SIZE) {
		data += len - TAIL_SIZE;
		len = TAIL_SIZE;
	}
	pthread_mutex_lock(&t->lock);
	keep = t->len + len > TAIL_SIZE ? TAIL_SIZE - len : t->len;
	memmove(t->bytes, t->bytes + t->len - keep, keep);
	memcpy(t->bytes + keep, data, len);
	t->len = keep + len;
	pthread_mutex_unlock(&t->lock);
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

/* false: at the end of the pipe, or when it is empty after relay_finish(). */
static bool wait_for_output(const struct relay *r)
{
	struct pollfd p[2] = { { .fd = r->from, .events = POLLIN },
			       { .fd = r->quit, .events = POLLIN } };

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	return p[0].revents != 0;
}

static void *copy(void *ctx)
{
	struct relay *r = ctx;
	char data[CHUNK];

	while (wait_for_output(r)) {
		ssize_t n = read(r->from, data, sizeof(data));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		tail_add(r->tail, data, (size_t)n);
		if (!pass_on(r->to, data, (size_t)n))
			break;
	}
	close(r->from);
	r->from = -1;
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
	*r = (struct relay){ ends[0], to, quit, done, tail, 0 };
	if (!thread_start(&r->thread, copy, r, err)) {
		*ret_write = ends[1];
		return 0;
	}
	close(ends[0]);
	close(ends[1]);
	close(quit);
	return -1;
}

void relay_finish(const struct relay *r)
{
	if (write(r->quit, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

void relay_join(struct relay *r)
{
	pthread_join(r->thread, NULL);
	close(r->quit);
}
