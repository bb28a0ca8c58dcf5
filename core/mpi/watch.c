/* watch.c - watch nodes while mpirun runs (mpi/watch.h). */
#include "mpi/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "base/stop.h"
#include "base/xmalloc.h"
#include "mpi/remote.h"

extern char **environ;

/* The command prints a line once it runs, in any login shell of an sshd's user. */
#define COMMAND "exec /bin/sh -c 'echo; read line; exit 0'"

enum {
	ANSWER_MS = 60 * 1000, /* more than it takes to detect a vanished peer */
	LOST_MS = 30 * 1000,   /* for the command to end by itself; then SIGTERM */
	TERM_MS = 10 * 1000,   /* then SIGKILL */
};

enum node_state {
	NODE_OFF,
	NODE_STARTS,
	NODE_RUNS,
	NODE_ASKED,
	NODE_ANSWERED,
	NODE_LOST
};

struct node {
	const char *host;
	enum node_state state;
	struct peer peer;
	struct remote remote;
	struct error why;
};

struct watch {
	struct watch_conf conf;
	struct node *nodes;
	struct pollfd *polls; /* the nodes' connections, and signals */
	size_t n;
	int signals;
	pid_t pid;      /* 0: it has ended */
	int status;     /* as of waitpid(2) */
	bool stopped;   /* this process was asked to stop */
	bool asked;     /* by SIGTERM, while the command ran */
	int64_t end_at; /* of clock_ms(), once a node is lost; else INT64_MAX */
	bool ended;     /* mpirun was sent SIGTERM */
	sigset_t mask;  /* before watch_run() */
};

/* Signals to forward, and SIGCHLD. */
static const int heard[] = {
	SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD
};

/* ---- nodes ---------------------------------------------------------------------- */

static bool is_open(const struct node *n)
{
	return n->state >= NODE_STARTS && n->state <= NODE_ASKED;
}

static void close_node(struct node *n)
{
	remote_release(&n->remote);
	peer_close(&n->peer);
}

static void on_output(void *ctx, int stream, const void *data, size_t len)
{
	struct node *n = ctx;

	if (stream == REMOTE_STDOUT && len && n->state == NODE_STARTS)
		n->state = NODE_RUNS;
}

/* Send and receive; -1: the node is lost. */
static int pump(struct node *n)
{
	int status = 0;

	if (n->remote.ops->pump(n->remote.self, on_output, n, &n->why))
		return -1;
	if (!n->remote.ops->ended(n->remote.self))
		return 0;
	if (n->remote.ops->status(n->remote.self, &status, &n->why))
		return -1;
	if (n->state != NODE_ASKED || status)
		return error_set(&n->why, ERR_IO, "its shell ended with status %d",
				 status);
	n->state = NODE_ANSWERED;
	return 0;
}

/* wait_use: start the host's shell, and wait for its line. */
static int start_shell(void *ctx, size_t host, const struct peer_conf *conf,
		       struct peer *take_peer, struct error *err)
{
	struct watch *w = ctx;
	struct node *n = &w->nodes[host];

	n->peer = *take_peer;
	if (remote_start(&n->remote, &n->peer, COMMAND, conf->deadline, err))
		return -1;
	n->state = NODE_STARTS;
	while (n->state == NODE_STARTS) {
		struct pollfd p[] = {
			{ .fd = n->peer.fd, .events = POLLIN },
			{ .fd = stop_fd(), .events = POLLIN },
		};
		int64_t left = conf->deadline - clock_ms();

		if (pump(n)) {
			*err = n->why;
			return -1;
		}
		p[0].events = n->remote.ops->events(n->remote.self);
		if (n->state == NODE_STARTS && left <= 0)
			return error_set(err, ERR_TIMEOUT, "/bin/sh does not start");
		if (n->state == NODE_STARTS && poll(p, 2, (int)left + 1) > 0 &&
		    p[1].revents)
			return error_set(err, ERR_STOPPED, "stopped");
	}
	return 0;
}

static void lose(struct watch *w, struct node *n)
{
	n->state = NODE_LOST;
	close_node(n);
	if (w->end_at == INT64_MAX)
		w->end_at = clock_ms() + LOST_MS;
	w->conf.lost(w->conf.ctx, n->host, &n->why);
}

static size_t count(const struct watch *w, enum node_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->nodes[i].state == state;
	return n;
}

/* ---- the command ---------------------------------------------------------------- */

static void reap(struct watch *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != w->pid)
			continue;
		w->pid = 0;
		w->status = status;
	}
}

/* The terminal already sends its signals to the command. */
static void take_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	reap(w);
	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		int signum = (int)info.ssi_signo;

		if (signum == SIGCHLD)
			continue;
		w->asked |= signum == SIGTERM && w->pid;
		w->stopped = w->stopped || (signum != SIGUSR1 && signum != SIGUSR2);
		if (w->pid && info.ssi_code != SI_KERNEL)
			kill(w->pid, signum);
	}
	reap(w);
}

