/*
 * watch.h - run mpirun and detect nodes that are lost before it ends.
 *
 * Some mpirun return 0 when they lose a node. Therefore a shell on each node, over a
 * connection of its own, waits for the end of its input. A node is lost if its connection
 * ends, or if its shell does not answer after mpirun returned 0. Other mpirun wait
 * forever for a lost node: 30 s after the first loss mpirun gets SIGTERM, and 10 s later
 * SIGKILL.
 */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

#include "mpi/wait.h"

/* Called for a lost node, with the cause. */
typedef void watch_lost(void *ctx, const char *host, const struct error *why);

struct watch_conf {
	struct peer_conf peer; /* as of struct wait_conf */
	watch_lost *lost;
	void *ctx;
};

struct watch_end {
	int status;  /* the command's, 128 + N after signal N; after SIGTERM never 0 */
	size_t lost; /* nodes lost, out of `watched` */
	size_t watched;
	bool ended; /* we ended it, 30 s after a node was lost */
};

struct watch;

/*
 * Wait until a shell runs on each host; `hosts` has the results. Free it also after a
 * failure. -1 only if nothing could be tried.
 */
MUST_CHECK int watch_new(struct watch **ret, struct wait_host *hosts, size_t n,
			 const struct watch_conf *conf, struct error *err);
void watch_free(struct watch *w);

/*
 * Run argv, a program of PATH, with this process's stdin, stdout and stderr, forward
 * signals to it, and reap other children, until it has ended. err->code: the errno of a
 * program that could not be started.
 */
MUST_CHECK int watch_run(struct watch *w, char *const *argv, struct watch_end *ret,
			 struct error *err);

#endif
