/* peerconn.c - messages over TLS (supervise/peerconn.h). */
#include "supervise/peerconn.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"

enum { PIECE = 1024, OUT_MAX = 256 * 1024, BULK_MAX = 64 * 1024 };

void peerconn_end(struct peerconn *l, enum error_kind kind, const char *why)
{
	if (!l->over)
		error_set(&l->why, kind, "%s", why);
	l->over = true;
}

struct peerconn *peerconn_new(struct psk *psk, int fd, const char *peer, int64_t now)
{
	struct peerconn *l = xcalloc(1, sizeof(*l));

	*l = (struct peerconn){ .fd = fd, .rank = -1, .since = now, .received = now };
	l->sent = now;
	l->in.max = PIECE + MESSAGE_MAX;
	l->out.max = OUT_MAX;
	snprintf(l->peer, sizeof(l->peer), "%s", peer);
	if (psk_conn_new(&l->tls, psk, fd, &l->why))
		l->over = true;
	return l;
}

void peerconn_free(struct peerconn *l)
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

uint32_t peerconn_events(const struct peerconn *l)
{
	return (l->paused ? EPOLLPRI : EPOLLIN) |
	       (l->wants_write || (l->open && l->out.len) ? EPOLLOUT : 0u);
}

/* PSK_OK, or why not; a connection that has failed is over. */
static enum psk_state check_state(struct peerconn *l, enum psk_state state,
				  struct error *err)
{
	l->wants_write = state == PSK_WANT_WRITE;
	l->closed |= state == PSK_END;
	if (state == PSK_END)
		peerconn_end(l, ERR_IO, "the connection was closed");
	else if (state == PSK_FAILED)
		peerconn_end(l, err->kind, err->msg);
	return state;
}

static void flush(struct peerconn *l, int64_t now)
{
	struct error err = { 0 };

	while (l->open && !l->over && !l->broken && l->out.len) {
		enum psk_state state;
		size_t n = 0;

		if (!l->sending)
			l->sending = l->out.len;
		state = psk_write(l->tls, l->out.data, l->sending, &n, &err);
		l->broken = state == PSK_FAILED && !l->paused;
		if (l->broken || check_state(l, state, &err) != PSK_OK)
			return;
		l->sending = 0;
		l->sent = now;
		buf_drop(&l->out, n);
	}
}

void peerconn_send(struct peerconn *l, const struct message *m, int64_t now)
{
	message_add(&l->out, m);
	if (l->out.overflowed)
		peerconn_end(l, ERR_LIMIT, "the peer does not read");
	flush(l, now);
}

size_t peerconn_room(const struct peerconn *l)
{
	const size_t per = MESSAGE_TEXT + 6; /* with its header */

	return !l->open || l->over || l->out.len >= BULK_MAX
		       ? 0
		       : (BULK_MAX - l->out.len) / per * MESSAGE_TEXT;
}

void peerconn_send_data(struct peerconn *l, uint32_t id, const void *data, size_t len,
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
		peerconn_end(l, ERR_LIMIT, "the peer does not read");
	flush(l, now);
}

static int take_all(struct peerconn *l, peerconn_take *take, void *ctx, struct error *err)
{
	size_t at = 0, used = 0;
	struct message m;

	do {
		if (message_decode(&m, &used, l->in.data + at, l->in.len - at, err))
			return -1;
		if (used && m.type != MESSAGE_KEEPALIVE && take(ctx, l, &m, err))
			return -1;
		at += used;
	} while (used && !l->over);
	buf_drop(&l->in, at);
	return 0;
}

static void receive(struct peerconn *l, peerconn_take *take, void *ctx, int64_t now)
{
	struct error err = { 0 };

	while (!l->over && !l->paused) {
		unsigned char data[PIECE];
		size_t n = 0;

		if (check_state(l, psk_read(l->tls, data, sizeof(data), &n, &err),
				&err) != PSK_OK)
			return;
		l->received = now;
		buf_add(&l->in, data, n);
		if (take_all(l, take, ctx, &err))
			peerconn_end(l, err.kind, err.msg);
	}
}

void peerconn_step(struct peerconn *l, peerconn_take *take, void *ctx, bool *ret_opened,
		   int64_t now)
{
	struct error err = { 0 };

	*ret_opened = false;
	if (!l->open && !l->over) {
		if (check_state(l, psk_handshake(l->tls, &err), &err) != PSK_OK)
			return;
		l->open = *ret_opened = true;
		l->received = now;
	}
	flush(l, now);
	receive(l, take, ctx, now);
}

void peerconn_tick(struct peerconn *l, int64_t now)
{
	static const struct message beat = { .type = MESSAGE_KEEPALIVE };

	if (l->paused)
		l->received = now;
	if (now >= l->received + PEERCONN_TIMEOUT_MS)
		peerconn_end(l, ERR_TIMEOUT, "nothing was received for 10 seconds");
	else if (l->open && now >= l->sent + PEERCONN_KEEPALIVE_MS) {
		l->sent = now;
		peerconn_send(l, &beat, now);
	}
}

int64_t peerconn_until(const struct peerconn *l)
{
	int64_t beat = l->sent + PEERCONN_KEEPALIVE_MS,
		gone = l->received + PEERCONN_TIMEOUT_MS;

	return l->open && beat < gone ? beat : gone;
}
