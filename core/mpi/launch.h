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

enum {
	LAUNCH_TIMEOUT_MS = 10 * 60 * 1000,
	LAUNCH_FAILED = 255, /* ours: no connection, no key; as ssh */
};

/*
 * Connect (peer.h), run args->command, and copy 0, 1 and 2 until it ends. *ret_status:
 * the command's exit status, 128 + N when a signal ended it or, passed on, this process
 * (stop.h). Uses stop_setup() once the connection stands: a signal before that ends the
 * process as it does any other.
 *
 * What args does not say comes from KFTRAINER_MPI_TIMEOUT or the constant above, and from
 * settings.h.
 */
MUST_CHECK int launch_run(const struct ssh_args *args, mpi_env *env, void *ctx,
			  int *ret_status, struct error *err);

#endif
