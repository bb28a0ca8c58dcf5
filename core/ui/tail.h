/*
 * tail.h - the logs of a job for one viewer, followed by the code of `logs -f`
 * (client/logs.h).
 *
 * Lines stay here until the viewer says that they have arrived, at most TAIL_BYTES; then
 * reading pauses, so that nothing is lost: how much of what was sent is in flight when a
 * connection breaks, no socket tells. The viewer comes back by the tail's id and the number
 * of its last line, within TAIL_LINGER_MS. All functions are safe to call from several
 * threads.
 */
#ifndef UI_TAIL_H
#define UI_TAIL_H

#include <pthread.h>

#include "kube/kube.h"
#include "ui/board.h"
#include "ui/want.h"

enum { TAIL_BYTES = 256 << 10, TAIL_LINGER_MS = 120000, TAIL_MAX = 16 };

struct tail;
struct tails { /* { 0 }, and `lock` */
	struct tail *first;
	size_t n; /* with those that are about to end */
	uint64_t last_id;
	pthread_mutex_t lock;
	struct kube *kube;
	struct board *board; /* rung when there are lines */
};

/*
 * *ret: the tail of want->id if its lines after that are still here; else a new one, whose
 * id is set there. *turn: who joins later takes over. At TAIL_MAX the one that nobody has
 * read for longest ends; ERR_BUSY: all are read. tail_leave() ends its use.
 */
MUST_CHECK int tail_join(struct tails *all, struct want *want, unsigned *turn,
			 struct tail **ret, struct error *err);
void tail_leave(struct tails *all, struct tail *t);
/* The viewer of the tail of that id has its lines up to `seq`. No such tail is fine. */
void tail_arrived(struct tails *all, uint64_t id, uint64_t seq);

/*
 * Append lines after *seq, up to about `max` bytes: '["node-0",RUN,...],' as in html.h;
 * the prefix is null for a message, "" for the only container. False: the log has ended,
 * and all is read, or another has joined since that turn.
 */
bool tail_read(struct tail *t, unsigned turn, struct buf *out, uint64_t *seq, size_t max);

void tails_sweep(struct tails *all, bool every); /* end those nobody has read for long */

#endif
