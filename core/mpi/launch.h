/*
 * launch.h - mpi-launch: runs a command on a node for an MPI launcher, as ssh would.
 *
 * The agent's contract with mpirun: stdout and stderr carry the command's bytes and
 * nothing else of ours on stdout; stdin is passed on, but one that never ends keeps
 * nothing running; the command's exit status is the agent's.
 */
#ifndef MPI_LAUNCH_H
#define MPI_LAUNCH_H

#include "base/error.h"
#include "mpi/settings.h"
#include "mpi/ssh_args.h"

enum { LAUNCH_FAILED = 255 }; /* ours: no connection, no key; as ssh */

struct launch_end {
	/* The command's, 128 + N when a signal ended it or, passed on, this process. */
	int status;
	bool by_sshd; /* and not by mpi-worker */
};

/*
 * Connect (peer.h, peer_settings.h), run args->command, and copy 0, 1 and 2 until it ends.
 * Uses stop_setup() once the connection stands: a signal before that ends the process as
 * it does any other.
 */
MUST_CHECK int launch_run(const struct ssh_args *args, mpi_env *env, void *ctx,
			  struct launch_end *ret, struct error *err);

#endif
