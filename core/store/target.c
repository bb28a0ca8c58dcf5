/* Opens, renames and removes files, only below the target; see target.h. */
#include "store/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "base/relpath.h"
#include "base/str.h"
#include "crypto/digest.h"

enum { DAY = 24 * 3600 };

/*
 * A new volume may belong to root, and what is there to an earlier pod's user, while
 * securityContext sets another one.
 */
static int fail_write(struct error *err)
{
	const struct error why = *err;

	if (why.code != EACCES)
		return -1;
	error_set(err, why.kind,
		  "%.700s for user %u; in a pod, set securityContext.fsGroup (or "
		  "runAsUser) to grant write access to the volume",
		  why.msg, (unsigned)geteuid());
	err->code = why.code;
	return -1;
}

/* Without locks (ENOSYS of Lustre, ENOLCK of NFS) no file in progress is shared. */
static int lock(struct target *t, struct error *err)
{
	char chance[RANDOM_KEY_SIZE];

	if (!flock(t->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(
			err, ERR_BUSY,
			"%s: another process is downloading into this directory; "
			"wait until it exits",
			t->path);
	if (random_key(chance, err))
		return -1;
	snprintf(t->own, sizeof(t->own), ".%.8s", chance);
	return 0;
}

int target_open(struct target *t, const char *path, struct error *err)
{
	*t = (struct target){ .path = path, .root = -1, .state = -1, .lock = -1 };
	if (dir_make(path, 0777, err))
		return fail_write(err);
	t->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->root < 0)
		return error_errno(err, errno, "%s", path);
	if (mkdirat(t->root, TARGET_STATE, 0777) && errno != EEXIST) {
		error_errno(err, errno, "%s: cannot write", path);
		target_close(t);
		return fail_write(err);
	}
	fsync(t->root);
	t->state = openat(t->root, TARGET_STATE,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->state >= 0)
		t->lock = openat(t->state, "lock",
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (t->lock < 0)
		error_errno(err, errno, "%s/%s", path, TARGET_STATE);
	else if (!lock(t, err))
		return 0;
	target_close(t);
	return fail_write(err);
}

void target_close(struct target *t)
{
	const int fds[] = { t->lock, t->state, t->root };

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	t->root = t->state = t->lock = -1;
}

bool target_reserved(const char *path)
{
	const char *rest = str_after(path, TARGET_STATE);

	return rest && (!*rest || *rest == '/');
}

void target_name(const struct target *t, char ret[TARGET_NAME_SIZE + 16],
		 const char *path, const char *ending)
{
	char hex[DIGEST_HEX_SIZE];

	digest_hex_of(DIGEST_SHA256, path, strlen(path), hex);
	snprintf(ret, TARGET_NAME_SIZE + 16, "%.32s%s.%.12s", hex, t->own, ending);
}

bool target_is_free(const struct target *t, const char *name)
{
	const char *own = name + strcspn(name, ".");
	size_t len = strlen(t->own);
	struct stat st;

	if (!strncmp(own, t->own, len) && strrchr(own, '.') == own + len)
		return true;
	return !fstatat(t->state, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_mtim.tv_sec < clock_now() - DAY;
}

/* Open component by component; `make`: create missing directories. */
static int walk(int root, const char *dir, bool make)
{
	cleanup_arena struct arena arena = { 0 };
	char **parts = str_split(&arena, dir, '/', NULL);
	int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

	for (; at >= 0 && *parts; parts++) {
		const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
		int next = openat(at, *parts, flags);

		if (next < 0 && errno == ENOENT && make &&
		    (!mkdirat(at, *parts, 0777) || errno == EEXIST)) {
			next = openat(at, *parts, flags);
			fsync(at); /* target_sync_dir() reports a failing disk */
		}
		close(at);
		at = next;
	}
	return at;
}

static int fail_dir(const struct target *t, const char *path, struct error *err)
{
	if (errno == ELOOP || errno == ENOTDIR)
		return error_set(err, ERR_EXISTS,
				 "%s/%s: a parent directory is a symbolic link or a "
				 "file: remove it",
				 t->path, path);
	return error_errno(err, errno, "%s/%s", t->path, path);
}

/* Open the path's directory; -1 with errno. */
static int parent(const struct target *t, const char *path, bool make)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = path_dir(&arena, path);
	int fd;

	if (!strchr(path, '/'))
		return fcntl(t->root, F_DUPFD_CLOEXEC, 3);
	fd = relpath_open(t->root, dir, O_RDONLY | O_DIRECTORY, false);
	if (fd >= 0)
		return fd;
	return walk(t->root, dir, make);
}

int target_stat(const struct target *t, const char *path, struct stat *ret_st,
		struct error *err)
{
	cleanup_fd int dir = parent(t, path, false);

	*ret_st = (struct stat){ 0 };
	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return fail_dir(t, path, err);
	if (fstatat(dir, path_base(path), ret_st, AT_SYMLINK_NOFOLLOW)) {
		*ret_st = (struct stat){ 0 };
		if (errno == ENOENT)
			return 0;
		return error_errno(err, errno, "%s/%s", t->path, path);
	}
	if (S_ISDIR(ret_st->st_mode))
		return error_set(err, ERR_EXISTS,
				 "%s/%s: is a directory: remove it, because a file of "
				 "this name is downloaded",
				 t->path, path);
	if (!S_ISREG(ret_st->st_mode))
		*ret_st = (struct stat){ 0 };
	return 0;
}

int target_read(const struct target *t, const char *path, int *ret_fd, struct error *err)
{
	cleanup_fd int dir = parent(t, path, false);
	int fd;

	if (dir < 0)
		return fail_dir(t, path, err);
	fd = openat(dir, path_base(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_errno(err, errno, "%s/%s", t->path, path);
	*ret_fd = fd;
	return 0;
}

int target_put(const struct target *t, const char *name, const char *path,
	       struct error *err)
{
	cleanup_fd int dir = parent(t, path, true);

	if (dir < 0)
		return fail_dir(t, path, err);
	if (renameat(t->state, name, dir, path_base(path)))
		return error_errno(err, errno, "%s/%s", t->path, path);
	return 0;
}

int target_remove(const struct target *t, const char *path, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int dir = parent(t, path, false);

	if (dir < 0)
		return fail_dir(t, path, err);
	if (unlinkat(dir, path_base(path), 0) && errno != ENOENT)
		return error_errno(err, errno, "%s/%s", t->path, path);
	while (strchr(path, '/')) {
		cleanup_fd int above = -1;

		path = path_dir(&arena, path);
		above = parent(t, path, false);
		if (above < 0 || unlinkat(above, path_base(path), AT_REMOVEDIR))
			break;
	}
	return 0;
}

int target_sync_dir(const struct target *t, const char *path, struct error *err)
{
	cleanup_fd int dir = parent(t, path, false);

	if (dir < 0 || (fsync(dir) && errno != EINVAL))
		return error_errno(err, errno, "%s: the directory of %s", t->path, path);
	return 0;
}

int64_t target_free_bytes(const struct target *t)
{
	struct statvfs st;

	if (fstatvfs(t->root, &st))
		return INT64_MAX;
	return (int64_t)st.f_bavail * (int64_t)st.f_frsize;
}
