/* launch.c - run a command on a node and copy its streams (mpi/launch.h). */
#include "mpi/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "mpi/peer.h"
#include "mpi/peer_settings.h"
#include "mpi/remote.h"

enum {
	PIECE = 16 * 1024,
	PIPE_PIECE = 4096,  /* PIPE_BUF: what poll(2) promises room for */
	STOP_MS = 5 * 1000, /* for the command to end after a signal was forwarded */
};

struct agent {
	struct peer peer;
	struct remote remote;
	bool stdin_ended;
	bool is_pipe[2]; /* of stdout and stderr: a write may be partial */
	bool broken[2];  /* their readers have closed */
	int ended_by; /* the signal that was forwarded, or SIGPIPE: stdout's reader left */
	int64_t stop_until; /* deadline after a forwarded signal; else INT64_MAX */
};

/* ---- stdin, stdout, stderr ------------------------------------------------------ */

static bool wants_stdin(const struct agent *a)
{
	return !a->stdin_ended && a->remote.ops->input_room(a->remote.self);
}

static void read_stdin(struct agent *a)
{
	unsigned char data[PIECE];
	size_t room = a->remote.ops->input_room(a->remote.self);
	ssize_t n;

	n = read(STDIN_FILENO, data, room < sizeof(data) ? room : sizeof(data));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		a->remote.ops->input(a->remote.self, data, (size_t)n);
		return;
	}
	a->stdin_ended = true;
	a->remote.ops->end_input(a->remote.self);
}

/*
 * Write what poll(2) promises room for. O_NONBLOCK would affect everyone who shares the
 * pipe, such as mpirun.
 */
static ssize_t write_now(int fd, const unsigned char *data, size_t len)
{
	struct iovec piece = { (void *)data, len };

	return pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
}

/*
 * Wait for room, but not once this process is asked to stop: unread output is then
 * dropped.
 */
static bool write_piece(struct agent *a, int stream, const unsigned char *data,
			size_t *ret_n)
{
	struct pollfd p[] = { { .fd = STDOUT_FILENO + stream, .events = POLLOUT },
			      { .fd = stop_fd(), .events = POLLIN } };
	ssize_t n;

	n = a->is_pipe[stream] ? write_now(STDOUT_FILENO + stream, data, *ret_n) : 0;
	if (n > 0) {
		*ret_n = (size_t)n;
		return true;
	}
	if (a->is_pipe[stream]) {
		if (*ret_n > PIPE_PIECE)
			*ret_n = PIPE_PIECE;
		if (poll(p, stop_requested() ? 1 : 2, stop_requested() ? 0 : -1) < 0 ||
		    !p[0].revents) {
			*ret_n = 0;
			return !stop_requested();
		}
	}
	n = write(STDOUT_FILENO + stream, data, *ret_n);
	*ret_n = n > 0 ? (size_t)n : 0;
	return n >= 0 || errno == EINTR || errno == EAGAIN;
}

/* Send the first signal on; the command then has STOP_MS to end. */
static void end_command(struct agent *a, int signum)
{
	if (a->stop_until != INT64_MAX)
		return;
	a->ended_by = signum;
	a->stop_until = clock_ms() + STOP_MS;
	a->remote.ops->signal(a->remote.self, signum);
}

/* A command whose output nobody reads any more ends, as it would in a pipe. */
static void write_output(void *ctx, int stream, const void *data, size_t len)
{
	const unsigned char *from = data;
	struct agent *a = ctx;
	size_t done = 0;

	while (done < len && !a->broken[stream]) {
		size_t n = len - done;

		if (!write_piece(a, stream, from + done, &n)) {
			a->broken[stream] = true;
			if (stream == 0 && errno == EPIPE)
				end_command(a, SIGPIPE);
		}
		done += n;
	}
}

/* ---- the loop ------------------------------------------------------------------- */

static int time_left(const struct agent *a)
{
	int64_t left = a->stop_until - clock_ms();

	if (a->stop_until == INT64_MAX)
		return -1;
	return left < 0 ? 0 : (int)left + 1;
}

static int step(struct agent *a, struct error *err)
{
	struct pollfd p[] = {
		{ .fd = a->peer.fd, .events = a->remote.ops->events(a->remote.self) },
		{ .fd = wants_stdin(a) ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = a->stop_until == INT64_MAX ? stop_fd() : -1, .events = POLLIN },
	};

	if (poll(p, 3, time_left(a)) < 0)
		return errno == EINTR ? 0 : error_errno(err, errno, "poll");
	if (p[1].revents)
		read_stdin(a);
	if (p[2].revents)
		end_command(a, stop_signal());
	return a->remote.ops->pump(a->remote.self, write_output, a, err);
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode);
}

static int serve(struct agent *a, struct error *err)
{
	a->stop_until = INT64_MAX;
	for (int i = 0; i < 2; i++)
		a->is_pipe[i] = is_pipe(STDOUT_FILENO + i);
	if (a->remote.ops->pump(a->remote.self, write_output, a, err))
		return -1;
	while (!a->remote.ops->ended(a->remote.self) && clock_ms() < a->stop_until)
		if (step(a, err))
			return -1;
	return 0;
}

/* The command's status, or the signal's if it did not end in time. */
static int finish(const struct agent *a, struct launch_end *ret, struct error *err)
{
	ret->status = 128 + a->ended_by;
	ret->by_sshd = a->peer.ssh != NULL;
	if (!a->remote.ops->ended(a->remote.self))
		return 0;
	return a->remote.ops->status(a->remote.self, &ret->status, err);
}

static int run_command(struct agent *a, const struct peer_conf *conf, const char *command,
		       struct launch_end *ret, struct error *err)
{
	int rc = 0;

	if (remote_start(&a->remote, &a->peer, command, conf->deadline, err) ||
	    stop_setup(err) || serve(a, err) || finish(a, ret, err))
		rc = error_wrap(err, "%s", conf->host);
	remote_release(&a->remote);
	return rc;
}

/* Add the host and a hint to the error. */
static int unreached(struct error *err, const struct peer_settings *s,
		     enum peer_stage stage)
{
	const char *hint = peer_settings_hint(s, stage, err);
	const struct error why = *err;

	return error_set(err, why.kind, "%s: %s: %s%s%s", s->conf.host,
			 peer_stage_names[stage], why.msg, hint ? "; " : "",
			 hint ? hint : "");
}

int launch_run(const struct ssh_args *args, mpi_env *env, void *ctx,
	       struct launch_end *ret, struct error *err)
{
	struct agent a = { .peer.fd = -1 };
	struct peer_settings s = { 0 };
	enum peer_stage stage;
	int rc;

	if (!args->command[0])
		return error_set(err, ERR_USAGE, "no command for %s", args->host);
	rc = peer_settings_read(&s, args, env, ctx, err);
	if (!rc && peer_open(&a.peer, &s.conf, &stage, err))
		rc = unreached(err, &s, stage);
	if (!rc)
		rc = run_command(&a, &s.conf, args->command, ret, err);
	peer_close(&a.peer);
	peer_settings_release(&s);
	return rc;
}
