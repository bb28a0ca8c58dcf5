/*
 * mpi_wait.h - mpi-launch --wait, what an init container of a launcher runs, and --watch,
 * what the launcher itself runs.
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

/*
 * The exit code of args->words, once each host of args->watch_file is watched; LAUNCH_FAILED
 * if it is 0 but a node was lost meanwhile, or a host is missing. -1: as above.
 */
MUST_CHECK int mpi_watch(const struct ssh_args *args, struct error *err);

#endif
