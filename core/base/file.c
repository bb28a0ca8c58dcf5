/* Reads and writes files, makes and removes directories: file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

int file_read_fd(struct buf *out, int fd, const char *name, struct error *err)
{
	char chunk[32 * 1024];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		if (!n)
			return 0;
		buf_add(out, chunk, (size_t)n);
		if (buf_check(out, name, err))
			return -1;
	}
}

int file_read(struct buf *out, const char *path, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	return file_read_fd(out, fd, path, err);
}

int file_read_regular(struct buf *out, const char *path, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a regular file", path);
	return file_read_fd(out, fd, path, err);
}

const char *file_first_line(struct arena *arena, const char *path)
{
	cleanup_buf struct buf text = { .max = 4096 };

	if (file_read_regular(&text, path, IGNORED) || !text.len)
		return "";
	return str_slice(arena, (const char *)text.data,
			 strcspn((const char *)text.data, "\n"));
}

const char *file_text(struct arena *arena, const char *path)
{
	cleanup_buf struct buf text = { .max = 64 * 1024 };

	if (file_read(&text, path, IGNORED) || !text.len)
		return "";
	return str_slice(arena, (const char *)text.data, text.len);
}

int file_write_fd(int fd, const void *data, size_t len, const char *name,
		  struct error *err)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_close_written(int *fd, const char *name, struct error *err)
{
	int failed = close(*fd);

	*fd = -1;
	return failed && errno != EINTR ? error_errno(err, errno, "%s", name) : 0;
}

int file_write_scratch(const char *path, const void *data, size_t len, mode_t mode,
		       struct error *err)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (!file_write_fd(fd, data, len, path, err) &&
	    !file_close_written(&fd, path, err))
		return 0;
	unlink(path);
	return -1;
}

int file_write(const char *path, const void *data, size_t len, mode_t mode,
	       struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	char *temp = arena_printf(&a, "%s.XXXXXX", path);
	cleanup_fd int fd = mkostemp(temp, O_CLOEXEC);
	int ret;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	ret = file_write_fd(fd, data, len, path, err);
	if (!ret && (fchmod(fd, mode) || fsync(fd) || rename(temp, path)))
		ret = error_errno(err, errno, "%s", path);
	if (ret)
		unlink(temp);
	return ret;
}

bool file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int file_reopen(int *ret, int fd, const char *path, struct error *err)
{
	cleanup_fd int reading = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat ours, now;

	if (reading < 0 || fstat(fd, &ours) || fstat(reading, &now))
		return error_errno(err, errno, "%s", path);
	if (now.st_dev != ours.st_dev || now.st_ino != ours.st_ino)
		return error_set(err, ERR_DENIED,
				 "%s was replaced by a file of user %u; use a directory "
				 "that others cannot write",
				 path, (unsigned)now.st_uid);
	if (now.st_uid != geteuid())
		return error_set(err, ERR_DENIED,
				 "%s is owned by user %u, not by %u; use a directory "
				 "that others cannot write",
				 path, (unsigned)now.st_uid, (unsigned)geteuid());
	*ret = reading;
	reading = -1;
	return 0;
}

bool file_exists(const char *path)
{
	return !access(path, F_OK);
}

/* Make the last directory of a path, or find it. */
static bool make_last(const char *path, mode_t mode)
{
	struct stat st;

	if (!mkdir(path, mode))
		return true;
	if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		return true;
	errno = errno == EEXIST ? ENOTDIR : errno;
	return false;
}

/* Parents last: mostly they exist. `path` is edited on the way, and restored. */
static int make_all(char *path, mode_t mode, struct error *err)
{
	char *slash = strrchr(path, '/');
	bool made = make_last(path, mode);

	if (!made && (errno == ENOENT || errno == ENOTDIR) && slash && slash != path) {
		*slash = 0;
		if (make_all(path, mode, err))
			return -1;
		*slash = '/';
		made = !slash[1] || make_last(path, mode);
	}
	return made ? 0 : error_errno(err, errno, "%s", path);
}

int dir_make(const char *path, mode_t mode, struct error *err)
{
	cleanup_arena struct arena a = { 0 };

	return make_all(arena_strdup(&a, path), mode, err);
}

struct dirent *dir_next(DIR *d)
{
	errno = 0;
	return readdir(d);
}

/* musl's nftw() goes down as many levels as it may have directories open. */
enum { MAX_LEVELS = 512 };

static int remove_all(const char *path);

