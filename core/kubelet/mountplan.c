/* mountplan.c - plan the mounts of a container (kubelet/volumes.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/volumes.h"

struct plan {
	struct arena *arena;
	const char *workdir;
	const struct volume_mount **sorted;
	const char **resolved; /* the mount point of sorted[i], without links */
	struct mount_op *ops;
	size_t n, cap;
};

static struct mount_op *add_op(struct plan *p, enum mount_op_type type,
			       const char *target)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 16;
		struct mount_op *ops = arena_alloc(p->arena, cap * sizeof(*ops));

		if (p->n)
			memcpy(ops, p->ops, p->n * sizeof(*ops));
		p->ops = ops;
		p->cap = cap;
	}
	p->ops[p->n] = (struct mount_op){ .type = type, .target = target };
	return &p->ops[p->n++];
}

static size_t depth(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/' && path[1];
	return n;
}

static int make_in_folder(const char *full, bool is_dir, struct arena *arena,
			  struct error *err)
{
	int fd;

	if (is_dir)
		return dir_make(full, 0777, err);
	if (dir_make(path_dir(arena, full), 0777, err) < 0)
		return -1;
	fd = open(full, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	return fd < 0 ? error_errno(err, errno, "%s", full) : close(fd);
}

/* A mount inside an earlier mount: its mount point is in that volume. */
static int inside_other(struct plan *p, size_t i, bool *ret_done, struct error *err)
{
	for (size_t j = i; j-- > 0;) {
		const char *rest = path_below(p->sorted[i]->target, p->sorted[j]->target);
		const char *full;

		if (!rest || p->sorted[j]->overlay)
			continue;
		full = arena_printf(p->arena, "%s%s", p->sorted[j]->source, rest);
		if (!file_exists(full) &&
		    make_in_folder(full, p->sorted[i]->is_dir, p->arena, err) < 0)
			return error_wrap(err, "mountPath %s", p->sorted[i]->target);
		p->resolved[i] = arena_printf(p->arena, "%s%s", p->resolved[j], rest);
		*ret_done = true;
		return 0;
	}
	return 0;
}

/* Split at the deepest existing directory: its real path, and the rest ("/x/y"). */
static const char *nearest(struct arena *arena, const char *path, char real[PATH_MAX])
{
	char *head = arena_strdup(arena, path);

	while (!realpath(head, real)) {
		char *slash = strrchr(head, '/');

		if (slash == head)
			head = arena_strdup(arena, "/");
		else
			*slash = 0;
	}
	return path + (str_eq(head, "/") ? 0 : strlen(head));
}

/* May the mount point be created here? See volumes.h. */
static bool is_callers(const struct plan *p, const char *folder)
{
	char real[PATH_MAX];

	if (access(folder, W_OK) < 0)
		return false;
	if (geteuid() != 0)
		return true;
	return p->workdir && realpath(p->workdir, real) && !str_eq(real, "/") &&
	       (str_eq(folder, real) || path_below(folder, real));
}

static void add_view(struct plan *p, const char *folder)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->ops[i].type == MOUNT_VIEW && str_eq(p->ops[i].target, folder))
			return;
	add_op(p, MOUNT_VIEW, folder);
}

/* Find the mount point; create it if missing, or plan a view of its directory. */
static int find_point(struct plan *p, size_t i, struct error *err)
{
	const struct volume_mount *m = p->sorted[i];
	char real[PATH_MAX], full[2 * PATH_MAX];
	const char *rest = nearest(p->arena, m->target, real);
	struct stat st;

	if (stat(real, &st) < 0)
		return error_errno(err, errno, "mountPath %s", m->target);
	if (!*rest) {
		if (S_ISDIR(st.st_mode) != m->is_dir)
			return error_set(err, ERR_INVALID,
					 "mountPath %s is a %s, but the volume is a %s",
					 m->target, m->is_dir ? "file" : "directory",
					 m->is_dir ? "directory" : "file");
		p->resolved[i] = arena_strdup(p->arena, real);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "mountPath %s: %s is not a directory",
				 m->target, real);
	snprintf(full, sizeof(full), "%s%s", str_eq(real, "/") ? "" : real, rest);
	p->resolved[i] = arena_strdup(p->arena, full);
	if (is_callers(p, real))
		return make_in_folder(full, m->is_dir, p->arena, err);
	add_view(p, arena_strdup(p->arena, real));
	return 0;
}

/* Create the mount point and its parents in a view. */
static void make_in_view(struct plan *p, size_t i)
{
	const char *path = p->resolved[i];

	for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/'))
		add_op(p, MOUNT_DIR, str_slice(p->arena, path, (size_t)(s - path)));
	add_op(p, p->sorted[i]->is_dir ? MOUNT_DIR : MOUNT_FILE, path);
}

static void sort_by_depth(struct plan *p, const struct volume_mount *mounts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		while (at > 0 &&
		       depth(p->sorted[at - 1]->target) > depth(mounts[i].target))
			at--;
		memmove(p->sorted + at + 1, p->sorted + at,
			(i - at) * sizeof(*p->sorted));
		p->sorted[at] = &mounts[i];
	}
}

static void sort_views(struct plan *p)
{
	for (size_t i = 1; i < p->n; i++) {
		struct mount_op op = p->ops[i];
		size_t at = i;

		for (; at > 0 && depth(p->ops[at - 1].target) > depth(op.target); at--)
			p->ops[at] = p->ops[at - 1];
		p->ops[at] = op;
	}
}

int mountplan_build(struct arena *arena, const struct mount_list *list,
		    struct mount_op **ret, size_t *ret_n, struct error *err)
{
	struct plan p = { .arena = arena, .workdir = list->workdir };
	size_t n = list->n;
	bool *viewed = arena_alloc(arena, n + 1);

	p.sorted = arena_alloc(arena, (n + 1) * sizeof(*p.sorted));
	p.resolved = arena_alloc(arena, (n + 1) * sizeof(*p.resolved));
	sort_by_depth(&p, list->mounts, n);
	for (size_t i = 0; i < n; i++) {
		bool done = false;
		size_t before = p.n;

		if (inside_other(&p, i, &done, err) < 0)
			return -1;
		if (!done && find_point(&p, i, err) < 0)
			return -1;
		viewed[i] = !done && (p.n > before || !file_exists(p.resolved[i]));
	}
	sort_views(&p);
	for (size_t i = 0; i < n; i++) {
		struct mount_op *op;

		if (viewed[i])
			make_in_view(&p, i);
		op = add_op(&p, p.sorted[i]->overlay ? MOUNT_OVERLAY : MOUNT_BIND,
			    p.resolved[i]);
		op->source = p.sorted[i]->source;
		op->read_only = p.sorted[i]->read_only;
	}
	if (p.n > MOUNT_MAX)
		return error_set(err, ERR_LIMIT, "volumeMounts: more than %d mounts",
				 MOUNT_MAX);
	*ret = p.ops;
	*ret_n = p.n;
	return 0;
}
