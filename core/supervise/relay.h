/*
 * relay.h - copy a command's output, and keep its last bytes (private to core/supervise).
 */
#ifndef SUPERVISE_RELAY_H
#define SUPERVISE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum { TAIL_SIZE = 4096 };

/*
 * A socket that gets a copy of both streams, in frames (pack/receive.h): O of standard
 * output, R of standard error. One that takes nothing for ten seconds is shut down. To
 * close it: shutdown(2), then lock, and set it to -1.
 */
struct follower {
	pthread_mutex_t lock;
	atomic_int fd; /* -1: none */
};

/* The last bytes of both streams, in the order in which they were read. */
struct tail {
	pthread_mutex_t lock;
	struct follower *follower; /* or NULL */
	size_t len;
	char bytes[TAIL_SIZE];
	struct buf *capture;   /* also gets all that is added; or NULL */
	_Atomic int64_t added; /* the time of the last byte, of clock_ms() */
	/* Also gets all, in the relay's thread; or NULL. */
	void (*tap)(void *ctx, const void *data, size_t len);
	void *tap_ctx;
};

void tail_add(struct tail *t, const char *data, size_t len);
/* Replace each byte that is not UTF-8 with '?'. The caller holds the lock. */
void tail_clean(struct tail *t);

/*
 * A thread that copies a pipe to `to`, in order, until the end of the pipe; large amounts by
 * splice(2). Only this thread blocks when `to` is full. If the disk is full, output is lost,
 * and the command continues. If the reader of `to` has closed it, the pipe is closed, and
 * the command gets SIGPIPE, as if it had written to `to`.
 */
struct relay {
	atomic_int from;      /* -1: closed, at the end */
	int to, quit;         /* quit: an eventfd */
	int done;             /* the caller's eventfd, to which 1 is added at the end */
	atomic_bool idle;     /* all that was read is in the tail */
	int64_t passed, most; /* bytes; most: those before relay_finish(); or -1 */
	struct tail *tail;
	pthread_t thread;
};

/* *ret_write: the end for the command, which the caller closes. */
MUST_CHECK int relay_start(struct relay *r, int to, int done, struct tail *tail,
			   int *ret_write, struct error *err);

/* Also append to `to`, which the caller owns, what the tail gets; NULL: stop that. */
void relay_capture(const struct relay *r, struct buf *to);

/* Wait a moment, until output that is already written is in the tail. */
void relay_drain(struct relay *r);

/* The command has ended: copy what is in the pipe, then end, even if it is still open. */
void relay_finish(const struct relay *r);

/* After `done`: join the thread and close the descriptors. */
void relay_join(struct relay *r);

#endif
