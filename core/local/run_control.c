/*
 * run_control.c - update the TrainJob of a run, and suspend or resume the run when asked
 * (local/run_impl.h).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "local/run_impl.h"
#include "local/state_impl.h"
#include "local/state_metrics.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum { RETRY_MS = 1000 };

const char *local_named(struct arena *arena, const char *ns, const char *name)
{
	bool elsewhere = !str_eq(ns, "default");

	return arena_printf(arena, "--local %s%s%s", name, elsewhere ? " -n " : "",
			    elsewhere ? ns : "");
}

/* ---- passes of the controller ---------------------------------------------------- */

static void set_suspend(struct run *r, bool suspend)
{
	cleanup_arena struct arena a = { 0 };

	r->suspended = suspend;
	jobs_set_suspend(r->jobs, suspend);
	r->step_again = r->changed = true;
	if (suspend)
		run_note(r, "suspended; resume with 'kftrainer resume %s'",
			 local_named(&a, r->opts->ns, r->opts->name));
	else
		run_note(r, "resumed");
}

static void apply_pass(struct run *r, const struct local_pass *p)
{
	const cJSON *event;

	json_each(event, p->events)
		state_record(&r->state, event);
	cJSON_Delete(p->events);
	if (p->alone && alone_set(&r->alone, p->alone))
		run_report_alone(r);
	free(p->alone);
	cJSON_Delete(r->trainjob);
	r->trainjob = p->trainjob;
	r->pass_ms = p->after_ms ? clock_ms() + p->after_ms : -1;
	if (r->end != RUN_ACTIVE)
		return;
	if (p->deleted) {
		r->end = RUN_DELETED;
		run_stop_all(r, -1);
	} else if (p->suspended != r->suspended) {
		set_suspend(r, p->suspended);
	}
}

/* For a server's run, whose TrainJob the server's manager updates. */
static void follow_jobset(struct run *r)
{
	cJSON *status = json_obj(r->trainjob, "status");
	char now[TIME_TEXT_SIZE];

	time_text(clock_now(), now);
	json_put(r->jobset, json_dup(jobs_status(r->jobs)), "status");
	status_suspend(status, r->trainjob, now);
	status_of_jobset(status, r->jobset);
	status_set_state(status);
}

static int pass(struct run *r, struct error *err)
{
	const struct local_controller *c = r->opts->controller;
	struct local_pass p = { 0 };

	if (!c) {
		follow_jobset(r);
		return 0;
	}
	if (!c->pass(c->ctx, jobs_status(r->jobs), &p, err)) {
		r->failing = false;
		apply_pass(r, &p);
		return 0;
	}
	if (!r->failing)
		run_note(r, "cannot update the TrainJob: %s; trying again", err->msg);
	r->failing = true;
	r->pass_ms = clock_ms() + RETRY_MS;
	return -1;
}

bool run_must_pass(const struct run *r)
{
	const struct local_controller *c = r->opts->controller;
	struct pollfd asks = { .fd = c && c->wake_fd ? c->wake_fd : -1,
			       .events = POLLIN };

	return r->changed || (r->pass_ms >= 0 && r->pass_ms <= clock_ms()) ||
	       poll(&asks, 1, 0) > 0;
}

/* ---- conditions set by the run --------------------------------------------------- */

static void on_event(void *ctx, bool warning, const char *reason, const char *message)
{
	run_record(ctx, warning, reason, message);
}

/* The run was stopped from outside, which the JobSet's status does not contain. */
static void end_status(struct run *r)
{
	cJSON *status = json_obj(r->trainjob, "status");
	cleanup_json cJSON *before = json_dup(status);
	char now[TIME_TEXT_SIZE], message[64] = "--timeout expired";

	if (r->end == RUN_INTERRUPTED)
		snprintf(message, sizeof(message), "stopped by %s",
			 r->signal == SIGINT   ? "Ctrl-C (SIGINT)"
			 : r->signal == SIGHUP ? "SIGHUP (terminal closed)"
					       : "SIGTERM");
	if (r->end != RUN_DELETED)
		status_fail(status, REASON_INTERRUPTED, message,
			    time_text(clock_now(), now));
	status_idle(status);
	status_set_state(status);
	status_events(before, status, NULL, &(struct status_sink){ on_event, r });
}

