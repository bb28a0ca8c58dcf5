/*
 * watch.h - run mpirun here, and notice each node that is lost before it ends.
 *
 * Some mpirun return 0 when they lose a node. So a shell on each node waits for the end of
 * its input, over a connection of its own: a connection that ends, and a shell that does
 * not answer once mpirun has returned 0, is a lost node. Others wait forever for such a
 * node: 30 s after the first loss mpirun gets SIGTERM, and 10 s later SIGKILL.
 */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

#include "mpi/wait.h"

/* A node is lost, and why. */
typedef void watch_lost(void *ctx, const char *host, const struct error *why);

struct watch_conf {
	struct peer_conf peer; /* as of struct wait_conf */
	watch_lost *lost;
	void *ctx;
};

struct watch_end {
	int status;  /* the command's, 128 + N after signal N */
	size_t lost; /* nodes, of how many that were watched */
	size_t watched;
	bool ended; /* by us, 30 s after a node was lost */
};

struct watch;

/*
 * Waits until a shell runs on each host; the results are in `hosts`, and say which are
 * missing. To be freed in any case. -1 only when nothing could be tried.
 */
MUST_CHECK int watch_new(struct watch **ret, struct wait_host *hosts, size_t n,
			 const struct watch_conf *conf, struct error *err);
void watch_free(struct watch *w);

/*
 * Runs argv, a program of PATH, with this process's 0, 1 and 2, passes signals on to it,
 * and reaps what else ends, until it has ended. err->code: the errno of a program that
 * could not be started.
 */
MUST_CHECK int watch_run(struct watch *w, char *const *argv, struct watch_end *ret,
			 struct error *err);

#endif
