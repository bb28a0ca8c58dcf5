/*
 * wait.h - wait until every host of a host file can run commands.
 *
 * All hosts are tried side by side, each with peer_open(): it resolves, listens and
 * authenticates. The machine that waits is not asked: an entry whose first label is this
 * machine's own name is ready.
 */
#ifndef MPI_WAIT_H
#define MPI_WAIT_H

#include <stdbool.h>

#include "mpi/hostfile.h"
#include "mpi/peer.h"

enum { WAIT_THREADS = 256 };

struct wait_host {
	const char *name, *user; /* the host file's */
	enum peer_stage stage;   /* PEER_READY: it can */
	bool tried;              /* false: the time was over before its turn */
	struct error why;        /* empty when it is ready */
};

/* What is done with a host that is ready; the peer is the callee's. Called by threads. */
typedef int wait_use(void *ctx, size_t host, const struct peer_conf *conf,
		     struct peer *take_peer, struct error *err);

struct wait_conf {
	struct peer_conf peer; /* all but the host; a user of the host file goes first */
	wait_use *use;         /* NULL: the connection is closed */
	void *ctx;
};

/*
 * The results are in the file's order, and n of them. -1 only when nothing could be
 * tried.
 */
MUST_CHECK int wait_for_hosts(struct wait_host *hosts, size_t n,
			      const struct wait_conf *conf, struct error *err);

/* Is it the machine whose name (uname -n) is `own`? */
bool wait_is_own_name(const char *host, const char *own);

#endif
