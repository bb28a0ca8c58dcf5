/*
 * published.h - the reader of the objects that a run has written into STATE_API
 * (state_owned.h), for code that puts them into an API.
 */
#ifndef MACHINE_PUBLISHED_H
#define MACHINE_PUBLISHED_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"

#define JOBSET_UID_LABEL "jobset.sigs.k8s.io/jobset-uid"

/* A kind of objects that runs publish. */
struct published_type {
	const char *kind, *api_version;
};
extern const struct published_type published_types[]; /* pods first; ends with { NULL } */

/* From a name such as "Pod.two-node-0-0-abcde.json"; NULL: no published object has it. */
const struct published_type *published_kind(struct arena *a, const char *file,
					    const char **ret_name);
cJSON *published_read(const char *path); /* NULL: it cannot be read */

/* A job, and what has been read of its run. */
struct published_run {
	char *ns, *name; /* the job's */
	char *dir;       /* the run's; NULL: none has been read */
	/* File in STATE_API -> its state_fingerprint() when it was read. */
	struct map fingerprints;
	int watches[2]; /* inotify's, of the run; -1: none */
};

struct published_sink {
	/* The object is new or has changed. False: put it again next time. */
	bool (*put)(void *ctx, const struct published_run *r, cJSON *obj);
	void (*drop)(void *ctx, const struct published_run *r, const char *api_version,
		     const char *kind, const char *name);
	void *ctx;
};

/* Will the same write succeed later, as once a disk is no longer full? */
bool published_may_succeed(const struct error *err);
void published_run_init(struct published_run *r, const char *ns, const char *name);
void published_run_release(struct published_run *r);
/*
 * Put the objects whose files are new, except the JobSet; then drop the pods and Jobs
 * whose files are gone. `ended`: the TrainJob of a run that has ended, which ends its
 * pods and Jobs; else NULL.
 */
void published_read_run(struct published_run *r, const cJSON *ended,
			const struct published_sink *to);
/* Has the file, or whether the run has ended, changed since this was last called? */
bool published_is_new(struct published_run *r, const char *path, bool ended);
/* Read that file, which has been read, again next time. */
void published_forget(struct published_run *r, const char *file);
/* Drop all objects that were read. */
void published_drop_run(struct published_run *r, const struct published_sink *to);
void published_unwatch(struct published_run *r, int inotify);

/* The condition of the TrainJob of a run that was killed; NULL: it was not. */
const cJSON *published_killed(const cJSON *trainjob);
/*
 * `cause` is a condition with reason, message and lastTransitionTime. Mark a pod whose
 * process was killed as Failed, with its running containers, and add the condition
 * DisruptionTarget. False: it had already ended.
 */
bool published_kill(cJSON *pod, const cJSON *cause);
/* End a Job that has not ended as Complete or Failed (type). False: it had ended. */
bool published_end_job(cJSON *job, const char *type, const cJSON *cause);
/* Set Failed in a JobSet's status, for a reason that no controller reports. */
void published_fail(cJSON *status, const cJSON *cause);

#endif
