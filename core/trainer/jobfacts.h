/*
 * jobfacts.h - what the pods of a TrainJob say of it: events, and who failed first.
 *
 * A new fact of a pod (podcause.h) is an event of its cause; pods with the same cause
 * share one, "8 pods, first ...", with their current number. Pods that are being deleted
 * do not fail. No I/O, and not locked.
 */
#ifndef TRAINER_JOBFACTS_H
#define TRAINER_JOBFACTS_H

#include "trainer/podcause.h"

struct job_facts;

struct job_facts *job_facts_new(void);
void job_facts_free(void *job_facts); /* or NULL */

/* What a pod had to report, and has now. */
struct pod_change {
	const cJSON *pod;
	struct pod_fact_list before, now;
};

/* old, now: NULL before it is there, and when it is gone. */
void pod_change_of(struct pod_change *ret, const cJSON *old, const cJSON *now);
bool pod_change_has_new(const struct pod_change *c);

struct fact_sink {
	void (*on_fact)(void *ctx, enum pod_cause cause, const char *message);
	void *ctx;
};

/* `to` NULL: what is new does not count, for the job has finished. */
void job_facts_take(struct job_facts *j, const struct pod_change *c,
		    const struct fact_sink *to);
/* Of a pod that failed and whose changes were missed: it may explain the failure. */
void job_facts_look(struct job_facts *j, const cJSON *pod);
/* It is deleted: a failure of the next attempt counts for more than its. */
void job_facts_gone(struct job_facts *j, const cJSON *pod);
bool job_facts_is_empty(const struct job_facts *j);

/*
 * "node-1 (node rank 1): container node: exit code 3 on gpu-7": the earliest failure; NULL:
 * no pod failed. *ret_brief: its length without " on gpu-7".
 */
const char *job_facts_first(const struct job_facts *j, size_t *ret_brief);

#endif
