/*
 * hostfile.h - the host files of the MPI implementations.
 *
 *   host                        any
 *   host slots=4 max_slots=8    Open MPI
 *   host:4                      MPICH, Intel MPI
 *   user@host ...               Open MPI
 *
 * One host a line; '#' begins a comment, and empty lines are skipped. Of what follows the
 * name only the form is checked. Source: orte_hosts(7) of Open MPI 4.1, "Using the Hydra
 * Process Manager" of MPICH.
 */
#ifndef MPI_HOSTFILE_H
#define MPI_HOSTFILE_H

#include "base/arena.h"
#include "base/error.h"

enum { HOSTFILE_MAX = 4 * 1024 * 1024, HOSTFILE_NAME_MAX = 253 };

struct hostfile_host {
	const char *name, *user; /* user: NULL when the line has none */
};

struct hostfile {
	struct hostfile_host *hosts; /* in the file's order, each name once */
	size_t n;
};

/*
 * Parse into the arena. ERR_FORMAT with the line's number, or for a file without hosts.
 */
MUST_CHECK int hostfile_parse(struct hostfile *ret, struct arena *arena, const char *text,
			      size_t len, struct error *err);

#endif
