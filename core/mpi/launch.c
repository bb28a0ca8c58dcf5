/* launch.c - launch.h: settings, and the copying while the command runs. */
#include "mpi/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "mpi/frame.h"
#include "mpi/peer.h"

enum {
	PIECE = 16 * 1024,
	PIPE_PIECE = 4096, /* PIPE_BUF: what poll(2) promises room for */
	OUT_MAX = 4 * FRAME_MAX,
	CREDIT_STEP = FRAME_WINDOW / 4,
	STOP_MS = 5 * 1000, /* for the command to end after a signal was passed on */
};

struct agent {
	struct peer peer;
	struct buf in, out;
	size_t sending;
	bool stdin_ended, hung_up;
	int64_t stdin_credit;
	uint32_t owed[2];   /* credit for stdout and stderr that has not been sent */
	bool is_pipe[2];    /* 1 and 2 may take less than they are given */
	bool broken[2];     /* nobody reads them any more */
	int64_t stop_until; /* once a signal was passed on; else INT64_MAX */
	bool ended;
	int status;
};

/* ---- settings ------------------------------------------------------------------- */

/* What a launcher says of time: attempts of so many seconds each. */
static int read_timeout(int64_t *ret, const struct ssh_args *args, const char *text,
			struct error *err)
{
	int64_t attempts = args->connection_attempts ? args->connection_attempts : 1;

	*ret = LAUNCH_TIMEOUT_MS;
	if (args->timeout_ms)
		*ret = args->timeout_ms;
	else if (text)
		return duration_parse(ret, text, err)
			       ? error_wrap(err, "KFTRAINER_MPI_TIMEOUT")
			       : 0;
	else if (args->connect_timeout_s)
		*ret = seconds_ms(args->connect_timeout_s) * attempts;
	return 0;
}

/* ---- to the worker -------------------------------------------------------------- */

static int flush(struct agent *a, struct error *err)
{
	while (a->out.len) {
		size_t n = 0;
		enum psk_state state;

		if (!a->sending)
			a->sending = a->out.len;
		state = psk_write(a->peer.tls, a->out.data, a->sending, &n, err);
		if (state == PSK_WANT_WRITE || state == PSK_WANT_READ)
			return 0;
		if (state == PSK_END)
			return error_set(err, ERR_IO, "connection closed");
		if (state != PSK_OK)
			return -1;
		a->sending = 0;
		buf_drop(&a->out, n);
	}
	return 0;
}

static bool wants_stdin(const struct agent *a)
{
	return !a->stdin_ended && a->stdin_credit > 0 && a->out.len < FRAME_MAX;
}

static void read_stdin(struct agent *a)
{
	unsigned char data[PIECE];
	size_t room = sizeof(data);
	ssize_t n;

	if ((int64_t)room > a->stdin_credit)
		room = (size_t)a->stdin_credit;
	n = read(STDIN_FILENO, data, room);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		a->stdin_ended = true;
		frame_add_end(&a->out, FRAME_STDIN);
		return;
	}
	frame_add(&a->out, FRAME_STDIN, data, (size_t)n);
	a->stdin_credit -= n;
}

/* ---- from the worker ------------------------------------------------------------ */

/*
 * Waits until there is room, but not once this process is asked to stop: what nobody
 * reads is then thrown away.
 */
static bool write_piece(struct agent *a, int stream, const unsigned char *data,
			size_t *ret_n)
{
	struct pollfd p[] = { { .fd = STDOUT_FILENO + stream, .events = POLLOUT },
			      { .fd = stop_fd(), .events = POLLIN } };
	ssize_t n;

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

static void write_output(struct agent *a, int stream, const struct frame *f)
{
	size_t done = 0;

	while (done < f->len && !a->broken[stream]) {
		size_t n = f->len - done;

		if (!write_piece(a, stream, f->data + done, &n))
			a->broken[stream] = true;
		done += n;
	}
	a->owed[stream] += f->len;
	if (a->owed[stream] < CREDIT_STEP)
		return;
	frame_add_credit(&a->out, f->type, a->owed[stream]);
	a->owed[stream] = 0;
}

static void take_exit(struct agent *a, const struct frame *f)
{
	uint32_t number = frame_number(f);

	a->ended = true;
	a->status = f->data[0] == FRAME_EXITED ? (int)(number & 0xff)
					       : 128 + (int)(number & 0x7f);
}

static int take_frame(struct agent *a, const struct frame *f, struct error *err)
{
	switch (f->type) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
		write_output(a, f->type == FRAME_STDERR, f);
		return 0;
	case FRAME_EXIT:
		take_exit(a, f);
		return 0;
	case FRAME_END:
		return 0;
	case FRAME_CREDIT:
		if (frame_stream(f) != FRAME_STDIN)
			break;
		a->stdin_credit += frame_number(f);
		return 0;
	default:
		break;
	}
	return error_set(err, ERR_FORMAT, "a frame of type %d from a worker", f->type);
}

