/*
 * worker.h - mpi-worker: runs the commands that launchers send, in this container.
 *
 * Each connection runs one command (frame.h) with `/bin/sh -c`, in its own process group,
 * with the container's environment and working directory. The worker sends a greeting in
 * the clear, MPI_GREETING, which distinguishes it from an sshd; everything after it is
 * TLS with the job's key (psk.h). When a connection ends, its group gets SIGTERM and 5 s
 * later SIGKILL. Works as PID 1: it reaps all processes that end in the container.
 *
 * Memory is bounded: at most WORKER_MAX_PREAUTH connections may be unauthenticated (of
 * the address with the most, the oldest is closed), each for at most 30 s. Each refusal is logged in one line, at most
 * ten in ten seconds.
 */
#ifndef MPI_WORKER_H
#define MPI_WORKER_H

#include "base/error.h"
#include "crypto/psk.h"

#define MPI_GREETING "KFT-MPI 1\r\n"

enum { WORKER_MAX_PREAUTH = 128, WORKER_PEER_TIMEOUT_S = 50 };

struct worker_conf {
	const char *host;         /* NULL: all addresses */
	int port;                 /* 0: any */
	const unsigned char *key; /* PSK_KEY_SIZE bytes */
	/* Called once it listens; may be NULL. */
	void (*listening)(void *ctx, int port);
	void *ctx;
};

/*
 * Serve until this process is asked to stop (after stop_setup()); returns once all that
 * it started has ended. -1: it could not listen.
 */
MUST_CHECK int worker_run(const struct worker_conf *conf, struct error *err);

#endif
