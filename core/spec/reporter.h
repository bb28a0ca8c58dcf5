/*
 * reporter.h - the caller's function that prints messages about a submission: errors with
 * file, line and column, and warnings.
 */
#ifndef SPEC_REPORTER_H
#define SPEC_REPORTER_H

#include "base/error.h"

struct reporter {
	void (*line)(void *ctx, const char *text); /* without a newline */
	void *ctx;
};

void reporter_line(const struct reporter *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
