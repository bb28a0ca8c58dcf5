/* remote_worker.c - run a command by mpi-worker, in frames over TLS (mpi/remote.h). */
#include "mpi/remote.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "mpi/frame.h"

enum {
	PIECE = 16 * 1024, /* a TLS record */
	PIECES = 64, /* records a pump(), so that signals and input get their turn */
	OUT_MAX = 4 * FRAME_MAX,
	CREDIT_STEP = FRAME_WINDOW / 4,
};

struct worker_remote {
	struct psk_conn *tls;
	struct buf in, out;
	size_t sending; /* bytes of `out` passed to psk_write(); 0: none */
	bool broken;    /* a write failed: what the worker sent before is still read */
	bool input_ended, ended;
	int64_t input_credit;
	uint32_t owed[2]; /* credit for stdout and stderr, not sent yet */
	int status;
};

/* ---- to the worker -------------------------------------------------------------- */

static void flush(struct worker_remote *r)
{
	struct error err = { 0 };

	while (r->out.len && !r->broken) {
		size_t n = 0;
		enum psk_state state;

		if (!r->sending)
			r->sending = r->out.len;
		state = psk_write(r->tls, r->out.data, r->sending, &n, &err);
		if (state == PSK_WANT_WRITE || state == PSK_WANT_READ)
			return;
		r->broken = state != PSK_OK;
		r->sending = 0;
		buf_drop(&r->out, n);
	}
	if (r->broken)
		buf_drop(&r->out, r->out.len);
}

static size_t input_room(const void *self)
{
	const struct worker_remote *r = self;

	if (r->input_ended || r->broken || r->input_credit <= 0 ||
	    r->out.len >= FRAME_MAX)
		return 0;
	return (size_t)r->input_credit;
}

static void input(void *self, const void *data, size_t len)
{
	struct worker_remote *r = self;

	frame_add(&r->out, FRAME_STDIN, data, len);
	r->input_credit -= (int64_t)len;
}

static void end_input(void *self)
{
	struct worker_remote *r = self;

	r->input_ended = true;
	frame_add_end(&r->out, FRAME_STDIN);
}

static void pass_signal(void *self, int signum)
{
	struct worker_remote *r = self;

	frame_add_signal(&r->out, signum);
}

/* ---- from the worker ------------------------------------------------------------ */

struct sink {
	remote_output *output;
	void *ctx;
};

static void take_output(struct worker_remote *r, const struct frame *f,
			const struct sink *to)
{
	int stream = f->type == FRAME_STDERR ? REMOTE_STDERR : REMOTE_STDOUT;

	to->output(to->ctx, stream, f->data, f->len);
	r->owed[stream] += f->len;
	if (r->owed[stream] < CREDIT_STEP)
		return;
	frame_add_credit(&r->out, f->type, r->owed[stream]);
	r->owed[stream] = 0;
}

static void take_exit(struct worker_remote *r, const struct frame *f)
{
	uint32_t number = frame_number(f);

	r->ended = true;
	r->status = f->data[0] == FRAME_EXITED ? (int)(number & 0xff)
					       : 128 + (int)(number & 0x7f);
}

static int take_frame(struct worker_remote *r, const struct frame *f,
		      const struct sink *to, struct error *err)
{
	switch (f->type) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
		take_output(r, f, to);
		return 0;
	case FRAME_EXIT:
		take_exit(r, f);
		return 0;
	case FRAME_END:
		return 0;
	case FRAME_CREDIT:
		if (frame_stream(f) != FRAME_STDIN)
			break;
		r->input_credit += frame_number(f);
		return 0;
	default:
		break;
	}
	return error_set(err, ERR_FORMAT, "unexpected frame of type %d from a worker",
			 f->type);
}

static int take_frames(struct worker_remote *r, const struct sink *to, struct error *err)
{
	size_t at = 0, used = 0;
	struct frame f;

	do {
		if (frame_decode(&f, &used, r->in.data + at, r->in.len - at, err))
			return -1;
		if (used && take_frame(r, &f, to, err))
			return -1;
		at += used;
	} while (used && !r->ended);
	buf_drop(&r->in, at);
	return 0;
}

static int pump(void *self, remote_output *output, void *ctx, struct error *err)
{
	struct worker_remote *r = self;
	struct sink to = { output, ctx };

	flush(r);
	for (int i = 0; !r->ended && (i < PIECES || psk_pending(r->tls)); i++) {
		unsigned char data[PIECE];
		size_t n = 0;
		enum psk_state state = psk_read(r->tls, data, sizeof(data), &n, err);

		if (state == PSK_WANT_READ || state == PSK_WANT_WRITE)
			return 0;
		if (state == PSK_END)
			return error_set(err, ERR_IO, "the worker closed the connection");
		if (state == PSK_FAILED)
			return -1;
		buf_add(&r->in, data, n);
		if (take_frames(r, &to, err))
			return -1;
		flush(r);
	}
	return 0;
}

static short events(const void *self)
{
	const struct worker_remote *r = self;

	return (short)(POLLIN | (r->out.len ? POLLOUT : 0));
}

static bool ended(const void *self)
{
	const struct worker_remote *r = self;

	return r->ended;
}

static int status(const void *self, int *ret_status, struct error *err)
{
	const struct worker_remote *r = self;

	*ret_status = r->status;
	return 0;
}

static void release(void *self)
{
	struct worker_remote *r = self;

	buf_release(&r->in);
	buf_release(&r->out);
	free(r);
}

static const struct remote_ops ops = {
	.pump = pump,
	.events = events,
	.input_room = input_room,
	.input = input,
	.end_input = end_input,
	.signal = pass_signal,
	.ended = ended,
	.status = status,
	.release = release,
};

int remote_start_worker(struct remote *ret, struct peer *peer, const char *command,
			struct error *err)
{
	struct worker_remote *r;

	if (strlen(command) > FRAME_COMMAND_MAX)
		return error_set(err, ERR_LIMIT,
				 "the command has %zu bytes; mpi-worker takes at most %d",
				 strlen(command), FRAME_COMMAND_MAX);
	r = xcalloc(1, sizeof(*r));
	r->tls = peer->tls;
	r->in.max = FRAME_HEADER + FRAME_MAX + PIECE;
	r->out.max = OUT_MAX;
	r->input_credit = FRAME_WINDOW;
	frame_add_command(&r->out, command);
	*ret = (struct remote){ &ops, r };
	return 0;
}
