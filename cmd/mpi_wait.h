/*
 * mpi_wait.h - mpi-launch --wait: what an init container of a launcher runs.
 */
#ifndef CMD_MPI_WAIT_H
#define CMD_MPI_WAIT_H

#include "base/error.h"
#include "mpi/ssh_args.h"

/*
 * The exit code, once every host of args->wait_file can run commands, or the time is over:
 * the table of hosts that cannot is then on stderr and in the termination message. -1: the
 * host file, or a setting.
 */
MUST_CHECK int mpi_wait(const struct ssh_args *args, struct error *err);

#endif
