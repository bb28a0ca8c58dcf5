/*
 * mpi_wait.h - mpi-launch --wait, for the init container of a launcher, and --watch, for
 * the launcher itself.
 */
#ifndef CMD_MPI_WAIT_H
#define CMD_MPI_WAIT_H

#include "base/error.h"
#include "mpi/ssh_args.h"

/*
 * Wait until every host of args->wait_file can run commands; returns the exit code. On a
 * timeout the table of missing hosts is written to stderr and the termination message.
 * -1: a bad host file or setting.
 */
MUST_CHECK int mpi_wait(const struct ssh_args *args, struct error *err);

/*
 * Watch each host of args->watch_file, and run args->words; returns its exit code, or
 * LAUNCH_FAILED if it is 0 but a node was lost, or if a host is missing. -1: as above.
 */
MUST_CHECK int mpi_watch(const struct ssh_args *args, struct error *err);

#endif
