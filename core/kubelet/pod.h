/*
 * pod.h - a pod of the kubelet; shared by the kubelet's files:
 *
 *     kubelet.c    the interface; the node: addresses, GPUs, the loop
 *     pod.c        decides the next step of a pod (pod_sync)
 *     podstart.c   one container: from its spec to a running process
 *     podstatus.c  v1.PodStatus
 *     podcheck.c   the fields of a pod that are refused or not applied
 *     hosts.c      the pod's hosts file
 *     probe.c      probes and lifecycle hooks
 *
 * Level-triggered, as kubelet's own syncPod: pod_sync() does the next step from the
 * current state; it may be called at any time, any number of times.
 */
#ifndef KUBELET_POD_H
#define KUBELET_POD_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "jobs/pod_phase.h"
#include "kubelet/cgroup.h"
#include "kubelet/kubelet.h"
#include "kubelet/output.h"
#include "kubelet/podenv.h"
#include "kubelet/process.h"
#include "kubelet/volumes.h"

enum container_kind { CONTAINER_INIT, CONTAINER_SIDECAR, CONTAINER_MAIN };
enum container_state { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_ENDED };

struct ended {
	bool set;
	int code, signal;
	const char *reason; /* a literal */
	char message[700];
	int64_t started, finished; /* seconds since 1970 */
};

struct probe;
struct hook;

struct container {
	struct pod *pod;
	const cJSON *spec;
	const char *name;
	enum container_kind kind;
	enum container_state state;
	bool broken; /* CreateContainerConfigError: can never start */

	struct process process;
	struct output output;
	struct arena arena; /* memory of the current run: workdir */
	const char *workdir;
	struct cgroup cgroup;
	int64_t oom_kills;      /* cgroup_oom_kills() when it started */
	int64_t began;          /* seconds since 1970 */
	int64_t began_ms;       /* monotonic */
	struct ended now, last; /* the end of this run, of the one before */
	int restarts;
	int64_t backoff_ms, restart_at; /* restart_at: 0 when no restart is due */

	bool stopping, liveness_failed; /* stopping: TERM was requested */
	int64_t term_at;                /* 0: TERM was sent, or a preStop hook runs */
	int64_t kill_at;                /* 0: TERM was not requested */
	struct probe *probes[3];        /* by enum probe_type; NULL: none */
	struct hook *hook;              /* the one that runs */
};

struct pod {
	struct pod *next;
	struct kubelet *k;
	cJSON *doc;
	const char *name, *ip, *hostname; /* in arena */
	const char *folder;               /* a unique name for its directories */
	const char *dir; /* of its volumes; made with the first of them */
	const char *log_dir;
	const char *hosts; /* its hosts file, beside dir */
	struct arena arena;
	struct container *containers; /* init containers first */
	size_t n;

	enum pod_phase phase;
	const char *reason; /* a literal, or NULL */
	char message[700];
	struct symlinks symlinks; /* where there are no mount namespaces */
	bool admitted;            /* its GPUs are reserved */
	const char *gpus;         /* for CUDA_VISIBLE_DEVICES; NULL: unchanged */
	bool stopping;
	int64_t kill_at;  /* when stopping */
	int64_t started;  /* seconds since 1970 */
	int64_t deadline; /* monotonic ms, 0: none */
	int64_t wake;     /* when to sync again; -1: at the next event */
	bool dirty;       /* the status changed since on_status was called */
	bool removed;     /* freed once the loop is not inside a callback */
	cJSON *status;
	bool status_old;
};

struct gpu_slot {
	const char *id;
	struct pod *user;
	int lock; /* of ports_reserve_gpu() (ports.h), while user is set */
};

struct kubelet {
	struct kubelet_opts opts;
	unsigned kind;     /* SANDBOX_... */
	pid_t trial;       /* of sandbox_probe() */
	const char *stage; /* an empty directory; each pod mounts on it in its own view */
	struct loop loop;
	bool polling; /* inside kubelet_poll() */
	struct pod *pods;
	unsigned last_pod;
	struct arena arena;
	struct map addresses; /* pod -> its address */
	struct map names;     /* name -> address */
	struct map peers;     /* name -> port, as text (podenv.h) */
	struct buf hosts;
	const char *nsswitch; /* the file that pods see as nsswitch.conf; NULL: theirs */
	char block[16];
	unsigned used_in_block;
	bool one_address; /* the loopback interface answers to 127.0.0.1 only */
	int locks[64];
	size_t n_locks;
	struct gpu_slot *gpus;
	size_t n_gpus;
	struct podenv_host host;
	struct cgroup_root cgroups;
	struct rlimit nofile;
	const char *memory_dir; /* on a tmpfs; NULL: none */
	int memory_lock;
};

void pod_sync(struct pod *p, int64_t now);
void pod_changed(struct pod *p); /* mark its status as changed, and sync it */
bool pod_ended(const struct pod *p);
int64_t pod_grace_ms(const struct pod *p);     /* terminationGracePeriodSeconds */
void pod_wake_at(struct pod *p, int64_t when); /* sync the pod then at the latest */
cJSON *pod_status(const struct pod *p);

bool container_alive(const struct container *c);
bool container_started(const struct container *c);
void container_start(struct container *c);

bool kubelet_reserve_gpus(struct pod *p); /* reserve; false: the pod has to wait */
void kubelet_release_gpus(struct pod *p);
int64_t pod_gpus(const cJSON *pod); /* number of nvidia.com/gpu; -1: invalid */

#endif
