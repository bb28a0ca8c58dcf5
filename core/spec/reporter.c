/* reporter.c - format a line and hand it to the reporter (spec/reporter.h). */
#include "spec/reporter.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"

void reporter_line(const struct reporter *to, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	to->line(to->ctx, text);
}
