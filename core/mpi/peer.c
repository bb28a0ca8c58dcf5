/* peer.c - connect to a node, with retries until a deadline (mpi/peer.h). */
#include "mpi/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "base/stop.h"
#include "base/str.h"
#include "mpi/settings.h"
#include "mpi/worker.h"
#include "net/dial.h"

enum {
	FIRST_PAUSE_MS = 20,
	LAST_PAUSE_MS = 500,
	NAME_PAUSE_MS = 1000, /* resolvers cache that a name did not exist */
	CONNECT_MS = 1000,    /* of one try: packets to a starting pod are lost */
	GREETING_MS = 10 * 1000,
	GREETING_SIZE = 32,
	PART_PAUSE_MS = 10,
};

const char *const peer_stage_names[] = { "name lookup",    "connect", "greeting",
					 "authentication", "command", "ready" };

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- one try -------------------------------------------------------------------- */

enum answer { ANSWER_PART, ANSWER_OTHER, ANSWER_WORKER, ANSWER_SSHD, ANSWER_BUSY };

/* The beginnings of greetings; OpenSSH with too many connections says so and closes. */
static const struct {
	const char *text;
	enum answer answer;
} greetings[] = {
	{ MPI_GREETING, ANSWER_WORKER },
	{ "SSH-", ANSWER_SSHD },
	{ "Exceeded MaxStartups", ANSWER_BUSY },
	{ "Not allowed at this time", ANSWER_BUSY },
};

static enum answer classify(const char *text)
{
	for (size_t i = 0; i < N_ELEMENTS(greetings); i++) {
		if (str_starts(text, greetings[i].text))
			return greetings[i].answer;
		if (str_starts(greetings[i].text, text))
			return ANSWER_PART;
	}
	return ANSWER_OTHER;
}

/* Peek only: libssh2 must read an sshd's greeting. */
static int peek_greeting(enum answer *ret, int fd, int64_t deadline, struct error *err)
{
	char text[GREETING_SIZE + 1];

	for (;; clock_sleep_ms(PART_PAUSE_MS)) {
		ssize_t n;

		if (sock_wait(fd, POLLIN, deadline, err))
			return -1;
		n = recv(fd, text, GREETING_SIZE, MSG_PEEK);
		if (!n)
			return error_set(err, ERR_IO,
					 "connection closed before the greeting");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, "recv");
		text[n > 0 ? n : 0] = '\0';
		*ret = classify(text);
		if (*ret != ANSWER_PART)
			return 0;
	}
}

static int read_greeting(int fd, bool *ret_sshd, int64_t deadline, struct error *err)
{
	char text[sizeof(MPI_GREETING)];
	enum answer answer;

	if (peek_greeting(&answer, fd, deadline, err))
		return -1;
	*ret_sshd = answer == ANSWER_SSHD;
	if (answer == ANSWER_BUSY)
		return error_set(err, ERR_IO,
				 "the sshd refused the connection: too many connections");
	if (answer == ANSWER_OTHER)
		return error_set(err, ERR_FORMAT,
				 "neither an mpi-worker nor an sshd answers");
	if (answer == ANSWER_WORKER && recv(fd, text, sizeof(MPI_GREETING) - 1, 0) < 0)
		return error_errno(err, errno, "recv");
	return 0;
}

static int authenticate_worker(struct peer *p, int64_t deadline, struct error *err)
{
	for (;;) {
		enum psk_state state = psk_handshake(p->tls, err);

		if (state == PSK_OK)
			return 0;
		if (state == PSK_END)
			return error_set(err, ERR_IO,
					 "connection closed during the handshake");
		if (state == PSK_FAILED ||
		    sock_wait(p->fd, state == PSK_WANT_WRITE ? POLLOUT : POLLIN, deadline,
			      err))
			return -1;
	}
}

static int authenticate(struct peer *p, const struct peer_conf *conf, bool sshd,
			struct error *err)
{
	struct ssh_conf ssh = { .user = conf->user,
				.key_pem = conf->key_pem,
				.any_host_key = conf->any_host_key };

	if (sshd)
		return ssh_open(&p->ssh, p->fd, &ssh, conf->deadline, err);
	return psk_conn_new(&p->tls, p->psk, p->fd, err) ||
			       authenticate_worker(p, conf->deadline, err)
		       ? -1
		       : 0;
}

static int try_once(struct peer *p, const struct peer_conf *conf, enum peer_stage *stage,
		    struct error *err)
{
	int64_t now = clock_ms();
	enum dial_stage dialed;
	bool sshd;
	int rc = dial(&p->fd, conf->host, conf->port,
		      sooner(conf->deadline, now + CONNECT_MS), &dialed, err);

	*stage = rc && dialed == DIAL_RESOLVE ? PEER_NAME : PEER_PORT;
	if (rc)
		return -1;
	dial_watch(p->fd, WORKER_PEER_TIMEOUT_S);
	*stage = PEER_GREETING;
	if (read_greeting(p->fd, &sshd, sooner(conf->deadline, clock_ms() + GREETING_MS),
			  err))
		return -1;
	*stage = PEER_KEY;
	if (authenticate(p, conf, sshd, err))
		return -1;
	*stage = PEER_READY;
	return 0;
}

static void hang_up(struct peer *p)
{
	psk_conn_free(p->tls);
	ssh_free(p->ssh);
	p->tls = NULL;
	p->ssh = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ---- all tries ------------------------------------------------------------------ */

/* Is the failure transient? */
static bool may_pass(enum peer_stage stage, const struct error *err)
{
	if (stage < PEER_GREETING)
		return true;
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT;
}

/*
 * Double the pause each time, with a jitter of a quarter: a thousand agents may start at
 * once.
 */
static int64_t pause_ms(enum peer_stage stage, int try)
{
	int64_t ms = (int64_t)FIRST_PAUSE_MS << (try < 8 ? try : 8);

	if (stage == PEER_NAME)
		return NAME_PAUSE_MS + clock_dice(NAME_PAUSE_MS / 4);
	ms = sooner(ms, LAST_PAUSE_MS);
	return ms - ms / 4 + clock_dice(ms / 2 + 1);
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
			return -1;
		}
		if (stop_wait(ms)) {
			peer_close(&p);
			return error_set(err, ERR_STOPPED, "stopped");
		}
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
