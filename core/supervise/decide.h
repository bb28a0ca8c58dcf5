/*
 * decide.h - decide the next action of a supervisor from its state, an event and the time.
 *
 * It starts and stops its command as the hub orders (supervise/hub.h); a job of one rank has
 * a hub, too.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_DECIDE_H
#define SUPERVISE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervise/message.h"

struct supervise_rules {
	int64_t restarts;       /* the maximum number of restarts that count */
	int64_t grace_ms;       /* from TERM to KILL */
	bool final[256];        /* exit codes after which nothing is restarted */
	int64_t stall_after_ms; /* supervise/stall.h */
};

enum supervise_event {
	SUPERVISE_ENDED,          /* the command has ended with `status` */
	SUPERVISE_EMPTY,          /* none of its processes is left */
	SUPERVISE_STOP_REQUESTED, /* by a signal: `status` is 128 + its number */
	SUPERVISE_TIME,           /* none of these: the time may have come */
};

enum supervise_action {
	SUPERVISE_WAIT,  /* for the next event, or until `kill_at`, unless that is -1 */
	SUPERVISE_TERM,  /* all processes of the command */
	SUPERVISE_KILL,  /* all of them; again at the next `kill_at` */
	SUPERVISE_START, /* the command, with KFTRAINER_RESTART=`restart` */
	SUPERVISE_END,   /* with `status` */
	SUPERVISE_DUMP,  /* dump the stacks of its processes, and end them */
};

/* { .kill_at = -1, .idle = true } to begin. */
struct supervise_state {
	bool idle;     /* no process is left: the command may start */
	bool clearing; /* its processes are being ended */
	bool ended;    /* the command has ended, with `status` */
	bool free;     /* after ORDER_FREE: the end of the command is final */
	bool stop_requested;
	bool alone;            /* set by the caller: there is no other rank */
	enum peer_cause cause; /* set by the caller before SUPERVISE_ENDED */
	int status;            /* as in sh(1): 128 + signal */
	int64_t restart, kill_at;
	int64_t next; /* the epoch of the last ORDER_STOP */
};

/* `status` is for SUPERVISE_ENDED and SUPERVISE_STOP_REQUESTED. */
enum supervise_action supervise_decide(struct supervise_state *s,
				       enum supervise_event event, int status,
				       int64_t now);
enum supervise_action supervise_apply_order(struct supervise_state *s,
					    const struct supervise_rules *rules,
					    const struct hub_order *order, int64_t now);
/* The state to send to the hub. */
struct peer_state supervise_peer_state(const struct supervise_state *s);

#endif
