/* shmdir.c - make, lock and remove temporary directories (kubelet/shmdir.h). */
#include "kubelet/shmdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { TMPFS = 0x01021994 };
static const char shm[] = "/dev/shm";

/* More than the time between mkdir() and flock(). */
enum { UNLOCKED_SECONDS = 60 };

/* `made`: the directory has its final name, so it has been locked. */
static void remove_if_stale(const char *path, bool made)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct error err;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return;
	if (!made && time(NULL) - st.st_mtime < UNLOCKED_SECONDS)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || dir_remove(path, &err) < 0)
		return; /* harmless */
}

static const char *prefix_of(struct arena *arena)
{
	return arena_printf(arena, ".kftrainer-%u-", (unsigned)geteuid());
}

void tempdir_sweep(const char *below)
{
	cleanup_arena struct arena a = { 0 };
	const char *prefix = prefix_of(&a);
	const struct dirent *e;
	DIR *d = opendir(below);

	while (d && (e = readdir(d)) != NULL)
		if (str_starts(e->d_name, prefix) || str_starts(e->d_name, prefix + 1))
			remove_if_stale(path_join(&a, below, e->d_name),
					*e->d_name != '.');
	if (d)
		closedir(d);
}

/* The name is hidden until the directory is locked, so that no sweep removes it. */
const char *tempdir_make(struct arena *arena, const char *below, int *ret_lock)
{
	uint64_t number = 0;
	const char *hidden, *path;
	int fd;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint64_t)getpid();
	hidden = path_join(arena, below,
			   arena_printf(arena, "%s%016llx", prefix_of(arena),
					(unsigned long long)number));
	path = path_join(arena, below, path_base(hidden) + 1);
	if (mkdir(hidden, 0700) < 0)
		return NULL;
	fd = open(hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || rename(hidden, path) < 0) {
		if (fd >= 0)
			close(fd);
		rmdir(hidden);
		return NULL;
	}
	*ret_lock = fd;
	return path;
}

const char *shmdir_make(struct arena *arena, int *ret_lock)
{
	struct statfs fs;

	if (statfs(shm, &fs) < 0 || (long)fs.f_type != TMPFS || access(shm, W_OK) < 0)
		return NULL;
	tempdir_sweep(shm);
	return tempdir_make(arena, shm, ret_lock);
}

void tempdir_remove(const char *dir, int lock)
{
	struct error err;

	if (dir && dir_remove(dir, &err) < 0)
		err.kind = ERR_NONE; /* the next run will */
	if (lock >= 0)
		close(lock);
}
