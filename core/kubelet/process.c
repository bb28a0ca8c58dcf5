/* process.c - the event loop, and one process in it (kubelet/process.h). */
#include "kubelet/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { EVENTS = 1024, CHUNK = 65536, CHUNKS_A_TURN = 4, NOT_STARTED = 128 };

static void read_reports(void *ctx);

int loop_init(struct loop *l, struct error *err)
{
	int fds[2];

	*l = (struct loop){ .epoll = -1, .report_out = -1 };
	l->reports = (struct watch){ .fd = -1, .ready = read_reports, .ctx = l };
	l->extra = (struct watch){ .fd = -1 };
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return error_errno(err, errno, "epoll");
	if (pipe2(fds, O_CLOEXEC) < 0) {
		error_errno(err, errno, "pipe");
		loop_release(l);
		return -1;
	}
	l->report_out = fds[1];
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	if (loop_watch(l, &l->reports, fds[0], false, err) < 0) {
		loop_release(l);
		return -1;
	}
	return 0;
}

void loop_release(struct loop *l)
{
	loop_unwatch(l, &l->reports);
	if (l->report_out >= 0)
		close(l->report_out);
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = l->report_out = -1;
}

int loop_watch(struct loop *l, struct watch *w, int fd, bool for_writing,
	       struct error *err)
{
	struct epoll_event e = { .events = for_writing ? EPOLLOUT : EPOLLIN,
				 .data.ptr = w };

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		error_errno(err, errno, "epoll");
		close(fd);
		return -1;
	}
	w->fd = fd;
	return 0;
}

void loop_unwatch(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

static int watch_extra(struct loop *l, int fd, struct error *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &l->extra };

	if (fd == l->extra.fd)
		return 0;
	if (l->extra.fd >= 0)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->extra.fd, NULL);
	l->extra.fd = -1;
	if (fd >= 0 && epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		return error_errno(err, errno, "epoll: the caller's descriptor");
	l->extra.fd = fd;
	return 0;
}

int loop_poll(struct loop *l, int64_t ms, int extra_fd, struct error *err)
{
	struct epoll_event events[EVENTS];
	int n;

	if (watch_extra(l, extra_fd, err) < 0)
		return -1;
	n = epoll_wait(l->epoll, events, EVENTS, ms > INT_MAX ? INT_MAX : (int)ms);
	if (n < 0 && errno != EINTR)
		return error_errno(err, errno, "epoll_wait");
	for (int i = 0; i < n; i++) {
		struct watch *w = events[i].data.ptr;

		if (w->fd >= 0 && w->ready)
			w->ready(w->ctx);
	}
	return 0;
}

/* ---- a process ----------------------------------------------------------------- */

static void change(struct process *p, enum process_state to)
{
	p->state = to;
	if (p->on_change)
		p->on_change(p->ctx);
}

static void set_exit(struct process *p, int status)
{
	p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	p->code = p->signal ? 128 + p->signal : WEXITSTATUS(status);
}

static void apply_report(struct process *p, const struct sandbox_report *r)
{
	switch ((enum report_type)r->type) {
	case REPORT_FAILED:
		p->reported = p->failed = true;
		p->code = r->code;
		p->err = r->err;
		memcpy(p->what, r->what, sizeof(p->what));
		p->what[sizeof(p->what) - 1] = 0;
		break;
	case REPORT_STARTED:
		if (p->state == PROCESS_STARTING)
			change(p, PROCESS_RUNNING);
		break;
	case REPORT_EXITED:
		p->reported = true;
		set_exit(p, r->code);
		break;
	}
}

static void read_reports(void *ctx)
{
	struct loop *l = ctx;
	struct sandbox_report r;

	while (read(l->reports.fd, &r, sizeof(r)) == sizeof(r)) {
		for (struct process *p = l->running; p; p = p->next) {
			if (p->plan.id == r.id) {
				apply_report(p, &r);
				break;
			}
		}
	}
}

