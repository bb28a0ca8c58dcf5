/* refer.c - split KIND/NAME (spec/refer.h). */
#include "spec/refer.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "trainer/api.h"

static const char *const groups[] = { "", "." TRAINER_GROUP, ".v1alpha1." TRAINER_GROUP };

/* Do the first len bytes of the text name this kind? */
static bool is_kind(const char *text, size_t len, const char *kind)
{
	size_t n = strlen(kind);

	if (len < n || strncasecmp(text, kind, n) != 0)
		return false;
	if (len > n && (text[n] == 's' || text[n] == 'S'))
		n++;
	for (size_t i = 0; i < N_ELEMENTS(groups); i++)
		if (len - n == strlen(groups[i]) &&
		    !strncasecmp(text + n, groups[i], len - n))
			return true;
	return false;
}

/* Find the kind before the name, and cut it off. */
static int strip(const char **name, const char *const *kinds, const char **ret_kind)
{
	const char *slash = strchr(*name, '/');

	*ret_kind = NULL;
	if (!slash)
		return 0;
	for (; *kinds; kinds++)
		if (is_kind(*name, (size_t)(slash - *name), *kinds)) {
			*ret_kind = *kinds;
			*name = slash + 1;
			return 0;
		}
	return -1;
}

int refer_jobs(char **names, struct error *err)
{
	static const char *const kinds[] = { TRAINJOB_KIND, NULL };
	static const char *const coming[] = { OPTIMIZATION_KIND, NULL };

	for (; *names; names++) {
		const char *name = *names, *kind;

		if (!strip(&name, coming, &kind) && kind)
			return error_set(err, ERR_USAGE, "%s: " OPTIMIZATION_COMES,
					 *names);
		if (strip(&name, kinds, &kind))
			return error_set(err, ERR_USAGE,
					 "invalid job '%s': want NAME or trainjob/NAME",
					 *names);
		*names += name - *names;
	}
	return 0;
}

int refer_runtime(const char **name, const char **ret_kind, struct error *err)
{
	static const char *const kinds[] = { RUNTIME_KIND, CLUSTER_RUNTIME_KIND, NULL };

	if (!strip(name, kinds, ret_kind))
		return 0;
	return error_set(err, ERR_USAGE,
			 "invalid runtime '%s': want NAME, trainingruntime/NAME or "
			 "clustertrainingruntime/NAME",
			 *name);
}

bool refer_is_jobs(const char *word)
{
	return is_kind(word, strlen(word), TRAINJOB_KIND);
}

bool refer_is_runtimes(const char *word)
{
	static const char *const kinds[] = { RUNTIME_KIND, CLUSTER_RUNTIME_KIND,
					     "runtime" };

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (is_kind(word, strlen(word), kinds[i]))
			return true;
	return false;
}
