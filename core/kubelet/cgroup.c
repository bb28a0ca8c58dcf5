/* cgroup.c - find a control group to use, and set limits in it (kubelet/cgroup.h). */
#include "kubelet/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum { CPU_PERIOD_US = 100000, MAX_TEXT = 1 << 20 };

/* A million CPUs: the kernel refuses quotas beyond 2^44 us. */
enum { MOST_CPU_MILLI = 1000000000 };

static int put(const char *dir, const char *file, const char *text)
{
	char path[1200];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int put_int(const char *dir, const char *file, int64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	return put(dir, file, text);
}

/* The number after `key` at the beginning of a line, or -1. */
static int64_t number_in(const char *path, const char *key)
{
	cleanup_buf struct buf b = { .max = MAX_TEXT };
	struct error err;

	if (file_read(&b, path, &err) < 0 || !b.data)
		return -1;
	for (const char *p = (const char *)b.data; p && *p;) {
		const char *rest = str_after(p, key);

		if (rest && *rest == ' ')
			return strtoll(rest, NULL, 10);
		p = strchr(p, '\n');
		if (p)
			p++;
	}
	return -1;
}

/* ---- find the hierarchies -------------------------------------------------------- */

/*
 * The mount point of the tree with `controller` ("" for version 2), from
 * /proc/self/mountinfo: "36 35 98:0 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu".
 */
static const char *mount_point(struct arena *a, const char *mountinfo,
			       const char *controller)
{
	char **lines = str_split(a, mountinfo, '\n', NULL);

	for (size_t i = 0; lines[i]; i++) {
		char *tail = strstr(lines[i], " - ");
		size_t n, m;
		char **f, **t, **options;

		if (!tail)
			continue;
		*tail = 0;
		f = str_split(a, lines[i], ' ', &n);
		t = str_split(a, tail + 3, ' ', &m);
		if (n < 5 || m < 3)
			continue;
		if (!*controller && str_eq(t[0], "cgroup2"))
			return f[4];
		options = str_split(a, t[2], ',', NULL);
		if (*controller && str_eq(t[0], "cgroup") &&
		    str_in(controller, (const char *const *)options))
			return f[4];
	}
	return NULL;
}

/* This process's group in a tree, from /proc/self/cgroup: "4:cpu,cpuacct:/path". */
static const char *own_path(struct arena *a, const char *self, const char *controller)
{
	char **lines = str_split(a, self, '\n', NULL);

	for (size_t i = 0; lines[i]; i++) {
		size_t n;
		char **f = str_split(a, lines[i], ':', &n);
		char **names;

		if (n < 3)
			continue;
		names = str_split(a, f[1], ',', NULL);
		if (*controller ? str_in(controller, (const char *const *)names)
				: str_eq(f[0], "0") && !*f[1])
			return f[2];
	}
	return NULL;
}

static bool has(const char *dir, const char *file)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return access(path, W_OK) == 0;
}

static const char *group_name(char name[64])
{
	unsigned number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (unsigned)clock_ms();
	snprintf(name, 64, "kftrainer-%d-%08x", (int)getpid(), number);
	return name;
}

/* Announce the directory first: after a kill, sweeps find and remove it. */
static int make_group(const struct cgroup_root *root, const char *dir)
{
	if (root->on_make)
		root->on_make(root->ctx, dir);
	return mkdir(dir, 0755);
}

/* ---- version 2 --------------------------------------------------------------------- */

/* Make our group in `parent`; false when limits cannot be set in it. */
static bool try_v2(struct cgroup_root *root, const char *parent)
{
	char name[64], *dir = root->dir[CGROUP_MEMORY];

	snprintf(dir, sizeof(root->dir[0]), "%s/%s", parent, group_name(name));
	if (make_group(root, dir) < 0)
		return false;
	if (!has(dir, "memory.max") || !has(dir, "cpu.max")) {
		put(parent, "cgroup.subtree_control", "+memory");
		put(parent, "cgroup.subtree_control", "+cpu");
	}
	root->memory = has(dir, "memory.max") &&
		       put(dir, "cgroup.subtree_control", "+memory") == 0;
	root->cpu =
		has(dir, "cpu.max") && put(dir, "cgroup.subtree_control", "+cpu") == 0;
	if (root->memory || root->cpu) {
		memcpy(root->dir[CGROUP_CPU], dir, sizeof(root->dir[0]));
		root->version = 2;
		return true;
	}
	rmdir(dir);
	return false;
}

