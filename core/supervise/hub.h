/*
 * hub.h - orders for all ranks of a job, a function of their states and the time.
 *
 * The hub starts all commands once all ranks have joined and are ready. When one fails or
 * is lost, all are stopped and started again together, in the next epoch. The restarts
 * that follow a failure count; those that follow the loss of a pod or of the network do
 * not. After the last one the ranks are free: each supervisor ends with its command.
 *
 * When the job stalls (supervise/stall.h), all are ordered to show where they are, and
 * start again; that counts.
 *
 * A hub that has been replaced learns the epoch from those that join it.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_HUB_H
#define SUPERVISE_HUB_H

#include "base/buf.h"
#include "supervise/account.h"
#include "supervise/decide.h"
#include "supervise/gains.h"
#include "supervise/message.h"
#include "supervise/stall.h"

enum {
	HUB_GONE_MS = 10 * 1000, /* a rank that is away for longer is lost */
	HUB_LOOK_MS = 100,       /* between a failure and its judgment: who else ended? */
	HUB_DUMP_MS = 8 * 1000,  /* for all to show where they are */
	HUB_LINGER_MS = 15 * 1000,     /* for a rank that does not take the last order */
	HUB_ALONE_MS = 10 * 60 * 1000, /* for one that is away */
};

struct hub_rank {
	bool joined, dumped;
	bool done;          /* it has closed its connection after the last order */
	int64_t away_since; /* if it has left: when it was heard last; -1: it has not */
	struct peer_state state;
};

/*
 * A job in development: nothing starts again by itself. After the end of a run, or the
 * loss of a rank, the ranks rest until hub_release(), or are free after `idle_ms`.
 */
struct hub_dev {
	bool on, resting;
	int64_t idle_ms, since; /* -1: hub_time() sets it */
	bool lost;              /* how the last run ended: a rank was lost */
	uint32_t rank, status;  /* else this one was the first that failed, or status 0 */
};

struct hub {
	const struct supervise_rules *rules;
	struct hub_rank *ranks; /* the caller's, zeroed: `n` */
	uint32_t n;
	struct hub_order order; /* for all ranks */
	uint32_t first_failed;  /* its rank; UINT32_MAX: none did in this epoch */
	int64_t judge_at;       /* -1: no failure waits for its judgment */
	int64_t dumped_at;      /* the end of ORDER_DUMP */
	int64_t freed_at;       /* ORDER_FREE, or the last rank that got it later */
	struct gains gains;
	struct stall stall;
	struct account account;
	struct supervision counts; /* its counts and the last failure; no times */
	struct hub_dev dev;
	struct buf said; /* .max: 200. A line for the log, to be cleared; or empty */
};

void hub_init(struct hub *h, const struct supervise_rules *rules, struct hub_rank *ranks,
	      uint32_t n, int64_t now);
/* h->order may differ after each of these. rank < h->n. */
void hub_state(struct hub *h, uint32_t rank, const struct peer_state *state, int64_t now);
void hub_sign(struct hub *h, const struct peer_sign *sign, int64_t now);
void hub_dumped(struct hub *h, uint32_t rank, int64_t now);
/* A rank's connection has ended; `heard`: when something came from it for the last time. */
void hub_left(struct hub *h, uint32_t rank, int64_t heard, int64_t now);
/* It was closed by the rank; before hub_left(). */
void hub_closed(struct hub *h, uint32_t rank);
void hub_time(struct hub *h, int64_t now);
/* For hub_dev: stop what runs; start all again once they are ready. */
void hub_rest(struct hub *h, int64_t now);
void hub_release(struct hub *h, int64_t now);
/* Have all ranks but 0 ended this epoch with status 0? */
bool hub_others_succeeded(const struct hub *h);
/*
 * The lowest sync that a rank but 0 has answered (runs/runs.h). The answer of a rank that
 * has not started in this epoch is 0: the rest of its state is of a start before, whose
 * rank 0 may have been another process with the same syncs.
 */
uint32_t hub_acked(const struct hub *h);
/* When hub_time() is due: -1: never. */
int64_t hub_until(const struct hub *h);
/*
 * After ORDER_FREE: when all have it, or are not awaited any more. After a success a rank
 * that is away is: it, or the successor of a pod that was lost in that moment, would wait
 * for a hub that never comes.
 */
int64_t hub_over_at(const struct hub *h);

#endif
