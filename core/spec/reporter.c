/* reporter.c - format a line and hand it to the reporter (spec/reporter.h). */
#include "spec/reporter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

void reporter_line(const struct reporter *to, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	to->line(to->ctx, text);
}
