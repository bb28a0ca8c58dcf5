/* reporter.c - format lines and outcomes for a reporter (spec/reporter.h). */
#include "spec/reporter.h"

#include <stdarg.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
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

const char *outcome_of(const cJSON *before, const cJSON *after)
{
	if (!before)
		return "created";
	return str_eq(meta_version(before), meta_version(after)) ? "unchanged"
								 : "changed";
}