/* Some mpirun wait forever for a lost node. */
static void end_late(struct watch *w)
{
	if (!w->pid || clock_ms() < w->end_at)
		return;
	kill(w->pid, w->ended ? SIGKILL : SIGTERM);
	w->ended = true;
	w->end_at = clock_ms() + TERM_MS;
}

static int step(struct watch *w, int64_t until, struct error *err)
{
	int64_t left = until == INT64_MAX ? -1 : until - clock_ms();

	for (size_t i = 0; i < w->n; i++) {
		const struct node *n = &w->nodes[i];

		w->polls[i] = (struct pollfd){ .fd = -1 };
		if (is_open(n))
			w->polls[i] = (struct pollfd){
				.fd = n->peer.fd,
				.events = n->remote.ops->events(n->remote.self),
			};
	}
	w->polls[w->n] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
	if (poll(w->polls, w->n + 1, until != INT64_MAX && left < 0 ? 0 : (int)left) < 0)
		return errno == EINTR ? 0 : error_errno(err, errno, "poll");
	for (size_t i = 0; i < w->n; i++)
		if (is_open(&w->nodes[i]) && w->polls[i].revents && pump(&w->nodes[i]))
			lose(w, &w->nodes[i]);
	take_signals(w);
	return 0;
}

static int open_signals(struct watch *w, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_ELEMENTS(heard); i++)
		sigaddset(&set, heard[i]);
	sigprocmask(SIG_BLOCK, &set, &w->mask);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? error_errno(err, errno, "signalfd") : 0;
}

/* Start it without blocked or ignored signals, like a container's first process. */
static int spawn(struct watch *w, char *const *argv, struct error *err)
{
	const struct spawn program = { .path = argv[0],
				       .argv = argv,
				       .envp = environ,
				       .fds = { 0, 1, 2 },
				       .signals = SPAWN_RESET };
	int rc = spawn_program(&w->pid, &program);

	if (!rc)
		return 0;
	w->pid = 0;
	return spawn_failed(err, argv[0], rc);
}

/* ---- its end -------------------------------------------------------------------- */

/* End the shells' input; shells of live nodes answer. */
static int ask_nodes(struct watch *w, struct error *err)
{
	int64_t until = clock_ms() + ANSWER_MS;

	for (size_t i = 0; i < w->n; i++) {
		struct node *n = &w->nodes[i];

		if (!is_open(n))
			continue;
		n->remote.ops->end_input(n->remote.self);
		n->state = NODE_ASKED;
		if (pump(n))
			lose(w, n);
	}
	while (count(w, NODE_ASKED) && clock_ms() < until && !w->stopped)
		if (step(w, until, err))
			return -1;
	for (size_t i = 0; i < w->n && !w->stopped; i++) {
		struct node *n = &w->nodes[i];

		if (n->state != NODE_ASKED)
			continue;
		error_set(&n->why, ERR_TIMEOUT, "no answer within %d s",
			  ANSWER_MS / 1000);
		lose(w, n);
	}
	return 0;
}

int watch_run(struct watch *w, char *const *argv, struct watch_end *ret,
	      struct error *err)
{
	int rc = 0;

	*ret = (struct watch_end){ .watched = w->n - count(w, NODE_OFF) };
	if (open_signals(w, err) || spawn(w, argv, err))
		return -1;
	while (!rc && w->pid) {
		rc = step(w, w->end_at, err);
		end_late(w);
	}
	if (!rc && !w->status && !w->stopped)
		rc = ask_nodes(w, err);
	ret->lost = count(w, NODE_LOST);
	ret->ended = w->ended;
	ret->status = WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status)
					     : WEXITSTATUS(w->status);
	if (w->asked &&
	    !ret->status) /* the command has saved its state: its work is not done */
		ret->status = 128 + SIGTERM;
	return rc;
}

int watch_new(struct watch **ret, struct wait_host *hosts, size_t n,
	      const struct watch_conf *conf, struct error *err)
{
	struct watch *w = xcalloc(1, sizeof(*w));
	struct wait_conf wait = { conf->peer, start_shell, w };

	w->conf = *conf;
	w->signals = -1;
	w->end_at = INT64_MAX;
	w->n = n;
	w->nodes = xcalloc(n, sizeof(*w->nodes));
	w->polls = xcalloc(n + 1, sizeof(*w->polls));
	for (size_t i = 0; i < n; i++) {
		w->nodes[i].host = hosts[i].name;
		w->nodes[i].peer.fd = -1;
	}
	*ret = w;
	return wait_for_hosts(hosts, n, &wait, err);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		close_node(&w->nodes[i]);
	if (w->signals >= 0) {
		close(w->signals);
		sigprocmask(SIG_SETMASK, &w->mask, NULL);
	}
	free(w->nodes);
	free(w->polls);
	free(w);
}
