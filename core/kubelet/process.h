/*
 * process.h - running sandboxes, and the loop that watches them.
 *
 * A struct process is one sandbox (sandbox.h) from start to end: it calls back with the
 * container's output, when the command runs, when it could not be started, and when all
 * processes have ended. The owner may free it only outside loop_poll().
 */
#ifndef KUBELET_PROCESS_H
#define KUBELET_PROCESS_H

#include "kubelet/sandbox.h"
#include "kubelet/tty.h"

/* A descriptor that the loop watches; fd is -1 when unwatched. */
struct watch {
	int fd;
	void (*ready)(void *ctx);
	void *ctx;
};

struct loop {
	int epoll;
	int report_out; /* the write end of the reports' pipe */
	struct watch reports, extra;
	struct process *running;
	uint64_t last_id;
};

enum process_state { PROCESS_NONE, PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDED };

struct process {
	struct loop *loop;
	struct process *prev, *next;
	struct sandbox_plan plan; /* its pointers need not outlive process_start() */
	pid_t init_pid;
	struct watch end, output;
	struct tty tty; /* with plan.terminal */
	enum process_state state;
	bool reported; /* the init process has reported the end */
	bool failed;   /* the command could not be started: code, err and what */
	bool killed;   /* we sent SIGKILL */
	int code;      /* exit code: 128 + N for a signal, 126, 127, 128 for failures */
	int signal, err;
	char what[244];

	void (*on_output)(void *ctx, const char *data, size_t len); /* NULL: dropped */
	void (*on_change)(void *ctx); /* to PROCESS_RUNNING, to PROCESS_ENDED */
	void *ctx;
};

MUST_CHECK int loop_init(struct loop *l, struct error *err);
void loop_release(struct loop *l); /* call it when no process runs */

/* Watch fd, which the loop owns from now on; on failure it is closed. */
MUST_CHECK int loop_watch(struct loop *l, struct watch *w, int fd, bool for_writing,
			  struct error *err);
void loop_unwatch(struct loop *l, struct watch *w); /* also closes w->fd */

/* Wait (ms < 0: no limit) and call back. `extra_fd`, or -1, also ends the wait. */
MUST_CHECK int loop_poll(struct loop *l, int64_t ms, int extra_fd, struct error *err);

/* Start the sandbox. Sets plan.id, .output and .report itself. */
MUST_CHECK int process_start(struct loop *l, struct process *p,
			     const struct sandbox_plan *plan, struct error *err);
void process_signal(struct process *p, int sig); /* ignored unless it runs */

static inline bool process_alive(const struct process *p)
{
	return p->state == PROCESS_STARTING || p->state == PROCESS_RUNNING;
}

#endif
