/* line.c - messages over TLS (supervise/line.h). */
#include "supervise/line.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"

enum { PIECE = 1024, OUT_MAX = 256 * 1024, BULK_MAX = 64 * 1024 };

void line_end(struct line *l, enum error_kind kind, const char *why)
{
	if (!l->over)
		error_set(&l->why, kind, "%s", why);
	l->over = true;
}

struct line *line_new(struct psk *psk, int fd, const char *peer, int64_t now)
{
	struct line *l = xcalloc(1, sizeof(*l));

	*l = (struct line){ .fd = fd, .rank = -1, .since = now, .heard = now };
	l->sent = now;
	l->in.max = PIECE + MESSAGE_MAX;
	l->out.max = OUT_MAX;
	snprintf(l->peer, sizeof(l->peer), "%s", peer);
	if (psk_conn_new(&l->tls, psk, fd, &l->why))
		l->over = true;
	return l;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	psk_conn_free(l->tls);
	close(l->fd);
	buf_release(&l->in);
	buf_release(&l->stack);
	buf_release(&l->out);
	free(l);
}

uint32_t line_events(const struct line *l)
{
	return (l->paused ? EPOLLPRI : EPOLLIN) |
	       (l->wants_write || (l->open && l->out.len) ? EPOLLOUT : 0u);
}

/* PSK_OK, or why not; a line that has failed is over. */
static enum psk_state settle(struct line *l, enum psk_state state, struct error *err)
{
	l->wants_write = state == PSK_WANT_WRITE;
	l->closed |= state == PSK_END;
	if (state == PSK_END)
		line_end(l, ERR_IO, "the connection was closed");
	else if (state == PSK_FAILED)
		line_end(l, err->kind, err->msg);
	return state;
}

static void flush(struct line *l, int64_t now)
{
	struct error err = { 0 };

	while (l->open && !l->over && !l->broken && l->out.len) {
		enum psk_state state;
		size_t n = 0;

		if (!l->sending)
			l->sending = l->out.len;
		state = psk_write(l->tls, l->out.data, l->sending, &n, &err);
		l->broken = state == PSK_FAILED && !l->paused;
		if (l->broken || settle(l, state, &err) != PSK_OK)
			return;
		l->sending = 0;
		l->sent = now;
		buf_drop(&l->out, n);
	}
}

void line_send(struct line *l, const struct message *m, int64_t now)
{
	message_add(&l->out, m);
	if (l->out.overflowed)
		line_end(l, ERR_LIMIT, "the peer does not read");
	flush(l, now);
}

size_t line_room(const struct line *l)
{
	const size_t per = MESSAGE_TEXT + 6; /* with its header */

	return !l->open || l->over || l->out.len >= BULK_MAX
		       ? 0
		       : (BULK_MAX - l->out.len) / per * MESSAGE_TEXT;
}

void line_send_data(struct line *l, uint32_t id, const void *data, size_t len,
		    int64_t now)
{
	const char *p = data ? data : "";
	size_t n;

	do {
		struct message m = { .type = MESSAGE_DATA };

		n = len < MESSAGE_TEXT ? len : MESSAGE_TEXT;
		m.stack = (struct peer_stack){ id, (uint32_t)n, p };
		message_add(&l->out, &m);
		p += n;
		len -= n;
	} while (len);
	if (l->out.overflowed)
		line_end(l, ERR_LIMIT, "the peer does not read");
	flush(l, now);
}

static int take_all(struct line *l, line_take *take, void *ctx, struct error *err)
{
	size_t at = 0, used = 0;
	struct message m;

	do {
		if (message_decode(&m, &used, l->in.data + at, l->in.len - at, err))
			return -1;
		if (used && m.type != MESSAGE_BEAT && take(ctx, l, &m, err))
			return -1;
		at += used;
	} while (used && !l->over);
	buf_drop(&l->in, at);
	return 0;
}

static void receive(struct line *l, line_take *take, void *ctx, int64_t now)
{
	struct error err = { 0 };

	while (!l->over && !l->paused) {
		unsigned char data[PIECE];
		size_t n = 0;

		if (settle(l, psk_read(l->tls, data, sizeof(data), &n, &err), &err) !=
		    PSK_OK)
			return;
		l->heard = now;
		buf_add(&l->in, data, n);
		if (take_all(l, take, ctx, &err))
			line_end(l, err.kind, err.msg);
	}
}

void line_step(struct line *l, line_take *take, void *ctx, bool *ret_opened, int64_t now)
{
	struct error err = { 0 };

	*ret_opened = false;
	if (!l->open && !l->over) {
		if (settle(l, psk_handshake(l->tls, &err), &err) != PSK_OK)
			return;
		l->open = *ret_opened = true;
		l->heard = now;
	}
	flush(l, now);
	receive(l, take, ctx, now);
}

void line_tick(struct line *l, int64_t now)
{
	static const struct message beat = { .type = MESSAGE_BEAT };

	if (l->paused)
		l->heard = now;
	if (now >= l->heard + LINE_GONE_MS)
		line_end(l, ERR_TIMEOUT, "nothing was heard for 10 seconds");
	else if (l->open && now >= l->sent + LINE_BEAT_MS) {
		l->sent = now;
		line_send(l, &beat, now);
	}
}

int64_t line_until(const struct line *l)
{
	int64_t beat = l->sent + LINE_BEAT_MS, gone = l->heard + LINE_GONE_MS;

	return l->open && beat < gone ? beat : gone;
}
