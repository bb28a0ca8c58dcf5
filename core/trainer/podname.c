/* podname.c - parse rank and step from a pod's name (trainer/podname.h). */
#include "trainer/podname.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"

/* "12-" at *p: returns the number and advances *p; -1: no number. */
static int number(const char **p)
{
	const char *s = *p;
	int n = 0;

	while (*s >= '0' && *s <= '9' && n < INT_MAX / 10 - 1)
		n = 10 * n + (*s++ - '0');
	if (s == *p || *s != '-')
		return -1;
	*p = s + 1;
	return n;
}

static int pods_of(const cJSON *rjob)
{
	const cJSON *spec = json_get(rjob, "template", "spec");
	int64_t n = json_int(spec, -1, "completions");

	return (int)(n >= 0 ? n : job_parallelism(spec));
}

static bool match(struct podname *ret, const cJSON *rjob, const char *rest)
{
	const char *p = str_after(rest, json_str(rjob, "name"));
	const char *suffix;
	int64_t rank;

	if (!p || *p++ != '-')
		return false;
	ret->replica = number(&p);
	suffix = p;
	ret->index = number(&suffix);
	if (ret->replica < 0 || strlen(suffix) != 5 || strchr(suffix, '-'))
		return false;
	rank = (int64_t)ret->replica * pods_of(rjob) + ret->index;
	if (rank > INT_MAX)
		return false;
	ret->rjob = rjob;
	ret->step = json_str(rjob, "name");
	ret->rank = ret->index < 0 ? -1 : (int)rank;
	return true;
}

bool podname_parse(struct podname *ret, const cJSON *jobset, const char *pod)
{
	const char *name = meta_name(jobset), *rest = name ? str_after(pod, name) : NULL;
	const cJSON *rjob;
	size_t n = 0;

	if (!rest || *rest++ != '-')
		return false;
	json_each(rjob, json_get(jobset, "spec", "replicatedJobs")) {
		ret->number = n++;
		if (json_str(rjob, "name") && match(ret, rjob, rest))
			return true;
	}
	return false;
}

static int containers(const cJSON *pod_spec)
{
	return cJSON_GetArraySize(json_get(pod_spec, "initContainers")) +
	       cJSON_GetArraySize(json_get(pod_spec, "containers"));
}

const char *podname_prefix(struct arena *arena, const struct podname *name,
			   const char *container)
{
	bool single = rjob_replicas(name->rjob) * pods_of(name->rjob) == 1 &&
		      !str_eq(rjob_ancestor(name->rjob), ANCESTOR_TRAINER);
	const char *ret = name->step;

	if (!single && rjob_replicas(name->rjob) > 1)
		ret = arena_printf(arena, "%s-%d", ret, name->replica);
	if (!single && name->index >= 0)
		ret = arena_printf(arena, "%s-%d", ret, name->index);
	if (container && containers(rjob_pod_spec_const(name->rjob)) > 1 &&
	    !str_eq(container, name->step))
		ret = arena_printf(arena, "%s/%s", ret, container);
	return ret;
}
