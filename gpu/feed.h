/*
 * feed.h - share batches in device memory with processes of this node, without a copy.
 *
 * A feed has `ring` pinned buffers and, for each rank of the node, as many in the memory
 * of its device, all of `size` bytes. The source fills a pinned buffer (gpu_feed_acquire(),
 * gpu_feed_send()); the helper copies it to the device of rank 0, and from there to the
 * other ranks' devices (cuMemcpyPeerAsync; NCCL is not needed), while the source fills
 * the next one. A rank's process, the consumer, gets each batch in order and returns its
 * buffer. Memory is fixed: if a consumer does not return its buffers, or is absent, the
 * source waits.
 *
 * The socket: SOCK_SEQPACKET at a path with mode 0600; a peer with another uid than ours
 * or 0 is refused. A consumer sends struct feed_request, first FEED_JOIN with its rank.
 * Answers are JSON objects of at most FEED_MESSAGE_MAX bytes, one a message:
 *
 *     {version, rank, ranks, uuid, handle, bytes, columns}    to FEED_JOIN: open the
 *           CUipcMemHandle (hex) on the device of that UUID; `columns` is the source's
 *     {batch, offset, rows, arrays}   the batch is at `offset` of that memory, and the
 *           consumer's until FEED_GIVE_BACK with its number, in any order
 *     {end, batches}    the last message: close the memory, which is valid until then,
 *           and then the socket
 *     {error}           the feed or the request failed; the socket is closed next
 *
 * {error} for this consumer only: a request of another size or version, an unknown one, a
 * rank that does not exist or has a consumer, a second FEED_JOIN, a batch that is not the
 * consumer's. A socket that closes before {end} means that the consumer died: its buffers
 * are free again, and another consumer may join the rank and gets the following batches.
 *
 * Time limits: `call_ms` for a call of CUDA's library, `source_ms` for the source's next
 * batch, `join_ms` for a rank without a consumer and for a connection that has not
 * joined. A joined consumer has no limit: training steps may be long.
 */
#ifndef GPU_FEED_H
#define GPU_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	FEED_VERSION = 0x4b474601,
	FEED_MESSAGE_MAX = 128 * 1024,
	FEED_RANKS_MAX = 64,
	FEED_RING_MAX = 64,
	FEED_PEERS_MAX = FEED_RANKS_MAX + 16, /* connections; more are closed at once */
};

enum feed_op { FEED_JOIN = 1, FEED_GIVE_BACK };

struct feed_request {
	uint32_t version, op;
	uint64_t value; /* FEED_JOIN: the rank; FEED_GIVE_BACK: the batch */
};

struct gpu_feed;

struct gpu_feed_conf {
	const char *path;                /* the socket's, at most 107 bytes */
	uint8_t devices[FEED_RANKS_MAX]; /* CUDA's device number for each rank */
	uint32_t n_ranks, ring;          /* 1 to FEED_RANKS_MAX, 2 to FEED_RING_MAX */
	size_t size;                     /* bytes of a buffer: a multiple of 4096 */
	int64_t call_ms, source_ms, join_ms;
	/* Called by gpu_feed_run() with a line about a consumer. */
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * Starts the helper, allocates the buffers, listens. ERR_EXISTS: another process listens
 * at the path. Copies `conf`, but conf->path must remain valid until gpu_feed_free().
 */
MUST_CHECK int gpu_feed_new(struct gpu_feed **ret, const struct gpu_feed_conf *conf,
			    struct error *err);
/* Frees all memory, on the devices too, and removes the socket. NULL is fine. */
void gpu_feed_free(struct gpu_feed *f);

/* ---- the source: one thread, not the one in gpu_feed_run() --------------------------- */

/* Sets the JSON of `columns`, once, before the first batch. ERR_LIMIT: too long. */
MUST_CHECK int gpu_feed_columns(struct gpu_feed *f, const char *columns,
				struct error *err);
/* Waits for a free pinned buffer of conf.size bytes. ERR_STOPPED: the feed has failed. */
MUST_CHECK int gpu_feed_acquire(struct gpu_feed *f, uint8_t **ret, struct error *err);
/* Sends the buffer, `len` bytes; `arrays` is JSON. With 0 rows it is only released. */
MUST_CHECK int gpu_feed_send(struct gpu_feed *f, size_t len, int64_t rows,
			     const char *arrays, struct error *err);
void gpu_feed_end(struct gpu_feed *f); /* no more batches */
void gpu_feed_fail(struct gpu_feed *f,
		   const struct error *why); /* only the first call counts */

/* ---- the consumers ---------------------------------------------------------------------- */

/*
 * Serves consumers until each has got all batches and closed its socket: 0. -1: the first
 * failure, which is also sent to consumers; ERR_STOPPED: the process is to stop.
 */
MUST_CHECK int gpu_feed_run(struct gpu_feed *f, struct error *err);

int64_t gpu_feed_batches(const struct gpu_feed *f); /* batches of the source so far */

#endif
