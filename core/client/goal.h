/*
 * goal.h - the state that a TrainJob is expected to reach. Pure.
 */
#ifndef CLIENT_GOAL_H
#define CLIENT_GOAL_H

#include "base/arena.h"
#include "base/json.h"

enum goal_kind {
	GOAL_COMPLETE,
	GOAL_FAILED,
	GOAL_FINISHED,
	GOAL_RUNNING,
	GOAL_SUSPENDED,
	GOAL_DELETED,
	N_GOALS,
	GOAL_CONDITION = N_GOALS,
};

struct goal {
	enum goal_kind kind;
	const char *type, *status; /* GOAL_CONDITION: in the arena of goal_read() */
};

/*
 * Parse "complete", ..., "deleted" or "delete", in any case, or
 * "condition=TYPE[=STATUS]"; NULL is complete. ERR_USAGE lists them.
 */
MUST_CHECK int goal_read(struct goal *ret, struct arena *arena, const char *text,
			 struct error *err);

/* GOAL_MISSED: the job has ended otherwise, or was deleted: it cannot reach the goal. */
enum goal_verdict { GOAL_PENDING, GOAL_REACHED, GOAL_MISSED };
enum goal_verdict goal_judge(const struct goal *goal,
			     const cJSON *job); /* NULL: deleted */

#endif
