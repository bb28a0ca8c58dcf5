/*
 * kubelet.h - runs pods as processes of this machine.
 *
 * A node's kubelet without a container engine: it reads v1 Pod documents, runs their
 * containers, and reports their state as v1.PodStatus. Jobs and JobSets are jobs.h's.
 *
 * A pod's containers share its hostname, its address (127.b.c.d, its own), its
 * names (a hosts file that resolves all pods) and its volumes. Each container has
 * namespaces of its own, as in a pod: mount, UTS, IPC and PID, and a user
 * namespace if the caller is not root; its /proc shows only its own processes, and
 * all of them end with its command. The network is the machine's. An image is not
 * pulled: command and args run on the machine's filesystem with the caller's
 * environment plus the pod's, standard input empty. Init containers, sidecars,
 * restartPolicy, probes, hooks, env as kubelet's (podenv.h, probe.h, volumes.h).
 *
 * Where the kernel allows no namespaces (ISOLATION_NONE), containers are plain processes
 * with these differences: processes see each other; the hostname is the
 * machine's, and in env values and args addresses replace pod names that contain a dot;
 * a volume needs an unused mount path, which becomes a symbolic link (for one pod at a
 * time), or is refused; what a container started survives if its init process (sandbox.h) is
 * killed by hand with KILL.
 *
 * The first restart is immediate; the next waits 100 ms, doubling to a minute, reset
 * after a run of 10 minutes. A node's kubelet begins with 10 s, or with 1 s (KEP-4603,
 * ReduceDefaultCrashLoopBackOffDecay). A misconfigured container (a missing key) waits
 * in a cluster until the configuration is corrected; here its pod fails with the reason
 * CreateContainerConfigError. kubelet_check() finds most of that before anything
 * starts.
 *
 * One thread, which must outlive the pods; kubelet_poll() is the loop. Every
 * process dies when this one does, however it dies.
 */
#ifndef KUBELET_KUBELET_H
#define KUBELET_KUBELET_H

#include "base/json.h"

struct kubelet;

/* How the message of a container that was OOMKilled begins. */
#define KUBELET_OOM "a process was killed by the kernel: out of memory"

enum isolation { ISOLATION_NAMESPACES, ISOLATION_NONE };

struct kubelet_opts {
	const char *dir;     /* pods/<pod>/{volumes,hosts,...} go under it */
	const char *log_dir; /* <log_dir>/<pod>/<container>.log, appended */
	const char *claims;  /* volume claims are directories of it; NULL: <dir>/claims */
	bool no_namespaces;  /* force the fallback (tests) */
	const char *const *gpus; /* ids to split, ends with NULL; NULL: none */
	const char *workdir;     /* the working directory of containers without one */
	/* Run by a server: each pod gets a working directory of its own. */
	bool served;
	const cJSON *objects;  /* ConfigMaps and Secrets of the job, a JSON array */
	const char *pod_key;   /* see volumes.h */
	const char *torch_fix; /* see torchfix.h; NULL: pods are unchanged */
	int columns, rows;     /* of the terminal that shows the output; 0: none does */
	const char *venv;      /* a Python environment of the pods (venv.h); or NULL */
	/* Containers with tty: true get a terminal that is attached to stdin (tty.h). */
	bool terminal;
	/* Each output of theirs, before on_line() for it. NULL if !terminal. */
	void (*on_bytes)(void *ctx, const char *data, size_t len);
	/*
	 * One output line of a container (without newline; cut at 64 KiB).
	 * Called from kubelet_poll().
	 */
	void (*on_line)(void *ctx, const char *pod, const char *container,
			const char *line, size_t len);
	/* A line that is not finished, such as a progress bar (output.h). May be NULL. */
	void (*on_state)(void *ctx, const char *pod, const char *container,
			 const char *line, size_t len, bool bar);
	/* The pod's status changed (kubelet_status()). Called from kubelet_poll(). */
	void (*on_status)(void *ctx, const char *pod);
	void *ctx;
};

MUST_CHECK int kubelet_new(struct kubelet **ret, const struct kubelet_opts *opts,
			   struct error *err);
enum isolation kubelet_isolation(const struct kubelet *k);

/*
 * Check a pod (v1 Pod or PodTemplateSpec) before it runs. Appends to `notes` (JSON array
 * of strings, each line once) the fields that are not applied locally. Errors mean that
 * the pod cannot run at all: a container without a command, an unsupported volume
 * (ERR_UNSUPPORTED), more GPUs than the machine has, a ConfigMap, Secret or key that is
 * not among the objects (ERR_NOT_FOUND).
 */
MUST_CHECK int kubelet_check(const struct kubelet *k, const cJSON *pod, cJSON *notes,
			     struct error *err);

/*
 * Register the DNS names of a pod (ends with NULL) and give it a loopback address. Call
 * it for every pod of the run before the first one starts: names resolve before their
 * pods exist, as in DNS. A replacement with the same names gets the same address.
 */
MUST_CHECK int kubelet_add_name(struct kubelet *k, const char *pod,
				const char *const *names, struct error *err);

/* The address of a name, or NULL. */
const char *kubelet_address(const struct kubelet *k, const char *name);

/*
 * At exec time, replace the port `from` by `to` (the job's reserved port; ports.h) in env
 * values and args of every pod, only where the pipeline wrote it.
 */
void kubelet_map_port(struct kubelet *k, int from, int to);
/* Replace the port of that DNS name in TF_CONFIG: TensorFlow listens on all addresses. */
void kubelet_map_peer(struct kubelet *k, const char *name, int port);

/*
 * Start a pod: v1 Pod with metadata.name, .namespace, .uid, .labels,
 * .annotations, spec (with hostname, subdomain). Returns when the processes are
 * started or starting; later failures are in the status, as in a cluster
 * (StartError, exit codes 126 and 127 for not executable and not found).
 */
MUST_CHECK int kubelet_start(struct kubelet *k, const cJSON *pod, struct error *err);

/* Send TERM, and KILL after grace_ms (-1: the pod's terminationGracePeriodSeconds). */
void kubelet_stop(struct kubelet *k, const char *pod, int64_t grace_ms);

/* Send a signal to the main processes of all containers but init containers and sidecars. */
void kubelet_signal(struct kubelet *k, int sig);

/*
 * v1.PodStatus: phase, reason, message, startTime, podIP, conditions (Ready),
 * initContainerStatuses, containerStatuses (state, lastState with exitCode, signal,
 * reason "OOMKilled" | "Error" | "Completed" | "StartError", started, ready,
 * restartCount). A command that is not found is StartError with exit code 127, one that
 * cannot be executed 126, any other failure to start 128. A pod that
 * waits for GPUs is Pending with reason Unschedulable. NULL: no such pod. Owned by the
 * kubelet; valid until the next kubelet_poll().
 */
const cJSON *kubelet_status(struct kubelet *k, const char *pod);

/* Drop a pod that has ended; its logs remain. */
void kubelet_remove(struct kubelet *k, const char *pod);

/*
 * Wait for an event, at most timeout_ms (-1: no limit), and handle all that are due.
 * The wait also ends when `extra_fd` (or -1) is readable. -1: the loop itself failed.
 */
MUST_CHECK int kubelet_poll(struct kubelet *k, int timeout_ms, int extra_fd,
			    struct error *err);

/* KILL all running processes and wait for them; remove volumes and mounts. */
void kubelet_free(struct kubelet *k);

#endif