int run_control(struct run *r, bool last, struct error *err)
{
	const cJSON *status, *report;
	int failed = pass(r, err);

	if (last && r->end != RUN_ACTIVE)
		end_status(r);
	status = tj_status(r->trainjob);
	if (failed || (!last && json_equal(status, r->saved_status)))
		return failed;
	report = r->saved_status ? progress_of(status) : NULL; /* of this run */
	if (report && !json_equal(report, progress_of(r->saved_status)))
		state_metrics_add_now(&r->state, report);
	if (state_save(&r->state, r->trainjob, last, err)) {
		int64_t then = clock_ms() + RETRY_MS; /* the disk may have space again */

		r->pass_ms = r->pass_ms < 0 || r->pass_ms > then ? then : r->pass_ms;
		return -1;
	}
	cJSON_Delete(r->saved_status);
	r->saved_status = json_dup(status);
	return 0;
}

/* ---- suspend and resume -------------------------------------------------------------- */

/* Batch systems send them before a time limit ends, and programs save their state then. */
static const int passed_on[] = { SIGUSR1, SIGUSR2 };

static atomic_int signal_fd = -1;
static atomic_bool signaled, asked, came[N_ELEMENTS(passed_on)];

static void on_signal(int signum)
{
	static const uint64_t one = 1;
	int saved = errno;

	if (signum == STATE_SIGNAL)
		asked = true;
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++)
		if (signum == passed_on[i])
			came[i] = true;
	signaled = true;
	(void)!write(signal_fd, &one, sizeof(one)); /* EAGAIN: it is already readable */
	errno = saved;
}

static int epoll_add(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return fd < 0 ? 0 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

int run_listen(struct run *r, struct error *err)
{
	const struct local_controller *controller = r->opts->controller;
	struct sigaction act = { .sa_handler = on_signal }, before;
	sigset_t signals;

	if (signal_fd < 0)
		signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signal_fd < 0 || r->wake_fd < 0 || epoll_add(r->wake_fd, signal_fd) ||
	    epoll_add(r->wake_fd, stop_fd()) ||
	    (controller && controller->wake_fd &&
	     epoll_add(r->wake_fd, controller->wake_fd)))
		return error_errno(err, errno, "cannot wait for signals");
	sigaction(STATE_SIGNAL, &act, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, STATE_SIGNAL);
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++) {
		if (!sigaction(passed_on[i], NULL, &before) &&
		    before.sa_handler != SIG_IGN)
			sigaction(passed_on[i], &act, NULL);
		sigaddset(&signals, passed_on[i]);
	}
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	return 0;
}

static void check_suspend(struct run *r)
{
	const struct local_controller *c = r->opts->controller;
	bool suspend = state_suspended(r->state.dir);
	struct error err = { 0 };

	if (!c || r->end != RUN_ACTIVE || suspend == r->suspended ||
	    jobs_phase(r->jobs) > JOBS_SUSPENDED)
		return;
	if (c->suspend(c->ctx, suspend, &err))
		run_note(r, "cannot %s: %s", suspend ? "suspend" : "resume", err.msg);
	else if (run_control(r, false, &err))
		r->changed = true;
}

void run_take_signals(struct run *r)
{
	uint64_t n;

	if (!atomic_exchange(&signaled, false))
		return;
	(void)!read(signal_fd, &n, sizeof(n));
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++)
		if (atomic_exchange(&came[i], false)) {
			run_note(r, "%s: passed on to all processes",
				 passed_on[i] == SIGUSR1 ? "SIGUSR1" : "SIGUSR2");
			kubelet_signal(r->kubelet, passed_on[i]);
		}
	if (atomic_exchange(&asked, false))
		check_suspend(r);
}
