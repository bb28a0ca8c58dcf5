/*
 * podcause.h - what explains that a pod does not start, or that it failed.
 *
 * Pure: a fact is read off a pod's status, as the scheduler and the kubelet wrote it.
 * podcause.c is the only file with the keys of v1.PodStatus, but for their numbers in
 * protobuf (api/proto.c): a field read here goes there, too. Pods carry JobSet's label.
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
	POD_DISRUPTED, /* evicted, preempted, its node lost */
	POD_REJECTED,  /* the kubelet would not run it */
	N_POD_CAUSES
};

struct pod_cause_kind {
	const char *reason; /* of an event: "ImagePullFailed" */
	bool normal;
	bool fails; /* it may be why the job failed */
};
extern const struct pod_cause_kind pod_causes[N_POD_CAUSES];

/* One thing to report of a pod. Strings are owned by the pod. */
struct pod_fact {
	enum pod_cause cause;
	const char *container, *image, *reason, *message;
	int64_t exit_code, restarts;
	const char *finished; /* RFC 3339; NULL */
	const char *run;      /* which of the container's: when it ended; NULL */
	bool again;           /* it has been started again since */
	bool waits;           /* it has not ended */
};

enum { MAX_POD_FACTS = 16 };

struct pod_fact_list {
	struct pod_fact list[MAX_POD_FACTS];
	size_t n;
};

/* Of its status, and where it is. */
const char *pod_phase(const cJSON *pod); /* "" when absent */
bool pod_is_ready(const cJSON *pod);
const char *pod_node(const cJSON *pod); /* NULL: none yet */
const char *pod_job(const cJSON *pod);  /* the replicatedJob: "node"; "" */
/* Of that container or init container; NULL: none yet. */
const cJSON *pod_container_status(const cJSON *pod, const char *name);
int64_t pod_node_rank(const cJSON *pod); /* completion index; -1: none */
/* The init container that it has come to, and since when that runs, or NULL; else NULL. */
const char *pod_at_init(const cJSON *pod, const char **ret_since);

/*
 * Reduce a pod to its names, its phase, and the conditions and container states worth
 * reporting. False: it has succeeded, or runs with nothing to report
 * (informer_conf.keep).
 */
bool pod_facts_keep(cJSON *pod);

/* Of a whole pod, or of one that pod_facts_keep() left. */
void pod_facts_of(const cJSON *pod, struct pod_fact_list *ret);
bool pod_fact_in(const struct pod_fact_list *facts, const struct pod_fact *f);

/* What a failure counts among others; the strings are the pod's. */
struct pod_failure {
	bool weak;      /* killed from outside, or started again since */
	const char *at; /* RFC 3339; NULL: not known */
	const char *pod;
};
struct pod_failure pod_failure_of(const cJSON *pod, const struct pod_fact *f);
/* By the time, where both have the same one by the name. */
bool pod_failure_is_sooner(const struct pod_failure *a, const struct pod_failure *b);
/*
 * Is `a` the better explanation? A failure of its own before a kill, then the earlier
 * one.
 */
bool pod_failure_explains(const struct pod_failure *a, const struct pod_failure *b);

/* "node-1 (node rank 1)", "dataset-initializer"; of a second job "node-1-1 (...)". */
const char *pod_step(struct arena *arena, const cJSON *pod);
/* "STEP: WHAT": "node-1 (node rank 1): container node: exit code 3". */
const char *pod_fact_brief(struct arena *arena, const cJSON *pod,
			   const struct pod_fact *f);
/* That, and " on NODE: MESSAGE"; `who` goes before it. */
const char *pod_fact_words(struct arena *arena, const char *who, const cJSON *pod,
			   const struct pod_fact *f);
/* "SIGKILL" of exit code 137; NULL: it is none of a signal. */
const char *exit_signal(int64_t exit_code);

#endif
