/* symlinks.c - symbolic links instead of mounts (kubelet/volumes.h). */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/undolog.h"
#include "kubelet/volumes.h"
#include "trainer/api.h"

static void remember(struct symlinks *made, const char *path)
{
	made->paths = xreallocarray(made->paths, made->n + 1, sizeof(*made->paths));
	made->paths[made->n++] = xstrdup(path);
}

/* Create missing parent directories. */
static int make_parents(struct symlinks *made, const char *path, struct error *err)
{
	char part[PATH_MAX];

	for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		size_t len = (size_t)(s - path);

		if (len >= sizeof(part))
			return error_set(err, ERR_LIMIT, "%s: too long", path);
		memcpy(part, path, len);
		part[len] = 0;
		if (access(part, F_OK))
			undolog_add(made->undo_dir, UNDO_DIR, part, "");
		if (mkdir(part, 0755) == 0)
			remember(made, part);
		else if (errno != EEXIST)
			return error_errno(err, errno, "%s", part);
	}
	return 0;
}

static bool is_mounted_already(const struct volume_mount *m)
{
	char a[PATH_MAX], b[PATH_MAX];

	if (!realpath(m->source, a) || !realpath(m->target, b))
		return false;
	/* A Memory emptyDir at /dev/shm uses the machine's own. */
	return str_eq(a, b) || (str_eq(b, "/dev/shm") && str_starts(a, "/dev/shm/"));
}

int symlinks_make(struct symlinks *made, const struct mount_list *list, struct error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct volume_mount *m = &list->mounts[i];

		if (m->by_env || is_mounted_already(m))
			continue;
		if (make_parents(made, m->target, err) == 0) {
			undolog_add(made->undo_dir, UNDO_LINK, m->target, m->source);
			if (symlink(m->source, m->target) == 0) {
				remember(made, m->target);
				continue;
			}
			error_errno(err, errno, "%s", m->target);
		}
		return error_wrap(err,
				  "mountPath %s needs a mount namespace, which this "
				  "machine does not allow, and cannot be a symbolic link",
				  m->target);
	}
	return 0;
}

void symlinks_remove(struct symlinks *made)
{
	while (made->n > 0) {
		char *path = made->paths[--made->n];

		if (unlink(path) < 0)
			rmdir(path);
		free(path);
	}
	free(made->paths);
	*made = (struct symlinks){ 0 };
}

bool symlink_possible(const cJSON *volume, const char *path)
{
	const char *host = json_str(volume, "hostPath", "path");
	bool memory = str_eq(json_str(volume, "emptyDir", "medium"), "Memory");
	struct stat st;
	char part[PATH_MAX];
	char *slash;

	if (str_eq(json_str(volume, "name"), STATUS_TOKEN_VOLUME))
		return true;
	if ((host && str_eq(host, path)) || (memory && str_eq(path, "/dev/shm")))
		return true;
	if (lstat(path, &st) == 0 || strlen(path) >= sizeof(part))
		return false;
	memcpy(part, path, strlen(path) + 1);
	/* The nearest existing directory must be writable. */
	while ((slash = strrchr(part, '/')) != NULL && slash != part) {
		*slash = 0;
		if (stat(part, &st) == 0)
			return S_ISDIR(st.st_mode) && access(part, W_OK) == 0;
	}
	return access("/", W_OK) == 0;
}
