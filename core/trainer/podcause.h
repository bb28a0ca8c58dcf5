/*
 * podcause.h - why a pod does not start or has failed, from its status.
 *
 * Pure: facts come from the status that the scheduler and the kubelet wrote. podcause.c
 * is the only file with the keys of v1.PodStatus; a field read here must also be in the
 * protobuf table (api/proto.c). Pods have JobSet's label.
 */
#ifndef TRAINER_PODCAUSE_H
#define TRAINER_PODCAUSE_H

#include "base/arena.h"
#include "base/json.h"

#define POD_JOBSET_LABEL "jobset.sigs.k8s.io/jobset-name"

enum pod_cause {
	POD_UNSCHEDULABLE,
	POD_GATED,
	POD_IMAGE,
	POD_START, /* no such command, Secret, ConfigMap, ... */
	POD_OOM,
	POD_FAILED,    /* an exit code or a signal */
	POD_DISRUPTED, /* evicted, preempted, or the node was lost */
	POD_REJECTED,  /* the kubelet refused to run the pod */
	N_POD_CAUSES
};

struct pod_cause_kind {
	const char *reason; /* of an event: "ImagePullFailed" */
	bool normal;
	bool fails; /* may be the reason of the job's failure */
};
extern const struct pod_cause_kind pod_causes[N_POD_CAUSES];

/* One thing to report of a pod. Strings are owned by the pod. */
struct pod_fact {
	enum pod_cause cause;
	const char *container, *image, *reason, *message;
	int64_t exit_code, restarts;
	const char *finished; /* RFC 3339; NULL */
	const char *run;      /* identifies the container's run, by its end; or NULL */
	bool restarted;       /* the container was started again later */
	bool waits;           /* the container has not ended */
};

enum { MAX_POD_FACTS = 16 };

struct pod_fact_list {
	struct pod_fact list[MAX_POD_FACTS];
	size_t n;
};

/* Members of a pod's status and spec. */
const char *pod_phase(const cJSON *pod); /* "" when absent */
bool pod_has_ended(const cJSON *pod);    /* Succeeded or Failed */
bool pod_is_ready(const cJSON *pod);
const char *pod_node(const cJSON *pod); /* NULL: none yet */
const char *pod_job(const cJSON *pod);  /* the replicatedJob: "node"; "" */
/* The status of the container or init container of that name; NULL: none yet. */
const cJSON *pod_container_status(const cJSON *pod, const char *name);
int64_t pod_node_rank(const cJSON *pod); /* completion index; -1: none */
/*
 * The name of the init container that the pod waits for; NULL: none. *ret_since: the time
 * since which that container runs, RFC 3339, or NULL.
 */
const char *pod_at_init(const cJSON *pod, const char **ret_since);

/*
 * True: a Job of that JobSet owns the pod, and is the one that the pod's labels name.
 * Labels alone prove nothing, as any user can set them; a false owner does not last, as
 * the garbage collector deletes a pod whose owner's uid does not exist.
 */
bool pod_is_of_jobset(const cJSON *pod, const char *jobset);

/*
 * Reduce a pod to its names, its phase, and the conditions and container states worth
 * reporting. False: it has succeeded, or runs with nothing to report, or is not
 * pod_is_of_jobset() (informer_conf.keep).
 */
bool pod_facts_keep(cJSON *pod);

/* The facts of a whole pod, or of one reduced by pod_facts_keep(). */
void pod_facts_of(const cJSON *pod, struct pod_fact_list *ret);
bool pod_fact_in(const struct pod_fact_list *facts, const struct pod_fact *f);

/* The kubelet does not know how the container ended: its exit code is the kubelet's. */
bool pod_fact_is_lost(const struct pod_fact *f);

/* The weight of a failure among others; strings are owned by the pod. */
struct pod_failure {
	bool weak;      /* killed from outside, or started again since */
	const char *at; /* RFC 3339; NULL: not known */
	const char *pod;
};
struct pod_failure pod_failure_of(const cJSON *pod, const struct pod_fact *f);
/* Order by time, then by name. */
bool pod_failure_is_sooner(const struct pod_failure *a, const struct pod_failure *b);
/*
 * True: `a` is the better explanation. A failure of the pod itself is better than a kill,
 * otherwise the earlier failure is better.
 */
bool pod_failure_explains(const struct pod_failure *a, const struct pod_failure *b);

/* "node-1 (node rank 1)", "dataset-initializer"; of a second job "node-1-1 (...)". */
const char *pod_step(struct arena *arena, const cJSON *pod);
/* "STEP: WHAT": "node-1 (node rank 1): container node: exit code 3". */
const char *pod_fact_brief(struct arena *arena, const cJSON *pod,
			   const struct pod_fact *f);
/* `who`, then pod_fact_brief(), then " on NODE: MESSAGE". */
const char *pod_fact_words(struct arena *arena, const char *who, const cJSON *pod,
			   const struct pod_fact *f);
/* "SIGKILL" for exit code 137; NULL: not the exit code of a signal. */
const char *podcause_exit_signal(int64_t exit_code);

#endif