/* The number of bytes read; 0 at the end, -1 if none are available. */
static ssize_t read_chunk(struct process *p)
{
	char data[CHUNK];
	ssize_t n = read(p->output.fd, data, sizeof(data));

	if (n > 0 && p->on_output)
		p->on_output(p->ctx, data, (size_t)n);
	return n;
}

static void output_ready(void *ctx)
{
	struct process *p = ctx;
	ssize_t n = CHUNK;

	/* Limited, so that one process does not starve the others. */
	for (int i = 0; i < CHUNKS_A_TURN && n == CHUNK; i++)
		n = read_chunk(p);
	if (n == 0 || (n < 0 && errno == EIO)) /* EIO: of a terminal */
		loop_unwatch(p->loop, &p->output);
}

/* No writer is left: read what remains in the pipe. */
static void drain(struct process *p)
{
	if (p->output.fd >= 0)
		while (read_chunk(p) > 0)
			;
	loop_unwatch(p->loop, &p->output);
}

static void ended(void *ctx)
{
	struct process *p = ctx;
	int status = 0;

	read_reports(p->loop);
	while (waitpid(p->init_pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(
		    status)) { /* killed before it could report, and with it the container */
		set_exit(p, status);
	} else if (!p->reported) {
		p->failed = true;
		p->code = NOT_STARTED;
		p->err = ECHILD;
		snprintf(p->what, sizeof(p->what),
			 "its supervisor process exited without a report");
	}
	loop_unwatch(p->loop, &p->end);
	drain(p);
	if (p->plan.terminal)
		tty_detach(&p->tty);
	if (p->next)
		p->next->prev = p->prev;
	*(p->prev ? &p->prev->next : &p->loop->running) = p->next;
	p->prev = p->next = NULL;
	change(p, PROCESS_ENDED);
}

static void link_process(struct loop *l, struct process *p)
{
	p->loop = l;
	p->prev = NULL;
	p->next = l->running;
	if (p->next)
		p->next->prev = p;
	l->running = p;
}

/* A pipe, or a terminal, for the output: *ret is the container's side. */
static int open_output(struct process *p, int *ret, struct error *err)
{
	int fds[2];

	if (p->plan.terminal) {
		if (tty_open(&p->tty, &fds[0], &fds[1], err))
			return -1;
	} else if (pipe2(fds, O_CLOEXEC) < 0) {
		return error_errno(err, errno, "pipe");
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ret = fds[1];
	return loop_watch(p->loop, &p->output, fds[0], false, err);
}

int process_start(struct loop *l, struct process *p, const struct sandbox_plan *plan,
		  struct error *err)
{
	cleanup_fd int out = -1;
	int pidfd, rc;

	p->end = (struct watch){ .fd = -1, .ready = ended, .ctx = p };
	p->output = (struct watch){ .fd = -1, .ready = output_ready, .ctx = p };
	p->reported = p->failed = p->killed = false;
	p->code = p->signal = p->err = 0;
	p->plan = *plan;
	p->plan.id = ++l->last_id;
	p->plan.report = l->report_out;
	p->loop = l;
	if (open_output(p, &out, err) < 0)
		return -1;
	p->plan.output = out;
	rc = sandbox_spawn(&p->plan, &p->init_pid, &pidfd, err);
	if (rc == 0 && p->plan.terminal && tty_attach(&p->tty, p->output.fd, err) < 0) {
		close(pidfd);
		kill(p->init_pid, SIGKILL);
		waitpid(p->init_pid, NULL, 0);
		rc = -1;
	}
	if (rc == 0 && loop_watch(l, &p->end, pidfd, false, err) < 0) {
		kill(p->init_pid, SIGKILL);
		waitpid(p->init_pid, NULL, 0);
		rc = -1;
	}
	if (rc < 0) {
		loop_unwatch(l, &p->output);
		return -1;
	}
	link_process(l, p);
	p->state = PROCESS_STARTING;
	return 0;
}

void process_signal(struct process *p, int sig)
{
	if (!process_alive(p))
		return;
	if (sig == SIGKILL)
		p->killed = true;
	sandbox_signal(&p->plan, p->init_pid, sig);
}
