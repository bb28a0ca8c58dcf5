/*
 * view.h - a snapshot of one TrainJob in a cluster: objects, events, logs.
 *
 * view_load() reads the job's own objects always, and others (nodes, claims, queues,
 * leases, logs) only if the first give a reason. Objects that the user may not read are
 * recorded in `denied`, without an error. All functions but view_load() are pure: tests
 * make a view of documents (view_add()).
 */
#ifndef WHY_VIEW_H
#define WHY_VIEW_H

#include "base/arena.h"
#include "base/json.h"
#include "kube/kube.h"
#include "trainer/podcause.h"

enum {
	VIEW_LOG_LINES = 200, /* of a container */
	VIEW_LOG_BYTES = 128 * 1024,
	VIEW_LOGS = 4,
	VIEW_HEAD_BYTES = 64 * 1024, /* of a log's beginning */
	VIEW_HEADS = 2,
	VIEW_REACTION_SECONDS = 5,  /* a running controller has acted by then */
	VIEW_STALLED_SECONDS = 600, /* without progress, or a line of the log */
};
#define VIEW_PODS_OF_ALL "pods of all namespaces" /* a resource in `denied` */

struct view {
	const char *ns, *name; /* in the arena */
	int64_t now;           /* seconds since 1970 */
	bool is_local;         /* a job of this machine, which kubectl cannot read */
	const char *named;     /* kube_named(), for suggested commands; NULL: "" */
	/* One of a kind, or NULL. */
	cJSON *trainjob, *runtime, *jobset, *podgroup, *workload, *queue, *pending;
	cJSON *lease, *deployment; /* the Kubeflow Trainer controller's */
	cJSON *worker;             /* MultiKueueCluster that runs it */
	cJSON *kai_queue;          /* of KAI's PodGroup */
	/* Arrays, never NULL. Pods are reduced by pod_slim(), nodes by node_slim(). */
	cJSON *jobs, *pods, *events, *nodes, *claims;
	cJSON *placeholders; /* pods by which YuniKorn reserves resources */
	cJSON *workloads;    /* other Workloads that wait in the same queue */
	cJSON *logs;         /* {pod, container, text} */
	cJSON *heads;        /* {pod, text}: how the logs of two ranks begin */
	cJSON *missing;      /* {of: KIND}: objects that answered 404 */
	cJSON *denied;       /* {resource, what, check}: 403 (kube/permission.h) */
	struct arena arena;
};

/* Initializes an empty view of the job; view_release() frees it. */
void view_init(struct view *v, const char *ns, const char *name);
/*
 * Stores a document in the member of its kind, which it replaces or is appended to. A
 * document of another kind is freed.
 */
void view_add(struct view *v, cJSON *take_obj);
/* The number of documents of a kind that has a list. */
int view_size(const struct view *v, const char *kind);
/* Remove all of them but the first n. */
void view_truncate(struct view *v, const char *kind, int n);
/*
 * Removes a JobSet that the TrainJob does not own with its Jobs and pods; pods and Jobs of
 * a former TrainJob of the same name (foreign_is_former()), Jobs that the JobSet does not
 * own, and pods that none of its Jobs owns. Anybody can set labels.
 */
void view_drop_others(struct view *v);
void view_release(struct view *v);
#define cleanup_view __attribute__((cleanup(view_release)))

/*
 * On success the caller releases *ret. ERR_NOT_FOUND: no such TrainJob; the message has
 * the nearest name of the namespace. ERR_DENIED: it may not be read. Others: kube.h.
 */
MUST_CHECK int view_load(struct view *ret, struct kube *k, const char *ns,
			 const char *name, struct error *err);

bool view_is_missing(const struct view *v, const char *kind); /* the API: 404 */
/* May objects of that resource ("nodes") not be read? */
bool view_is_denied(const struct view *v, const char *resource);
const char *view_log(const struct view *v, const cJSON *pod); /* its text, or NULL */
cJSON *view_node(const struct view *v, const char *name);     /* NULL: none */
const cJSON *view_first_rank(const struct view *v); /* rank 0's pod if it runs, or NULL */
bool view_is_initializer(const char *job);          /* the replicatedJob of one */
/* Are the requests of all pods on the nodes known? */
bool view_knows_requests(const struct view *v);

/* ---- derived from the view ---- */

/* A fact about a pod or one of its containers. Strings are owned by the pod. */
struct failure {
	const cJSON *pod;
	struct pod_fact fact;
};
/*
 * Pods and containers that failed, the best explanation first (pod_failure_explains());
 * returns how many, at most max.
 */
size_t view_failures(const struct view *v, struct failure *ret, size_t max);
/* The exit code of the process that failed first: 1 to 255; 1: unknown. */
int view_exit_code(const struct view *v);

/* The number of pods that wait for that cause; *ret: the first, if there is one. */
int64_t view_pods_with(const struct view *v, enum pod_cause cause, struct failure *ret);

int64_t view_pods_wanted(const struct view *v); /* parallelism of all active Jobs */
/* Pods of all replicatedJobs, without those being deleted. */
struct view_counts {
	int64_t all, placed, ready, succeeded, pending;
};
struct view_counts view_count(const struct view *v);
/*
 * The latest event of that reason about an object of that kind and name (NULL: any), not
 * of a former TrainJob or JobSet of the same name; `warning`: only warnings. NULL: none.
 */
const cJSON *view_event(const struct view *v, const char *kind, const char *name,
			const char *reason, bool warning);
/*
 * Is the event the newer one of both? One by which the kubelet says once more that it
 * failed, without the cause, counts as older than any other.
 */
bool view_tells_more(const cJSON *event, const cJSON *than);

#endif
