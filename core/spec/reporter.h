/*
 * reporter.h - the caller's functions that print messages about a submission (errors with
 * file, line and column, and warnings) and the outcome for each object of a cluster.
 */
#ifndef SPEC_REPORTER_H
#define SPEC_REPORTER_H

#include "base/json.h"

struct reporter {
	void (*line)(void *ctx, const char *text); /* without a newline */
	void *ctx;
};

void reporter_line(const struct reporter *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

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
