/*
 * relay.h - pass a command's output on, and keep its last bytes (private to core/supervise).
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
	struct follower *follower; /* NULL: never one */
	size_t len;
	char bytes[TAIL_SIZE];
	struct buf *capture;   /* gets all that is added; NULL: nothing is captured */
	_Atomic int64_t added; /* the time of the last byte, of clock_ms() */
	/* Gets all, too, in the relay's thread; NULL: nobody does. */
	void (*tap)(void *ctx, const void *data, size_t len);
	void *tap_ctx;
};

void tail_add(struct tail *t, const char *data, size_t len);
/* Replace each byte that is not UTF-8 by '?'; the caller holds the lock. */
void tail_clean(struct tail *t);

/*
 * A thread that copies a pipe to `to`, in order, until the end of the pipe; large amounts
 * by splice(2). Only this thread blocks when `to` is full. If the disk is full, output is
 * lost, but the command continues; if nobody reads `to` any longer, the pipe is closed and
 * the command gets SIGPIPE, as if it had written there itself.
 */
struct relay {
	int from, to, quit;   /* quit: an eventfd */
	int done;             /* an eventfd of the caller's: 1 is added at the end */
	atomic_bool idle;     /* everything read has been added to the tail */
	int64_t passed, most; /* bytes; most: that came before relay_finish(), or -1 */
	struct tail *tail;
	pthread_t thread;
};

/* *ret_write: the end for the command; the caller closes it. */
MUST_CHECK int relay_start(struct relay *r, int to, int done, struct tail *tail,
			   int *ret_write, struct error *err);

/*
 * From now on `to`, which remains the caller's, gets what the tail of that relay gets;
 * NULL: no longer.
 */
void relay_capture(const struct relay *r, struct buf *to);

/* Wait a moment until what was written before is in the tail. */
void relay_settle(struct relay *r);

/* The command has ended: pass on what is in the pipe, then end, whoever holds it open. */
void relay_finish(const struct relay *r);

/* After `done`: wait for the thread and close its descriptors. */
void relay_join(struct relay *r);

#endif
