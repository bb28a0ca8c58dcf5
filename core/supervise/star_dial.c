/* star_dial.c - a thread for each try to connect (supervise/star_dial.h). */
#include "supervise/star_dial.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "net/dial.h"

enum { TRY_MS = 2000 };

int star_dial_init(struct star_dial *d, const char *host, int port, struct error *err)
{
	*d = (struct star_dial){ .host = host, .port = port, .fd = -1 };
	d->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return d->done < 0 ? error_errno(err, errno, "eventfd") : 0;
}

static void signal_end(const struct star_dial *d)
{
	static const uint64_t one = 1;

	while (write(d->done, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *try(void *ctx)
{
	struct star_dial *d = ctx;
	enum dial_stage stage;

	d->err = (struct error){ 0 };
	if (dial(&d->fd, d->host, d->port, clock_ms() + TRY_MS, &stage, &d->err))
		d->fd = -1;
	signal_end(d);
	return NULL;
}

void star_dial_start(struct star_dial *d)
{
	d->going = true;
	d->fd = -1;
	if (!thread_start(&d->thread, try, d, &d->err))
		return;
	d->going = false; /* no thread: the try has failed */
	signal_end(d);
}

bool star_dial_ended(struct star_dial *d, int *ret_fd)
{
	uint64_t n;

	if (read(d->done, &n, sizeof(n)) != sizeof(n))
		return false;
	if (d->going)
		pthread_join(d->thread, NULL);
	d->going = false;
	*ret_fd = d->fd;
	return true;
}
