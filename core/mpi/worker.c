/* worker.c - serve all connections of mpi-worker in one thread (mpi/worker.h). */
#include "mpi/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "mpi/child.h"
#include "mpi/session.h"
#include "mpi/settings.h"
#include "net/dial.h"
#include "net/preauth.h"

enum {
	EVENTS = 64,
	ACCEPT_BACKOFF_MS = 100,
	END_MS = 5 * 1000, /* between SIGTERM and SIGKILL at the end */
	LINES_MS = 10 * 1000,
	LINES_MAX = 10,
	SIGNALED_MAX = 1024 * 1024, /* bytes of their process IDs */
};

struct worker {
	struct psk *psk;
	int epoll, listener, signals;
	struct session *sessions; /* newest first */
	struct preauth preauth;
	int64_t accept_at; /* INT64_MAX: accepting */
	struct {
		int64_t since_ms;
		int64_t lines, left_out;
	} refusals;
};

/* epoll's data: a session's source, or the address of one of these. */
static struct session_source listener_source, signals_source, stop_source;

/* ---- log of refusals ------------------------------------------------------------ */

static void log_refusal(struct worker *w, const struct session *s)
{
	int64_t now = clock_ms();

	if (now - w->refusals.since_ms >= LINES_MS) {
		if (w->refusals.left_out)
			log_warn("refused more connections",
				 LOG_INT("count", w->refusals.left_out));
		w->refusals.since_ms = now;
		w->refusals.lines = w->refusals.left_out = 0;
	}
	if (w->refusals.lines++ >= LINES_MAX) {
		w->refusals.left_out++;
		return;
	}
	log_warn("refused a connection", LOG_STR("peer", s->peer),
		 LOG_STR("error", s->refusal));
}

/* ---- sessions ------------------------------------------------------------------- */

static void unlink_session(struct worker *w, struct session *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		w->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

/* Make the epoll set what the session wants. */
static void watch(struct worker *w, struct session *s)
{
	for (int i = 0; i < SESSION_FDS; i++) {
		struct session_source *f = &s->sources[i];
		struct epoll_event e = { .events = f->wanted, .data.ptr = f };
		int op = !f->watched ? EPOLL_CTL_ADD
			 : f->wanted ? EPOLL_CTL_MOD
				     : EPOLL_CTL_DEL;

		if (f->fd < 0 || f->wanted == f->watched)
			continue;
		if (!epoll_ctl(w->epoll, op, f->fd, &e))
			f->watched = f->wanted;
	}
}

static bool is_preauth(const struct session *s)
{
	return s->state == SESSION_STRANGER || s->state == SESSION_COMMAND;
}

/*
 * Call it after each change of a session. Ended sessions are freed once all events are
 * handled.
 */
static void settle(struct worker *w, struct session *s, bool was_preauth)
{
	if (was_preauth && !is_preauth(s))
		preauth_remove(&w->preauth, s->peer);
	if (s->refusal[0]) {
		log_refusal(w, s);
		s->refusal[0] = '\0';
	}
	watch(w, s);
}

static void free_ended(struct worker *w)
{
	for (struct session *s = w->sessions, *next; s; s = next) {
		next = s->next;
		if (!session_is_over(s))
			continue;
		unlink_session(w, s);
		session_free(s);
	}
}

/* End the oldest stranger of the address with the most: a flood evicts no other. */
static void give_up_oldest(struct worker *w)
{
	struct session *oldest = NULL;
	int most = 0;

	for (struct session *s = w->sessions; s; s = s->next) {
		int n = is_preauth(s) ? preauth_count(&w->preauth, s->peer) : 0;

		if (n && n >= most) {
			most = n;
			oldest = s;
		}
	}
	if (!oldest)
		return;
	snprintf(oldest->refusal, sizeof(oldest->refusal),
		 "more than %d connections that are not authenticated",
		 WORKER_MAX_PREAUTH);
	session_end(oldest);
	settle(w, oldest, true);
}

static void add_session(struct worker *w, int fd, const char *peer)
{
	struct session *s;

	if (w->preauth.n >= WORKER_MAX_PREAUTH)
		give_up_oldest(w);
	dial_watch(fd, WORKER_PEER_TIMEOUT_S);
	s = session_new(w->psk, fd, peer);
	s->next = w->sessions;
	if (s->next)
		s->next->prev = s;
	w->sessions = s;
	preauth_add(&w->preauth, s->peer);
	if (send(fd, MPI_GREETING, strlen(MPI_GREETING), MSG_NOSIGNAL) < 0)
		session_end(s);
	settle(w, s, true);
}

static void listen_events(struct worker *w, bool wanted)
{
	struct epoll_event e = { .events = wanted ? EPOLLIN : 0,
				 .data.ptr = &listener_source };

	epoll_ctl(w->epoll, EPOLL_CTL_MOD, w->listener, &e);
	w->accept_at = wanted ? INT64_MAX : clock_ms() + ACCEPT_BACKOFF_MS;
}

static void accept_some(struct worker *w)
{
	char peer[SOCK_ADDRESS_SIZE];

	for (int i = 0; i < PREAUTH_ACCEPT_BATCH; i++) {
		int fd = sock_accept(w->listener, peer);

		if (fd >= 0)
			add_session(w, fd, peer);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		else if (errno != EINTR && errno != ECONNABORTED) {
			listen_events(w, false); /* out of descriptors: retry later */
			return;
		}
	}
}

/* ---- processes ------------------------------------------------------------------ */

static struct session *session_of(struct worker *w, pid_t pid)
{
	for (struct session *s = w->sessions; s; s = s->next)
		if (s->pid == pid && !s->reaped)
			return s;
	return NULL;
}

/* Reap our children, and orphans that this process inherited as PID 1 or subreaper. */
static void reap(struct worker *w)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(w->signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct session *s = session_of(w, pid);

		if (!s)
			continue;
		session_reaped(s, status);
		settle(w, s, false);
	}
}

