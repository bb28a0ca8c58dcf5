/* rendezvous.c - connects nodes with rank 0, exchanges JSON lines (net/rendezvous.h). */
#include "net/rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "base/xmalloc.h"
#include "net/dial.h"

enum { HELLO_MS = 5000, SLOT_MS = 1000, PENDING_MAX = 256, RETRY_MS = 200, WATCH_S = 30 };
static const char IDENTITY[] = "kftrainer meeting";

struct rendezvous_link {
	int fd; /* < 0: none */
	struct psk_conn *conn;
	struct buf in;
};

static void link_close(struct rendezvous_link *l)
{
	psk_conn_free(l->conn);
	if (l->fd >= 0)
		close(l->fd);
	buf_release(&l->in);
	*l = (struct rendezvous_link){ .fd = -1 };
}

/* -1 if the connection has ended. */
static int check_state(enum psk_state state, struct error *err)
{
	if (state == PSK_END)
		return error_set(err, ERR_IO, "has closed the connection");
	return state == PSK_FAILED ? -1 : 0;
}

/* Wait for the descriptor if the state demands it; *ret_again: repeat the call. */
static int wait_for_state(const struct rendezvous_link *l, enum psk_state state,
			  int64_t deadline, bool *ret_again, struct error *err)
{
	*ret_again = state == PSK_WANT_READ || state == PSK_WANT_WRITE;
	if (*ret_again)
		return sock_wait(l->fd, state == PSK_WANT_READ ? POLLIN : POLLOUT,
				 deadline, err);
	return check_state(state, err);
}

static int link_start(struct rendezvous_link *l, struct psk *psk, int fd,
		      struct error *err)
{
	*l = (struct rendezvous_link){ .fd = fd, .in.max = RENDEZVOUS_LINE_MAX };
	dial_watch(fd, WATCH_S);
	return psk_conn_new(&l->conn, psk, fd, err);
}

static int link_open(struct rendezvous_link *l, struct psk *psk, int fd, int64_t deadline,
		     struct error *err)
{
	bool again = true;

	if (link_start(l, psk, fd, err))
		return -1;
	while (again)
		if (wait_for_state(l, psk_handshake(l->conn, err), deadline, &again, err))
			return -1;
	return 0;
}

static int link_write(struct rendezvous_link *l, const cJSON *doc, int64_t deadline,
		      struct error *err)
{
	cleanup_buf struct buf line = { .max = RENDEZVOUS_LINE_MAX };
	cleanup_free char *text = json_text(doc);
	size_t n = 0;
	bool again;

	buf_printf(&line, "%s\n", text);
	if (buf_check(&line, "a message to a node", err))
		return -1;
	for (size_t done = 0; done < line.len; done += again ? 0 : n)
		if (wait_for_state(l,
				   psk_write(l->conn, line.data + done, line.len - done,
					     &n, err),
				   deadline, &again, err))
			return -1;
	return 0;
}

int rendezvous_line(struct buf *in, cJSON **ret, struct error *err)
{
	const unsigned char *end = in->len ? memchr(in->data, '\n', in->len) : NULL;
	size_t n = end ? (size_t)(end - in->data) : 0;
	int rc;

	*ret = NULL;
	if (!end)
		return buf_check(in, "a message of a node", err);
	rc = json_parse(ret, in->data, n, err);
	buf_drop(in, n + 1);
	return rc;
}

static enum psk_state link_fill(struct rendezvous_link *l, struct error *err)
{
	char data[4096];
	size_t n = 0;
	enum psk_state state = psk_read(l->conn, data, sizeof(data), &n, err);

	if (state == PSK_OK)
		buf_add(&l->in, data, n);
	return state;
}

static int link_read(struct rendezvous_link *l, cJSON **ret, int64_t deadline,
		     struct error *err)
{
	bool again;

	for (;;) {
		if (rendezvous_line(&l->in, ret, err))
			return -1;
		if (*ret)
			return 0;
		if (wait_for_state(l, link_fill(l, err), deadline, &again, err))
			return -1;
	}
}

/* ---- rank 0: accepts connections, without waiting for a silent one --------------- */

struct pending {
	struct rendezvous_link link;
	char peer[SOCK_ADDRESS_SIZE];
	int64_t since; /* clock_ms() */
	short events;  /* to wait for */
	bool secured;  /* the handshake is done */
};

struct acceptor {
	struct rendezvous *m;
	cJSON **hellos;                      /* [m->n] */
	struct pending pending[PENDING_MAX]; /* in order of arrival */
	size_t n;
};

/* Remove a connection, without closing its link. */
static void acceptor_remove(struct acceptor *a, size_t i)
{
	a->n--;
	memmove(&a->pending[i], &a->pending[i + 1], (a->n - i) * sizeof(a->pending[0]));
}

static void refuse(struct acceptor *a, size_t i, const char *why)
{
	struct pending *conn = &a->pending[i];

	link_close(&conn->link);
	if (a->m->refused)
		a->m->refused(a->m->ctx, conn->peer, why);
	acceptor_remove(a, i);
}

/* Receive the first message of a connection. *ret NULL: wait for conn->events. */
static int receive_hello(struct pending *conn, cJSON **ret, struct error *err)
{
	struct rendezvous_link *l = &conn->link;
	enum psk_state state = PSK_OK;

	*ret = NULL;
	while (state == PSK_OK && !*ret) {
		if (conn->secured)
			state = link_fill(l, err);
		else
			state = psk_handshake(l->conn, err);
		conn->secured |= state == PSK_OK;
		if (state == PSK_OK && rendezvous_line(&l->in, ret, err))
			return -1;
	}
	conn->events = state == PSK_WANT_WRITE ? POLLOUT : POLLIN;
	return check_state(state, err);
}