static bool open_v2(struct cgroup_root *root, struct arena *a, const char *mounts,
		    const char *self)
{
	const char *top = mount_point(a, mounts, ""), *own = own_path(a, self, "");

	if (!top || !own || str_starts(own, "/.."))
		return false;
	/* A sibling of our own group; in the root group, a child. */
	if (!str_eq(own, "/"))
		own = path_dir(a, own);
	return try_v2(root, arena_printf(a, "%s%s", top, str_eq(own, "/") ? "" : own));
}

/* ---- version 1 --------------------------------------------------------------------- */

static bool open_v1_tree(struct cgroup_root *root, int tree, struct arena *a,
			 const char *mounts, const char *self)
{
	static const char *const controllers[] = { "cpu", "memory" };
	static const char *const files[] = { "cpu.cfs_quota_us",
					     "memory.limit_in_bytes" };
	const char *top = mount_point(a, mounts, controllers[tree]);
	const char *own = own_path(a, self, controllers[tree]);
	char name[64];

	if (!top || !own)
		return false;
	/* In a container the path may be the host's, and not be below the mount. */
	if (!file_exists(arena_printf(a, "%s%s", top, own)))
		own = "";
	snprintf(root->dir[tree], sizeof(root->dir[tree]), "%s%s/%s", top,
		 str_eq(own, "/") ? "" : own, group_name(name));
	if (!make_group(root, root->dir[tree]) && has(root->dir[tree], files[tree]))
		return true;
	rmdir(root->dir[tree]);
	root->dir[tree][0] = 0;
	return false;
}

void cgroup_open(struct cgroup_root *root)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf mounts = { .max = MAX_TEXT }, self = { .max = MAX_TEXT };
	struct error err;

	if (root->probed)
		return;
	root->probed = true;
	if (file_read(&mounts, "/proc/self/mountinfo", &err) < 0 ||
	    file_read(&self, "/proc/self/cgroup", &err) < 0 || !mounts.data ||
	    !self.data) {
		snprintf(root->why, sizeof(root->why),
			 "control groups are not available");
		return;
	}
	if (open_v2(root, &a, (const char *)mounts.data, (const char *)self.data))
		return;
	root->cpu = open_v1_tree(root, CGROUP_CPU, &a, (const char *)mounts.data,
				 (const char *)self.data);
	root->memory = open_v1_tree(root, CGROUP_MEMORY, &a, (const char *)mounts.data,
				    (const char *)self.data);
	root->version = root->cpu || root->memory ? 1 : 0;
	if (!root->version)
		snprintf(root->why, sizeof(root->why),
			 "this user cannot create control groups");
}

void cgroup_close(struct cgroup_root *root)
{
	for (int i = 0; i < CGROUP_TREES; i++)
		if (root->version && root->dir[i][0])
			rmdir(root->dir[i]);
	*root = (struct cgroup_root){ 0 };
}

/* ---- one container ------------------------------------------------------------------ */

static int limit_cpu(const struct cgroup *cg, int64_t milli)
{
	const char *dir = cg->dir[CGROUP_CPU];
	int64_t quota = (milli < MOST_CPU_MILLI ? milli : MOST_CPU_MILLI) *
			(CPU_PERIOD_US / 1000);
	char text[64];

	if (quota < 1000) /* the kernel's minimum */
		quota = 1000;
	if (cg->root->version == 2) {
		snprintf(text, sizeof(text), "%lld %d", (long long)quota, CPU_PERIOD_US);
		return put(dir, "cpu.max", text);
	}
	if (put_int(dir, "cpu.cfs_period_us", CPU_PERIOD_US) < 0)
		return -1;
	return put_int(dir, "cpu.cfs_quota_us", quota);
}

static int limit_memory(const struct cgroup *cg, int64_t bytes)
{
	const char *dir = cg->dir[CGROUP_MEMORY];

	if (cg->root->version == 2) {
		/*
		 * No swap, which would only delay the kill; and a kill ends the whole
		 * container.
		 */
		put(dir, "memory.swap.max", "0");
		put(dir, "memory.oom.group", "1");
		return put_int(dir, "memory.max", bytes);
	}
	if (put_int(dir, "memory.limit_in_bytes", bytes) < 0)
		return -1;
	put_int(dir, "memory.memsw.limit_in_bytes", bytes);
	return 0;
}

