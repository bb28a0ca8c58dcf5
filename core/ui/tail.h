/*
 * tail.h - the logs of a job for one viewer, followed by the code of `logs -f`
 * (client/logs.h).
 *
 * Lines are kept until the viewer acknowledges them, so that none is lost when a connection
 * breaks; at TAIL_BYTES reading pauses. A viewer reconnects with the tail's id and the number
 * of the last line that it has, within TAIL_LINGER_MS. All functions are thread-safe.
 */
#ifndef UI_TAIL_H
#define UI_TAIL_H

#include <pthread.h>

#include "kube/kube.h"
#include "ui/board.h"
#include "ui/stream_query.h"

enum { TAIL_BYTES = 256 << 10, TAIL_LINGER_MS = 120000, TAIL_MAX = 16 };

struct tail;
struct tails { /* { 0 }, and `lock` */
	struct tail *first;
	size_t n; /* with those that are about to end */
	uint64_t last_id;
	pthread_mutex_t lock;
	struct kube *kube;
	struct board *board; /* board_notify() is called when there are lines */
};

/*
 * *ret: the tail of query->id, if it still has the lines after that; else a new one, whose id
 * is set in query->id. *turn: the number of this reader, which a later one replaces. At
 * TAIL_MAX the tail that has been without a reader for longest ends; ERR_BUSY: all have one.
 * tail_leave() ends the use.
 */
MUST_CHECK int tail_join(struct tails *all, struct stream_query *query, unsigned *turn,
			 struct tail **ret, struct error *err);
void tail_leave(struct tails *all, struct tail *t);
/* The viewer of that tail has all lines up to `seq`. An unknown id is ignored. */
void tail_acknowledge(struct tails *all, uint64_t id, uint64_t seq);

/*
 * Append lines after *seq, up to about `max` bytes: '["node-0",RUN,...],' as in html.h;
 * the prefix is null for a message, "" for the only container. False: the log has ended and
 * was read to its end, or a later reader has replaced this one.
 */
bool tail_read(struct tail *t, unsigned turn, struct buf *out, uint64_t *seq, size_t max);

/* End the tails without a reader since TAIL_LINGER_MS; `every`: all of them. */
void tails_sweep(struct tails *all, bool every);

#endif
