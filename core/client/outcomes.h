/*
 * outcomes.h - what a command that changes objects of a cluster reports while it works.
 * The caller decides how it is shown.
 */
#ifndef CLIENT_OUTCOMES_H
#define CLIENT_OUTCOMES_H

#include "base/json.h"
#include "spec/reporter.h"

struct outcomes {
	/* "created", ...; obj NULL: a line about all of them */
	void (*object)(void *ctx, const cJSON *obj, const char *outcome);
	void *ctx;
	struct reporter notes; /* refusals, warnings */
};

static inline void outcome_report(const struct outcomes *to, const cJSON *obj,
				  const char *outcome)
{
	to->object(to->ctx, obj, outcome);
}

/* Of an apply: "created" (before NULL), "unchanged" or "changed". */
const char *outcome_of(const cJSON *before, const cJSON *after);

#endif
