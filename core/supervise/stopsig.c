/* stopsig.c - handle signals that stop a supervisor (supervise/stopsig.h). */
#include "supervise/stopsig.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"

enum { OPEN_MS = 2000, BY_SIGNAL = 128 };

int stopsig_next(int signals)
{
	struct signalfd_siginfo info;

	return read(signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo
								  : 0;
}

static const int stops[] = { SIGTERM, SIGINT, SIGQUIT };

bool stopsig_is_stop(int signal)
{
	for (size_t i = 0; i < N_ELEMENTS(stops); i++)
		if (signal == stops[i])
			return true;
	return false;
}

bool stopsig_pending(void)
{
	sigset_t set;

	if (sigpending(&set))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(stops); i++)
		if (sigismember(&set, stops[i]))
			return true;
	return false;
}

int stopsig_exit_code(int status, int signal)
{
	if (WIFSIGNALED(status))
		return BY_SIGNAL + WTERMSIG(status);
	return signal == SIGTERM && WEXITSTATUS(status) <= EXIT_FAILURE
		       ? BY_SIGNAL + SIGTERM
		       : WEXITSTATUS(status);
}

int stopsig_forward(int status, int signal)
{
	if (!signal || !WIFSIGNALED(status) || WTERMSIG(status) != signal)
		return 0;
	return children_signal(signal, NULL, NULL) ? BY_SIGNAL + signal : 0;
}

/* The opening of the run directory, which may wait for its server. */
struct opening {
	const struct supervise_rundir *rundir;
	int done, *fd, rc;
	struct error err;
};

static void *open_rundir(void *ctx)
{
	struct opening *o = ctx;

	o->rc = o->rundir->open(o->rundir->ctx, o->fd, &o->err);
	eventfd_write(o->done, 1);
	return NULL;
}

int stopsig_open_rundir(const struct supervise_rundir *rundir, int signals, int *early,
			int *ret_fd, struct error *err)
{
	struct opening o = { .rundir = rundir, .fd = ret_fd };
	cleanup_fd int done = eventfd(0, EFD_CLOEXEC);
	struct pollfd p[2] = { { .fd = done, .events = POLLIN },
			       { .fd = signals, .events = POLLIN } };
	int64_t until = *early ? clock_ms() + OPEN_MS : INT64_MAX;
	pthread_t thread;

	o.done = done;
	if (thread_start(&thread, open_rundir, &o, err))
		return -1;
	while (!p[0].revents && clock_ms() < until) {
		int n = 0;

		poll(p, 2, until == INT64_MAX ? -1 : OPEN_MS / 4);
		if (p[1].revents)
			n = stopsig_next(signals);
		if (stopsig_is_stop(n) && !*early) {
			*early = n;
			until = clock_ms() + OPEN_MS;
		}
	}
	if (!p[0].revents)
		stop_request();
	pthread_join(thread, NULL);
	if (o.rc)
		*err = o.err;
	return o.rc;
}
