/* session.c - the state machine of one connection to mpi-worker (mpi/session.h). */
#include "mpi/session.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xmalloc.h"
#include "mpi/child.h"
#include "mpi/worker.h"

enum {
	AUTH_MS = 30 * 1000,
	TERM_MS = 5 * 1000,  /* between SIGTERM and SIGKILL */
	DRAIN_MS = 2 * 1000, /* of silence, if a leftover process holds the output */
	POLL_MS = 100,       /* between checks of a group that is ending */
	LINGER_MS = 10 * 1000,
	PIECE = 16 * 1024, /* a TLS record */
	OUT_MAX = 4 * FRAME_MAX,
	OUT_FULL = FRAME_MAX, /* stop reading the command's output above this */
	CREDIT_STEP = FRAME_WINDOW / 4,
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_SHELL = 127,
};

struct session *session_new(struct psk *psk, int fd, const char *peer)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->psk = psk;
	s->until = clock_ms() + AUTH_MS;
	s->in.max = FRAME_HEADER + FRAME_MAX + PIECE;
	s->out.max = OUT_MAX;
	s->command.text.max = FRAME_COMMAND_MAX;
	s->to_stdin.max = FRAME_WINDOW;
	s->credit[0] = s->credit[1] = FRAME_WINDOW;
	for (int i = 0; i < SESSION_FDS; i++)
		s->sources[i] = (struct session_source){ .session = s,
							 .which = (enum session_fd)i,
							 .fd = -1 };
	s->sources[SESSION_SOCKET].fd = fd;
	s->sources[SESSION_SOCKET].wanted = EPOLLIN;
	snprintf(s->peer, sizeof(s->peer), "%s", peer);
	return s;
}

static void close_source(struct session_source *source)
{
	if (source->fd >= 0)
		close(source->fd); /* closing also removes it from the epoll set */
	source->fd = -1;
	source->wanted = source->watched = 0;
}

void session_free(struct session *s)
{
	psk_conn_free(s->tls);
	for (int i = 0; i < SESSION_FDS; i++)
		close_source(&s->sources[i]);
	buf_release(&s->in);
	buf_release(&s->out);
	buf_release(&s->to_stdin);
	buf_release(&s->command.text);
	free(s);
}

bool session_is_over(const struct session *s)
{
	return s->state == SESSION_GONE && !s->pid;
}

/* ---- its end -------------------------------------------------------------------- */

/* The number of an empty group may be reused: check before each signal. */
static void end_group(struct session *s, int signum)
{
	if (s->reaped && !child_group_exists(s->pid))
		s->pid = 0;
	else if (signum)
		kill(-s->pid, signum);
	s->until = s->reaped || s->until < clock_ms() ? clock_ms() + POLL_MS : s->kill_at;
}

void session_end(struct session *s)
{
	if (s->state == SESSION_GONE)
		return;
	s->state = SESSION_GONE;
	psk_conn_free(s->tls);
	s->tls = NULL;
	for (int i = 0; i < SESSION_FDS; i++)
		close_source(&s->sources[i]);
	if (!s->pid)
		return;
	s->until = s->kill_at = clock_ms() + TERM_MS;
	end_group(s, SIGTERM);
}

static void refuse(struct session *s, const struct error *err)
{
	if (s->state == SESSION_GONE)
		return;
	if (s->state <= SESSION_COMMAND || err->kind == ERR_FORMAT)
		snprintf(s->refusal, sizeof(s->refusal), "%.199s", err->msg);
	session_end(s);
}

/* ---- events to wait for --------------------------------------------------------- */

static bool stream_is_wanted(const struct session *s, int stream)
{
	return s->state == SESSION_RUNNING && s->out.len < OUT_FULL &&
	       s->credit[stream] > 0;
}

static void want(struct session *s)
{
	struct session_source *f = s->sources;

	if (s->state == SESSION_GONE)
		return;
	f[SESSION_SOCKET].wanted =
		EPOLLIN | (s->out.len || s->tls_wants_write ? EPOLLOUT : 0u);
	f[SESSION_STDIN].wanted = s->to_stdin.len ? EPOLLOUT : 0u;
	for (int i = 0; i < 2; i++)
		f[SESSION_STDOUT + i].wanted = stream_is_wanted(s, i) ? EPOLLIN : 0u;
}

