/*
 * outcomes.h - the caller's functions to which a command reports the outcome for each
 * object of a cluster, and messages.
 */
#ifndef CLIENT_OUTCOMES_H
#define CLIENT_OUTCOMES_H

#include "base/json.h"
#include "spec/reporter.h"

struct outcomes {
	/* "created", ...; obj NULL: a line about all objects */
	void (*object)(void *ctx, const cJSON *obj, const char *outcome);
	void *ctx;
	struct reporter notes; /* refusals, warnings */
};

static inline void outcome_report(const struct outcomes *to, const cJSON *obj,
				  const char *outcome)
{
	to->object(to->ctx, obj, outcome);
}

/* The outcome of an apply: "created" (`before` is NULL), "unchanged" or "changed". */
const char *outcome_of(const cJSON *before, const cJSON *after);

#endif
