/*
 * decide.h - the next step of a supervisor, a function of its state, an event and the time.
 *
 * It starts, stops and frees its command as the hub orders (supervise/hub.h), of which a
 * single rank has one of its own.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_DECIDE_H
#define SUPERVISE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervise/message.h"

struct supervise_rules {
	int64_t restarts;       /* at most this often is the command started again */
	int64_t grace_ms;       /* from TERM to KILL */
	bool final[256];        /* exit codes after which it is not started again */
	int64_t stall_after_ms; /* supervise/stall.h */
};

enum supervise_event {
	SUPERVISE_ENDED,          /* the command, with `status` */
	SUPERVISE_EMPTY,          /* none of its processes is left */
	SUPERVISE_STOP_REQUESTED, /* to stop, by a signal: `status` is 128 + its number */
	SUPERVISE_TIME,           /* none of these */
};

enum supervise_action {
	SUPERVISE_WAIT,  /* for the next event, or until `kill_at` if that is not -1 */
	SUPERVISE_TERM,  /* all processes of the command */
	SUPERVISE_KILL,  /* all of them; again at the next `kill_at` */
	SUPERVISE_START, /* the command, with KFTRAINER_RESTART=`restart` */
	SUPERVISE_END,   /* with `status` */
	SUPERVISE_DUMP,  /* show where its processes are, and end them */
};

/* { .kill_at = -1, .idle = true } is a command that was not started yet. */
struct supervise_state {
	bool idle;     /* no process is left, and the next START may come */
	bool clearing; /* its processes are being ended */
	bool ended;    /* the command has, with `status` */
	bool free;     /* of the hub: its end is final */
	bool asked;
	bool alone;            /* the caller's: there is no other rank */
	enum peer_cause cause; /* the caller's, before SUPERVISE_ENDED */
	int status;            /* as a shell has it: 128 + signal */
	int64_t restart, kill_at;
	int64_t next; /* the epoch to which the hub goes */
};

/* `status` is for SUPERVISE_ENDED and SUPERVISE_STOP_REQUESTED. */
enum supervise_action supervise_decide(struct supervise_state *s,
				       enum supervise_event event, int status,
				       int64_t now);
enum supervise_action supervise_obey(struct supervise_state *s,
				     const struct supervise_rules *rules,
				     const struct hub_order *order, int64_t now);
/* The state of this rank, as the hub gets it. */
struct peer_state supervise_peer_state(const struct supervise_state *s);

#endif
