/*
 * sandbox_mount.c - mount a container's volumes in its namespace (kubelet/sandbox_impl.h).
 *
 * Runs after the clone: nothing here may allocate. For a mount point that is missing, in
 * a directory that we may not write, the container sees a view of that directory: a tmpfs
 * with a bind mount for each entry, mounted over the directory. It costs one mount per
 * entry (about 5 us each), works for ordinary users and root, and is visible in the
 * container only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kubelet/sandbox_impl.h"

enum { VIEW_MAX_ENTRIES = 20000 };

/* linux/mount.h and fcntl.h, whose names libcs disagree about */
enum { TREE_CLONE = 1, TREE_RECURSIVE = 0x8000, FROM_DESCRIPTOR = 4 };

struct view {
	int dir;
	const char *from, *to;
	unsigned n;
};

static int make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0644);

	return fd < 0 ? -1 : close(fd);
}

static int copy_link(const char *from, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = 0;
	return symlink(target, to);
}

static int view_entry(void *ctx, const char *name)
{
	struct view *v = ctx;
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;

	if (++v->n > VIEW_MAX_ENTRIES) {
		errno = E2BIG;
		return -1;
	}
	sandbox_join(from, sizeof(from), v->from, strcmp(v->from, "/") == 0 ? "" : "/",
		     name);
	sandbox_join(to, sizeof(to), v->to, "/", name);
	if (fstatat(v->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* removed since, or not visible to us */
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to);
	if ((S_ISDIR(st.st_mode) ? mkdir(to, st.st_mode & 07777) : make_file(to)) < 0)
		return -1;
	/* An entry that cannot be bound remains empty. */
	mount(from, to, NULL, MS_BIND | MS_REC, NULL);
	return 0;
}

static int pivot(const char *stage)
{
	if (chdir(stage) < 0)
		return -1;
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) < 0 ? -1 : chdir("/");
	/* An initramfs cannot be pivoted away. */
	return mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ? -1
									   : chdir("/");
}

static void view_options(char *to, size_t size, mode_t mode)
{
	char octal[8] = { 0 };

	for (int i = 0; i < 4; i++)
		octal[i] = (char)('0' + ((mode >> (3 * (3 - i))) & 7));
	sandbox_join(to, size, "mode=", octal, "");
}

static int make_view(const char *stage, const char *target)
{
	cleanup_fd int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct view v = { .dir = dir, .from = target, .to = stage };
	char options[32];
	struct stat st;

	if (dir < 0 && errno != EACCES)
		return -1;
	/* A directory that the user may not read can remain empty. */
	view_options(options, sizeof(options),
		     dir >= 0 && fstat(dir, &st) == 0 ? st.st_mode & 07777 : 0755);
	if (mount("tmpfs", stage, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return -1;
	if (dir >= 0 && sandbox_each_entry(dir, view_entry, &v) < 0)
		return -1;
	if (strcmp(target, "/") == 0)
		return pivot(stage);
	if (strcmp(target, stage) == 0)
		return 0;
	return mount(stage, target, NULL, MS_MOVE, NULL);
}

/* A remount in a user namespace must preserve the mount's flags. */
static int make_read_only(const char *target)
{
	static const struct {
		unsigned long statfs, mount;
	} flags[] = {
		{ ST_NOSUID, MS_NOSUID },         { ST_NODEV, MS_NODEV },
		{ ST_NOEXEC, MS_NOEXEC },         { ST_NOATIME, MS_NOATIME },
		{ ST_NODIRATIME, MS_NODIRATIME }, { ST_RELATIME, MS_RELATIME },
	};
	unsigned long keep = MS_REMOUNT | MS_BIND | MS_RDONLY;
	struct statvfs st;

	if (statvfs(target, &st) < 0)
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(flags); i++)
		if (st.f_flag & flags[i].statfs)
			keep |= flags[i].mount;
	return mount(NULL, target, NULL, keep, NULL);
}

/* Open all sources before mounting: a mount may hide the source of a later one. */
static int open_sources(const struct sandbox_plan *plan, int *trees)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		trees[i] = -1;
		if (plan->mounts[i].type != MOUNT_BIND)
			continue;
		trees[i] = (int)syscall(SYS_open_tree, AT_FDCWD, plan->mounts[i].source,
					TREE_CLONE | TREE_RECURSIVE | O_CLOEXEC);
		if (trees[i] < 0)
			return (int)i;
	}
	return -1;
}

