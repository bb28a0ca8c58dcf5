/*
 * decide.h - what a supervisor does next: a function of its state, an event and the time.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_DECIDE_H
#define SUPERVISE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

struct supervise_rules {
	int64_t restarts; /* at most this often is the command started again */
	int64_t grace_ms; /* from TERM to KILL */
	bool final[256];  /* exit codes after which it is not started again */
};

enum supervise_event {
	SUPERVISE_ENDED, /* the command, with `status` */
	SUPERVISE_EMPTY, /* none of its processes is left */
	SUPERVISE_ASKED, /* to stop, by a signal */
	SUPERVISE_TIME,  /* none of these */
};

enum supervise_action {
	SUPERVISE_WAIT,  /* for the next event, or until `kill_at` if that is not -1 */
	SUPERVISE_TERM,  /* all processes of the command */
	SUPERVISE_KILL,  /* all of them; again at the next `kill_at` */
	SUPERVISE_START, /* the command, with KFTRAINER_RESTART=`restart` */
	SUPERVISE_END,   /* with `status` */
};

/* { .kill_at = -1 } is a command that was started for the first time. */
struct supervise_state {
	bool clearing, asked;
	int status; /* as a shell has it: 128 + signal */
	int64_t restart, kill_at;
};

/* `status` is only for SUPERVISE_ENDED. */
enum supervise_action supervise_decide(struct supervise_state *s,
				       const struct supervise_rules *rules,
				       enum supervise_event event, int status,
				       int64_t now);

#endif
