/*
 * reporter.h - where the lines go that a submission gives rise to: errors with their
 * place in a file, warnings. The caller decides how they are shown.
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
