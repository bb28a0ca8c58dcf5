/*
 * cgroup.h - cpu and memory limits of containers, if this user may set them.
 *
 * Control groups version 2, or version 1 where its cpu and memory hierarchies
 * are mounted. A group is made beside this process's own (version 2: processes
 * may not be in inner groups; version 1: below it); this process is never
 * moved. That works for root, and for users in a delegated part of the tree
 * (systemd's user manager). Nothing is made before a container has a limit.
 */
#ifndef KUBELET_CGROUP_H
#define KUBELET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { CGROUP_CPU, CGROUP_MEMORY, CGROUP_TREES };

struct cgroup_root {
	bool probed;                 /* cgroup_open() was called */
	int version;                 /* 0: limits cannot be set; `why` has the cause */
	char dir[CGROUP_TREES][512]; /* our groups; version 2: the same twice */
	bool cpu, memory;            /* can this resource be limited? */
	char why[256];
	unsigned made;
	/*
	 * Set by the caller: called before a directory below `dir` is made. May be NULL.
	 */
	void (*on_make)(void *ctx, const char *dir);
	void *ctx;
};

struct cgroup {
	const struct cgroup_root *root; /* NULL: none */
	char dir[CGROUP_TREES][600];    /* "": not in this tree */
	int procs[CGROUP_TREES];        /* open cgroup.procs until started, or -1 */
};

struct cgroup_limits {
	int64_t cpu_milli; /* 0: none */
	int64_t memory;    /* bytes, 0: none */
};

/* Probe once for a usable hierarchy; root->version is 0 if there is none. */
void cgroup_open(struct cgroup_root *root);
void cgroup_close(struct cgroup_root *root); /* remove the groups */

/* Make a group with these limits. -1: the group or a limit cannot be set up. */
MUST_CHECK int cgroup_make(struct cgroup *cg, struct cgroup_root *root,
			   const struct cgroup_limits *limits, struct error *err);

void cgroup_started(struct cgroup *cg); /* call once the process is in the group */

/* Did the kernel kill a process of the group because of its memory limit? */
bool cgroup_oom(const struct cgroup *cg);
/*
 * The kernel's out-of-memory kills so far in the group; without one, in that of this
 * process; where that does not count them, on the machine. 0 if unknown.
 */
int64_t cgroup_oom_kills(const struct cgroup *cg);
void cgroup_remove(struct cgroup *cg);

#endif
