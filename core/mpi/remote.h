/*
 * remote.h - the command on the node, whether a worker or an sshd runs it (private to
 * core/mpi).
 *
 * Starting it may wait, until a deadline; after that nothing waits. What is to be sent is
 * queued, and remote_pump() moves what can be moved: the launcher's loop calls it
 * whenever the socket is ready for remote_events().
 */
#ifndef MPI_REMOTE_H
#define MPI_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mpi/peer.h"

enum { REMOTE_STDOUT, REMOTE_STDERR };

/* Takes all of it; may wait for whoever reads. */
typedef void remote_output(void *ctx, int stream, const void *data, size_t len);

struct remote_ops {
	int (*pump)(void *self, remote_output *output, void *ctx, struct error *err);
	short (*events)(const void *self);
	size_t (*input_room)(const void *self);
	void (*input)(void *self, const void *data, size_t len);
	void (*end_input)(void *self);
	void (*signal)(void *self, int signum);
	bool (*ended)(const void *self);
	int (*status)(const void *self, int *ret_status, struct error *err);
	void (*release)(void *self);
};

struct remote {
	const struct remote_ops *ops;
	void *self;
};

/* Uses the peer, which stays the caller's and must be closed after it. */
MUST_CHECK int remote_start(struct remote *ret, struct peer *peer, const char *command,
			    int64_t deadline, struct error *err);
/* The two that there are. */
MUST_CHECK int remote_start_worker(struct remote *ret, struct peer *peer,
				   const char *command, struct error *err);
MUST_CHECK int remote_start_ssh(struct remote *ret, struct peer *peer,
				const char *command, int64_t deadline, struct error *err);
void remote_release(struct remote *r);

#endif
