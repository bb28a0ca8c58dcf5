/*
 * settings.h - the job's port and private key, for launcher and worker.
 *
 * An option, else a variable, else a default: KFTRAINER_MPI_PORT or 2222,
 * KFTRAINER_MPI_KEY or $HOME/.ssh/id_rsa.
 */
#ifndef MPI_SETTINGS_H
#define MPI_SETTINGS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "crypto/psk.h"

enum { MPI_PORT = 2222, MPI_KEY_MAX = 64 * 1024 };

/*
 * Label for deriving the connection's key from the job's private key, and its identity.
 */
#define MPI_KEY_INFO "kftrainer mpi v1"

/* A variable of the environment, or NULL. */
typedef const char *mpi_env(void *ctx, const char *name);

/* given 0: no option. */
MUST_CHECK int mpi_port(int *ret, int64_t given, mpi_env *env, void *ctx,
			struct error *err);
/* The path of the key. given NULL: no option. */
const char *mpi_key_path(struct arena *arena, const char *given, mpi_env *env, void *ctx);
/* The key's text, PEM. The file's mode is not checked. */
MUST_CHECK int mpi_key_pem(struct buf *out, const char *given, mpi_env *env, void *ctx,
			   struct error *err);
/* The key of connections (psk.h), derived from it. */
MUST_CHECK int mpi_key(unsigned char ret[PSK_KEY_SIZE], const char *given, mpi_env *env,
		       void *ctx, struct error *err);

#endif
