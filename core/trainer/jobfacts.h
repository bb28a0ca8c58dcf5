/*
 * jobfacts.h - events from a TrainJob's pods, and which pod failed first.
 *
 * A new fact of a pod (podcause.h) gives an event; pods with the same cause share one, "8
 * pods, first ...", with their current number. Pods that are being deleted do not fail.
 * No I/O, and no locking.
 */
#ifndef TRAINER_JOBFACTS_H
#define TRAINER_JOBFACTS_H

#include "trainer/podcause.h"

struct job_facts;

struct job_facts *job_facts_new(void);
void job_facts_free(void *job_facts); /* or NULL */

/* A pod's facts before and after a change. */
struct pod_change {
	const cJSON *pod;
	struct pod_fact_list before, now;
};

/* old NULL: created; now NULL: deleted. *ret borrows from both. */
void pod_change_of(struct pod_change *ret, const cJSON *old, const cJSON *now);
/* True: the pod has a fact that it did not have before. */
bool pod_change_has_new(const struct pod_change *c);

struct fact_sink {
	void (*on_fact)(void *ctx, enum pod_cause cause, const char *message);
	void *ctx;
};

/* Process a change. `to` NULL: the job has finished, ignore new facts. */
void job_facts_change(struct job_facts *j, const struct pod_change *c,
		      const struct fact_sink *to);
/* Add a failed pod whose changes were missed, which may explain the failure. */
void job_facts_add_failed(struct job_facts *j, const cJSON *pod);
/* A pod was deleted: failures of the next attempt now take precedence over this pod's. */
void job_facts_deleted(struct job_facts *j, const cJSON *pod);
bool job_facts_is_empty(const struct job_facts *j);

/*
 * "node-1 (node rank 1): container node: exit code 3 on gpu-7": the earliest failure,
 * owned by j; NULL: no pod failed. *ret_brief: the length without " on gpu-7".
 */
const char *job_facts_first(const struct job_facts *j, size_t *ret_brief);

#endif
