/*
 * ssh_args.h - the command line that launchers give to ssh.
 *
 * Launchers (ORTE, PRRTE, Hydra, Intel MPI, horovodrun) call their agent as ssh(1):
 * options before and after the host, up to the first other word; the rest is the command,
 * whose words are joined by single blanks, unquoted. Options without a meaning here are
 * skipped with their values. Source: ssh(1) of OpenSSH 9.2, and the launchers' traces.
 */
#ifndef MPI_SSH_ARGS_H
#define MPI_SSH_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Strings point into argv or live in the arena; NULL and 0: not given. */
struct ssh_args {
	const char *host, *user, *key_file;
	const char *command; /* never NULL; the caller reports "" as an error */
	int64_t port;
	int64_t connect_timeout_s, connection_attempts;
	bool any_host_key; /* StrictHostKeyChecking=no */
	bool verbose;      /* -v */
	/* Options that ssh does not have: */
	int64_t timeout_ms;     /* --timeout */
	const char *wait_file;  /* --wait: instead of a host and a command */
	const char *watch_file; /* --watch: instead of a host */
	char *const *words;     /* with --watch: the command's; ends with NULL */
};

/* argv[0] is the program's name. ERR_USAGE. */
MUST_CHECK int ssh_args_parse(struct ssh_args *ret, struct arena *arena, int argc,
			      char *const *argv, struct error *err);

#endif