static int take_frames(struct agent *a, struct error *err)
{
	size_t at = 0, used = 0;
	struct frame f;

	do {
		if (frame_decode(&f, &used, a->in.data + at, a->in.len - at, err))
			return -1;
		if (used && take_frame(a, &f, err))
			return -1;
		at += used;
	} while (used && !a->ended);
	buf_drop(&a->in, at);
	return 0;
}

static int read_socket(struct agent *a, struct error *err)
{
	while (!a->ended) {
		unsigned char data[PIECE];
		size_t n = 0;
		enum psk_state state = psk_read(a->peer.tls, data, sizeof(data), &n, err);

		if (state == PSK_WANT_READ || state == PSK_WANT_WRITE)
			return 0;
		if (state == PSK_END)
			return error_set(err, ERR_IO, "the worker closed the connection");
		if (state == PSK_FAILED)
			return -1;
		buf_add(&a->in, data, n);
		if (take_frames(a, err) || flush(a, err))
			return -1;
	}
	return 0;
}

/* ---- the loop ------------------------------------------------------------------- */

/* The first signal is passed on, and the command has a while to end. */
static int pass_signal(struct agent *a, struct error *err)
{
	if (a->stop_until != INT64_MAX)
		return 0;
	a->stop_until = clock_ms() + STOP_MS;
	frame_add_signal(&a->out, stop_signal() ? stop_signal() : SIGHUP);
	return flush(a, err);
}

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
		{ .fd = a->peer.fd, .events = POLLIN },
		{ .fd = wants_stdin(a) ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = a->stop_until == INT64_MAX ? stop_fd() : -1, .events = POLLIN },
	};

	if (a->out.len)
		p[0].events |= POLLOUT;
	if (poll(p, 3, time_left(a)) < 0)
		return errno == EINTR ? 0 : error_errno(err, errno, "poll");
	if (p[0].revents && (flush(a, err) || read_socket(a, err)))
		return -1;
	if (p[1].revents)
		read_stdin(a);
	if (p[2].revents && pass_signal(a, err))
		return -1;
	return flush(a, err);
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode);
}

static int serve(struct agent *a, const char *command, struct error *err)
{
	a->in.max = FRAME_HEADER + FRAME_MAX + PIECE;
	a->out.max = OUT_MAX;
	a->stdin_credit = FRAME_WINDOW;
	a->stop_until = INT64_MAX;
	for (int i = 0; i < 2; i++)
		a->is_pipe[i] = is_pipe(STDOUT_FILENO + i);
	frame_add_command(&a->out, command);
	if (flush(a, err))
		return -1;
	while (!a->ended && clock_ms() < a->stop_until)
		if (step(a, err))
			return -1;
	return 0;
}

static void on_hangup(int signum)
{
	(void)signum;
	stop_request();
}

static int watch_signals(struct error *err)
{
	struct sigaction hangup = { .sa_handler = on_hangup };

	return stop_setup(err) || sigaction(SIGHUP, &hangup, NULL) ? -1 : 0;
}

static int run(struct agent *a, const struct peer_conf *conf, const char *command,
	       struct error *err)
{
	enum peer_stage stage;
	int rc;

	if (peer_open(&a->peer, conf, &stage, err))
		return -1;
	rc = watch_signals(err) || serve(a, command, err) ? -1 : 0;
	peer_close(&a->peer);
	buf_release(&a->in);
	buf_release(&a->out);
	return rc ? error_wrap(err, "%s", conf->host) : 0;
}

int launch_run(const struct ssh_args *args, mpi_env *env, void *ctx, int *ret_status,
	       struct error *err)
{
	cleanup_buf struct buf key = { .max = MPI_KEY_MAX };
	struct agent a = { .peer.fd = -1 };
	struct peer_conf conf = { .host = args->host };
	int64_t timeout_ms;
	int rc;

	if (!args->command[0])
		return error_set(err, ERR_USAGE, "no command for %s", args->host);
	if (strlen(args->command) > FRAME_COMMAND_MAX)
		return error_set(err, ERR_LIMIT,
				 "the command has %zu bytes; the most is %d",
				 strlen(args->command), FRAME_COMMAND_MAX);
	if (mpi_port(&conf.port, args->port, env, ctx, err) ||
	    read_timeout(&timeout_ms, args, env(ctx, "KFTRAINER_MPI_TIMEOUT"), err) ||
	    mpi_key_pem(&key, args->key_file, env, ctx, err))
		return -1;
	conf.key_pem = (const char *)key.data;
	conf.deadline = clock_ms() + timeout_ms;
	rc = run(&a, &conf, args->command, err);
	explicit_bzero(key.data, key.len);
	if (rc)
		return -1;
	*ret_status = a.ended ? a.status : 128 + (stop_signal() ? stop_signal() : SIGHUP);
	return 0;
}
