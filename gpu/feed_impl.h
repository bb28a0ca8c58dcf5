/*
 * feed_impl.h - a feed's buffers and its three threads.
 *
 * The source fills pinned buffers, the copier has the helper copy them, the caller of
 * gpu_feed_run() serves sockets. `lock` guards everything except the helper, which only
 * the copier uses. `changed` wakes the source and the copier, `wake` the server.
 */
#ifndef GPU_FEED_IMPL_H
#define GPU_FEED_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "gpu/feed.h"
#include "gpu/helper.h"

struct feed_buffer {
	enum { BUFFER_FREE, BUFFER_TAKEN, BUFFER_FULL, BUFFER_COPYING } state;
	int64_t batch;
	size_t len;
	int64_t rows;
	char *arrays;
};

struct feed_slot { /* a buffer in a rank's device memory */
	enum { SLOT_FREE, SLOT_COPYING, SLOT_READY, SLOT_SENT } state;
	int64_t batch, rows;
	char *arrays;
};

struct feed_rank {
	char *uuid, *handle;
	struct feed_slot slots[FEED_RING_MAX];
	int64_t next;           /* the batch to send */
	int64_t absent_since;   /* clock_ms(); valid without a peer */
	struct feed_peer *peer; /* NULL: no consumer has joined */
	bool done;              /* the consumer has got all batches and closed */
};

struct feed_peer {
	int fd;
	pid_t pid;
	struct feed_rank *rank; /* NULL: not joined */
	int64_t since;
	bool welcomed, ended; /* the answer to FEED_JOIN was sent; {end} was sent */
	bool blocked;         /* the socket's buffer is full */
};

struct gpu_feed {
	struct gpu_feed_conf conf;
	struct gpu_helper helper;
	pthread_t copier;
	bool has_copier;
	int listener, wake; /* -1: none */
	bool bound;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct feed_buffer buffers[FEED_RING_MAX];
	struct feed_rank ranks[FEED_RANKS_MAX];
	struct feed_peer peers[FEED_PEERS_MAX];         /* fd < 0: unused */
	char *columns;                                  /* NULL: not known yet */
	uint8_t slot_of[FEED_RING_MAX][FEED_RANKS_MAX]; /* a buffer's slot in each rank */
	int64_t given,
		copied; /* batches of the source; batches whose copies have begun */
	int64_t waited; /* batches whose copies are complete */
	int64_t last_batch_ms; /* clock_ms(); 0: the source waits for a buffer */
	bool ended, failed, stopping;
	struct error why;
};

/* Set the ranks' UUIDs and handles by the answer to GPU_OP_FEED_OPEN. ERR_FORMAT. */
MUST_CHECK int feed_take_ranks(struct gpu_feed *f, const cJSON *answer,
			       struct error *err);
MUST_CHECK int feed_listen(struct gpu_feed *f, struct error *err);
/* Send a consumer all ready batches; read all its requests. The caller holds the lock. */
void feed_send(struct gpu_feed *f, struct feed_peer *p);
void feed_read(struct gpu_feed *f, struct feed_peer *p);
void feed_hang_up(struct gpu_feed *f); /* close the listener and all connections */

#endif
