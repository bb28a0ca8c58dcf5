/*
 * peer_settings.h - how to reach nodes: from a launcher's command line, then the
 * environment, then defaults.
 *
 * Time: --timeout, KFTRAINER_MPI_TIMEOUT, ConnectTimeout x ConnectionAttempts, 10 minutes.
 * Host key of an sshd: any with StrictHostKeyChecking=no or KFTRAINER_MPI_HOST_KEY=any.
 * User: user@host, -l, the name of this process's user id, root. Port and key: settings.h.
 */
#ifndef MPI_PEER_SETTINGS_H
#define MPI_PEER_SETTINGS_H

#include "base/buf.h"
#include "mpi/peer.h"
#include "mpi/settings.h"
#include "mpi/ssh_args.h"

enum { PEER_TIMEOUT_MS = 10 * 60 * 1000 };

struct peer_settings {
	struct peer_conf conf; /* of args->host */
	struct buf key;
	char user[64];
	bool shared_key; /* other users may read the file */
};

/* Release it also after a failure. The deadline is counted from now. */
MUST_CHECK int peer_settings_read(struct peer_settings *ret, const struct ssh_args *args,
				  mpi_env *env, void *ctx, struct error *err);
void peer_settings_release(struct peer_settings *s);

/* A hint how to repair a failure of peer_open(), or NULL. */
const char *peer_settings_hint(const struct peer_settings *s, enum peer_stage stage,
			       const struct error *err);

#endif