/* What NFS, or FUSE, makes of a removed file until its last reader closes it. */
static bool is_kept_open(const char *name)
{
	return str_starts(name, ".nfs") || str_starts(name, ".fuse_hidden");
}

/* How many of them are below this directory; -1: something else is, too. */
static int count_kept_open(const char *path)
{
	cleanup_arena struct arena a = { 0 };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), n = 0, more;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && n >= 0 && (e = readdir(d))) {
		if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
			continue;
		more = is_kept_open(e->d_name)
			       ? 1
			       : count_kept_open(path_join(&a, path, e->d_name));
		n = more < 0 ? -1 : n + more;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return d ? n : -1;
}

/* Is the directory not empty for such files alone? errno stays. */
static bool has_only_kept_open(const char *path)
{
	int number = errno;
	bool only = count_kept_open(path) > 0;

	errno = number;
	return only;
}

/* A directory may deny its owner to read or to change it, as Go's module cache does. */
static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	cleanup_arena struct arena a = { 0 };

	/* Only once: what stays unreadable then is not the mode's fault. */
	if (type == FTW_DNR && (st->st_mode & 0700) != 0700 && !chmod(path, 0700))
		return remove_all(path);
	if (!remove(path))
		return 0;
	if (errno == EBUSY && is_kept_open(path_base(path)))
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return has_only_kept_open(path) ? 0 : -1;
	if (errno != EACCES || !at->level || chmod(path_dir(&a, path), 0700))
		return -1;
	/* FTW_NS: a directory, perhaps, that could not be looked at before. */
	return type == FTW_NS ? remove_all(path) : remove(path);
}

static int remove_all(const char *path)
{
	return nftw(path, remove_one, MAX_LEVELS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int dir_remove(const char *path, struct error *err)
{
	if (remove_all(path) && errno != ENOENT)
		return error_errno(err, errno, "%s", path);
	return 0;
}

char *path_join(struct arena *arena, const char *dir, const char *name)
{
	size_t len = strlen(dir);

	if (*name == '/' || !len)
		return arena_strdup(arena, name);
	return arena_printf(arena, dir[len - 1] == '/' ? "%s%s" : "%s/%s", dir, name);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return arena_strdup(arena, ".");
	return str_slice(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

char *path_of_program(struct error *err)
{
	static const char link[] = "/proc/self/exe", removed[] = " (deleted)";
	char text[PATH_MAX + sizeof(removed)];
	ssize_t len = readlink(link, text, sizeof(text) - 1);

	if (len < 0) {
		if (errno == ENOENT)
			error_set(err, ERR_NOT_FOUND,
				  "%s: /proc is not mounted: mount it, as with mount -t "
				  "proc proc /proc",
				  link);
		else
			error_errno(err, errno, link);
		return NULL;
	}
	text[len] = 0;
	if (file_exists(text))
		return xstrdup(text);
	if (str_ends(text, removed))
		text[(size_t)len - strlen(removed)] = 0;
	if (file_exists(text))
		return xstrdup(text);
	error_set(
		err, ERR_NOT_FOUND,
		"%s was removed while it runs; start kftrainer again from where it is now",
		text);
	return NULL;
}

bool path_up(char *path, const char *root)
{
	char *slash = strrchr(path, '/');

	if (strlen(path) <= strlen(root) || !slash)
		return false;
	*slash = 0;
	return true;
}

const char *path_below(const char *path, const char *dir)
{
	const char *rest = str_after(path, dir);

	if (str_eq(dir, "/"))
		return rest && *rest ? path : NULL;
	return rest && *rest == '/' ? rest : NULL;
}

/* From the passwd entry, if HOME is unset (cron, systemd); or NULL. */
static const char *home_of_user(void)
{
	const struct passwd *user = getpwuid(geteuid());

	return user ? user->pw_dir : NULL;
}

int path_of_state(struct arena *arena, const char **ret, struct error *err)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg) {
		if (*xdg != '/')
			return error_set(
				err, ERR_INVALID,
				"XDG_STATE_HOME is \"%s\": want an absolute path", xdg);
		*ret = arena_printf(arena, "%s/kftrainer", xdg);
		return 0;
	}
	if (!home)
		home = home_of_user();
	if (!home || *home != '/')
		return error_set(err, ERR_INVALID,
				 "HOME is %s%s%s; set HOME or XDG_STATE_HOME to an "
				 "absolute path",
				 home ? "\"" : "", home ? home : "not set",
				 home ? "\"" : "");
	*ret = path_join(arena, home, ".local/state/kftrainer");
	return 0;
}
