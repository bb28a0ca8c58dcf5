/* run_suspend.c - suspend or resume a run when asked (local/run_impl.h). */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/stop.h"
#include "local/run_impl.h"
#include "local/state_impl.h"

static atomic_int event = -1;
static atomic_bool asked;

static void on_signal(int signum)
{
	static const uint64_t one = 1;
	int saved = errno;

	asked = true;
	(void)!write(event, &one, sizeof(one)); /* EAGAIN: it is already readable */
	errno = saved;
}

static int add(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return fd < 0 ? 0 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

int run_listen(struct run *r, struct error *err)
{
	const struct local_controller *controller = r->opts->controller;
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t signals;

	if (event < 0)
		event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (event < 0 || r->wake_fd < 0 || add(r->wake_fd, event) ||
	    add(r->wake_fd, stop_fd()) ||
	    (controller && controller->wake_fd && add(r->wake_fd, controller->wake_fd)))
		return error_errno(err, errno, "cannot wait for signals");
	sigaction(STATE_SIGNAL, &act, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, STATE_SIGNAL);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	return 0;
}

void run_check_suspend(struct run *r)
{
	const struct local_controller *c = r->opts->controller;
	struct error err = { 0 };
	uint64_t n;
	bool suspend;

	if (!atomic_exchange(&asked, false))
		return;
	(void)!read(event, &n, sizeof(n));
	suspend = state_suspended(r->state.dir);
	if (!c || r->end != RUN_ACTIVE || suspend == r->suspended ||
	    jobs_phase(r->jobs) > JOBS_SUSPENDED)
		return;
	if (c->suspend(c->ctx, suspend, &err))
		run_note(r, "cannot %s: %s", suspend ? "suspend" : "resume", err.msg);
	else if (run_control(r, false, &err))
		r->changed = true;
}
