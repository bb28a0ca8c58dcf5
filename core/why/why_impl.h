/*
 * why_impl.h - what the files of why share: why_objects.c (no controller, objects refused),
 * why_queue.c (suspended, Kueue), why_place.c (scheduler, volume claims), why_gang.c,
 * why_devices.c (claims of devices), why_pods.c
 * (containers that do not start or end), why_end.c (failed, complete), why_run.c.
 */
#ifndef WHY_WHY_IMPL_H
#define WHY_WHY_IMPL_H

#include "why/view.h"

/* What the job is at; bits, so that a cause can be of several. */
enum why_state {
	WHY_DELETED = 1 << 0,
	WHY_FAILED = 1 << 1,
	WHY_COMPLETE = 1 << 2,
	WHY_SUSPENDED = 1 << 3,
	WHY_PENDING = 1 << 4,
	WHY_RUNNING = 1 << 5,
};

struct why {
	const struct view *v;
	struct arena *arena;
	enum why_state state;
	/* Causes that say more than others do: why_gang.c, why_devices.c. */
	bool gang_covered, devices_covered, refusal_covered;
	cJSON *causes;
};

/*
 * One more cause: a clause without its full stop. `command` may be NULL; "%n" in it
 * is the namespace as an option, " -n team-a".
 */
void why_add(struct why *w, const char *reason, const char *command, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* A quoted message for a sentence: one line, cut to length, without a period. */
const char *why_words(struct why *w, const char *text);
/* "3m20s"; `since` in seconds since 1970; "some time" when that is unknown. */
const char *why_age(struct why *w, int64_t since);
/* "describe pod bert-node-0-0-x" as a command of kubectl's. */
const char *why_describe(struct why *w, const char *kind, const char *name);
/* How many pods have that cause, as one that keeps them waiting; the first of them. */
int64_t why_pods_with(const struct view *v, enum pod_cause cause, struct failure *ret);
/* The scheduler's words of a pod, with what it requests and the most that is free. */
const char *why_scheduler_says(struct why *w, const cJSON *pod, const char *message);
/* "its gang needs 3, room for 2 (quota): " before another cause; "": no gang waits. */
const char *why_gang_needs(struct why *w);
/* "1 of 4 pods" of n such. */
const char *why_pod_count(struct why *w, int64_t n, int64_t all);
int64_t why_job_age(const struct why *w); /* seconds */

/* "node-1 (node rank 1), pod bert-node-0-1-x on node gpu-7: container node ended ...". */
const char *why_failure(struct why *w, const struct failure *f);
/* The command that shows what its container wrote. */
const char *why_logs(struct why *w, const struct failure *f);
bool why_is_init(const cJSON *pod, const char *container);
/* What its log says, as a clause with "; " before it; "" for nothing. */
const char *why_log_says(struct why *w, const cJSON *pod);

/* Each adds a cause, or none. */
void why_deleted(struct why *w);
void why_elsewhere(struct why *w);
void why_no_runtime(struct why *w);
void why_runtime_gone(struct why *w);
void why_creation_failed(struct why *w);
void why_no_controller(struct why *w);
void why_no_jobset_controller(struct why *w);
void why_pods_refused(struct why *w);

void why_queued(struct why *w);
void why_suspended(struct why *w);

void why_gang(struct why *w);
void why_claims(struct why *w);
void why_devices(struct why *w);
void why_rejected(struct why *w);
void why_unschedulable(struct why *w);
void why_gated(struct why *w);
void why_no_scheduler(struct why *w);

void why_node_lost(struct why *w);
void why_image(struct why *w);
void why_container_start(struct why *w);
void why_mount(struct why *w);
void why_restarts(struct why *w);
void why_init(struct why *w);

void why_deadline(struct why *w);
void why_first_failure(struct why *w);
void why_gave_up(struct why *w);
void why_complete(struct why *w);

void why_waiting_for_peers(struct why *w);
void why_stalled(struct why *w);
void why_starting(struct why *w);
void why_running(struct why *w);
void why_warning(struct why *w);

#endif