static int check_rank(const struct acceptor *a, const cJSON *hello, uint32_t *ret,
		      struct error *err)
{
	int64_t rank = json_int(hello, -1, "rank");

	if (rank < 1 || rank >= a->m->n || a->hellos[rank])
		return error_set(err, ERR_INVALID, "rank %lld: not expected",
				 (long long)rank);
	*ret = (uint32_t)rank;
	return 0;
}

/* Handle a connection that has sent bytes, or has just connected. */
static void serve_pending(struct acceptor *a, size_t i)
{
	struct error err = { 0 };
	struct pending *conn = &a->pending[i];
	cleanup_json cJSON *hello = NULL;
	uint32_t rank = 0;

	if (receive_hello(conn, &hello, &err) ||
	    (hello && check_rank(a, hello, &rank, &err))) {
		refuse(a, i, err.msg);
	} else if (hello) {
		a->m->links[rank] = conn->link;
		a->hellos[rank] = STEAL(hello);
		acceptor_remove(a, i);
	}
}

static void accept_pending(struct acceptor *a, int listener)
{
	struct pending conn = { .since = clock_ms() };
	struct error err = { 0 };
	int fd = sock_accept(listener, conn.peer);

	if (fd < 0)
		return;
	if (a->n == PENDING_MAX)
		refuse(a, 0, "has sent nothing, and others are waiting");
	if (link_start(&conn.link, a->m->psk, fd, &err)) {
		a->pending[a->n++] = conn;
		refuse(a, a->n - 1, err.msg);
	} else {
		a->pending[a->n++] = conn;
		serve_pending(a, a->n - 1);
	}
}

static bool is_complete(const struct acceptor *a)
{
	for (uint32_t i = 1; i < a->m->n; i++)
		if (!a->hellos[i])
			return false;
	return true;
}

/* True: do not accept now: all slots are in use, and none for longer than SLOT_MS. */
static bool is_full(const struct acceptor *a, int64_t now)
{
	return a->n == PENDING_MAX && now - a->pending[0].since < SLOT_MS;
}

/* Wait for the listener and all pending connections, until the timeout of the oldest. */
static int acceptor_wait(const struct acceptor *a, struct pollfd *p, int64_t now,
			 struct error *err)
{
	int64_t left = a->m->deadline - now, next;

	for (size_t i = 0; i < a->n; i++)
		p[i + 1] = (struct pollfd){ .fd = a->pending[i].link.fd,
					    .events = a->pending[i].events };
	if (a->n) {
		next = a->pending[0].since + (is_full(a, now) ? SLOT_MS : HELLO_MS) - now;
		left = next < left ? next : left;
	}
	left = left < 0 ? 0 : left > 60000 ? 60000 : left;
	if (poll(p, a->n + 1, (int)left) < 0 && errno != EINTR)
		return error_errno(err, errno, "poll");
	return 0;
}

static int acceptor_run(struct acceptor *a, int listener, struct error *err)
{
	int64_t now;

	while (!is_complete(a) && (now = clock_ms()) < a->m->deadline) {
		struct pollfd p[PENDING_MAX + 1] = {
			{ .fd = is_full(a, now) ? -1 : listener, .events = POLLIN }
		};

		if (acceptor_wait(a, p, now, err))
			return -1;
		/* Backwards, because removal moves the later connections. */
		for (size_t i = a->n; i-- > 0;) {
			if (now - a->pending[i].since >= HELLO_MS)
				refuse(a, i, "timed out waiting for the peer");
			else if (p[i + 1].revents)
				serve_pending(a, i);
		}
		if (p[0].revents)
			accept_pending(a, listener);
	}
	return 0;
}

static int gather(struct rendezvous *m, cJSON **ret, struct error *err)
{
	cleanup_fd int listener = -1;
	struct acceptor a = { .m = m, .hellos = ret };
	int rc;

	if (sock_listen(&listener, NULL, m->port, err))
		return -1;
	rc = acceptor_run(&a, listener, err);
	while (a.n)
		link_close(&a.pending[--a.n].link);
	return rc;
}

/* ---- other ranks --------------------------------------------------------------- */

static int join(struct rendezvous *m, const cJSON *hello, struct error *err)
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

/* ---- all ranks ----------------------------------------------------------------- */

int rendezvous_open(struct rendezvous *m, const cJSON *hello, cJSON **ret,
		    struct error *err)
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

static struct rendezvous_link *link_to(struct rendezvous *m, uint32_t rank)
{
	return &m->links[m->rank ? 0 : rank];
}

int rendezvous_send(struct rendezvous *m, uint32_t rank, const cJSON *doc,
		    struct error *err)
{
	struct rendezvous_link *l = link_to(m, rank);

	if (l->fd < 0)
		return error_set(err, ERR_IO, "not connected");
	return link_write(l, doc, m->deadline, err);
}

int rendezvous_receive(struct rendezvous *m, uint32_t rank, cJSON **ret,
		       struct error *err)
{
	struct rendezvous_link *l = link_to(m, rank);

	if (l->fd < 0)
		return error_set(err, ERR_IO, "not connected");
	return link_read(l, ret, m->deadline, err);
}

void rendezvous_close(struct rendezvous *m)
{
	for (uint32_t i = 0; m->links && i < m->n; i++)
		link_close(&m->links[i]);
	free(m->links);
	m->links = NULL;
	psk_free(m->psk);
	m->psk = NULL;
}
