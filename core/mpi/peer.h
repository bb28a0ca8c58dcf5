/*
 * peer.h - connect to a node: to its mpi-worker or its sshd, whichever answers.
 *
 * A connection goes through four stages. Transient failures are retried until the
 * deadline (a name that does not resolve yet, a closed port, a connection that ends
 * before its greeting); a peer that cannot prove that it has the job's key is not
 * retried. Thread-safe for different peers.
 */
#ifndef MPI_PEER_H
#define MPI_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "crypto/psk.h"
#include "net/ssh.h"

/* PEER_COMMAND is not a stage of peer_open(): connected, but a command did not start. */
enum peer_stage {
	PEER_NAME,
	PEER_PORT,
	PEER_GREETING,
	PEER_KEY,
	PEER_COMMAND,
	PEER_READY
};
extern const char *const peer_stage_names[]; /* "name lookup", ... */

struct peer_conf {
	const char *host;
	int port;
	const char *user;    /* for an sshd */
	const char *key_pem; /* the job's private key */
	bool any_host_key;   /* accept any host key of an sshd; else only the job's */
	int64_t deadline;    /* of clock_ms(), over all stages */
};

struct peer {
	int fd; /* -1: none */
	struct psk *psk;
	struct psk_conn *tls; /* NULL: an sshd */
	struct ssh *ssh;      /* NULL: a worker */
};

/*
 * *ret_stage is always set: the stage in which the last try failed. ERR_STOPPED between
 * two tries, once this process is asked to stop (stop.h).
 */
MUST_CHECK int peer_open(struct peer *ret, const struct peer_conf *conf,
			 enum peer_stage *ret_stage, struct error *err);
void peer_close(struct peer *p);

#endif
