/* outcomes.c - the outcome of an apply, by resourceVersion (client/outcomes.h). */
#include "client/outcomes.h"

#include "api/meta.h"
#include "base/str.h"

const char *outcome_of(const cJSON *before, const cJSON *after)
{
	if (!before)
		return "created";
	return str_eq(meta_version(before), meta_version(after)) ? "unchanged"
								 : "changed";
}
