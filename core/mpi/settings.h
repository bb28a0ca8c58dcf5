/*
 * settings.h - where both ends find the job's port and private key.
 *
 * What an option says, else a variable, else the default: KFTRAINER_MPI_PORT or 2222,
 * KFTRAINER_MPI_KEY or $HOME/.ssh/id_rsa.
 */
#ifndef MPI_SETTINGS_H
#define MPI_SETTINGS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "net/psk.h"

enum { MPI_PORT = 2222, MPI_KEY_MAX = 64 * 1024 };

/* What derives the connection's key from the job's private key, and names it. */
#define MPI_KEY_INFO "kftrainer mpi v1"

/* A variable of the environment, or NULL. */
typedef const char *mpi_env(void *ctx, const char *name);

/* given: 0: not. */
MUST_CHECK int mpi_port(int *ret, int64_t given, mpi_env *env, void *ctx,
			struct error *err);
/* The file of the key. given: NULL: not. */
const char *mpi_key_path(struct arena *arena, const char *given, mpi_env *env, void *ctx);
/* Its text, PEM. Whoever may read it: no check of its mode. */
MUST_CHECK int mpi_key_pem(struct buf *out, const char *given, mpi_env *env, void *ctx,
			   struct error *err);
/* And the key of connections (psk.h) that comes of it. */
MUST_CHECK int mpi_key(unsigned char ret[PSK_KEY_SIZE], const char *given, mpi_env *env,
		       void *ctx, struct error *err);

#endif