/* ---- to the launcher ------------------------------------------------------------ */

static void read_last(struct session *s)
{
	unsigned char data[PIECE];
	ssize_t n;

	do {
		n = recv(s->sources[SESSION_SOCKET].fd, data, sizeof(data), 0);
	} while (n > 0);
	if (!n || (errno != EAGAIN && errno != EINTR))
		session_end(s);
}

static void flush(struct session *s)
{
	struct error err = { 0 };

	while (s->state != SESSION_GONE && s->out.len) {
		size_t n = 0;
		enum psk_state state;

		if (!s->sending)
			s->sending = s->out.len;
		state = psk_write(s->tls, s->out.data, s->sending, &n, &err);
		if (state == PSK_WANT_WRITE || state == PSK_WANT_READ)
			return;
		if (state != PSK_OK) {
			session_end(s);
			return;
		}
		s->sending = 0;
		buf_drop(&s->out, n);
	}
	if (s->state != SESSION_LEAVING || s->out.len)
		return;
	/*
	 * Closing a socket with unread bytes resets the connection, and the peer loses
	 * what it has not read yet.
	 */
	s->state = SESSION_LINGERING;
	s->until = clock_ms() + LINGER_MS;
	shutdown(s->sources[SESSION_SOCKET].fd, SHUT_WR);
}

static bool outputs_ended(const struct session *s)
{
	return s->sources[SESSION_STDOUT].fd < 0 && s->sources[SESSION_STDERR].fd < 0;
}

/* The command and its output have ended: send EXIT. */
static void finish(struct session *s)
{
	bool killed = WIFSIGNALED(s->status);

	if (s->state != SESSION_RUNNING || !s->reaped || !outputs_ended(s))
		return;
	frame_add_exit(&s->out, killed ? FRAME_KILLED : FRAME_EXITED,
		       (uint32_t)(killed ? WTERMSIG(s->status) : WEXITSTATUS(s->status)));
	s->state = SESSION_LEAVING;
	s->until = INT64_MAX;
	flush(s);
}

static void end_output(struct session *s, struct session_source *source)
{
	close_source(source);
	frame_add_end(&s->out,
		      source->which == SESSION_STDOUT ? FRAME_STDOUT : FRAME_STDERR);
}

static void read_output(struct session *s, struct session_source *source)
{
	int stream = source->which - SESSION_STDOUT;
	size_t room = FRAME_MAX;
	static unsigned char data[FRAME_MAX]; /* one thread serves all sessions */
	ssize_t n;

	if (!stream_is_wanted(s, stream))
		return;
	if ((int64_t)room > s->credit[stream])
		room = (size_t)s->credit[stream];
	n = read(source->fd, data, room);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (s->reaped)
		s->until = clock_ms() + DRAIN_MS;
	if (n <= 0) {
		end_output(s, source);
	} else {
		frame_add(&s->out, stream ? FRAME_STDERR : FRAME_STDOUT, data, (size_t)n);
		s->credit[stream] -= n;
	}
	flush(s);
	finish(s);
}

/* ---- to the command ------------------------------------------------------------- */

static void give_credit(struct session *s, size_t n)
{
	s->owed += (uint32_t)n;
	if (s->owed < CREDIT_STEP)
		return;
	frame_add_credit(&s->out, FRAME_STDIN, s->owed);
	s->owed = 0;
	flush(s);
}

static void write_input(struct session *s)
{
	struct session_source *source = &s->sources[SESSION_STDIN];
	ssize_t n = 0;

	if (source->fd >= 0 && s->to_stdin.len)
		n = write(source->fd, s->to_stdin.data, s->to_stdin.len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/*
		 * The command closed its stdin: drop input, without stopping the sender.
		 */
		close_source(source);
		n = (ssize_t)s->to_stdin.len;
	}
	if (source->fd < 0)
		n = (ssize_t)s->to_stdin.len;
	if (n > 0) {
		buf_drop(&s->to_stdin, (size_t)n);
		give_credit(s, (size_t)n);
	}
	if (s->stdin_ended && !s->to_stdin.len)
		close_source(source);
}

