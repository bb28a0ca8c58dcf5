/*
 * why_impl.h - the causes of why.c's table, and the functions that word them.
 *
 * Causes by file: why_objects.c (no controller, objects refused), why_queue.c (suspended,
 * Kueue), why_place.c (scheduler, volume claims), why_gang.c (gangs), why_devices.c
 * (claims of devices), why_pods.c (containers that do not start or end), why_ready.c (pods
 * that are not ready, or remain), why_end.c (failed, complete), why_run.c (running).
 * Strings are in the arena, or the view's.
 */
#ifndef WHY_WHY_IMPL_H
#define WHY_WHY_IMPL_H

#include "why/view.h"

/* The manager of Kueue's entry in spec.runtimePatches. */
#define KUEUE_MANAGER "kueue.x-k8s.io/manager"

/* The job's state; bits, so that a cause of the table can apply in several. */
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
	/*
	 * A cause was added that explains the pods' state better. General ones then add
	 * nothing: why_unschedulable(), why_restarts(), why_first_failure(), ...
	 */
	bool gang_covered, devices_covered, refusal_covered;
	cJSON *causes;
};

/*
 * Appends a cause; its message is a clause without a full stop. `command` may be NULL;
 * "%n" in it becomes the namespace option, " -n team-a". All strings are copied.
 */
void why_add(struct why *w, const char *reason, const char *command, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/*
 * A message to quote: one line without a period; of a long one the start and the end, where
 * its cause is, at most MAX_QUOTE bytes. NULL: "".
 */
const char *why_quote(struct why *w, const char *text);
/* The time from `since` (seconds since 1970) to now: "3m20s"; "some time" if < 0. */
const char *why_age(struct why *w, int64_t since);
/* The command "kubectl describe pod bert-node-0-0-x%n". */
const char *why_describe(struct why *w, const char *kind, const char *name);
/* The scheduler's message, with the pod's requests and the most that a node has free. */
const char *why_scheduler_message(struct why *w, const cJSON *pod, const char *message);
/*
 * A prefix for another cause: "its gang needs 3, room for 2 (quota): ", which sets
 * gang_covered; "": no gang waits, or the free capacity is unknown.
 */
const char *why_gang_needs(struct why *w);
bool why_gang_is_incomplete(struct why *w); /* none has a node, and some do not exist */
/* "1 of its 4 pods", "its 4 pods", "its pod". */
const char *why_pod_count(struct why *w, int64_t n, int64_t all);
int64_t why_job_age(const struct why *w); /* seconds; 0: unknown */

/* "node-1 (node rank 1), pod bert-node-0-1-x on node gpu-7: container node ended ...". */
const char *why_failure(struct why *w, const struct failure *f);
/* The command that prints the container's log; if the node ended it, kubectl describe. */
const char *why_logs(struct why *w, const struct failure *f);
bool why_is_init(const cJSON *pod, const char *container); /* an init container */
/* The decisive line of the pod's log as a clause that starts with "; "; "": no log. */
const char *why_log_line(struct why *w, const cJSON *pod);

/* Is what the warning says over, as its object exists now, or the pod has a node? */
bool why_is_over(const struct why *w, const cJSON *event);

/* The causes: each adds at most what it finds. */
void why_deleted(struct why *w);
void why_terminating(struct why *w); /* pods of a job that is not deleted */
void why_elsewhere(struct why *w);
void why_managed(struct why *w);
void why_no_runtime(struct why *w);
void why_runtime_gone(struct why *w);
void why_creation_failed(struct why *w);
void why_launcher(struct why *w);
void why_no_controller(struct why *w);
void why_no_jobset_controller(struct why *w);
void why_pods_refused(struct why *w);
/* JobSet's exclusive placement holds pods back: for ever, if they are of a gang. */
void why_gang_of_followers(struct why *w);
void why_followers(struct why *w);

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
void why_container_remains(struct why *w);
void why_not_ready(struct why *w);
/* The job of the JobSet that JobSet creates only when that pod is ready, or NULL. */
const char *why_awaiting(const struct view *v, const cJSON *pod);

void why_deadline(struct why *w);
void why_interrupted(struct why *w); /* a local run was stopped */
void why_first_failure(struct why *w);
void why_gave_up(struct why *w);
void why_complete(struct why *w);

void why_process_stopped(struct why *w); /* kftrainer's, of a local job */
void why_waiting_for_peers(struct why *w);
void why_stalled(struct why *w);
void why_starting(struct why *w);
void why_running(struct why *w);
void why_workers_remain(struct why *w); /* an MPI job's launcher has succeeded */
void why_alone(struct why *w);          /* an event says that processes train alone */
void why_supervision(struct why *w);    /* reports of its supervisors */
void why_warning(struct why *w);

#endif
