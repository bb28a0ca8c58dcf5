/* peer.c - peer.h: one try after the other until the deadline. */
#include "mpi/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "mpi/settings.h"
#include "mpi/worker.h"
#include "net/dial.h"
#include "net/sock.h"

enum {
	FIRST_PAUSE_MS = 20,
	LAST_PAUSE_MS = 1000,
	NAME_PAUSE_MS = 1000,   /* resolvers remember that a name was not there */
	CONNECT_MS = 10 * 1000, /* of one try: a host that swallows packets */
	GREETING_MS = 10 * 1000,
	GREETING_SIZE = sizeof(MPI_GREETING) - 1,
};

const char *const peer_stage_names[] = { "name lookup", "connect", "greeting",
					 "authentication", "ready" };

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- one try -------------------------------------------------------------------- */

/* Read to the end of the worker's greeting. An sshd's tells what is wrong. */
static int read_greeting(int fd, int64_t deadline, struct error *err)
{
	char text[GREETING_SIZE + 1] = "";
	ssize_t n = 0;

	do {
		if (sock_wait(fd, POLLIN, deadline, err))
			return -1;
		n = recv(fd, text, GREETING_SIZE, MSG_PEEK);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, "recv");
		if (!n)
			return error_set(err, ERR_IO, "closed before its greeting");
		text[n > 0 ? n : 0] = '\0';
		if (str_starts(text, "SSH-"))
			return error_set(err, ERR_UNSUPPORTED,
					 "an sshd answers; run mpi-worker on the node");
	} while (n < GREETING_SIZE && str_starts(MPI_GREETING, text));
	if (!str_eq(text, MPI_GREETING))
		return error_set(err, ERR_FORMAT,
				 "neither an mpi-worker nor an sshd answers");
	return recv(fd, text, GREETING_SIZE, 0) == GREETING_SIZE
		       ? 0
		       : error_errno(err, errno, "recv");
}

static int authenticate(struct peer *p, int64_t deadline, struct error *err)
{
	for (;;) {
		enum psk_state state = psk_handshake(p->tls, err);

		if (state == PSK_OK)
			return 0;
		if (state == PSK_END)
			return error_set(err, ERR_IO, "closed during the handshake");
		if (state == PSK_FAILED ||
		    sock_wait(p->fd, state == PSK_WANT_WRITE ? POLLOUT : POLLIN, deadline,
			      err))
			return -1;
	}
}

static int try_once(struct peer *p, const struct peer_conf *conf, enum peer_stage *stage,
		    struct error *err)
{
	int64_t now = clock_ms();
	enum dial_stage dialed;
	int rc = dial(&p->fd, conf->host, conf->port,
		      sooner(conf->deadline, now + CONNECT_MS), &dialed, err);

	*stage = rc && dialed == DIAL_RESOLVE ? PEER_NAME : PEER_PORT;
	if (rc)
		return -1;
	dial_watch(p->fd, WORKER_PEER_TIMEOUT_S);
	*stage = PEER_GREETING;
	if (read_greeting(p->fd, sooner(conf->deadline, clock_ms() + GREETING_MS), err))
		return -1;
	*stage = PEER_KEY;
	if (psk_conn_new(&p->tls, p->psk, p->fd, err) ||
	    authenticate(p, conf->deadline, err))
		return -1;
	*stage = PEER_READY;
	return 0;
}

static void hang_up(struct peer *p)
{
	psk_conn_free(p->tls);
	p->tls = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ---- all tries ------------------------------------------------------------------ */

/* Is it worth another try? */
static bool may_pass(enum peer_stage stage, const struct error *err)
{
	if (stage < PEER_GREETING)
		return true;
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT;
}

/* Twice as long each time, give or take a quarter: a thousand agents begin at once. */
static int64_t pause_ms(enum peer_stage stage, int try)
{
	int64_t ms = stage == PEER_NAME ? NAME_PAUSE_MS
					: (int64_t)FIRST_PAUSE_MS << (try < 8 ? try : 8);

	if (ms > LAST_PAUSE_MS)
		ms = LAST_PAUSE_MS;
	return ms + (int64_t)(random() % (ms / 2 + 1)) -
	       (stage == PEER_NAME ? 0 : ms / 4);
}

static int derive(struct peer *p, const struct peer_conf *conf, struct error *err)
{
	unsigned char key[PSK_KEY_SIZE];
	int rc = psk_key(key, conf->key_pem, MPI_KEY_INFO, err);

	if (!rc)
		rc = psk_new(&p->psk, PSK_CLIENT, key, MPI_KEY_INFO, err);
	explicit_bzero(key, sizeof(key));
	return rc;
}

int peer_open(struct peer *ret, const struct peer_conf *conf, enum peer_stage *ret_stage,
	      struct error *err)
{
	struct peer p = { .fd = -1 };

	*ret_stage = PEER_NAME;
	if (derive(&p, conf, err)) {
		peer_close(&p);
		return -1;
	}
	for (int try = 0; try_once(&p, conf, ret_stage, err); try++) {
		int64_t ms = pause_ms(*ret_stage, try);

		hang_up(&p);
		if (!may_pass(*ret_stage, err) || clock_ms() + ms >= conf->deadline) {
			peer_close(&p);
			return error_wrap(err, "%s: %s", conf->host,
					  peer_stage_names[*ret_stage]);
		}
		clock_sleep_ms(ms);
	}
	*ret = p;
	return 0;
}

void peer_close(struct peer *p)
{
	hang_up(p);
	psk_free(p->psk);
	p->psk = NULL;
}
