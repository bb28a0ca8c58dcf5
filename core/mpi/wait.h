/*
 * wait.h - wait until every host of a host file can run commands.
 *
 * All hosts are tried in parallel with peer_open(): ready means that the host resolves,
 * listens and authenticates. An entry whose first label is this machine's own name is
 * ready without a try.
 */
#ifndef MPI_WAIT_H
#define MPI_WAIT_H

#include <stdbool.h>

#include "mpi/hostfile.h"
#include "mpi/peer.h"

enum { WAIT_THREADS = 256 };

struct wait_host {
	const char *name, *user; /* the host file's */
	enum peer_stage stage;   /* PEER_READY: ready */
	bool tried;              /* false: time ran out before its turn */
	struct error why;        /* empty when it is ready */
};

/* Called with each ready host, from several threads; takes the peer. */
typedef int wait_use(void *ctx, size_t host, const struct peer_conf *conf,
		     struct peer *take_peer, struct error *err);

struct wait_conf {
	struct peer_conf peer; /* all but the host; the host file's user goes first */
	wait_use *use;         /* NULL: the connection is closed */
	void *ctx;
};

/* Fills the n results, in the file's order. -1 only if nothing could be tried. */
MUST_CHECK int wait_for_hosts(struct wait_host *hosts, size_t n,
			      const struct wait_conf *conf, struct error *err);

/* Does `host` name the machine whose name (uname -n) is `own`? */
bool wait_is_own_name(const char *host, const char *own);

#endif
