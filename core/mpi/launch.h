/*
 * launch.h - mpi-launch: runs a command on a node for an MPI launcher, as ssh would.
 *
 * The agent's contract with mpirun: stdout carries only the command's bytes, stderr its
 * bytes and our errors; stdin is forwarded, but an endless stdin does not keep the agent
 * running; the command's exit status is the agent's.
 */
#ifndef MPI_LAUNCH_H
#define MPI_LAUNCH_H

#include "base/error.h"
#include "mpi/settings.h"
#include "mpi/ssh_args.h"

enum { LAUNCH_FAILED = 255 }; /* our own failures, such as no connection; as ssh */

struct launch_end {
	/* The command's, or 128 + N if signal N ended it or, forwarded, this process. */
	int status;
	bool by_sshd; /* an sshd ran it, not mpi-worker */
};

/*
 * Connect (peer.h, peer_settings.h), run args->command, and copy stdin, stdout and stderr
 * until it ends. Calls stop_setup() once connected: before that, a signal ends the
 * process.
 */
MUST_CHECK int launch_run(const struct ssh_args *args, mpi_env *env, void *ctx,
			  struct launch_end *ret, struct error *err);

#endif