static int make_dir(struct cgroup *cg, int tree, unsigned number, struct error *err)
{
	char path[700];

	snprintf(cg->dir[tree], sizeof(cg->dir[tree]), "%s/c%u", cg->root->dir[tree],
		 number);
	if (mkdir(cg->dir[tree], 0755) < 0 && errno != EEXIST)
		return error_errno(err, errno, "%s", cg->dir[tree]);
	snprintf(path, sizeof(path), "%s/cgroup.procs", cg->dir[tree]);
	if (cg->root->version == 2 && tree == CGROUP_MEMORY && cg->procs[CGROUP_CPU] >= 0)
		return 0; /* the same group */
	cg->procs[tree] = open(path, O_WRONLY | O_CLOEXEC);
	if (cg->procs[tree] < 0)
		return error_errno(err, errno, "%s", path);
	return 0;
}

int cgroup_make(struct cgroup *cg, struct cgroup_root *root,
		const struct cgroup_limits *limits, struct error *err)
{
	unsigned number = root->made++;
	int rc = 0;

	*cg = (struct cgroup){ .root = root, .procs = { -1, -1 } };
	if (root->cpu && limits->cpu_milli)
		rc = make_dir(cg, CGROUP_CPU, number, err);
	if (rc == 0 && root->memory && limits->memory)
		rc = make_dir(cg, CGROUP_MEMORY, number, err);
	if (rc == 0 && cg->dir[CGROUP_CPU][0] && limit_cpu(cg, limits->cpu_milli) < 0)
		rc = error_errno(err, errno, "limiting cpu to %lldm",
				 (long long)limits->cpu_milli);
	if (rc == 0 && cg->dir[CGROUP_MEMORY][0] && limit_memory(cg, limits->memory) < 0)
		rc = error_errno(err, errno, "limiting memory to %lld bytes",
				 (long long)limits->memory);
	if (rc < 0)
		cgroup_remove(cg);
	return rc;
}

static int64_t kills_in(const char *dir, int version)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/%s", dir,
		 version == 2 ? "memory.events" : "memory.oom_control");
	return number_in(path, "oom_kill");
}

bool cgroup_oom(const struct cgroup *cg)
{
	return cg->root && cg->dir[CGROUP_MEMORY][0] &&
	       kills_in(cg->dir[CGROUP_MEMORY], cg->root->version) > 0;
}

/* In the group of this process. */
static int64_t own_kills(void)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf mounts = { .max = MAX_TEXT }, self = { .max = MAX_TEXT };
	const char *top, *own;
	int version = 1;

	if (file_read(&mounts, "/proc/self/mountinfo", IGNORED) ||
	    file_read(&self, "/proc/self/cgroup", IGNORED) || !mounts.data || !self.data)
		return -1;
	top = mount_point(&a, (const char *)mounts.data, "memory");
	if (!top) {
		version = 2;
		top = mount_point(&a, (const char *)mounts.data, "");
	}
	own = own_path(&a, (const char *)self.data, version == 2 ? "" : "memory");
	return top && own ? kills_in(arena_printf(&a, "%s%s", top, own), version) : -1;
}

int64_t cgroup_oom_kills(const struct cgroup *cg)
{
	int version = cg->root ? cg->root->version : 0;
	const char *dir = cg->dir[CGROUP_MEMORY];
	int64_t n;

	if (version == 2 && !*dir)
		dir = cg->dir[CGROUP_CPU];
	n = version && *dir ? kills_in(dir, version) : own_kills();
	if (n < 0)
		n = number_in("/proc/vmstat", "oom_kill");
	return n < 0 ? 0 : n;
}

void cgroup_started(struct cgroup *cg)
{
	for (int i = 0; cg->root && i < CGROUP_TREES; i++) {
		if (cg->procs[i] >= 0)
			close(cg->procs[i]);
		cg->procs[i] = -1;
	}
}

void cgroup_remove(struct cgroup *cg)
{
	if (!cg->root)
		return;
	cgroup_started(cg);
	for (int i = 0; i < CGROUP_TREES; i++)
		if (cg->dir[i][0])
			rmdir(cg->dir[i]);
	*cg = (struct cgroup){ .procs = { -1, -1 } };
}
