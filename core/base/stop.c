/* Turns SIGTERM and SIGINT into a descriptor: stop.h. */
#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

static atomic_int count, interrupts, first_signal;
static atomic_int event = -1;

void stop_request(void)
{
	static const uint64_t one = 1;
	int saved = errno, fd = event;

	count++;
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		errno = saved; /* EAGAIN: it is already readable */
	errno = saved;
}

static void on_signal(int signum)
{
	int none = 0;

	atomic_compare_exchange_strong(&first_signal, &none, signum);
	interrupts += signum == SIGINT;
	stop_request();
}

int stop_setup(struct error *err)
{
	struct sigaction act = { .sa_handler = on_signal },
			 ignore = { .sa_handler = SIG_IGN },
			 normal = { .sa_handler = SIG_DFL };
	struct sigaction before;
	sigset_t heard;

	if (event < 0)
		event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0)
		return error_errno(err, errno, "eventfd");
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	/* Keep a signal ignored by nohup(1). */
	if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &act, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	/* If the caller ignores SIGCHLD, waitpid() has nothing to wait for. */
	sigaction(SIGCHLD, &normal, NULL);
	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGINT);
	sigaddset(&heard, SIGHUP);
	sigaddset(&heard, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &heard, NULL);
	return 0;
}

bool stop_requested(void)
{
	return count > 0;
}

int stop_count(void)
{
	return count;
}

int stop_interrupts(void)
{
	return interrupts;
}

int stop_signal(void)
{
	return first_signal;
}

int stop_fd(void)
{
	return event;
}

bool stop_wait(int64_t ms)
{
	int64_t until = clock_ms() + ms, left = ms;
	struct pollfd p = { .fd = event, .events = POLLIN };

	while (!stop_requested() && (ms < 0 || left > 0)) {
		int chunk = ms < 0 || left > 60000 ? 60000 : (int)left;

		if (poll(&p, 1, chunk) < 0 && errno != EINTR)
			break;
		left = until - clock_ms();
	}
	return stop_requested();
}