struct ending {
	const struct session *sessions;
	struct buf signaled; /* process IDs */
};

/*
 * A second SIGTERM may end a command that is about to save. Each session's group has got
 * one, also those whose parent has ended since, so that they are our children now.
 */
static bool was_signaled(void *ctx, pid_t pid)
{
	struct ending *e = ctx;
	pid_t group = getpgid(pid);

	for (const struct session *s = e->sessions; s; s = s->next)
		if (s->pid && s->pid == group)
			return true;
	for (size_t i = 0; i < e->signaled.len; i += sizeof(pid))
		if (!memcmp(e->signaled.data + i, &pid, sizeof(pid)))
			return true;
	buf_add(&e->signaled, &pid, sizeof(pid));
	return false;
}

static void end_everything(struct worker *w)
{
	struct ending e = { w->sessions, { .max = SIGNALED_MAX } };
	int64_t kill_at = clock_ms() + END_MS;

	for (struct session *s = w->sessions; s; s = s->next)
		session_end(s);
	for (;;) {
		bool late = clock_ms() >= kill_at;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		/* Orphans become our children: check all of them each time. */
		if (!(late ? children_signal(SIGKILL, NULL, NULL)
			   : children_signal(SIGTERM, was_signaled, &e)))
			break;
		clock_sleep_ms(20);
	}
	buf_release(&e.signaled);
}

/* ---- the loop ------------------------------------------------------------------- */

static int64_t next_until(const struct worker *w)
{
	int64_t until = w->accept_at;

	for (const struct session *s = w->sessions; s; s = s->next)
		if (s->until < until)
			until = s->until;
	return until;
}

static void tick(struct worker *w)
{
	int64_t now = clock_ms();

	if (now >= w->accept_at)
		listen_events(w, true);
	for (struct session *s = w->sessions; s; s = s->next) {
		bool stranger = is_preauth(s);

		if (now < s->until)
			continue;
		session_tick(s);
		settle(w, s, stranger);
	}
}

static void handle(struct worker *w, const struct epoll_event *e)
{
	struct session_source *f = e->data.ptr;

	if (f == &listener_source) {
		accept_some(w);
	} else if (f == &signals_source) {
		reap(w);
	} else if (f != &stop_source) {
		bool stranger = is_preauth(f->session);

		session_event(f->session, f->which, e->events);
		settle(w, f->session, stranger);
	}
}

static void loop(struct worker *w)
{
	struct epoll_event events[EVENTS];

	while (!stop_requested()) {
		int64_t left = next_until(w), now = clock_ms();
		int n, ms = -1;

		if (left != INT64_MAX)
			ms = left <= now ? 0 : (int)(left - now) + 1;
		n = epoll_wait(w->epoll, events, EVENTS, ms);
		for (int i = 0; i < n; i++)
			handle(w, &events[i]);
		tick(w);
		free_ended(w);
	}
}

static int add_fd(struct worker *w, int fd, struct session_source *source,
		  struct error *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = source };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e)
		       ? error_errno(err, errno, "epoll")
		       : 0;
}

/* SIGUSR1 and SIGUSR2 are for ranks, to which mpirun passes them: they do not end a node. */
static int open_signals(struct worker *w, struct error *err)
{
	sigset_t heard;

	sigemptyset(&heard);
	sigaddset(&heard, SIGCHLD);
	sigaddset(&heard, SIGUSR1);
	sigaddset(&heard, SIGUSR2);
	sigprocmask(SIG_BLOCK, &heard, NULL);
	w->signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? error_errno(err, errno, "signalfd") : 0;
}

static int setup(struct worker *w, const struct worker_conf *conf, struct error *err)
{
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0)
		return error_errno(err, errno, "epoll");
	if (preauth_init(&w->preauth, err) ||
	    psk_new(&w->psk, PSK_SERVER, conf->key, MPI_KEY_INFO, err) ||
	    sock_listen(&w->listener, conf->host, conf->port, err) ||
	    open_signals(w, err))
		return -1;
	if (add_fd(w, w->listener, &listener_source, err) ||
	    add_fd(w, w->signals, &signals_source, err) ||
	    add_fd(w, stop_fd(), &stop_source, err))
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	return 0;
}

static void release(struct worker *w)
{
	const int fds[] = { w->epoll, w->listener, w->signals };

	for (struct session *s = w->sessions, *next; s; s = next) {
		next = s->next;
		session_free(s);
	}
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	psk_free(w->psk);
}

int worker_run(const struct worker_conf *conf, struct error *err)
{
	struct worker w = {
		.epoll = -1, .listener = -1, .signals = -1, .accept_at = INT64_MAX
	};
	int rc = setup(&w, conf, err);

	if (!rc) {
		if (conf->listening)
			conf->listening(conf->ctx, sock_port(w.listener));
		loop(&w);
		end_everything(&w);
	}
	release(&w);
	return rc;
}