static int bind_mount(const struct mount_op *op, int tree)
{
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, op->target, FROM_DESCRIPTOR) < 0)
		return -1;
	close(tree);
	return op->read_only ? make_read_only(op->target) : 0;
}

/*
 * The layers are named by descriptors: in a path, overlayfs would take ":" and "," for
 * separators. Linux 5.11 lets users mount it, with its marks in user.* attributes.
 */
static int overlay_layers(const struct sandbox_plan *plan, const struct mount_op *op)
{
	static const char *const names[] = { "", "/changes", "/work" };
	static const char *const options[] = { "lowerdir=", ",upperdir=", ",workdir=" };
	char text[256] = "", path[PATH_MAX];
	int fds[3], ret = -1;

	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		size_t at = strlen(text);

		sandbox_join(path, sizeof(path), i ? op->source : op->target, names[i],
			     "");
		if (i && mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		fds[i] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fds[i] < 0)
			return -1;
		sandbox_join(text + at, sizeof(text) - at, options[i], "/proc/self/fd/",
			     "");
		sandbox_digits(text + strlen(text), sizeof(text) - strlen(text),
			       (unsigned)fds[i]);
	}
	if (plan->kind & SANDBOX_USER)
		sandbox_join(text + strlen(text), sizeof(text) - strlen(text),
			     ",userxattr", "", "");
	ret = mount("overlay", op->target, "overlay", 0, text);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		close(fds[i]);
	return ret;
}

/* Not every file system can hold the changes (one that is an overlay cannot). */
static int mount_overlay(const struct sandbox_plan *plan, const struct mount_op *op)
{
	if (overlay_layers(plan, op) == 0)
		return 0;
	if (errno != EINVAL ||
	    mount("tmpfs", op->source, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") < 0)
		return -1;
	return overlay_layers(plan, op);
}

static int do_op(const struct sandbox_plan *plan, const struct mount_op *op, int tree)
{
	switch (op->type) {
	case MOUNT_VIEW:
		return make_view(plan->stage, op->target);
	case MOUNT_DIR:
		return mkdir(op->target, 0755) < 0 && errno != EEXIST ? -1 : 0;
	case MOUNT_FILE:
		return make_file(op->target);
	case MOUNT_BIND:
		return bind_mount(op, tree);
	case MOUNT_OVERLAY:
		return mount_overlay(plan, op);
	}
	return -1;
}

static int mount_proc(char *what, size_t size)
{
	sandbox_join(what, size, "mounting /proc", "", "");
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

int sandbox_mounts(const struct sandbox_plan *plan, char *what, size_t size)
{
	static const char *const tried[] = { "making a private view of ",
					     "making the directory ", "making the file ",
					     "mounting a volume at ",
					     "keeping packages out of " };
	bool proc = !(plan->kind & SANDBOX_PID);
	int trees[MOUNT_MAX], bad;

	sandbox_join(what, size, "making mounts private", "", "");
	/* slave: the container sees later mounts (NFS, autofs), not the reverse */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -1;
	bad = open_sources(plan, trees);
	if (bad >= 0) {
		sandbox_join(what, size, "mounting ", plan->mounts[bad].source, "");
		return -1;
	}
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct mount_op *op = &plan->mounts[i];

		/* Views contain the machine's /proc: mount our own over it afterwards. */
		if (!proc && op->type >= MOUNT_BIND) {
			if (mount_proc(what, size) < 0)
				return -1;
			proc = true;
		}
		sandbox_join(what, size, tried[op->type], op->target, "");
		if (do_op(plan, op, trees[i]) < 0)
			return -1;
	}
	return proc ? 0 : mount_proc(what, size);
}
