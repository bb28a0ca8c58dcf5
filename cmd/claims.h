/*
 * claims.h - volume claims of this machine: `get claims`, `delete claim/NAME`.
 */
#ifndef CMD_CLAIMS_H
#define CMD_CLAIMS_H

#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"

/* Are the arguments about claims: "claims", "claim/NAME" or "claims/NAME"? */
bool claims_are_named(char **names);

/* Prints the claims; returns the exit code, or -1. all: the claims of all namespaces. */
MUST_CHECK int claims_show(const struct where_opts *where, bool all,
			   enum out_format format, char **names, struct error *err);

/* Returns the exit code, or -1; reports each failure on stderr. */
int claims_delete(const struct where_opts *where, bool missing_ok, char **names,
		  struct error *err);

/* Deletes the namespace's claims that no stored job mounts; likewise. */
int claims_delete_unused(const struct where_opts *where, struct error *err);

#endif