/* Report a shell that cannot be started as a shell would. */
static void cannot_start(struct session *s, const struct error *err)
{
	cleanup_buf struct buf line = { .max = 2048 };

	buf_printf(&line, "mpi-worker: %s\n", err->msg);
	frame_add(&s->out, FRAME_STDERR, line.data, line.len);
	frame_add_exit(&s->out, FRAME_EXITED,
		       err->code == ENOENT ? EXIT_NO_SHELL : EXIT_CANNOT_RUN);
	s->state = SESSION_LEAVING;
	flush(s);
}

static void start(struct session *s)
{
	const char *command = s->command.text.data ? (char *)s->command.text.data : "";
	struct error err = { 0 };
	struct child child;

	s->until = INT64_MAX;
	if (child_start(&child, command, &err)) {
		cannot_start(s, &err);
		return;
	}
	s->state = SESSION_RUNNING;
	s->pid = child.pid;
	s->sources[SESSION_STDIN].fd = child.in;
	s->sources[SESSION_STDOUT].fd = child.out;
	s->sources[SESSION_STDERR].fd = child.err;
	buf_release(&s->command.text);
}

void session_reaped(struct session *s, int status)
{
	s->reaped = true;
	s->status = status;
	if (s->state == SESSION_GONE) {
		end_group(s, 0);
		return;
	}
	s->until = clock_ms() + DRAIN_MS;
	finish(s);
	want(s);
}

/* ---- from the launcher ---------------------------------------------------------- */

static int take_stdin(struct session *s, const struct frame *f, struct error *err)
{
	if (s->stdin_ended)
		return error_set(err, ERR_FORMAT, "received input after its end");
	buf_add(&s->to_stdin, f->data, f->len);
	if (s->to_stdin.overflowed)
		return error_set(err, ERR_FORMAT, "received more input than was granted");
	write_input(s);
	return 0;
}

static int take_credit(struct session *s, const struct frame *f, struct error *err)
{
	enum frame_type stream = frame_stream(f);
	int64_t *credit = &s->credit[stream == FRAME_STDERR];

	if (stream == FRAME_STDIN)
		return error_set(err, ERR_FORMAT, "received credit for the wrong stream");
	*credit += frame_number(f);
	if (*credit > FRAME_WINDOW)
		return error_set(err, ERR_FORMAT, "received too much credit");
	return 0;
}

static int take_signal(struct session *s, const struct frame *f, struct error *err)
{
	uint32_t signum = frame_number(f);

	if (!signum || signum > 64)
		return error_set(err, ERR_FORMAT, "invalid signal %u", signum);
	if (s->pid && !s->reaped)
		kill(-s->pid, (int)signum);
	return 0;
}

static int take_command(struct session *s, const struct frame *f, struct error *err)
{
	bool done = false;

	if (f->type != FRAME_COMMAND)
		return error_set(err, ERR_FORMAT,
				 "unexpected frame of type %d before the command",
				 f->type);
	if (frame_take_command(&s->command, f, &done, err))
		return -1;
	if (done)
		start(s);
	return 0;
}

static int take_frame(struct session *s, const struct frame *f, struct error *err)
{
	if (s->state == SESSION_COMMAND)
		return take_command(s, f, err);
	switch (f->type) {
	case FRAME_STDIN:
		return take_stdin(s, f, err);
	case FRAME_CREDIT:
		return take_credit(s, f, err);
	case FRAME_SIGNAL:
		return take_signal(s, f, err);
	case FRAME_END:
		if (frame_stream(f) != FRAME_STDIN)
			break;
		s->stdin_ended = true;
		write_input(s);
		return 0;
	default:
		break;
	}
	return error_set(err, ERR_FORMAT, "unexpected frame of type %d from a launcher",
			 f->type);
}

static int take_frames(struct session *s, struct error *err)
{
	size_t at = 0, used = 0;
	struct frame f;

	do {
		if (frame_decode(&f, &used, s->in.data + at, s->in.len - at, err))
			return -1;
		if (used && take_frame(s, &f, err))
			return -1;
		at += used;
	} while (used && s->state < SESSION_LEAVING);
	if (at)
		buf_drop(&s->in, at);
	return 0;
}

