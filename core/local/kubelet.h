/*
 * kubelet.h - runs pods as processes of this machine.
 *
 * What a node's kubelet does, without a container engine: it takes v1 Pod
 * documents, runs their containers, and says how they fare in the words of
 * v1.PodStatus. It knows nothing of Jobs or JobSets (jobs.h does).
 *
 * One pod: a user + mount + UTS + PID namespace where the kernel allows them,
 * with the pod's hostname, its own loopback address and a hosts file that
 * resolves the names of all pods; its volumes at their mount paths; /proc of its
 * own. Where it does not (kubelet_isolation says so): plain processes in a process group
 * with PR_SET_PDEATHSIG and a subreaper, names replaced by addresses. An image
 * is not pulled: command and args run on the host's filesystem with the
 * caller's environment plus the pod's. Init containers, sidecars, restartPolicy,
 * env with fieldRef, resourceFieldRef, configMap and secret, $(VAR) expansion
 * as kubelet's (k8s.io/kubernetes/pkg/kubelet, third_party/forked/golang/expansion).
 *
 * One thread; kubelet_poll() is the loop. Every process dies when this one
 * does, however it dies.
 */
#ifndef LOCAL_KUBELET_H
#define LOCAL_KUBELET_H

#include "base/json.h"

struct kubelet;

enum isolation { ISOLATION_NAMESPACES, ISOLATION_NONE };

struct kubelet_opts {
	const char *dir;         /* pods/<pod>/{volumes,hosts,...} go under it */
	const char *log_dir;     /* <log_dir>/<pod>/<container>.log, appended */
	bool no_namespaces;      /* force the fallback (tests) */
	const char *const *gpus; /* ids to split, ends with NULL; NULL: none */
	const char *workdir;     /* where processes start unless workingDir says else */
	const cJSON *objects;    /* ConfigMaps and Secrets of the job, a JSON array */
	/*
	 * One output line of a container (without newline; cut at 64 KiB).
	 * Called from kubelet_poll().
	 */
	void (*on_line)(void *ctx, const char *pod, const char *container,
			const char *line, size_t len);
	/* The pod's status changed: ask kubelet_status(). From kubelet_poll(). */
	void (*on_status)(void *ctx, const char *pod);
	void *ctx;
};

MUST_CHECK int kubelet_new(struct kubelet **ret, const struct kubelet_opts *opts,
			   struct error *err);
enum isolation kubelet_isolation(const struct kubelet *k);

/*
 * What is in this pod (a v1 Pod, or a PodTemplateSpec) that is not applied
 * locally, one line each, appended to `notes` (JSON array of strings); and what
 * cannot run at all (a container without a command whose image is not ours),
 * as an error.
 */
MUST_CHECK int kubelet_check(const struct kubelet *k, const cJSON *pod, cJSON *notes,
			     struct error *err);

/*
 * Every name that pods of this run will ever have must be known before the
 * first one starts, as in DNS: fqdn list per pod, ends with NULL. Gives the pod
 * its loopback address. The same name again is fine.
 */
MUST_CHECK int kubelet_add_name(struct kubelet *k, const char *pod,
				const char *const *names, struct error *err);

/*
 * In env values and args of every pod, the port `from` where the pipeline wrote
 * it is replaced by `to` at exec time (the job's reserved port; see ports.h).
 */
void kubelet_map_port(struct kubelet *k, int from, int to);

/*
 * Start a pod: v1 Pod with metadata.name, .namespace, .uid, .labels,
 * .annotations, spec (with hostname, subdomain). Returns when the processes are
 * started or starting; what goes wrong later is in the status, as in a cluster
 * (StartError, exit codes 126 and 127 for not executable and not found).
 */
MUST_CHECK int kubelet_start(struct kubelet *k, const cJSON *pod, struct error *err);

/* TERM, and KILL after `grace_ms` (-1: the pod's terminationGracePeriodSeconds). */
void kubelet_stop(struct kubelet *k, const char *pod, int64_t grace_ms);

/*
 * v1.PodStatus: phase, reason, message, startTime, podIP, conditions (Ready),
 * initContainerStatuses, containerStatuses (state, lastState with exitCode,
 * signal, reason "OOMKilled" | "Error" | "Completed" | "StartError", started,
 * ready, restartCount). NULL when there is no such pod. The kubelet's; valid
 * until the next call of kubelet_poll().
 */
const cJSON *kubelet_status(struct kubelet *k, const char *pod);

/* Forget a pod that has ended (its logs stay). */
void kubelet_remove(struct kubelet *k, const char *pod);

/*
 * Wait for something to happen, at most timeout_ms (-1: no limit), and do what
 * is due. `extra_fd` (or -1) also ends the wait when it is readable. Returns 0;
 * -1 on failure of the loop itself.
 */
MUST_CHECK int kubelet_poll(struct kubelet *k, int timeout_ms, int extra_fd,
			    struct error *err);

/* KILL what still runs, wait for it, take volumes and mounts away. */
void kubelet_free(struct kubelet *k);

#endif
