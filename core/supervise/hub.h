/*
 * hub.h - give orders to all ranks of a job, as a function of their states and the time.
 *
 * The hub starts all commands when all ranks have joined and are ready. When one fails or is
 * lost, all are stopped and restarted together, in the next epoch. A restart after a failure
 * or a stall counts against the limit, one after the loss of a pod or of the network does
 * not. When no restart is allowed, or all have succeeded, the ranks are freed: each
 * supervisor ends with its command.
 *
 * When the job stalls (supervise/stall.h), all ranks dump the stacks of their processes
 * before the restart.
 *
 * The hub of a replaced pod learns the epoch from the ranks that join it.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_HUB_H
#define SUPERVISE_HUB_H

#include "base/buf.h"
#include "supervise/account.h"
#include "supervise/decide.h"
#include "supervise/message.h"
#include "supervise/restart_limit.h"
#include "supervise/stall.h"

enum {
	HUB_LOST_MS = 10 * 1000, /* a rank that is disconnected for longer is lost */
	HUB_FAILURE_WINDOW_MS =
		100,            /* between a failure and its judgment: who else ended? */
	HUB_DUMP_MS = 8 * 1000, /* for all ranks to dump their stacks */
	HUB_LINGER_MS = 15 * 1000, /* for a rank that does not close after ORDER_FREE */
	HUB_AWAY_MAX_MS = 10 * 60 * 1000, /* for a disconnected rank, after a success */
};

struct hub_rank {
	bool joined, dumped;
	bool done;          /* has closed its connection after ORDER_FREE */
	int64_t away_since; /* the last data of a rank that has left; -1: it has not */
	struct peer_state state;
};

/*
 * A job in development is not restarted automatically. After the end of a run, or the loss
 * of a rank, it is held until hub_release(), or freed after `idle_ms`.
 */
struct hub_dev {
	bool on, held;
	int64_t idle_ms, since; /* since: of the hold; -1: hub_time() sets it */
	/* How the last run ended: */
	bool lost;             /* a rank was lost */
	uint32_t rank, status; /* else the first rank that failed, or status 0 */
};

struct hub {
	const struct supervise_rules *rules;
	struct hub_rank *ranks; /* `n`, zeroed; owned by the caller */
	uint32_t n;
	struct hub_order order; /* for all ranks */
	uint32_t first_failed;  /* a rank; NO_RANK: none in this epoch */
	int64_t decide_at;      /* the end of HUB_FAILURE_WINDOW_MS; -1: no failure */
	int64_t dumped_at;      /* the end of ORDER_DUMP */
	int64_t freed_at;       /* ORDER_FREE, or the time when the last rank got it */
	struct restart_limit restart_limit;
	struct stall stall;
	struct account account;
	struct supervision counts; /* without times */
	struct hub_dev dev;
	struct buf log_line; /* a line for the log, which the caller clears; or empty */
};

void hub_init(struct hub *h, const struct supervise_rules *rules, struct hub_rank *ranks,
	      uint32_t n, int64_t now);
/* h->order may differ after each of these. rank < h->n. */
void hub_state(struct hub *h, uint32_t rank, const struct peer_state *state, int64_t now);
void hub_activity(struct hub *h, const struct peer_activity *activity, int64_t now);
void hub_dumped(struct hub *h, uint32_t rank, int64_t now);
/* A rank's connection has ended; `received`: the time of its last data. */
void hub_left(struct hub *h, uint32_t rank, int64_t received, int64_t now);
/* The rank has closed the connection; call it before hub_left(). */
void hub_closed(struct hub *h, uint32_t rank);
void hub_time(struct hub *h, int64_t now);
/* For hub_dev: stop all and hold them; start them when they are ready. */
void hub_hold(struct hub *h, int64_t now);
void hub_release(struct hub *h, int64_t now);
/* Have all ranks but 0 ended this epoch with status 0? */
bool hub_others_succeeded(const struct hub *h);
/*
 * The lowest sync (runs/runs.h) that all ranks but 0 have acknowledged. For a rank that has
 * not started in this epoch it is 0: its state is of an earlier epoch, whose rank 0 may have
 * been another process that used the same numbers.
 */
uint32_t hub_acked(const struct hub *h);
/* When to call hub_time(); -1: never. */
int64_t hub_until(const struct hub *h);
/*
 * After ORDER_FREE: when all ranks have it, or are not awaited any longer. After a success a
 * disconnected rank is awaited: it, or the pod that replaces it, would wait for a hub that
 * never comes.
 */
int64_t hub_over_at(const struct hub *h);

#endif