/* A connection without data is a port probe: no TLS for it, and nothing in the log. */
static int begin_handshake(struct session *s, struct error *err)
{
	int fd = s->sources[SESSION_SOCKET].fd;

	if (recv(fd, &(char){ 0 }, 1, MSG_PEEK) <= 0) {
		session_end(s);
		return error_set(err, ERR_IO, "closed");
	}
	return psk_conn_new(&s->tls, s->psk, fd, err);
}

static bool handshake(struct session *s)
{
	struct error err = { 0 };

	if (!s->tls && begin_handshake(s, &err)) {
		refuse(s, &err);
		return false;
	}
	switch (psk_handshake(s->tls, &err)) {
	case PSK_OK:
		s->tls_wants_write = false;
		s->state = SESSION_COMMAND;
		return true;
	case PSK_WANT_READ:
	case PSK_WANT_WRITE:
		return false;
	case PSK_END:
		error_set(&err, ERR_IO, "connection closed during the handshake");
		break;
	case PSK_FAILED:
		break;
	}
	refuse(s, &err);
	return false;
}

/* An authenticated connection without a command comes from `--wait` (wait.h). */
static bool asks_for_nothing(const struct session *s)
{
	return s->state == SESSION_COMMAND && !s->in.len && !s->command.begun;
}

static void read_socket(struct session *s)
{
	struct error err = { 0 };

	if (s->state == SESSION_STRANGER && !handshake(s))
		return;
	do {
		unsigned char data[PIECE];
		size_t n = 0;
		enum psk_state state = psk_read(s->tls, data, sizeof(data), &n, &err);

		if (state == PSK_WANT_READ || state == PSK_WANT_WRITE)
			return;
		if (state == PSK_OK) {
			buf_add(&s->in, data, n);
			if (!take_frames(s, &err))
				continue;
		}
		if (state == PSK_END && asks_for_nothing(s)) {
			session_end(s);
			return;
		}
		if (state == PSK_END)
			error_set(&err, ERR_IO, "connection closed before a command");
		refuse(s, &err);
	} while (s->state < SESSION_LEAVING);
}

void session_event(struct session *s, enum session_fd which, uint32_t events)
{
	struct session_source *source = &s->sources[which];

	if (source->fd < 0)
		return;
	if (which == SESSION_STDIN) {
		write_input(s);
	} else if (which != SESSION_SOCKET) {
		read_output(s, source);
	} else if (s->state == SESSION_LINGERING) {
		read_last(s);
	} else {
		if (events & EPOLLOUT && s->state != SESSION_STRANGER)
			flush(s);
		if (events & ~(uint32_t)EPOLLOUT && s->state != SESSION_GONE)
			read_socket(s);
	}
	want(s);
}

/* ---- time ----------------------------------------------------------------------- */

/* The command ended, but a process that it left holds its output silently. */
static void tick_running(struct session *s)
{
	s->until = clock_ms() + DRAIN_MS;
	for (int i = SESSION_STDOUT; i <= SESSION_STDERR; i++)
		if (s->sources[i].fd >= 0 && !stream_is_wanted(s, i - SESSION_STDOUT))
			return; /* the launcher is slow, not the process */
	s->until = INT64_MAX;
	for (int i = SESSION_STDOUT; i <= SESSION_STDERR; i++)
		if (s->sources[i].fd >= 0)
			end_output(s, &s->sources[i]);
	finish(s);
	want(s);
}

void session_tick(struct session *s)
{
	struct error err = { 0 };

	switch (s->state) {
	case SESSION_STRANGER:
	case SESSION_COMMAND:
		error_set(&err, ERR_TIMEOUT, "not authenticated within %d s",
			  AUTH_MS / 1000);
		refuse(s, &err);
		break;
	case SESSION_RUNNING:
		tick_running(s);
		break;
	case SESSION_LEAVING:
		s->until = INT64_MAX;
		break;
	case SESSION_LINGERING:
		session_end(s);
		break;
	case SESSION_GONE:
		end_group(s, clock_ms() >= s->kill_at ? SIGKILL : 0);
		break;
	}
}
