/* meeting.c - connect nodes with rank 0, and exchange lines (net/meeting.h). */
#include "net/meeting.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xmalloc.h"
#include "net/dial.h"
#include "net/sock.h"

enum { HELLO_MS = 5000, RETRY_MS = 200, WATCH_S = 30 };
static const char IDENTITY[] = "kftrainer meeting";

struct meeting_link {
	int fd; /* < 0: none */
	struct psk_conn *conn;
	struct buf in;
};

static void link_close(struct meeting_link *l)
{
	psk_conn_free(l->conn);
	if (l->fd >= 0)
		close(l->fd);
	buf_release(&l->in);
	*l = (struct meeting_link){ .fd = -1 };
}

/* 1: PSK_OK; 0: PSK_END; -1: failed. */
static int settle(const struct meeting_link *l, enum psk_state state, int64_t deadline,
		  bool *ret_again, struct error *err)
{
	*ret_again = state == PSK_WANT_READ || state == PSK_WANT_WRITE;
	if (*ret_again)
		return sock_wait(l->fd, state == PSK_WANT_READ ? POLLIN : POLLOUT,
				 deadline, err);
	if (state == PSK_END)
		return error_set(err, ERR_IO, "has closed the connection");
	return state == PSK_OK ? 0 : -1;
}

static int link_open(struct meeting_link *l, struct psk *psk, int fd, int64_t deadline,
		     struct error *err)
{
	bool again = true;

	*l = (struct meeting_link){ .fd = fd, .in.max = MEETING_LINE_MAX };
	dial_watch(fd, WATCH_S);
	if (psk_conn_new(&l->conn, psk, fd, err))
		return -1;
	while (again)
		if (settle(l, psk_handshake(l->conn, err), deadline, &again, err))
			return -1;
	return 0;
}

static int link_write(struct meeting_link *l, const cJSON *doc, int64_t deadline,
		      struct error *err)
{
	cleanup_buf struct buf line = { .max = MEETING_LINE_MAX };
	cleanup_free char *text = json_text(doc);
	size_t n = 0;
	bool again;

	buf_printf(&line, "%s\n", text);
	if (buf_check(&line, "a message to a node", err))
		return -1;
	for (size_t done = 0; done < line.len; done += again ? 0 : n)
		if (settle(l,
			   psk_write(l->conn, line.data + done, line.len - done, &n, err),
			   deadline, &again, err))
			return -1;
	return 0;
}

static int link_read(struct meeting_link *l, cJSON **ret, int64_t deadline,
		     struct error *err)
{
	const char *end;
	char data[4096];
	bool again;
	size_t n = 0;
	int rc;

	while (!(end = memchr(l->in.len ? l->in.data : (unsigned char *)data, '\n',
			      l->in.len))) {
		if (settle(l, psk_read(l->conn, data, sizeof(data), &n, err), deadline,
			   &again, err))
			return -1;
		if (!again)
			buf_add(&l->in, data, n);
		if (buf_check(&l->in, "a message of a node", err))
			return -1;
	}
	n = (size_t)(end - (const char *)l->in.data);
	rc = json_parse(ret, l->in.data, n, err);
	buf_drop(&l->in, n + 1);
	return rc;
}

/* ---- rank 0 -------------------------------------------------------------------------- */

static int admit(struct meeting *m, int fd, cJSON **ret, struct error *err)
{
	int64_t until = clock_ms() + HELLO_MS, rank;
	struct meeting_link l;
	cleanup_json cJSON *hello = NULL;
	int rc = link_open(&l, m->psk, fd, until, err) ||
		 link_read(&l, &hello, until, err);

	rank = rc ? -1 : json_int(hello, -1, "rank");
	if (!rc && (rank < 1 || rank >= m->n || ret[rank]))
		rc = error_set(err, ERR_INVALID, "rank %lld: not expected",
			       (long long)rank);
	if (rc) {
		link_close(&l);
		return -1;
	}
	m->links[rank] = l;
	ret[rank] = STEAL(hello);
	return 0;
}

static bool complete(const struct meeting *m, cJSON *const *hellos)
{
	for (uint32_t i = 1; i < m->n; i++)
		if (!hellos[i])
			return false;
	return true;
}

static int gather(struct meeting *m, cJSON **ret, struct error *err)
{
	cleanup_fd int listener = -1;
	char peer[SOCK_ADDRESS_SIZE];
	struct error why;

	if (sock_listen(&listener, NULL, m->port, err))
		return -1;
	while (!complete(m, ret)) {
		int fd;

		if (sock_wait(listener, POLLIN, m->deadline, err))
			return err->kind == ERR_TIMEOUT ? 0 : -1;
		fd = sock_accept(listener, peer);
		if (fd >= 0 && admit(m, fd, ret, &why) && m->refused)
			m->refused(m->ctx, peer, why.msg);
	}
	return 0;
}

/* ---- the others ---------------------------------------------------------------------- */

static int join(struct meeting *m, const cJSON *hello, struct error *err)
{
	enum dial_stage stage;
	int fd;

	while (dial(&fd, m->host, m->port, m->deadline, &stage, err)) {
		if (clock_ms() + RETRY_MS >= m->deadline)
			return -1;
		clock_sleep_ms(RETRY_MS);
	}
	if (link_open(&m->links[0], m->psk, fd, m->deadline, err))
		return -1;
	return link_write(&m->links[0], hello, m->deadline, err);
}

/* ---- all ------------------------------------------------------------------------------ */

int meeting_open(struct meeting *m, const cJSON *hello, cJSON **ret, struct error *err)
{
	m->links = xcalloc(m->n, sizeof(*m->links));
	for (uint32_t i = 0; i < m->n; i++)
		m->links[i].fd = -1;
	if (psk_new(&m->psk, m->rank ? PSK_CLIENT : PSK_SERVER, m->key, IDENTITY, err))
		return -1;
	if (!m->rank)
		return gather(m, ret, err);
	if (join(m, hello, err))
		return error_wrap(err, "%s:%d", m->host, m->port);
	return 0;
}

static struct meeting_link *link_to(struct meeting *m, uint32_t rank)
{
	return &m->links[m->rank ? 0 : rank];
}

int meeting_tell(struct meeting *m, uint32_t rank, const cJSON *doc, struct error *err)
{
	struct meeting_link *l = link_to(m, rank);

	if (l->fd < 0)
		return error_set(err, ERR_IO, "not connected");
	return link_write(l, doc, m->deadline, err);
}

int meeting_hear(struct meeting *m, uint32_t rank, cJSON **ret, struct error *err)
{
	struct meeting_link *l = link_to(m, rank);

	if (l->fd < 0)
		return error_set(err, ERR_IO, "not connected");
	return link_read(l, ret, m->deadline, err);
}

void meeting_close(struct meeting *m)
{
	for (uint32_t i = 0; m->links && i < m->n; i++)
		link_close(&m->links[i]);
	free(m->links);
	m->links = NULL;
	psk_free(m->psk);
	m->psk = NULL;
}
