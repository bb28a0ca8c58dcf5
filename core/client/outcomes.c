/* outcomes.c - what an apply did, by the versions of the object (client/outcomes.h). */
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
