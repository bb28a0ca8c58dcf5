/*
 * remote.h - a command on a node, run by mpi-worker or an sshd (private to core/mpi).
 *
 * Starting it may block until a deadline; nothing else blocks. Input is queued; the
 * launcher's loop calls ops->pump() to send and receive whenever the socket is ready for
 * ops->events().
 */
#ifndef MPI_REMOTE_H
#define MPI_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mpi/peer.h"

enum { REMOTE_STDOUT, REMOTE_STDERR };

/* Must take all of the data; may block. */
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

/* Borrows the peer, which must be closed after remote_release(). */
MUST_CHECK int remote_start(struct remote *ret, struct peer *peer, const char *command,
			    int64_t deadline, struct error *err);
/* The same, without ssh. */
MUST_CHECK int remote_start_worker(struct remote *ret, struct peer *peer,
				   const char *command, struct error *err);
void remote_release(struct remote *r);

#endif
