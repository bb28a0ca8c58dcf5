/*
 * published.h - the objects that a run has written into STATE_API (state_owned.h), for
 * code that puts them into an API.
 */
#ifndef MACHINE_PUBLISHED_H
#define MACHINE_PUBLISHED_H

#include "base/arena.h"
#include "base/json.h"

#define JOBSET_UID_LABEL "jobset.sigs.k8s.io/jobset-uid"

struct published {
	const char *kind, *api_version;
};
extern const struct published published[]; /* pods first; ends with { NULL } */

/* From a name such as "Pod.two-node-0-0-abcde.json"; NULL: no published object has it. */
const struct published *published_kind(struct arena *a, const char *file,
				       const char **ret_name);
cJSON *published_read(const char *path); /* NULL: it cannot be read */

/*
 * Mark a pod whose process was killed as Failed, with its running containers, and add the
 * condition DisruptionTarget with that reason. False: it had already ended.
 */
bool published_kill(cJSON *pod, const char *reason, const char *message, const char *now);
/* End a Job that has not ended as Complete or Failed (type). False: it had ended. */
bool published_end_job(cJSON *job, const char *type, const char *reason,
		       const char *message, const char *now);
/* Set Failed in a JobSet's status, for a reason that no controller reports. */
void published_fail(cJSON *status, const char *reason, const char *message,
		    const char *now);

#endif
